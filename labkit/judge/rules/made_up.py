"""Points that were simulated or modelled."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield points whose numbers were not measured."""
    for row in view.rows(~view.random):
        yield RULE.found(view.subject(row), origin=str(row["origin"]))


RULE = Rule(
    code="made-up",
    kind="violation",
    level="note",
    must="readers see what was not measured",
    why="a simulation shows only its model",
    says="{origin}, not measured",
    remedy="Name the origin beside the number.",
    check=check,
)
