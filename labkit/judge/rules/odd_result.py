"""Results that contradict what must be expected."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._odd import odd
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield results that contradict what must be expected, with a possible reason or none."""
    for subject, one in odd(view, decided=True):
        reason = str(one.explanations[0]) if one.explained else ""
        form = "explained" if one.explained else "unexplained"
        yield RULE.found(subject, form=form, what=one.what, rule=one.rule, confidence=one.confidence, reason=reason)


RULE = Rule(
    code="odd-result",
    kind="violation",
    level="doubtful",
    must="a result agrees with what must be expected, or its text comments on it",
    why="readers take an odd value for an error of the measurement",
    says={
        "explained": "{what} ({rule}, {confidence}); possible: {reason}",
        "unexplained": "{what} ({rule}, {confidence}); unexplained",
    },
    remedy="Run the command that labkit lint names for it; if it stays, explain it, or call it unexplained.",
    check=check,
)
