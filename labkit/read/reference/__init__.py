"""Published numbers, each with its place in the paper. labkit recomputes sums but never replaces published ones.

A file holds the numbers of one paper: ``data/reference/NAME-YEAR.toml`` of labkit or of the user's project. Numbers are
kept as printed, with their unit; use `Number.si` to compute with them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import DataError, SpecError, unknown_name
from labkit.io import project, safe_read
from labkit.point.columns import METRICS
from labkit.point.spec import validated
from labkit.read.reference._units import UNITS, Written, written
from labkit.read.reference.number import ANY, LARGE, PATHS, SMALL, UNMEASURED, Claim, Number

__all__ = [
    "ANY",
    "FILES",
    "FOLDER",
    "LARGE",
    "PATHS",
    "SMALL",
    "UNITS",
    "UNMEASURED",
    "Claim",
    "Entry",
    "Number",
    "Paper",
    "entries",
    "load",
    "matching",
    "names",
    "read",
    "search",
]
FOLDER = project.SHIPPED / "data" / "reference"
FILES = "*-[12][0-9][0-9][0-9].toml"  # a paper's file bears its year


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The numbers of one paper.

    Parameters
    ----------
    title, authors, published : title, authors and publication of the paper.
    short : how a legend calls it, such as ``Liu et al. 2003``.
    conditions : under which its numbers hold.
    doi : without the address of the resolver; empty if it has none, or it is not known.
    key : in the report's bibliography; empty if it is not there.
    unit : unit of all numbers that name no other.
    numbers : by name.
    claims : about cheaper parts.
    """

    title: str
    authors: str
    published: str
    short: str
    conditions: str
    doi: str = ""
    key: str = ""
    unit: str = ""
    numbers: Mapping[str, Number] = dataclasses.field(default_factory=dict)
    claims: tuple[Claim, ...] = ()

    def __getitem__(self, name: str) -> Number:
        """The number of that name; SpecError if there is none."""
        if name not in self.numbers:
            raise unknown_name("published number", name, list(self.numbers))
        return self.numbers[name]

    def leaves(self, names: Iterable[str]) -> list[Number]:
        """The numbers that are not sums and make up these numbers, in order and as often as they count."""
        leaves: list[Number] = []
        for number in map(self.__getitem__, names):
            leaves += self.leaves(number.parts) if number.parts else [number]
        return leaves

    def sum(self, name: str) -> float:
        """A number as the sum of its smallest parts."""
        return sum(leaf.value for leaf in self.leaves([name]))

    def measurable(self, number: Number) -> Number:
        """Return a number as the quantity that labkit measures: divided by, or taken of, the number that it names."""
        return number.against(self[number.over or number.of]) if number.over or number.of else number

    def place(self, number: Number) -> str:
        """Where a number stands: paper, table or section, and page."""
        return f"{self.short}, {number.where}" + (f", p. {number.page}" if number.page else "")


@dataclass(frozen=True)
class Entry:
    """A number with its paper.

    Parameters
    ----------
    file : name of the paper's file, without its ending.
    paper : paper with conditions of all its numbers.
    number : one of them.
    """

    file: str
    paper: Paper
    number: Number

    @property
    def place(self) -> str:
        """Where the number stands."""
        return self.paper.place(self.number)

    @property
    def haystack(self) -> str:
        """All words about the number, for a search."""
        number, paper = self.number, self.paper
        texts = (self.file, paper.title, paper.authors, paper.published, paper.short, number.name, number.text)
        more = (paper.key, number.where, number.kind, number.circumstances, number.size, number.unit, number.note)
        measured = (*number.benchmarks, number.metric, number.unmeasured)
        return "\n".join((*texts, *more, *measured)).casefold()


def _files() -> dict[str, Path]:
    """Files by name; the project's replace labkit's."""
    home = project.current()
    folders = [FOLDER, *([home / "data" / "reference"] if home else [])]
    return dict(sorted((path.stem, path) for folder in folders for path in sorted(folder.glob(FILES))))


def names() -> list[str]:
    """Return the papers with known numbers; the name of a file ends with the year."""
    return list(_files())


def load(name: str) -> Paper:
    """Read the numbers of a paper from ``data/reference/NAME.toml``.

    Raises
    ------
    DataError
        If there is no such file, or it does not hold published numbers.
    """
    files = _files()
    if name not in files:
        there = ", ".join(files) or "none; install labkit again"
        raise DataError(f"There is no {FOLDER / name}.toml. There are: {there}.")
    return read(files[name])


def read(file: Path) -> Paper:
    """Read the numbers of a paper from a file.

    Raises
    ------
    DataError
        If it cannot be read, or does not hold published numbers.
    """
    with safe_read.about(file):
        changed = safe_read.regular(file).stat().st_mtime_ns
    return _read(file, changed)


