"""Evidence from the launches of a point: badges of some launches, and their scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from labkit.judge.cause import Case
from labkit.judge.finding import SHARE, TIMES, Count, Evidence, Value
from labkit.models.inside import MACHINE
from labkit.point.columns import METRICS, split
from labkit.store.samples import Samples
from labkit.store.samples.facts import LOAD_END, LOAD_START, THROTTLED_SHARE

WIDE = 0.1  # part by which launches differ that scatter
SELDOM = 0.01  # part of the periods of a quota up to which it says nothing that it was used up
TAIL = 3.0  # times the median from which the slowest hundredth of the iterations is a tail
ONE_SIDED = {"one side": "only one of the two has the badge {badge}"}
SCATTER = {
    "apart": "its launches differ by {spread}",
    "tail": "its slowest hundredth takes {times} its median",
}


def marked(case: Case, *codes: str) -> list[Evidence]:
    """Return the number of launches of the points with a badge or warning of some codes.

    For a verdict, more than half of the launches must have one, because its value is their median. A slow launch must
    have one that most of the others do not have.
    """
    records = case.view.records
    rows = np.concatenate([case.view.rows_of(name) for name in case.about.subject.points])
    cells = [[*badges, *warnings] for badges, warnings in zip(
        records["badges"].to_numpy()[rows], records["warnings"].to_numpy()[rows], strict=True
    )]  # fmt: skip
    has = [any(note.code in codes for note in cell) for cell in cells]
    count, slow = sum(has), slow_launch(case)
    if not count or (case.about.kind == "verdict" and 2 * count <= len(rows)):
        return []
    if slow is not None and (not has[rows.tolist().index(slow)] or 2 * (count - 1) >= len(rows) - 1):
        return []
    return [Evidence(code="marked", values={"marked": str(count), "launches": Count(len(rows), "launch")})]


def slow_launch(case: Case) -> int | None:
    """Return the row, among the records, of the launch that a finding of a slow launch is about; None for others."""
    if case.about.code != "slow-launch":
        return None
    numbers = case.view.record_columns["launch"]
    rows = case.view.rows_of(case.fingerprint).tolist()
    return next((row for row in rows if f"launch {numbers[row]}" == case.measured.of), None)


def one_sided(case: Case, code: str, *, worse: bool) -> list[Evidence]:
    """Return the clue that only one of two levels of a setting has a badge: the worse or the better one.

    A clue has a key of `ONE_SIDED`.
    """
    rows = (case.table.row(case.table.places[name]) for name in case.about.subject.points)
    bad, good = ([note for note in row["badges"] if note.code == code] for row in rows)
    here, there = (bad, good) if worse else (good, bad)
    return [Evidence(code="one side", values={"badge": here[0].text})] if here and not there else []


def waited(samples: Samples) -> tuple[float, float] | None:
    """Return the time in a launch while some process waited for a processor, and the whole time of the launch, s."""
    start, end = LOAD_START.of(samples.meta), LOAD_END.of(samples.meta)
    ends = [_within(load, *name) for name in _PRESSURE for load in (start, end)]
    if any(one is None for one in ends):
        return None
    began, ended, before, after = (float(one or 0.0) for one in ends)
    return ((after - before) / 1e6, ended - began) if ended > began else None


def pressure(samples: Samples) -> float | None:
    """Return the share of a launch while some process waited for a processor; None if unknown."""
    known = waited(samples)
    return known[0] / known[1] if known else None


def throttled(case: Case) -> float:
    """Return the median share of periods in which a quota of processor time was used up; NaN without a quota."""
    shares = [THROTTLED_SHARE.of(one.meta) for one in case.launches if THROTTLED_SHARE.given(one.meta)]
    return float(np.median(shares)) if shares else math.nan


_PRESSURE = (("monotonic_s",), ("pressure", "cpu", "some_total_us"))


def _within(facts: object, *names: str) -> float | None:
    """Return a number inside facts, which may come from anyone; None if it is not there."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return float(facts) if isinstance(facts, int | float) and not isinstance(facts, bool) else None


def scattered(case: Case) -> list[Evidence]:
    """Return the clue that launches differ widely, or that iterations have a tail; a clue has a key of `SCATTER`.

    A violation has no such clue, because scatter itself needs a cause. A verdict that even the best launch does not
    change has none either.
    """
    if case.about.kind != "verdict" or _lasting(case):
        return []
    value = case.measured
    if value.bounded and value.launches > 1 and value.low > 0 and value.high / value.low - 1 > WIDE:
        spread = Value(value=value.high / value.low - 1, unit=SHARE)
        return [Evidence(code="apart", values={"spread": spread})]
    ratio = tail(case)
    return [Evidence(code="tail", values={"times": Value(value=ratio, unit=TIMES)})] if ratio >= TAIL else []


def _lasting(case: Case) -> bool:
    """Return whether the value is far from what it is compared with even in the best launch."""
    value = case.measured
    best = (value.high if case.rate else value.low) if value.bounded else value.value
    gain = best / value.value if case.rate else value.value / best if best > 0 else math.inf
    return case.about.cost / gain > MACHINE[0]


def tail(case: Case, statistic: str = "p99") -> float:
    """Return a statistic of the iterations of a point divided by their median; NaN without it."""
    ends = ends_s(case, statistic)
    return ends[1] / ends[0] if ends else math.nan


def ends_s(case: Case, statistic: str) -> tuple[float, float] | None:
    """Return the median of the iterations of a point, s, and another statistic of them; None without one."""
    row = case.row
    for column in row:
        known = split(column)
        if known and known[1] == "p50" and METRICS[known[0]].kind == "cost" and METRICS[known[0]].unit in _SECONDS:
            median, other = (float(row.get(f"{known[0]}_{one}", np.nan)) for one in ("p50", statistic))
            if median > 0 and math.isfinite(other):
                return median / METRICS[known[0]].factor, other / METRICS[known[0]].factor
    return None


_SECONDS = ("ns", "µs", "ms", "s")
