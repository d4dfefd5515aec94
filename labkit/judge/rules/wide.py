"""Points whose iterations spread far."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import SHARE, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View

_WIDE = 0.25  # spread of iterations from which a median alone is not a summary


def check(view: View) -> Iterator[Finding]:
    """Yield points with iterations spread so far that a median alone does not describe them."""
    for row in view.rows(view.column("spread_within") > _WIDE):
        yield RULE.found(view.subject(row), spread=Value(value=row["spread_within"], unit=SHARE))


RULE = Rule(
    code="wide",
    kind="violation",
    level="note",
    source=8,
    must="a distribution that one number describes",
    why="few iterations are near the median if they spread far or have several modes",
    says="iterations spread by {spread} of the median",
    remedy="Show the distribution; look for several modes.",
    check=check,
)
