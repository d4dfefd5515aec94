"""A point with a single launch."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.rules._launches import IMPORTED, MUST, REMEDY
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield points with one launch."""
    for row in view.rows(view.random & (view.column("launches") == 1)):
        yield RULE.found(view.subject(row))


RULE = Rule(
    code="one-launch",
    kind="violation",
    level="bad",
    source=5,
    must=MUST,
    why="a single launch has no interval: the next one may differ by any amount",
    says="1 launch",
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
