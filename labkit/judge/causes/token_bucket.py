"""The emulated link collects tokens, and then lets a burst pass."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding, Value, Wanted
from labkit.read.records import statistic_of


def test(case: Case) -> Finding | None:
    """A whole round trip takes longer than one direction needs."""
    time, least = case.measured, case.about.values["limit"]
    assert isinstance(least, Value)
    if time.unit != "µs" or 2 * time.value < least.value:
        return None
    both = Value(value=2 * time.value, unit=time.unit)
    within, beyond = _one_way(case, case.spec.size / least.value)
    return CAUSE.found(case, [Evidence(code="both", values={"both": both, "needed": least}), *within], beyond)


def points(case: Case) -> list[Wanted]:
    """Return messages of the size in one direction only, over the same link."""
    if not benchmarks.get(case.spec.benchmark).mpi:
        return []
    return [Wanted(case.spec.replace(benchmark=_ONE_WAY, ranks=2, options={}))]


def _one_way(case: Case, rate: float) -> tuple[list[Evidence], list[Evidence]]:
    """Return the clue that messages in one direction are no faster than the link, or that they are.

    Parameters
    ----------
    rate : rate of the link, MB/s.
    """
    rows = [row for one in points(case) if (row := case.view.measured(one)) is not None]
    if not rows:
        return [], []
    value = case.view.value(rows[0], "bandwidth_MBps", statistic_of(rows[0], "bandwidth_MBps"))
    clue = [Evidence(code="within" if value.value <= _MORE * rate else "beyond", values={"value": value})]
    return (clue, []) if clue[0].code == "within" else ([], clue)


_ONE_WAY, _MORE = "mpi.bandwidth", 1.1  # times the rate of the link from which it is not a bucket
CAUSE = Cause(
    code="token-bucket",
    name="the token bucket of the link, which fills while messages go the other way",
    seen="a round trip takes at least as long as one direction needs",
    excluded="a round trip is too short even for one direction",
    decides="a benchmark that sends in one direction only",
    clues={
        "both": "a round trip takes {both}, of which one direction needs {needed}",
        "within": "messages in one direction reach {value}, no more than the link allows",
        "beyond": "messages in one direction reach {value} too, more than the link allows",
    },
    remedy="Do not judge the link by this latency; measure its bandwidth.",
    test=test,
    points=points,
    explains=("above-link",),
)
