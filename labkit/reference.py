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


@dataclass(frozen=True, kw_only=True)
class Number:
    """One published number.

    Parameters
    ----------
    name : by which others refer to it.
    text : what it is.
    value : in the unit of its paper, as printed.
    where : table or section.
    kind : class of the component, such as ``I/O``; empty for what is none.
    parts : names of the numbers it is the sum of, in order; a part that counts twice is named twice.
    observed : name of the number that its authors compare it with.
    note : what to know of it.
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
    """What a paper says that a total would save if some of its parts became cheaper.

    Parameters
    ----------
    text : what becomes cheaper.
    total, parts : names of numbers.
    cheaper : by how much, %.
    saved : of the total, %, as printed.
    where : table or section.
    least : whether the paper says "more than".
    note : what to know of it.
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
        """The numbers that are no sums, of which some numbers are made, in order and as often as they count."""
        found: list[Number] = []
        for one in map(self.__getitem__, names):
            found += self.leaves(one.parts) if one.parts else [one]
        return found

    def sum(self, name: str) -> float:
        """A number worked out from its smallest parts."""
        return sum(one.value for one in self.leaves([name]))

    def saved(self, total: str, parts: Iterable[str], cheaper: float) -> float:
        """Part of a total, %, that is saved when some parts cost less, if nothing in it goes on at the same time.

        Parameters
        ----------
        parts : names; what is in none of the total saves nothing.
        cheaper : by how much, %.
        """
        less = {one.name for one in self.leaves(parts)}
        return cheaper * sum(one.value for one in self.leaves([total]) if one.name in less) / self.sum(total)


@cache
def load(name: str) -> Paper:
    """The numbers of a paper, from ``data/reference/NAME.toml``.

    Raises
    ------
    DataError
        If there is no such file, or it is no such table.
    """
    file = FOLDER / f"{name}.toml"
    there = sorted(path.stem for path in FOLDER.glob("*.toml"))
    if name not in there:
        raise DataError(f"There is no {file}. There are: {', '.join(there) or 'none; install labkit again'}.")
    try:
        held = tomllib.loads(file.read_text())
        numbers = [Number(**_frozen(one)) for one in held.pop("number")]
        claims = tuple(Claim(**_frozen(one)) for one in held.pop("claim", []))
        paper = Paper(numbers={one.name: one for one in numbers}, claims=claims, **held)
        if len(paper.numbers) < len(numbers):
            raise ValueError("a name occurs twice")
        for one in numbers:
            paper.leaves([one.name, *([one.observed] if one.observed else [])])
        for claim in claims:
            paper.leaves([claim.total, *claim.parts])
    except (ValueError, TypeError, KeyError, RecursionError, SpecError) as error:
        raise DataError(
            f"{file} is not a table of published numbers: {error}. Correct it, or restore it from git."
        ) from error
    return paper


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose lists are tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
