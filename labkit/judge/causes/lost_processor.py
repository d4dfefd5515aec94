"""Rank 0 loses its processor during the timed iterations."""

from __future__ import annotations

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Count, Evidence, Finding

_SWITCHES = 0.01  # of the iterations


def test(case: Case) -> Finding | None:
    """Linux counted the switches of rank 0."""
    view = case.view
    points = {str(row["fingerprint"]): view.switches(str(row["benchmark"])) for row in case.rows}
    lost = sum(counts[launch] for name, counts in points.items() for launch in view.rows_of(name).tolist())
    samples = sum(int(row["n"]) for row in case.rows)
    if not samples or lost <= _SWITCHES * samples:
        return None
    values = {"lost": Count(lost, "time"), "iterations": Count(samples, "iteration")}
    return CAUSE.found(case, [Evidence(code="lost", values=values)])


CAUSE = Cause(
    code="lost-processor",
    name="rank 0 waits for its processor",
    seen="rank 0 lost its processor in more than 1 % of the iterations",
    excluded="Linux counted few switches",
    decides="the same point on a machine without other programs, or with bound ranks",
    clues={"lost": "it lost it {lost} in {iterations}"},
    remedy="End other programs, or bind the ranks to cores; measure again.",
    test=test,
    explains=("size-jump", "slow-launch", "two-modes"),
)
