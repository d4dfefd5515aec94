"""The points were not measured in turn."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from labkit import stats
from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Count, Evidence, Finding, Wanted

_PAUSE = 60.0  # s


def test(case: Case) -> Finding | None:
    """One point ended long before the other began, so the machine may have changed in between."""
    starts = _starts(case)
    if len(starts) < 2 or not all(starts):
        return None
    together = _together(*starts)
    before = [[start for start in some if start not in together] for some in starts]
    if not all(before):
        return None
    (_, end), (start, _) = sorted((min(some), max(some)) for some in before)
    if end >= start or (_moment(start) - _moment(end)).total_seconds() < _PAUSE:
        return None
    clues = [Evidence(code="apart", values={"end": end[11:19], "start": start[11:19]})]
    same = [Evidence(code="in turn", values={"launches": Count(len(together), "launch")})] if together else []
    return CAUSE.found(case, clues, same)


def points(case: Case) -> list[Wanted]:
    """Return both points with more launches, so that one run alternates them; none if it has done so."""
    if _together(*_starts(case)):
        return []
    more = [one for name in case.about.subject.points[:2] if (one := case.view.more(name))]
    most = max((one.launches for one in more), default=0)
    return [replace(one, launches=most) for one in more]


def _starts(case: Case) -> list[list[str]]:
    """Return the known start times of the launches of both points."""
    column = case.view.record_columns["start"]
    places = [case.view.rows_of(name).tolist() for name in case.about.subject.points[:2]]
    return [[start for one in some if (start := str(column[one]))] for some in places]


def _together(*starts: list[str]) -> list[str]:
    """Return the launches of both points that followed one another without a pause, if they are enough of each."""
    runs: list[list[tuple[str, int]]] = []
    for start, point in sorted((start, point) for point, some in enumerate(starts) for start in some):
        if not runs or (_moment(start) - _moment(runs[-1][-1][0])).total_seconds() >= _PAUSE:
            runs.append([])
        runs[-1].append((start, point))
    both = [run for run in runs if min(sum(point == one for _, one in run) for point in (0, 1)) >= stats.LAUNCHES]
    return [start for run in both for start, _ in run]


def _moment(start: str) -> datetime:
    return datetime.fromisoformat(start)


CAUSE = Cause(
    code="measured-apart",
    name="the points were not measured in turn",
    seen="one point ended more than a minute before the other began",
    excluded="their launches alternate",
    decides="both points in one run",
    clues={
        "apart": "one ended at {end}, the other began at {start}",
        "in turn": "it is the same although {launches} were measured in turn",
    },
    remedy="Measure both points in one run: their launches then alternate.",
    test=test,
    points=points,
    explains=("size-order", "size-jump", "rank-order", "loss-order", "delay-order", "rate-order"),
)
