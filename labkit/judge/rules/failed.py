"""Points and notebooks that are missing for a reason."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding, Subject
from labkit.judge.rule import Rule
from labkit.judge.rules._left_out import left_out
from labkit.judge.view import View

_LONGEST = 160  # characters of a reason


def check(view: View) -> Iterator[Finding]:
    """Yield what was skipped or failed for a recorded reason."""
    for what, reason in left_out(view, reason=True):
        yield RULE.found(Subject(setting=what), reason=" ".join(reason.split())[:_LONGEST])


RULE = Rule(
    code="failed",
    kind="violation",
    level="note",
    source=2,
    must="readers know what is missing and why",
    why="missing points limit the conclusions",
    says="skipped or failed: {reason}",
    remedy="Keep the reason in the report.",
    check=check,
)
