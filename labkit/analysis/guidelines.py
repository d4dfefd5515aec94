"""Self-consistent performance guidelines: no collective should be slower than other collectives that do its work.

A program could always replace the left side by the right. If the left side is slower, the library has a better
algorithm than the one it chose. A guideline is a line of `GUIDELINES`.

References
----------
.. [1] J. L. Träff, W. D. Gropp, R. Thakur, Self-consistent MPI performance guidelines, IEEE TPDS 21 (5), 2010,
   doi 10.1109/TPDS.2009.120.
.. [2] S. Hunold, A. Carpen-Amarie, F. D. Lübbe, J. L. Träff, PGMPI: Verifying self-consistent MPI performance
   guidelines, arXiv 1606.00215.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pandas as pd

from labkit import stats
from labkit.errors import DataError
from labkit.notes import joined
from labkit.records import GIVEN, by_benchmark, headline_statistic, summary
from labkit.records.factors import differing, setting
from labkit.units import format_number, format_size, plural

Factor = Callable[[int], Fraction]


def _same(ranks: int) -> Fraction:
    return Fraction(1)


def _all(ranks: int) -> Fraction:
    return Fraction(ranks)


def _part(ranks: int) -> Fraction:
    return Fraction(1, ranks)


_FACTORS = {"": _same, "p": _all, "1/p": _part}


@dataclass(frozen=True)
class Guideline:
    """A collective and what could stand for it.

    Parameters
    ----------
    left : name of the collective without its family; its size is m.
    right : names with the sizes they need for the same work: ``bcast`` at m, ``bcast p`` at m times the ranks,
        ``allgather 1/p`` at m over the ranks.
    """

    left: str
    right: tuple[str, ...]

    @property
    def parts(self) -> list[tuple[str, Factor]]:
        """Benchmarks of the right side and the factors of their sizes."""
        split = [part.partition(" ") for part in self.right]
        return [(f"mpi.{name}", _FACTORS[factor]) for name, _, factor in split]

    def __str__(self) -> str:
        sizes = {"": "m", "p": "p·m", "1/p": "m/p"}
        sides = [f"{name}({sizes[factor]})" for name, _, factor in (part.partition(" ") for part in self.right)]
        return f"{self.left}(m) ≤ {' + '.join(sides)}"


# the size is one rank's message in allgather, alltoall, gather, scatter and reduce_scatter_block, else the whole vector
GUIDELINES = (
    Guideline("allreduce", ("reduce", "bcast")),
    Guideline("allreduce", ("reduce_scatter_block 1/p", "allgather 1/p")),
    Guideline("allreduce", ("reduce_scatter", "allgather 1/p")),
    Guideline("reduce", ("allreduce",)),
    Guideline("reduce", ("reduce_scatter_block 1/p", "gather 1/p")),
    Guideline("reduce", ("reduce_scatter", "gather 1/p")),
    Guideline("bcast", ("scatter 1/p", "allgather 1/p")),
    Guideline("gather", ("allgather",)),
    Guideline("gather", ("gatherv",)),
    Guideline("gather", ("reduce p",)),
    Guideline("scatter", ("bcast p",)),
    Guideline("scatter", ("scatterv",)),
    Guideline("allgather", ("alltoall",)),
    Guideline("allgather", ("gather", "bcast p")),
    Guideline("allgather", ("allgatherv",)),
    Guideline("allgather", ("allreduce p",)),
    Guideline("alltoall", ("alltoallv",)),
    Guideline("reduce_scatter", ("allreduce",)),
    Guideline("reduce_scatter", ("reduce", "scatterv 1/p")),
    Guideline("reduce_scatter_block", ("allreduce p",)),
    Guideline("reduce_scatter_block", ("reduce p", "scatter")),
    Guideline("reduce_scatter_block", ("reduce_scatter p",)),
    Guideline("scan", ("exscan", "reduce_local")),
)
MONOTONE = tuple(
    dict.fromkeys([g.left for g in GUIDELINES] + ["exscan", "allgatherv", "alltoallv", "gatherv", "scatterv"])
)
_LARGER = " for m < m'"  # end of a guideline that compares sizes
# what must be the same on both sides
_CONTEXT = [
    "ranks",
    "ppn",
    "transport",
    "launcher",
    "testbed",
    "library",
    "engine",
    "origin",
    "timing",
    "cadence",
    "host",
    "cpu_model",
    "campaign",
]
_COLUMNS = [
    "guideline",
    "message_size_B",
    "ranks",
    "setting",
    "left_us",
    "right_us",
    "ratio",
    "certain",
    "basis",
    "right",
]


@dataclass(frozen=True)
class Verdict:
    """What a table says about the guidelines.

    Parameters
    ----------
    table : a row per violation, the worst first: guideline, message_size_B, ranks, setting (path, library, and in what
        else the points differ), left_us, right_us, ratio (left over right), certain (the intervals do not overlap),
        basis (what the intervals are), right (what was compared, with sizes).
    checked : comparisons that were made.
    unchecked : guideline and reason, for those that could not be compared at any size.
    sentence : what this says.
    """

    table: pd.DataFrame
    checked: int
    unchecked: pd.DataFrame
    sentence: str


@dataclass(frozen=True)
class _Value:
    """Latency of a point with its interval, µs; NaN ends where there is none."""

    centre: float
    low: float
    high: float
    basis: tuple[str, ...]

    def __add__(self, other: _Value) -> _Value:
        basis = tuple(dict.fromkeys([*self.basis, *other.basis]))
        return _Value(self.centre + other.centre, self.low + other.low, self.high + other.high, basis)


def check(frame: pd.DataFrame) -> Verdict:
    """Compare collectives with what could stand for them, and every size with larger ones.

    Parameters
    ----------
    frame : records, or their summary. Points are compared that share ranks, path, library, cadence, host and those
        options that both have. Where several points of a benchmark fit the right side, the slowest counts.

    Raises
    ------
    DataError
        If the table has no latency of a collective.
    """
    latencies = frame if "headline" in frame else summary(frame)
    names = {f"mpi.{name}" for g in GUIDELINES for name in (g.left, *(part.split()[0] for part in g.right))}
    latencies = latencies[latencies["benchmark"].isin(names)]
    if latencies.empty or not {"latency_us_p50", "latency_us_mean"} & set(latencies):
        raise DataError("The table has no latency of a collective. Measure mpi.allreduce, mpi.bcast and others first.")
    rows: list[dict[str, Any]] = []
    checked, missing = 0, []
    varied = [name for name in differing(latencies) if name in _CONTEXT and name not in ("ranks", "cadence", "timing")]
    named = [*dict.fromkeys(["transport", "library", *varied])]
    options = {
        name: [c for c in differing(rows) if c.startswith(GIVEN)] for name, rows in by_benchmark(latencies).items()
    }
    groups = [_points(group, named, options) for _, group in latencies.groupby(_CONTEXT, dropna=False, sort=False)]
    for guideline in GUIDELINES:
        comparisons = [row for points in groups for row in _compared(guideline, points)]
        checked += len(comparisons)
        rows += comparisons
        if not comparisons:
            missing.append((str(guideline), _why_not(guideline, groups)))
    for name in MONOTONE:
        comparisons = [row for points in groups for row in _monotone(f"mpi.{name}", points)]
        checked += len(comparisons)
        rows += comparisons
    table = pd.DataFrame(rows, columns=_COLUMNS)
    table = table[table["ratio"] > 1].sort_values(["certain", "ratio"], ascending=False, ignore_index=True)
    return Verdict(table, checked, pd.DataFrame(missing, columns=["guideline", "reason"]), _sentence(table, checked))


@dataclass(frozen=True)
class _Point:
    """A row of the summary, as far as it is needed."""

    benchmark: str
    size: int
    ranks: int
    setting: str
    options: dict[str, Any]
    value: _Value

    def fits(self, other: _Point) -> bool:
        """Whether the options that both have are the same."""
        return all(other.options.get(name, value) == value for name, value in self.options.items())


def _points(group: pd.DataFrame, named: Sequence[str], options: Mapping[str, Sequence[str]]) -> list[_Point]:
    """Points of one context; columns name their setting, of each benchmark also those of its options that vary."""
    centre = headline_statistic(group, "latency_us")
    rows = group.to_dict("records")
    return [
        _Point(
            row["benchmark"],
            int(row["message_size_B"]),
            int(row["ranks"]),
            setting(row, [*named, *options[row["benchmark"]]]),
            json.loads(row["options"] or "{}"),
            _value(row, f"latency_us_{centre}"),
        )
        for row in rows
        if not math.isnan(row[f"latency_us_{centre}"])
    ]


def _value(row: dict[str, Any], centre: str) -> _Value:
    """Latency and its best interval: over 6 launches or more, the range of fewer, or that inside the only launch."""
    ends = [row.get(f"{centre}_{end}", math.nan) for end in ("low", "high")]
    basis = row["headline"]
    if math.isnan(ends[0]) and not centre.endswith("_p50"):
        basis = "no interval"
    elif math.isnan(ends[0]):
        ends = [row.get(f"latency_us_{end}", math.nan) for end in ("ci_low", "ci_high")]
        basis = "no interval" if math.isnan(ends[0]) else f"{stats.LEVEL * 100:.0f} % interval inside 1 launch"
    return _Value(row[centre], ends[0], ends[1], (basis,))


def _compared(guideline: Guideline, points: list[_Point]) -> Iterator[dict[str, Any]]:
    """Rows of one guideline in one context: one for each point of the left side whose right side was measured."""
    for left in (point for point in points if point.benchmark == f"mpi.{guideline.left}"):
        chosen = []
        for name, factor in guideline.parts:
            size = factor(left.ranks) * left.size
            fit = [p for p in points if p.benchmark == name and p.size == size and left.fits(p)]
            if fit:
                chosen.append(max(fit, key=lambda p: p.value.centre))
        if len(chosen) == len(guideline.parts):
            yield _row(str(guideline), left, chosen)


def _monotone(benchmark: str, points: list[_Point]) -> Iterator[dict[str, Any]]:
    """Rows that compare each size with the fastest of the larger ones."""
    series = [point for point in points if point.benchmark == benchmark]
    for left in series:
        larger = [p for p in series if p.size > left.size and p.options == left.options]
        if larger:
            name = benchmark.removeprefix("mpi.")
            yield _row(f"{name}(m) ≤ {name}(m'){_LARGER}", left, [min(larger, key=lambda p: p.value.centre)])


def _row(guideline: str, left: _Point, right: list[_Point]) -> dict[str, Any]:
    """One comparison."""
    total = right[0].value
    for part in right[1:]:
        total = total + part.value
    both = left.value + total
    certain = left.value.low > total.high  # false where an end is NaN
    description = " + ".join(f"{p.benchmark.removeprefix('mpi.')} at {format_size(p.size)}" for p in right)
    values = (
        guideline,
        left.size,
        left.ranks,
        left.setting,
        left.value.centre,
        total.centre,
        left.value.centre / total.centre if total.centre else math.nan,
        bool(certain),
        joined(both.basis),
        description,
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _why_not(guideline: Guideline, groups: list[list[_Point]]) -> str:
    """Why a guideline could not be checked at any size."""
    measured = {point.benchmark for points in groups for point in points}
    wanted = [f"mpi.{guideline.left}", *(name for name, _ in guideline.parts)]
    if absent := [name for name in dict.fromkeys(wanted) if name not in measured]:
        return f"not measured: {', '.join(absent)}"
    for points in groups:
        for left in (p for p in points if p.benchmark == wanted[0]):
            for name, factor in guideline.parts:
                size = factor(left.ranks) * left.size
                if size.denominator > 1:
                    return f"{left.size} B do not divide among {left.ranks} ranks, nor do other sizes fit"
                if not any(p.benchmark == name and p.size == size for p in points):
                    return f"{name} was not measured at {size} B, nor at what other sizes need"
    return "measured with different options, or on different systems"


def _sentence(table: pd.DataFrame, checked: int) -> str:
    """What a reader needs to know."""
    certain = table[table["certain"]]
    if table.empty:
        return f"None of {plural(checked, 'comparison')} violates a guideline."
    shown = table if certain.empty else certain
    worst, count = shown.iloc[0], len(shown)
    faster = int(shown["guideline"].str.endswith(_LARGER).sum())
    most = (
        f"most of all {worst['guideline']} at {format_size(int(worst['message_size_B']))} on {worst['ranks']} ranks"
        f"{f' ({where})' if (where := worst['setting']) else ''}: {format_number(worst['left_us'], 'µs')} against "
        f"{format_number(worst['right_us'], 'µs')}, {format_number(worst['ratio'], digits=3)} times."
    )
    what = f"{count} of {plural(checked, 'comparison')} {'violates' if count == 1 else 'violate'} a guideline"
    why = f"; {faster} of them because a larger size takes less time" if faster else ""
    if certain.empty:
        return f"{what}, but not beyond {'its' if count == 1 else 'their'} intervals ({worst['basis']}){why}; {most}"
    rest = len(table) - count
    open_ = f" {rest} more {'does' if rest == 1 else 'do'} so, but not beyond the intervals." if rest else ""
    return f"{what} beyond {'its' if count == 1 else 'their'} intervals ({worst['basis']}){why}; {most}{open_}"
