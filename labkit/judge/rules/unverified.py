"""Points with unverified bytes."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import benchmarks
from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield points of labkit's kernels with unverified bytes."""
    column = view.column
    doubtful = (column("engine") == "c") & (column("origin") == "measured") & (column("message_size_B") != 0)
    for row in view.rows(doubtful & ~column("verified").astype(bool)):
        if benchmarks.get(row["benchmark"]).mpi:
            yield RULE.found(view.subject(row))


RULE = Rule(
    code="unverified",
    kind="violation",
    level="bad",
    voids=True,
    must="an untimed pass verifies every byte",
    why="the time of a transfer that delivers wrong bytes is worthless",
    says="the bytes were not verified",
    remedy="Measure again; see the log.",
    check=check,
)