@cache
def _read(file: Path, changed: int) -> Paper:
    """Read a file as it is since it was changed, ns."""
    text = safe_read.text(file)
    try:
        return _made(safe_read.toml_of(text, Written))
    except (ValueError, RecursionError, SpecError) as error:  # not TOML, parts that contain themselves, a wrong entry
        raise DataError(
            f"{file} is not a table of published numbers: {error}. Correct it, or restore it from git."
        ) from error


def _made(table: dict[str, Any]) -> Paper:
    """Make a paper from the table of its file; raise a SpecError for a wrong entry."""
    numbers, claims = _tables(table, "number"), _tables(table, "claim")
    if not numbers:
        raise SpecError("it has no number. Write each below [[number]]")
    unit = {"unit": table["unit"]} if "unit" in table else {}
    made = [
        validated(Number, written(one) | unit | one, what=f"number {one.get('name', n)}")
        for n, one in enumerate(numbers, 1)
    ]
    claimed = tuple(validated(Claim, one, what="a claim") for one in claims)
    paper = validated(Paper, table, what="the head of the file")
    paper = dataclasses.replace(paper, numbers=_named(made), claims=claimed)
    _follow(paper)
    return paper


def _tables(table: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Take a list of tables out of the table of a file."""
    found = table.pop(name, [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise SpecError(f"{name} is {str(found)[:60]!r}, but it must be tables below [[{name}]]")
    return found


def _named(numbers: Sequence[Number]) -> dict[str, Number]:
    """Numbers by name; raise a SpecError for a name that occurs twice."""
    named: dict[str, Number] = {}
    for number in numbers:
        if number.name in named:
            raise SpecError(f"the name {number.name} occurs twice")
        named[number.name] = number
    return named


def _follow(paper: Paper) -> None:
    """Raise a SpecError for a name that is not in the paper, or parts in different units."""
    for number in paper.numbers.values():
        others = (number.observed, number.instead, number.over, number.of, *number.ratio, *number.saving)
        paper.leaves([number.name, *filter(None, others)])
        if number.over or number.of:
            _follow_quantity(paper, number)
        units = {number.unit} | {paper[part].unit for part in number.parts}
        if len(units) > 1:
            raise SpecError(f"{number.name} and its parts are in {' and '.join(sorted(units))}, not in one unit")
    for claim in paper.claims:
        paper.leaves([claim.total, *claim.parts])


def _follow_quantity(paper: Paper, number: Number) -> None:
    """Raise a SpecError for a number with a quotient or share that its metric cannot have."""
    other, unit = paper[number.over or number.of], METRICS[number.metric].unit
    if number.over and other.measures != number.measures:
        raise SpecError(f"{number.name} is over {other.name}, but they are in {number.unit} and {other.unit}")
    if paper.measurable(number).measures != UNITS[unit][0]:
        raise SpecError(f"{number.name} with {other.name} is not a number in {unit}, the unit of {number.metric}")


def entries(*, file: str = "") -> list[Entry]:
    """Return all numbers of all papers, or of one, in the order of the files; claimed savings come last."""
    papers = {name: load(name) for name in ([file] if file else names())}
    return [
        Entry(name, paper, number)
        for name, paper in papers.items()
        for number in (*paper.numbers.values(), *(claim.number for claim in paper.claims))
    ]


def search(words: Iterable[str], *, file: str = "") -> list[Entry]:
    """Return the numbers that have all of some words in what is known of them.

    Parameters
    ----------
    words : beginnings of words, in any case: ``roce latency``, ``liu2003``, ``mpi.latency``, ``table 1``.
    file : name of the only paper to search; empty for all.
    """
    wanted = [re.compile(rf"(?<![a-z0-9]){re.escape(word.casefold())}") for word in words]
    return [entry for entry in entries(file=file) if all(word.search(entry.haystack) for word in wanted)]


def matching(names: Iterable[str], metric: str, words: Iterable[str] = ()) -> list[Entry]:
    """Return the numbers that labkit measures as one of some benchmarks, each as the quantity of the metric.

    Of two values that a paper prints for the same, only the one that the models use is among them.

    Parameters
    ----------
    names : names of benchmarks.
    metric : as in `labkit.point.columns.METRICS`.
    words : words that the numbers must have, as in `search`.
    """
    wanted = set(names)
    return [
        dataclasses.replace(one, number=one.paper.measurable(one.number))
        for one in search(words)
        if one.number.metric == metric and wanted & {*one.number.benchmarks} and not one.number.instead
    ]
