"""Points that are slower on a link with a higher rate."""

from __future__ import annotations

import math
from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY
from labkit.judge.rules._links import along
from labkit.judge.rules._orders import CLUES, says, wrong_order
from labkit.judge.view import View
from labkit.judge.view.points import worse


def check(view: View) -> Iterator[Finding]:
    """Yield points that are slower on a link with a higher rate."""
    for option in ("rate", "uplink"):

        def said(rate: float, option: str = option) -> str:
            return f"{option} {rate / 1e6:g} Mbit/s" if math.isfinite(rate) else f"no limit of the {option}"

        for series in along(view, option, {"soft-roce": math.inf} if option == "rate" else {}, said):
            yield from wrong_order(RULE, view, series, rises=worse(series.metric) < 0)


RULE = Rule(
    code="rate-order",
    kind="violation",
    level="doubtful",
    about=PLAUSIBILITY,
    must="nothing is slower on a link with a higher rate",
    why="each bit takes less time",
    says=says("the link's rate is higher"),
    clues=CLUES,
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
