"""Judge a campaign by an acceptance contract: clauses that a system must fulfil, in a TOML file.

A clause names a benchmark, selects points, and bounds a statistic for a share of these points. It may also demand that
every pair of hosts was measured, or some hosts. The file holds data only.
"""

from __future__ import annotations

import fnmatch
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from labkit.errors import DataError, SpecError
from labkit.io import safe_read
from labkit.judge import coverage
from labkit.judge.coverage import Coverage
from labkit.judge.finding import Count, Evidence, Finding, Level, Subject, Value, Values
from labkit.judge.rules.contract_clause import RULE
from labkit.point import host_list
from labkit.point.columns import METRICS, STATISTICS, end_column, split
from labkit.point.spec import validated
from labkit.point.units import format_number, format_size, parse_size, plural
from labkit.read.records import GIVEN
from labkit.read.records.factors import UNSTATED, differing, level, setting, text
from labkit.read.records.resolution import coarse, sign
from labkit.store.samples import Samples

Relation = Literal["<=", ">=", "<", ">"]
Basis = Literal["value", "interval"]
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">"}
_BEFORE = ("p50", "mean", "max", "min")  # statistics whose names stand before that of the metric
_SIZE = "message_size_B"
_NUMBERS = ("bound", "share", "launches")
_SHOWN = 3  # points that evidence names
_MOST_HOSTS = 10_000  # whose pairs can be listed


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A statement about a campaign that is true or false.

    Parameters
    ----------
    name : the requirement in words.
    benchmark : its name, or a pattern such as ``sockets.*``.
    statistic : column of the summary, such as ``latency_us_p99``; empty if only coverage is demanded.
    relation : relation of the statistic to the bound.
    bound : in the statistic's unit.
    share : percentage of the points that must fulfil the relation.
    where : column or option → level or levels that select points; ``size`` takes sizes and ranges such as ``8:4Ki``.
    basis : ``value`` compares the median over launches, ``interval`` the worse end of its interval.
    launches : fewest launches of a point; a point with fewer does not fulfil the clause.
    pairs : ``all`` demands that every pair of the hosts was measured.
    hosts : hosts that must be measured: names, such as ``node[01-16]``, or the least number.
    """

    name: str
    benchmark: str
    statistic: str = ""
    relation: Relation | None = None
    bound: float | None = None
    share: float = 100.0
    where: dict[str, Any] = field(default_factory=dict)
    basis: Basis = "value"
    launches: int = 1
    pairs: Literal["all"] | None = None
    hosts: int | str | list[str] | None = None

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
        if not 0 < self.share <= 100:
            raise SpecError(f"share={self.share:g} of clause {self.name!r}, but it must be above 0 and at most 100.")
        self._check_bound()
        if self.hosts is not None and not 0 < self._host_count <= _MOST_HOSTS:
            raise SpecError(
                f"hosts={self._host_count:,} of clause {self.name!r}, but it must be from 1 to {_MOST_HOSTS:,}."
            )
        if self.pairs and self._host_count == 1:
            raise SpecError(f"hosts={self.hosts} of clause {self.name!r}, but one host has no pair. Name two or more.")

    def _check_bound(self) -> None:
        """Refuse half a bound, and a clause that demands nothing."""
        given = {"statistic": self.statistic, "relation": self.relation, "bound": self.bound}
        missing = [name for name, value in given.items() if value in ("", None)]
        if missing and (len(missing) < len(given) or not (self.pairs or self.hosts is not None)):
            raise SpecError(
                f"Clause {self.name!r} has no {missing[0]}. Write statistic, relation and bound, or demand coverage "
                "alone with pairs or hosts."
            )
        if self.statistic and not split(self.statistic):
            raise SpecError(
                f"statistic={self.statistic!r} of clause {self.name!r} is not a statistic of a metric. Write a column "
                "of the summary, such as latency_us_p50."
            )

    @property
    def host_names(self) -> tuple[str, ...]:
        """Names of the hosts that must be measured; empty if only their number is given.

        Raises
        ------
        SpecError
            If a name is invalid or occurs twice.
        """
        if self.hosts is None or isinstance(self.hosts, int):
            return ()
        try:
            return tuple(
                host_list.slots(host_list.named(self.hosts if isinstance(self.hosts, str) else ",".join(self.hosts)))
            )
        except SpecError as error:
            raise SpecError(f"Clause {self.name!r}: {error}") from error

    @property
    def _host_count(self) -> int:
        """How many hosts must be measured; 0 if the clause gives none."""
        return self.hosts if isinstance(self.hosts, int) else len(self.host_names)

    @property
    def demanded(self) -> tuple[str, ...] | int:
        """The hosts that must be measured, or their number."""
        return self.host_names or self._host_count

    @property
    def unit(self) -> str:
        """Unit of the bound."""
        return METRICS[(split(self.statistic) or ("latency_us", ""))[0]].unit

    @property
    def text(self) -> str:
        """The clause in short."""
        chosen = "".join(f", {key} {_levels(key, value)}" for key, value in self.where.items())
        share = "at every point" if self.share == 100 else f"at {self.share:g} % of the points"
        demands = [f"{self.limit} {share}"] if self.bound is not None else []
        demands += [f"{self.launches} launches or more"] if self.launches > 1 else []
        return f"{self.benchmark}{chosen}: {', '.join([*demands, *self._coverage_text])}"

    @property
    def limit(self) -> str:
        """Statistic in words and its bound; empty without a bound."""
        if self.relation is None or self.bound is None:
            return ""
        metric, statistic = split(self.statistic) or ("", "")
        words = STATISTICS[statistic].label + (" " if statistic in _BEFORE else " of the ") + METRICS[metric].label
        basis = "worse end of the interval of the " if self.basis == "interval" else ""
        return f"{basis}{words} {self.bound_text}"

    @property
    def bound_text(self) -> str:
        """The bound with its sign and unit; empty without one."""
        if self.relation is None or self.bound is None:
            return ""
        return f"{_SIGNS[self.relation]} {format_number(self.bound, self.unit)}"

    def holds(self, number: float) -> bool:
        """Return whether a number is within the bound; True without a bound, False for NaN."""
        if self.relation is None or self.bound is None:
            return True
        return not math.isnan(number) and bool(_COMPARE[self.relation](number, self.bound))

    @property
    def _coverage_text(self) -> Iterator[str]:
        """The demanded hosts and pairs in short."""
        names = self.hosts if isinstance(self.hosts, str) else ",".join(self.host_names)
        if self.pairs:
            yield f"every pair of {f'the hosts {names}' if names else 'hosts'} measured"
        elif names:
            yield f"the hosts {names} measured"
        if isinstance(self.hosts, int):
            yield f"{plural(self.hosts, 'host')} or more measured"


def _levels(key: str, wanted: Any) -> str:
    """Return the levels that a clause wants, in words; sizes with units."""
    if key != "size":
        return " or ".join(level(each) for each in _several(wanted))
    parts = [part.partition(":") for each in _several(wanted) for part in str(each).split(",")]
    ends = [[format_size(parse_size(end)) for end in (low, high) if end] for low, _, high in parts]
    return " or ".join(" to ".join(each) for each in ends)


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point that a clause selects, judged by it.

    Parameters
    ----------
    row : row of the summary.
    number : value compared with the bound; NaN if the point has none.
    sign : ``≤`` or ``≥`` if the clock gives only a bound for the number; else empty.
    fulfilled : whether it fulfils the clause.
    enough : whether it has the launches that the clause demands.
    margin : distance of the number from the bound, as a fraction; negative beyond the bound; NaN if unknown.
    factors : columns in which it differs from the other points of the clause.
    chosen : columns other than the size by which the clause selects it.
    """

    row: Mapping[str, Any]
    number: float
    sign: str
    fulfilled: bool
    enough: bool
    margin: float
    factors: Sequence[str]
    chosen: Sequence[str]


