"""Judge a campaign by an acceptance contract: clauses that a system must fulfil, in a TOML file.

A clause names a benchmark, selects points, and bounds a statistic in a share of them. The file holds data only.
"""

from __future__ import annotations

import fnmatch
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from labkit import outside
from labkit.columns import METRICS, end_column, split
from labkit.errors import DataError, SpecError
from labkit.notes import joined
from labkit.records import GIVEN
from labkit.records.factors import level
from labkit.spec import validated
from labkit.units import format_number, format_size, parse_size

Relation = Literal["<=", ">=", "<", ">"]
Basis = Literal["value", "interval"]
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_SIZE = "message_size_B"
_NUMBERS = ("bound", "share", "launches")
_SHOWN = 3  # points that evidence names


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A statement about a campaign that is true or false.

    Parameters
    ----------
    name : in words.
    benchmark : its name, or a pattern such as ``sockets.*``.
    statistic : column of the summary, such as ``latency_us_p99``.
    relation : of the statistic to the bound.
    bound : in the statistic's unit.
    share : percentage of the points that must fulfil the relation.
    where : column or option → level or levels that select points; ``size`` takes sizes and ranges such as ``8:4Ki``.
    basis : ``value`` compares the median over launches, ``interval`` the worse end of its interval.
    launches : fewest launches of a point; a point with fewer does not fulfil the clause.
    """

    name: str
    benchmark: str
    statistic: str
    relation: Relation
    bound: float
    share: float = 100.0
    where: dict[str, Any] = field(default_factory=dict)
    basis: Basis = "value"
    launches: int = 1

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise SpecError("A clause has an empty name. Name it in words, such as name = 'small messages'.")
        if self.launches < 1:
            raise SpecError(f"launches={self.launches} of clause {self.name!r}, but it must be 1 or more.")
        for key, value in self.where.items():
            if not _is_level(value) and not (isinstance(value, list) and value and all(map(_is_level, value))):
                raise SpecError(
                    f"where: {key} = {str(value)[:60]} of clause {self.name!r}, but it must be a text, a number, true, "
                    f"false, or a list of these. Write for example {key} = ['a', 'b']."
                )
        if not split(self.statistic):
            raise SpecError(
                f"statistic={self.statistic!r} of clause {self.name!r} is no statistic of a metric. Write a column of "
                "the summary, such as latency_us_p50."
            )
        if not 0 < self.share <= 100:
            raise SpecError(f"share={self.share:g} of clause {self.name!r}, but it must be above 0 and at most 100.")

    @property
    def unit(self) -> str:
        """Unit of the bound."""
        return METRICS[(split(self.statistic) or ("latency_us", ""))[0]].unit

    @property
    def text(self) -> str:
        """The clause in short."""
        chosen = "".join(f", {key}={value}" for key, value in self.where.items())
        bound = format_number(self.bound, self.unit)
        basis = " at the worse end of the interval" if self.basis == "interval" else ""
        least = f", {self.launches} launches or more" if self.launches > 1 else ""
        what = f"{self.statistic} {self.relation} {bound}{basis}"
        return f"{self.benchmark}{chosen}: {what} in {self.share:g} % of the points{least}"


@dataclass(frozen=True)
class Verdict:
    """What the data say about a clause.

    Parameters
    ----------
    clause : which.
    points : points that it selects.
    fulfilled : how many of them fulfil it.
    evidence : the worst points, with their numbers; without points, what no point of the campaign has.
    """

    clause: Clause
    points: int
    fulfilled: int
    evidence: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether enough points fulfil the clause. Without any point, nothing shows that it is fulfilled."""
        return bool(self.points) and self.fulfilled * 100 >= self.clause.share * self.points

    @property
    def sentence(self) -> str:
        """The verdict with its evidence."""
        if not self.points:
            why = joined(self.evidence) or "it selects no point of the campaign"
            return f"{why}, so nothing shows that the clause is fulfilled"
        return f"{self.fulfilled} of {self.points} points fulfil it; worst: {'; '.join(self.evidence)}"


def load(path: Path) -> list[Clause]:
    """Read a contract: tables ``[[clause]]`` with the fields of `Clause`.

    Raises
    ------
    DataError
        If the file cannot be read, or has no clause.
    SpecError
        If a clause has an unknown key or a wrong value.
    """
    content = outside.toml(path)
    tables = content.get("clause")
    if not isinstance(tables, list) or not tables or not all(isinstance(one, Mapping) for one in tables):
        raise DataError(f"{path} has no [[clause]], but a contract needs at least one.")
    if unknown := sorted(set(content) - {"clause", "title"}):
        raise DataError(f"{path} has {unknown[0]!r}, but a contract has title and [[clause]] only. Remove it.")
    return [_clause(one, f"{path}, clause {number}") for number, one in enumerate(tables, 1)]


