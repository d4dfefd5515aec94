"""labkit's own rules: what must hold for a number before anybody interprets it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.judge.lint.evidence import Breach, Evidence, Rule
from labkit.judge.plausibility.view import holding
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import Note
from labkit.point.units import format_share
from labkit.store.samples.facts import WARMUP

TIMER_SHARE = 0.05  # of an iteration that two clock reads may take (Hoefler and Belli, section 4.2.1)
STEP_SHARE = 0.1  # of an iteration that the step of the clock may be
_CLOCK = "micro.clock"  # measures the cost of clock reads itself
_MORE = 3  # times the interval inside a launch: then launches differ by more than iterations explain
# badges and warnings of a machine or a path that was not as it must be; others only name what was measured
_DISTURBED = ("busy-machine", "oversubscription", "path-mismatch", "frequency-drift", "stolen-time", "side-by-side")
_DOUBTED = ("contradiction", "other-library", "wrong-bytes", "lost-messages", "below-resolution", "few-iterations")


def iteration_s(evidence: Evidence) -> NDArray[np.float64]:
    """Return the median time of an iteration of each point, (points,), s; NaN if no single iterations were timed."""
    time = np.full(len(evidence.summary), math.nan)
    if not evidence.launches:
        return time
    timed = (evidence.column("n") > 0) & (evidence.column("timing") == "each")
    for name, of_benchmark in _benchmarks(evidence):
        for metric, work in benchmarks.get(name).metrics.items() if name != _CLOCK else ():
            values = evidence.column(statistic_column(metric, "p50"))
            places = np.flatnonzero(of_benchmark & timed & np.isnan(time) & (values > 0))
            specs = map(evidence.launches.spec, evidence.last[places].tolist())
            units = np.array([work(benchmarks.typed(spec)) for spec in specs], np.float64)
            places, units = places[units != 0], units[units != 0]
            value, definition = values[places], METRICS[metric]
            cost = definition.kind == "cost"
            time[places] = value / definition.factor * units if cost else units * definition.factor / value
    return time


def _benchmarks(evidence: Evidence) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the name of each benchmark and which points are of it."""
    names = evidence.column("benchmark")
    for name in dict.fromkeys(names.tolist()):
        yield name, names == name


def unverified(evidence: Evidence) -> Iterator[Breach]:
    """Yield points of labkit's kernels that moved bytes which nobody verified."""
    column = evidence.column
    doubtful = (column("engine") == "c") & (column("origin") == "measured") & (column("message_size_B") != 0)
    for row in evidence.rows(doubtful & ~column("verified").astype(bool)):
        if benchmarks.get(row["benchmark"]).mpi:
            yield evidence.breach(row, "the bytes were not verified")


