"""Points with a warning about their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._notes import noted
from labkit.judge.view import View

_CODES = (
    "contradiction",
    "other-library",
    "wrong-bytes",
    "lost-messages",
    "below-resolution",
    "few-iterations",
    "stolen-time",
    "frequency-drift",
)


def check(view: View) -> Iterator[Finding]:
    """Yield points with a warning about the numbers themselves."""
    for row, note in noted(view, "warnings", _CODES):
        yield RULE.found(view.subject(row), note=note.text)


RULE = Rule(
    code="doubted",
    kind="violation",
    level="doubtful",
    must="no warning about the numbers themselves",
    why="labkit had a reason to warn when it measured",
    says="{note}",
    remedy="Read the warning; measure again.",
    imported="Import another run of the tool.",
    check=check,
)