def _clause(table: Mapping[str, Any], what: str) -> Clause:
    """Make a clause; a number in quotes or a truth value is no number."""
    for name in _NUMBERS:
        value = table.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SpecError(f"{what}: {name} = {str(value)[:40]!r}, but it must be a number. Write it without quotes.")
    return validated(Clause, table, what=what)


def _is_level(value: object) -> bool:
    """Return whether a value is one level of a column."""
    return isinstance(value, str | int | float) and value != ""


def judge(clauses: Sequence[Clause], summary: pd.DataFrame) -> list[Verdict]:
    """Judge the points of a campaign by clauses.

    Parameters
    ----------
    summary : from `labkit.records.summary`.
    """
    rows = [{str(k): v for k, v in row.items()} for row in summary.to_dict("records")]
    verdicts = []
    for clause in clauses:
        lacking = tuple(f"no point has {key!r}" for key in clause.where if not any(_column(key, row) for row in rows))
        selected = [row for row in rows if _selects(clause, row)]
        verdicts.append(_verdict(clause, selected) if selected else Verdict(clause, 0, 0, lacking))
    return verdicts


def _selects(clause: Clause, row: Mapping[str, Any]) -> bool:
    """Return whether a clause is about the point of a row."""
    if not fnmatch.fnmatchcase(str(row["benchmark"]), clause.benchmark):
        return False
    return all(_matches(key, wanted, row) for key, wanted in clause.where.items())


def _matches(key: str, wanted: Any, row: Mapping[str, Any]) -> bool:
    """Return whether a row has one of the wanted levels of a column or option."""
    column = _column(key, row)
    if column == _SIZE:
        sizes = [part for each in _several(wanted) for part in str(each).split(",")]
        return any(_within(int(row[_SIZE]), text) for text in sizes)
    return bool(column) and level(row[column]) in {level(each) for each in _several(wanted)}


def _column(key: str, row: Mapping[str, Any]) -> str:
    """Return the column that a key of `Clause.where` names; empty if there is none."""
    names = (_SIZE if key == "size" else key, *(prefix + key for prefix in GIVEN))
    return next((name for name in names if name in row), "")


def _several(value: Any) -> list[Any]:
    """Return a value, or each of a list."""
    return list(value) if isinstance(value, list | tuple) else [value]


def _within(size: int, text: str) -> bool:
    """Return whether a size is the one in a text, or in its range."""
    low, colon, high = text.partition(":")
    return parse_size(low) <= size <= parse_size(high if colon else low)


def _verdict(clause: Clause, rows: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judge the selected points by one clause."""
    points = [(_number(clause, row), row) for row in rows]
    compare, least = _COMPARE[clause.relation], clause.launches
    good = [not math.isnan(n) and compare(n, clause.bound) and row["launches"] >= least for n, row in points]
    sign = 1.0 if clause.relation.startswith("<") else -1.0
    order = sorted(
        range(len(points)), key=lambda i: (good[i], -math.inf if math.isnan(points[i][0]) else -sign * points[i][0])
    )
    return Verdict(clause, len(points), sum(good), tuple(_evidence(clause, *points[i]) for i in order[:_SHOWN]))


def _number(clause: Clause, row: Mapping[str, Any]) -> float:
    """Return what is compared with the bound; NaN where the point has none."""
    if clause.basis == "value":
        return float(row.get(clause.statistic, math.nan))
    metric, statistic = split(clause.statistic) or ("", "")
    end = "high" if clause.relation.startswith("<") else "low"
    return float(row.get(end_column(metric, statistic, end), math.nan))


def _evidence(clause: Clause, number: float, row: Mapping[str, Any]) -> str:
    """Return a point and its number."""
    where = " ".join(_place(row))
    text = format_number(number, clause.unit) if number == number else f"no {clause.statistic}"
    basis = "" if clause.basis == "value" else " (end of the interval)"
    fewer = f" of {clause.launches}" if row["launches"] < clause.launches else ""
    return f"{where}: {text}{basis}, launches: {row['launches']}{fewer}"


def _place(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what identifies a point for people, and its fingerprint for programs."""
    yield str(row["benchmark"])
    if row[_SIZE]:
        yield format_size(int(row[_SIZE]))
    yield f"[{row['fingerprint']}]"
