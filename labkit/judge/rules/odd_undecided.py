"""Surprising values of single launches."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Decided, Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._odd import odd
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield results of single launches that may contradict what must be expected."""
    for subject, one in odd(view, decided=False):
        yield RULE.found(subject, decided=Decided(how="one launch"), what=one.what, rule=one.rule)


RULE = Rule(
    code="odd-undecided",
    kind="violation",
    level="note",
    must="a surprising value stands on enough launches to decide",
    why="a single launch may differ by chance",
    says="{what} ({rule})",
    remedy="Run the command that labkit lint names for it.",
    check=check,
)