def load(path: Path) -> list[Clause]:
    """Read a contract: tables ``[[clause]]`` with the fields of `Clause`.

    Raises
    ------
    DataError
        If the file cannot be read, or has no clause.
    SpecError
        If a clause has an unknown key or a wrong value.
    """
    content = safe_read.toml(path)
    tables = content.get("clause")
    if not isinstance(tables, list) or not tables or not all(isinstance(one, Mapping) for one in tables):
        raise DataError(f"{path} has no [[clause]], but a contract needs at least one.")
    if unknown := sorted(set(content) - {"clause", "title"}):
        raise DataError(f"{path} has {unknown[0]!r}, but a contract has title and [[clause]] only. Remove it.")
    return [_clause(one, f"{path}, clause {number}") for number, one in enumerate(tables, 1)]


def _clause(table: Mapping[str, Any], what: str) -> Clause:
    """Make a clause; refuse quoted numbers and truth values where a number is expected."""
    if "hosts" in table and not _is_hosts(table["hosts"]):
        raise SpecError(
            f"{what}: hosts = {str(table['hosts'])[:40]!r}, but it must be a number of hosts or their names. Write for "
            "example hosts = 6, or hosts = 'node[01-16]'."
        )
    for name in _NUMBERS:
        value = table.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise SpecError(f"{what}: {name} = {str(value)[:40]!r}, but it must be a number. Write it without quotes.")
    return validated(Clause, table, what=what)


