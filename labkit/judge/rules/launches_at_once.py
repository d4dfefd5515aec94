"""Points whose launches all ran at one moment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labkit import stats
from labkit.judge.finding import Count, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.point.units import format_duration
from labkit.store.samples.facts import BROUGHT


def check(view: View) -> Iterator[Finding]:
    """Yield points whose launches all started within one moment of the machine."""
    own = view.random & ~np.isin(view.column("origin").astype(str), BROUGHT)
    for row in view.rows(own & (view.column("span_s") < stats.MOMENT)):
        launches, span = Count(row["launches"], "launch"), Value(value=float(row["span_s"]), unit="s")
        yield RULE.found(view.subject(row), launches=launches, span=span)


RULE = Rule(
    code="launches-at-once",
    kind="violation",
    level="note",
    must=f"launches of a point are spread over more than {format_duration(stats.MOMENT)}",
    why="launches of one moment do not show how the machine differs over time",
    says="{launches} within {span:2}",
    remedy="Measure in several stretches of time: --sessions 6. Else say that all ran at one moment.",
    check=check,
)
