"""Points that are faster on a link that loses more packets."""

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
    """Yield points that are faster on a link that loses more packets."""
    for series in along(view, "loss", NONE, lambda loss: f"{loss:g} % loss" if loss else "no loss"):
        yield from wrong_order(RULE, view, series, rises=worse(series.metric) > 0)


RULE = Rule(
    code="loss-order",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="nothing is faster on a link that loses more",
    why="lost packets are sent again",
    says=says("the link loses more packets"),
    clues=CLUES,
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
