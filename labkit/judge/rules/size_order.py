"""Series whose time of a message falls, or whose bytes per time fall, with the size."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY
from labkit.judge.rules._orders import CLUES, says, wrong_order
from labkit.judge.view import View
from labkit.judge.view.points import PER_BYTE, TIMED


def check(view: View) -> Iterator[Finding]:
    """Yield series in which the time of a message, or its bytes per time, falls with the size."""
    for series in view.sized:
        yield from wrong_order(RULE, view, series, rises=series.metric in (*TIMED, *PER_BYTE))


RULE = Rule(
    code="size-order",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="the time of a message, and its bytes per time, do not fall with its size",
    why="a larger message contains the work of a smaller one",
    says=says("messages are larger"),
    clues=CLUES,
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
