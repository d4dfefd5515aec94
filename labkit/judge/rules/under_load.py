"""How much longer a pattern takes beside a load than alone, in benchmarks that measure both in one start."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit import stats
from labkit.judge.finding import Count, Decided, Finding
from labkit.judge.rule import SETTINGS, Rule
from labkit.judge.rules._contrasts import measured
from labkit.judge.rules._deciding import ABOVE, OPEN
from labkit.judge.view import View
from labkit.point.columns import statistic_column
from labkit.point.notes import has
from labkit.read.records.factors import NONE, differing, level, named

if TYPE_CHECKING:
    import pandas as pd

FACTOR = "load"  # names this comparison in the focus of a study
_METRIC, _STATISTIC = "impact_mean_times", "value"
_SHARED = "; pattern and load shared processors, so the network need not be the reason"


def of_rows(rows: pd.DataFrame) -> Finding | None:
    """Return in how many points the mean is longer beside the load, and how many times; None without such points.

    A point counts if the interval over its launches lies above 1, each by a test of its own.

    Parameters
    ----------
    rows : of one benchmark, from `labkit.read.records.summary`.
    """
    column = statistic_column(_METRIC, _STATISTIC)
    known = rows[rows[column] > 0] if column in rows else rows[:0]
    if not len(known):
        return None
    enough = known["launches"].to_numpy() >= stats.LAUNCHES
    longer = enough & (known[f"{_METRIC}_low"].to_numpy() > 1)
    shown = known[longer] if longer.any() else known
    order = np.argsort(shown[column].to_numpy(), kind="stable")
    first, last = (shown.iloc[order[place]].to_dict() for place in (0, -1))
    least, most = (measured(row, _METRIC, _STATISTIC) for row in (first, last))
    varied = [name for name in differing(known, skip=["fingerprint"]) if level(last[name]) != NONE]
    given: dict[str, Any] = {
        "least": replace(least, unit="", low=math.nan, high=math.nan),
        "most": most,
        "longer": Count(int(longer.sum()), "case"),
        "cases": Count(len(known), "case"),
        "shared": _SHARED if all(has(notes, "oversubscription") for notes in known["badges"]) else "",
        "where": ", ".join(f"{named(name)}={level(last[name])}" for name in varied),
        "decided": ABOVE if enough.any() else OPEN if most.launches > 1 else Decided(how="one launch"),
        "cost": most.low if longer.any() else math.nan,
    }
    form = "open" if not longer.any() else "one" if len(known) == 1 else "few" if longer.sum() == 1 else "several"
    return RULE.found(View.points(*known.to_dict("records"), setting=""), form=form, **given)


RULE = Rule(
    code="under-load",
    kind="observation",
    level="note",
    about=SETTINGS,
    must="a load on the network does not lengthen the mean time of a pattern",
    why="if it does, jobs that share the network slow one another down",
    says={
        "one": "the mean beside the load is {most:ratio} as long as alone{shared}",
        "few": "the mean is longer beside the load in {longer:number} of {cases}: {most:ratio} as long as alone with "
        "{where}{shared}",
        "several": "the mean is longer beside the load in {longer:number} of {cases}: {least:about} to {most:about} as "
        "long as alone, most with {where}{shared}",
        "open": "no case of {cases:number} certainly has a longer mean beside the load: at most {most:ratio} as long "
        "as alone",
    },
)