def _is_hosts(value: object) -> bool:
    """Return whether a value is a number of hosts, or names some."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, str) for one in value)
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, str) and bool(value.strip(" ,"))
    )


def _is_level(value: object) -> bool:
    """Return whether a value is one level of a column."""
    return isinstance(value, str | int | float) and value != ""


def _no_samples(benchmark: str) -> Iterable[Samples]:
    """Return no samples."""
    return ()


def judge(
    clauses: Sequence[Clause], summary: pd.DataFrame, samples: Callable[[str], Iterable[Samples]] = _no_samples
) -> list[Finding]:
    """Judge the points of a campaign by clauses.

    Parameters
    ----------
    summary : from `labkit.read.records.summary`.
    samples : the samples of a benchmark, as `labkit.store.campaign.Campaign.samples`; they show which hosts were
        measured.

    Returns
    -------
    A verdict on each clause, whose name is the setting of its subject: *good* if enough points fulfil it, *unknown*
    without any point, which shows nothing.
    """
    rows = _rows(summary)
    where: dict[str, coverage.Points] = {}
    verdicts = []
    for clause in clauses:
        selected = [row for row in rows if _selects(clause, row)]
        if clause.pairs or clause.hosts is not None:
            for name in {str(row["benchmark"]) for row in selected} - set(where):
                where[name] = coverage.points(samples(name))
        verdicts.append(_verdict(clause, selected, where) if selected else _unknown(clause, rows))
    return verdicts


def selected(clauses: Sequence[Clause], summary: pd.DataFrame) -> frozenset[str]:
    """Return the fingerprints of the points that any clause selects."""
    rows = _rows(summary)
    return frozenset(str(row["fingerprint"]) for row in rows if any(_selects(clause, row) for clause in clauses))


def points(clause: Clause, summary: pd.DataFrame) -> list[Point]:
    """Return the points that a clause selects: first those that do not fulfil it, the worst first."""
    return _judged(clause, [row for row in _rows(summary) if _selects(clause, row)])


def _rows(summary: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): v for k, v in row.items()} for row in summary.to_dict("records")]


def _unknown(clause: Clause, rows: Sequence[Mapping[str, Any]]) -> Finding:
    """Return the verdict on a clause that selects no point of a campaign."""
    lacking = [key for key in clause.where if not any(_column(key, row) for row in rows)]
    evidence = [Evidence(code="no-column", values={"key": repr(key)}) for key in lacking]
    return _found(clause, "no-point", "unknown", (), 0, evidence or [Evidence(code="no-point")])


def _found(
    clause: Clause,
    form: str,
    level: Level,
    points: Sequence[str],
    fulfilled: int,
    evidence: Sequence[Evidence],
    **covered: Coverage,
) -> Finding:
    return RULE.found(
        Subject(benchmark=clause.benchmark, setting=clause.name, points=tuple(points)),
        level,
        form=form,
        evidence=tuple(evidence),
        requires=clause.text,
        share=Value(value=clause.share, unit="%"),
        points=Count(len(points), "point"),
        fulfilled=Count(fulfilled, "point"),
        **covered,
    )


def _coverage(
    clause: Clause, rows: Sequence[Mapping[str, Any]], where: Mapping[str, coverage.Points]
) -> Coverage | None:
    """Return what was measured of the hosts or pairs that a clause demands; None if it demands none."""
    if not clause.pairs and clause.hosts is None:
        return None
    groups = [
        [launch for row in group for launch in where[str(row["benchmark"])].get(str(row["fingerprint"]), ())]
        for group in _settings(clause, rows)
    ]
    of = coverage.of_pairs if clause.pairs else coverage.of_hosts
    return of(groups, clause.demanded, clause.launches)


def _settings(clause: Clause, rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the rows of each benchmark at each size and each combination of levels that a clause lists."""
    levels = {key: _several(wanted) for key, wanted in clause.where.items() if key not in ("hosts", "size")}
    listed = [part for each in _several(clause.where.get("size", ":")) for part in str(each).split(",")]
    for name in sorted({str(row["benchmark"]) for row in rows}):
        mine = [row for row in rows if row["benchmark"] == name]
        sizes = {int(row[_SIZE]) for row in mine} | {parse_size(text) for text in listed if ":" not in text}
        for size, *combination in product(sorted(sizes), *levels.values()):
            wanted = {"size": size, **dict(zip(levels, combination, strict=True))}
            yield [row for row in mine if all(_matches(key, one, row) for key, one in wanted.items())]


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


