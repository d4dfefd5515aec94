"""Points and notebooks that are missing without a reason."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding, Subject
from labkit.judge.rule import Rule
from labkit.judge.rules._left_out import left_out
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield what was skipped or failed without a recorded reason."""
    for what, _ in left_out(view, reason=False):
        yield RULE.found(Subject(setting=what))


RULE = Rule(
    code="no-reason",
    kind="violation",
    level="bad",
    source=2,
    must="whatever is left out has a reason",
    why="without a reason, readers must assume that unwelcome results were left out",
    says="skipped or failed, with no reason recorded",
    remedy="Measure it, or record why not: labkit run records reasons.",
    check=check,
)