def timer_cost(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose iterations are short beside the cost of timing them."""
    shares = evidence.column("timer_overhead_ns") * 1e-9 / iteration_s(evidence)
    for row in evidence.rows(shares > TIMER_SHARE):
        yield evidence.breach(row, f"two clock reads take {format_share(shares[row.place])} of an iteration")


def clock_step(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose iterations are short beside the resolution of the clock."""
    share = np.full(len(evidence.summary), math.nan)
    for name, of_benchmark in _benchmarks(evidence):
        for metric in benchmarks.get(name).metrics:
            step, value = (evidence.column(statistic_column(metric, s)) for s in ("step", "p50"))
            places = np.flatnonzero(of_benchmark & np.isnan(share) & (value > 0))
            shares = step[places] / value[places]
            share[places[shares > STEP_SHARE]] = shares[shares > STEP_SHARE]
    for row in evidence.rows(~np.isnan(share)):
        yield evidence.breach(row, f"the clock's step is {format_share(share[row.place])} of the median")


def interval_not_reached(evidence: Evidence) -> Iterator[Breach]:
    """Yield points that hit their time cap before the interval of the median was narrow enough."""
    wanted = evidence.of_kinds(lambda one: one.effort.ci, math.nan)
    capped = holding(evidence.column("stopped_by"), lambda reasons: "cap" in reasons)
    for row in evidence.rows(capped & (evidence.column("ci_width") > wanted)):
        width, asked = format_share(row["ci_width"]), format_share(float(wanted[row.place]))
        yield evidence.breach(row, f"the time cap ended it with an interval of {width} instead of {asked}")


def spread_of_launches(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose launches differ by far more than their iterations explain."""
    most = np.maximum(_MORE * evidence.column("ci_width"), 0.05)  # NaN where there is no interval
    for row in evidence.rows((evidence.column("launches") > 2) & (evidence.column("spread_between") > most)):
        between, inside = format_share(row["spread_between"]), format_share(row["ci_width"])
        yield evidence.breach(row, f"launches spread by {between}, the interval inside a launch is {inside} wide")


def _noted(evidence: Evidence, column: str, codes: tuple[str, ...]) -> Iterator[Breach]:
    """Yield points with notes of some kinds."""
    noted = holding(evidence.column(column), lambda cell: any(one.code in codes for one in cell))
    for row in evidence.rows(noted):
        notes: dict[str, Note] = {one.code: one for one in row[column] if one.code in codes}
        for one in notes.values():
            yield evidence.breach(row, one.text)


def disturbed(evidence: Evidence) -> Iterator[Breach]:
    """Yield points of a machine or a path that was not as it must be."""
    return _noted(evidence, "badges", _DISTURBED)


def doubted(evidence: Evidence) -> Iterator[Breach]:
    """Yield points with a warning about their numbers."""
    return _noted(evidence, "warnings", (*_DOUBTED, "stolen-time", "frequency-drift"))


def no_warmup(evidence: Evidence) -> Iterator[Breach]:
    """Yield points that were timed without a warm-up."""
    none = evidence.of_kinds(lambda one: WARMUP.given(one.meta) and WARMUP.of(one.meta) == 0)
    for row in evidence.rows((evidence.column("n") > 0) & none):
        yield evidence.breach(row, "no warm-up iterations")


def made_up(evidence: Evidence) -> Iterator[Breach]:
    """Yield points that were simulated or modelled."""
    for row in evidence.rows(~evidence.random):
        yield evidence.breach(row, f"{row['origin']}, not measured")


NUMBERS = (
    Rule("unverified", "error", 0, "an untimed pass verifies every byte", "Measure again; see the log.", unverified),
    Rule(
        "timer-cost",
        "warning",
        0,
        f"clock reads take at most {format_share(TIMER_SHARE)} of an iteration",
        "Time more work at once: a larger window, or timing=total.",
        timer_cost,
    ),
    Rule(
        "clock-step",
        "warning",
        0,
        "the clock resolves a tenth of the median",
        "Time more work at once, or use another clock source.",
        clock_step,
        "Treat such values as bounds: neither the tool's clock nor its printed digits resolve them.",
    ),
    Rule(
        "interval-not-reached",
        "warning",
        0,
        "a launch ends when its interval is narrow enough",
        "Raise --time-cap, or accept a wider interval with --ci.",
        interval_not_reached,
    ),
    Rule(
        "spread-of-launches",
        "note",
        0,
        "launches differ little more than iterations explain",
        "Run more launches, not more iterations; look for what differs between them.",
        spread_of_launches,
        "Look for what differs between the outputs.",
    ),
    Rule(
        "disturbed",
        "warning",
        0,
        "machine and path are as required",
        "Run labkit doctor, end other load, and measure again.",
        disturbed,
        "State with the number how the machine or the path differed.",
    ),
    Rule(
        "doubted",
        "warning",
        0,
        "no warning about the numbers themselves",
        "Read the warning; measure again.",
        doubted,
        "Import another run of the tool.",
    ),
    Rule("no-warmup", "warning", 0, "a warm-up precedes timing", "Measure again without -x 0.", no_warmup),
    Rule("made-up", "note", 0, "readers see what was not measured", "Name the origin beside the number.", made_up),
)
