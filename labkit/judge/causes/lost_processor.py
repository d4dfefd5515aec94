"""Rank 0 loses its processor during the timed iterations."""

from __future__ import annotations

import numpy as np

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._launches import slow_launch
from labkit.judge.causes._other_settings import VARIED, every, varied
from labkit.judge.finding import Count, Evidence, Finding, Wanted
from labkit.read.records import in_effect

_SWITCHES = 0.01  # of the iterations
_MORE = 2  # times the share of the other launches


def test(case: Case) -> Finding | None:
    """Linux counted the switches of rank 0."""
    slow = slow_launch(case)
    lost, samples = _of_points(case) if slow is None else _of_launch(case, slow)
    if not samples or lost <= _SWITCHES * samples:
        return None
    values = {"lost": Count(lost, "time"), "iterations": Count(samples, "iteration")}
    gone, stays = varied(case, points(case))
    return CAUSE.found(case, [Evidence(code="lost", values=values), *gone], stays)


def _of_points(case: Case) -> tuple[int, int]:
    """Return how often rank 0 lost its processor in all launches of the points, and their iterations."""
    view = case.view
    switches = {str(row["fingerprint"]): view.switches(str(row["benchmark"])) for row in case.rows}
    lost = sum(counts[launch] for name, counts in switches.items() for launch in view.rows_of(name).tolist())
    return lost, sum(int(row["n"]) for row in case.rows)


def _of_launch(case: Case, slow: int) -> tuple[int, int]:
    """Return the same of a slow launch; no loss if the other launches lost it nearly as often."""
    counts, iterations = case.view.switches(case.about.subject.benchmark), case.view.record_columns["n"]
    rows = case.view.rows_of(case.fingerprint).tolist()
    others = [counts[row] / iterations[row] for row in rows if row != slow and iterations[row]]
    lost, samples = counts[slow], int(iterations[slow])
    usual = float(np.median(others)) if others else 0.0
    return (lost if lost > _MORE * usual * samples else 0), samples


def points(case: Case) -> list[Wanted]:
    """Return the points with ranks that are bound to cores, if they were free and there are enough cores."""
    mpi, samples = benchmarks.get(case.spec.benchmark).mpi, case.samples
    if not mpi or in_effect.bound(samples) or not in_effect.enough_cores(samples):
        return []
    return every(case, lambda spec: spec.replace(bind="core"))


CAUSE = Cause(
    code="lost-processor",
    name="rank 0 waits for its processor",
    seen="rank 0 lost its processor in more than 1 % of the iterations",
    excluded="Linux counted few involuntary switches",
    decides="no other programs, or bound ranks",
    clues={"lost": "it lost it {lost} in {iterations}", **VARIED},
    remedy="End other programs, or bind the ranks to cores; measure again.",
    test=test,
    points=points,
    explains=("size-jump", "slow-launch", "two-modes"),
)
