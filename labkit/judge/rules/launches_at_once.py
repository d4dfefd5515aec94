"""Points whose launches all ran at one moment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit.judge.finding import Count, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.store.samples.facts import BROUGHT

_TOGETHER = 10.0  # s between the first and the last launch: less is one moment of the machine


def check(view: View) -> Iterator[Finding]:
    """Yield points whose launches all started within seconds."""
    own = view.random & ~np.isin(view.column("origin").astype(str), BROUGHT)
    span = np.full(len(view.summary), math.nan)
    starts = view.records["start"].to_numpy()
    for points, rows in view.repeats:
        if rows.shape[1] > 1 and own[points].any():
            first, last = (_times(starts[rows[own[points], place]]) for place in (0, -1))
            span[points[own[points]]] = (last - first) / np.timedelta64(1, "s")
    for row in view.rows(span < _TOGETHER):
        launches = Count(row["launches"], "launch")
        yield RULE.found(view.subject(row), launches=launches, span=Value(value=float(span[row.place]), unit="s"))


def _times(texts: NDArray[Any]) -> NDArray[np.datetime64]:
    """Return points in time, (launches,); NaT where a text is none."""
    times: NDArray[np.datetime64] = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").to_numpy()
    return times


RULE = Rule(
    code="launches-at-once",
    kind="violation",
    level="note",
    must=f"launches of a point are spread over more than {_TOGETHER:.0f} s",
    why="launches of one moment do not show how the machine differs over time",
    says="{launches} within {span:2}",
    remedy="Run again later with more --launches; labkit adds those missing. Else say that all ran at one moment.",
    check=check,
)
