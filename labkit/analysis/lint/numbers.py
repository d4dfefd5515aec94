"""labkit's own rules: what must hold for a number before anybody interprets it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from labkit import benchmarks
from labkit.analysis.lint.evidence import Breach, Evidence, Rule
from labkit.columns import METRICS, statistic_column
from labkit.notes import Note
from labkit.samples.facts import WARMUP
from labkit.units import format_share

TIMER_SHARE = 0.05  # of an iteration that two clock reads may take (Hoefler and Belli, section 4.2.1)
STEP_SHARE = 0.1  # of an iteration that the step of the clock may be
_CLOCK = "micro.clock"  # measures the cost of clock reads itself
_MORE = 3  # times the interval inside a launch: then launches differ by more than iterations explain
# badges and warnings of a machine or a path that was not as it must be; others only name what was measured
_DISTURBED = ("busy-machine", "oversubscription", "path-mismatch", "frequency-drift", "stolen-time", "side-by-side")
_DOUBTED = ("contradiction", "other-library", "wrong-bytes", "lost-messages", "below-resolution", "few-iterations")


def iteration_s(evidence: Evidence, row: Mapping[str, Any]) -> float:
    """Return the median time of an iteration of a point, s; NaN if no single iterations were timed."""
    point = evidence.specs.get(str(row["fingerprint"]))
    if point is None or not row["n"] > 0 or row["timing"] != "each" or row["benchmark"] == _CLOCK:
        return math.nan
    for name, work in benchmarks.get(point.spec.benchmark).metrics.items():
        metric, value = METRICS[name], float(row.get(statistic_column(name, "p50"), math.nan))
        units = work(point.spec)
        if value > 0 and units:
            return value / metric.factor * units if metric.kind == "cost" else units * metric.factor / value
    return math.nan


def unverified(evidence: Evidence) -> Iterator[Breach]:
    """Yield points of labkit's kernels that moved bytes which nobody verified."""
    for row in evidence.each():
        moves = row["engine"] == "c" and row["message_size_B"] and benchmarks.get(row["benchmark"]).mpi
        if moves and row["origin"] == "measured" and not row["verified"]:
            yield evidence.breach(row, "the bytes were not verified")


def timer_cost(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose iterations are short beside the cost of timing them."""
    for row in evidence.each():
        share = float(row["timer_overhead_ns"]) * 1e-9 / iteration_s(evidence, row)
        if share > TIMER_SHARE:
            yield evidence.breach(row, f"two clock reads take {format_share(share)} of an iteration")


def clock_step(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose iterations are short beside the resolution of the clock."""
    for row in evidence.each():
        for name in benchmarks.get(row["benchmark"]).metrics:
            step, value = (float(row.get(statistic_column(name, s), math.nan)) for s in ("step", "p50"))
            if value > 0 and step / value > STEP_SHARE:
                yield evidence.breach(row, f"the clock's step is {format_share(step / value)} of the median")
                break


def interval_not_reached(evidence: Evidence) -> Iterator[Breach]:
    """Yield points that hit their time cap before the interval of the median was narrow enough."""
    for row in evidence.each():
        point = evidence.specs.get(str(row["fingerprint"]))
        if point and "cap" in row["stopped_by"] and row["ci_width"] > point.effort.ci:
            width, wanted = format_share(row["ci_width"]), format_share(point.effort.ci)
            yield evidence.breach(row, f"the time cap ended it with an interval of {width} instead of {wanted}")


def spread_of_launches(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose launches differ by far more than their iterations explain."""
    for row in evidence.each():
        if row["launches"] > 2 and row["spread_between"] > max(_MORE * row["ci_width"], 0.05):
            between, inside = format_share(row["spread_between"]), format_share(row["ci_width"])
            yield evidence.breach(row, f"launches spread by {between}, the interval inside a launch is {inside} wide")


def _noted(evidence: Evidence, column: str, codes: tuple[str, ...]) -> Iterator[Breach]:
    """Yield points with notes of some kinds."""
    for row in evidence.each():
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
    for row in evidence.each():
        point = evidence.specs.get(str(row["fingerprint"]))
        if point and row["n"] and WARMUP.given(point.meta) and WARMUP.of(point.meta) == 0:
            yield evidence.breach(row, "no warm-up iterations")


def made_up(evidence: Evidence) -> Iterator[Breach]:
    """Yield points that were simulated or modelled."""
    for row in evidence.each():
        if row["origin"] in ("simulated", "modelled"):
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
