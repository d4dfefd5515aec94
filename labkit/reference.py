"""Published numbers, each with its place in the paper. labkit recomputes sums but never replaces published ones."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from labkit import project
from labkit.errors import DataError, SpecError, known

FOLDER = project.SHIPPED / "data" / "reference"
_FACTS = ("benchmarks", "interconnects")  # no numbers but facts, which `labkit.report.literature` reads


@dataclass(frozen=True, kw_only=True)
class Number:
    """One published number.

    Parameters
    ----------
    name : name by which other numbers refer to it.
    text : what it is.
    value : value as printed, in the unit of its paper.
    where : table or section.
    kind : class of the component, such as ``I/O``; empty if it is no component.
    parts : names of the numbers that it is the sum of, in order; a part that counts twice has its name there twice.
    observed : name of the number that its authors compare it with.
    note : what to know about it.
    """

    name: str
    text: str
    value: float
    where: str
    kind: str = ""
    parts: tuple[str, ...] = ()
    observed: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper: how much of a total would be saved if some of its parts became cheaper.

    Parameters
    ----------
    text : what becomes cheaper.
    total, parts : names of numbers.
    cheaper : by how much, %.
    saved : part of the total that is saved, %, as printed.
    where : table or section.
    least : whether the paper says "more than".
    note : what to know about it.
    """

    text: str
    total: str
    parts: tuple[str, ...]
    cheaper: float
    saved: float
    where: str
    least: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The numbers of one paper.

    Parameters
    ----------
    title, authors, published, doi : of the paper.
    conditions : under which its numbers hold.
    unit : of all of them.
    numbers : by name.
    claims : about cheaper parts.
    """

    title: str
    authors: str
    published: str
    doi: str
    conditions: str
    unit: str
    numbers: Mapping[str, Number]
    claims: tuple[Claim, ...]

    def __getitem__(self, name: str) -> Number:
        """The number of that name; SpecError if there is none."""
        if name not in self.numbers:
            raise known("published number", name, list(self.numbers))
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

    def saved(self, total: str, parts: Iterable[str], cheaper: float) -> float:
        """Part of a total, %, that is saved if some parts become cheaper and no parts overlap in time.

        Parameters
        ----------
        parts : names of the cheaper parts; one that the total does not have saves nothing.
        cheaper : by how much, %.
        """
        less = {leaf.name for leaf in self.leaves(parts)}
        return cheaper * sum(leaf.value for leaf in self.leaves([total]) if leaf.name in less) / self.sum(total)


def names() -> list[str]:
    """Return the papers whose numbers are known."""
    return sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem not in _FACTS)


@cache
def load(name: str) -> Paper:
    """Read the numbers of a paper from ``data/reference/NAME.toml``.

    Raises
    ------
    DataError
        If there is no such file, or it does not hold published numbers.
    """
    file = FOLDER / f"{name}.toml"
    if name not in names():
        raise DataError(f"There is no {file}. There are: {', '.join(names()) or 'none; install labkit again'}.")
    try:
        table = tomllib.loads(file.read_text())
        numbers = [Number(**_frozen(one)) for one in table.pop("number")]
        claims = tuple(Claim(**_frozen(one)) for one in table.pop("claim", []))
        paper = Paper(numbers={one.name: one for one in numbers}, claims=claims, **table)
        if len(paper.numbers) < len(numbers):
            raise ValueError("a name occurs twice")
        for number in numbers:
            paper.leaves(filter(None, (number.name, number.observed)))  # refuses names that are not in the paper
        for claim in claims:
            paper.leaves([claim.total, *claim.parts])
    except (ValueError, TypeError, KeyError, RecursionError, SpecError) as error:
        raise DataError(
            f"{file} is not a table of published numbers: {error}. Correct it, or restore it from git."
        ) from error
    return paper


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    """The row with tuples in place of lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
