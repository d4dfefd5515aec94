"""Points that are faster on a link with more delay."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY
from labkit.judge.rules._links import NONE, along
from labkit.judge.rules._orders import CLUES, says, wrong_order
from labkit.judge.view import View
from labkit.judge.view.points import worse


def check(view: View) -> Iterator[Finding]:
    """Yield points that are faster on a link with more delay."""
    for series in along(view, "delay", NONE, lambda delay: f"delay {delay * 1e3:g} ms" if delay else "no delay"):
        yield from wrong_order(RULE, view, series, rises=worse(series.metric) > 0)


RULE = Rule(
    code="delay-order",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="nothing is faster on a link with more delay",
    why="each message waits longer",
    says=says("the link's delay is longer"),
    clues=CLUES,
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
