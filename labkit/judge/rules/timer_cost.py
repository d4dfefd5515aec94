"""Iterations that are short compared with the cost of timing them."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import SHARE, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.rules._iterations import iteration_s
from labkit.judge.view import View
from labkit.point.units import format_share

LIMIT = 0.05  # of an iteration that two clock reads may take


def check(view: View) -> Iterator[Finding]:
    """Yield points whose two clock reads take too much of an iteration."""
    shares = view.column("timer_overhead_ns") * 1e-9 / iteration_s(view)
    for row in view.rows(shares > LIMIT):
        yield RULE.found(view.subject(row), share=Value(value=float(shares[row.place]), unit=SHARE))


RULE = Rule(
    code="timer-cost",
    kind="violation",
    level="doubtful",
    must=f"clock reads take at most {format_share(LIMIT)} of an iteration",
    why="the timer's own cost is in every sample (Hoefler and Belli, section 4.2.1)",
    says="two clock reads take {share} of an iteration",
    remedy="Time more work at once: a larger window, or timing=total.",
    check=check,
)
