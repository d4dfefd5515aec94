"""The value is a mean that a few slow iterations dominate."""

from __future__ import annotations

import math

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import of_tool, with_options
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value, Wanted
from labkit.point.columns import statistic_column
from labkit.read.records import statistic_of
from labkit.store.samples.facts import ITERATIONS

_MEANS = ("mean", "osu_mean")
_MUCH, _LITTLE = 0.2, 0.01  # parts of a mean


def test(case: Case) -> Finding | None:
    """The slowest iteration makes up much of the mean, or hardly any of it."""
    if not case.metric or case.rate or statistic_of(case.row, case.metric) not in _MEANS:
        return None
    longest, count = float(case.row.get(statistic_column(case.metric, "max"), math.nan)), case.measured.n
    count = count // max(1, case.measured.launches) or ITERATIONS.of(case.samples.meta)  # in a launch
    if (median := _median_beside(case)) is not None:
        return CAUSE.found(case, [Evidence(code="median", values={"median": median})], without=median)
    if math.isnan(longest) or count < 2:
        return None
    share = longest / (count * case.measured.value)
    values: dict[str, Value | Count | str] = {
        "share": Value(value=share, unit=SHARE),
        "count": Count(count, "iteration"),
    }
    if share < _LITTLE:
        return CAUSE.found(case, against=[Evidence(code="little", values=values)])
    if share < _MUCH or share > 1:
        return None
    rest = (count * case.measured.value - longest) / (count - 1)
    without = Value(value=rest, unit=case.measured.unit, origin="computed", of="mean of the other iterations")
    clues = [Evidence(code="much", values={**values, "rest": without})]
    below, near = _each(case)
    return CAUSE.found(case, [*clues, *below], near, without=without)


def _median_beside(case: Case) -> Value | None:
    """Return the least median that another tool found of the same point, if it is far below this mean."""
    medians = [
        case.view.value(row, case.metric, "p50")
        for row, _ in case.table.beside(case.place, lambda column: of_tool(case, column))
        if statistic_of(row, case.metric) == "p50"
    ]
    least = min(medians, key=lambda one: one.value, default=None)
    return least if least and least.value < (1 - _MUCH) * case.measured.value else None


def points(case: Case) -> list[Wanted]:
    """Return the point with a tool that keeps the percentiles of all iterations, where the benchmark can have it."""
    tools = getattr(benchmarks.get(case.spec.benchmark).options, "__annotations__", {}).get("tool", "")
    return [Wanted(with_options(case.spec, tool=_EACH))] if _EACH in str(tools) else []


def _each(case: Case) -> tuple[list[Evidence], list[Evidence]]:
    """Return the clue that the median of all iterations is far below their mean, or that it is not."""
    for row in [row for one in points(case) if (row := case.view.measured(one)) is not None]:
        ends = [row.get(statistic_column(case.metric, name), math.nan) for name in ("p50", "mean")]
        median, mean = (Value(value=float(end), unit=case.measured.unit) for end in ends)
        if median.value > 0 and mean.value > 0:
            below = median.value < (1 - _MUCH) * mean.value
            clue = [Evidence(code="below" if below else "near", values={"median": median, "mean": mean})]
            return (clue, []) if below else ([], clue)
    return [], []


_EACH = "sockperf"
CAUSE = Cause(
    code="mean-of-outliers",
    name="a mean with outliers",
    seen="the value is a mean, and its slowest iteration dominates it, or another tool's median is far lower",
    excluded="the slowest iteration hardly affects the mean",
    decides="a tool that keeps each iteration, and its median",
    clues={
        "much": "the slowest of {count} makes up {share} of the mean; the others take {rest} on average",
        "little": "the slowest of {count} makes up {share} of the mean",
        "median": "another tool found a median of {median}",
        "below": "where each iteration is kept, the median is {median}, the mean {mean}",
        "near": "where each iteration is kept, the median is {median}, the mean {mean}: near one another",
    },
    remedy="Compare medians: measure with timing=each, or with a tool that reports percentiles.",
    test=test,
    points=points,
)
