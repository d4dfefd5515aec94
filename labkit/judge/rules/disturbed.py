"""Points with a disturbed machine or an unexpected path."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._notes import noted
from labkit.judge.view import View

# other badges only name what was measured
_CODES = ("busy-machine", "oversubscription", "path-mismatch", "frequency-drift", "stolen-time", "side-by-side")


def check(view: View) -> Iterator[Finding]:
    """Yield points with such a badge."""
    for row, note in noted(view, "badges", _CODES):
        yield RULE.found(view.subject(row), note=note.text)


RULE = Rule(
    code="disturbed",
    kind="violation",
    level="doubtful",
    must="machine and path are as required",
    why="a disturbed machine hides the network",
    says="{note}",
    remedy="Run labkit doctor, end other load, and measure again.",
    imported="State with the number how the machine or the path differed.",
    check=check,
)
