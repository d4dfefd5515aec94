"""The points were not measured in turn."""

from __future__ import annotations

from datetime import datetime

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding

_PAUSE = 60.0  # s


def test(case: Case) -> Finding | None:
    """One point ended long before the other began, so the machine may have changed in between."""
    spans, column = [], case.view.record_columns["start"]
    for row in case.rows[:2]:
        starts = [start for one in case.view.rows_of(str(row["fingerprint"])) if (start := str(column[one]))]
        spans.append((min(starts, default=""), max(starts, default="")))
    if len(spans) < 2 or not all(first for first, _ in spans):
        return None
    (_, end), (start, _) = sorted(spans)
    if end >= start or (_moment(start) - _moment(end)).total_seconds() < _PAUSE:
        return None
    return CAUSE.found(case, [Evidence(code="apart", values={"end": end[11:19], "start": start[11:19]})])


def _moment(start: str) -> datetime:
    return datetime.fromisoformat(start)


CAUSE = Cause(
    code="measured-apart",
    name="the points were not measured in turn",
    seen="one point ended more than a minute before the other began",
    excluded="their launches alternate",
    decides="both points in one run",
    clues={"apart": "one ended at {end}, the other began at {start}"},
    remedy="Measure both points in one run: their launches then alternate.",
    test=test,
    explains=("size-order", "size-jump", "rank-order", "loss-order", "delay-order", "rate-order"),
)