def _judged(clause: Clause, rows: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Judge points by a clause; first those that do not fulfil it, the worst first."""
    parts = pd.DataFrame(rows).groupby("benchmark", sort=False) if rows else ()
    factors = {str(name): differing(part, skip=["fingerprint"]) for name, part in parts}
    found = []
    for row in rows:
        number, mark, enough = _number(clause, row), _bound(clause, row), bool(row["launches"] >= clause.launches)
        columns = [column for key in clause.where if (column := _column(key, row)) != _SIZE]
        found.append(
            Point(
                row=row,
                number=number,
                sign=mark,
                fulfilled=enough and _fulfils(clause, number, mark),
                enough=enough,
                margin=_margin(clause, number),
                factors=factors[str(row["benchmark"])],
                chosen=columns,
            )
        )
    return sorted(found, key=lambda one: (one.fulfilled, -math.inf if math.isnan(one.number) else _rank(clause, one)))


def _rank(clause: Clause, one: Point) -> float:
    """Return a number that is the smaller, the worse a point is."""
    return -one.number if (clause.relation or "<").startswith("<") else one.number


def _margin(clause: Clause, number: float) -> float:
    """Return the margin of a number to its bound, as a share of the bound; NaN if unknown."""
    if clause.relation is None or not clause.bound:
        return math.nan
    ratio = (number - clause.bound) / abs(clause.bound)
    return -ratio if clause.relation.startswith("<") else ratio


def _verdict(clause: Clause, rows: Sequence[Mapping[str, Any]], where: Mapping[str, coverage.Points]) -> Finding:
    """Judge the selected points by one clause."""
    judged = _judged(clause, rows)
    good = sum(one.fulfilled for one in judged)
    evidence = [_evidence(clause, one) for one in judged[:_SHOWN]]
    covered = _coverage(clause, rows, where)
    passed = good * 100 >= clause.share * len(judged) and (covered is None or covered.whole)
    form = "points" if covered is None else "both" if clause.bound is not None or good < len(judged) else "hosts"
    demanded = {} if covered is None else {"coverage": covered}
    prints = [str(row["fingerprint"]) for row in rows]
    return _found(clause, form, "good" if passed else "bad", prints, good, evidence, **demanded)


def _bound(clause: Clause, row: Mapping[str, Any]) -> str:
    """Return the sign of a statistic whose time spans fewer than ten steps of the clock; empty for any other."""
    metric, statistic = split(clause.statistic) or ("", "")
    return sign(METRICS[metric].unit) if metric and coarse(row, metric, statistic) else ""


def _fulfils(clause: Clause, number: float, bound: str) -> bool:
    """Return whether a number is within the bound of a clause, or the clause has none.

    Parameters
    ----------
    bound : sign of a number that is itself a bound; one on the other side shows nothing.
    """
    if bound and clause.relation and bound.startswith("≤") != clause.relation.startswith("<"):
        return False
    return clause.holds(number)


def _number(clause: Clause, row: Mapping[str, Any]) -> float:
    """Return what is compared with the bound; NaN if the point has none."""
    if clause.basis == "value":
        return float(row.get(clause.statistic, math.nan))
    metric, statistic = split(clause.statistic) or ("", "")
    end = "high" if (clause.relation or "<").startswith("<") else "low"
    return float(row.get(end_column(metric, statistic, end), math.nan))


def _evidence(clause: Clause, one: Point) -> Evidence:
    """Return a point and its number."""
    row, number = one.row, one.number
    code, value = "interval" if clause.basis == "interval" else "value", Value(value=number, unit=clause.unit)
    if clause.bound is None:
        code = "launches"
    elif one.sign:  # an interval of bounds encloses nothing
        code, value = "clock", Value(value=float(row[clause.statistic]), unit=clause.unit, sign=one.sign)
    elif math.isnan(number):
        code = "no-value"
    fewer = f" of {clause.launches}" if row["launches"] < clause.launches else ""
    launches = f"{row['launches']}{fewer}"
    values: Values = {
        "point": ", ".join(_place(row, one.factors)),
        "fingerprint": str(row["fingerprint"]),
        "value": value,
        "statistic": clause.statistic,
        "launches": launches,
    }
    return Evidence(code=code, values=values)


def _place(row: Mapping[str, Any], factors: Sequence[str]) -> Iterator[str]:
    """Yield what distinguishes a point from the others of its clause."""
    yield str(row["benchmark"])
    if words := setting(row, [name for name in factors if text(row, name) != UNSTATED]):
        yield words
    if row[_SIZE]:
        yield format_size(int(row[_SIZE]))
