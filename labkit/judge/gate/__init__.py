"""Judge a campaign by earlier ones: find points that are worse than past launches explain.

A factor common to the points of a night is judged separately and removed before single points are judged. The reference
absorbs no change that a single night misses: nights enter it with a delay, and the last nights together are compared
with the first reference (`labkit.stats.nights`). The chance of a false alarm holds for the whole gate and is divided
among its comparisons (Bonferroni). `labkit.stats.limits` computes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd

from labkit import stats
from labkit.errors import DataError
from labkit.io.collector import uncollected
from labkit.judge.finding import Finding
from labkit.judge.gate.judging import Verdicts
from labkit.judge.gate.verdicts import OUTCOMES, Common, Compared, Drift, Result, judged, times_worse
from labkit.judge.matching_points import (
    Key,
    Past,
    Points,
    compared,
    grouped,
    identifying,
    labelled,
    without_partial_tails,
)
from labkit.point.columns import statistic_column
from labkit.stats import limits

__all__ = ["Common", "Compared", "Drift", "Result", "gate", "times_worse"]


def gate(
    name: str,
    new: pd.DataFrame,
    history: Iterable[tuple[str, pd.DataFrame]],
    *,
    chance: float = 0.01,
    worse: float = 0.0,
    reference: str = "*",
    accepted: Collection[str] = (),
) -> Result:
    """Compare the launches of a campaign with the launches of earlier campaigns.

    Parameters
    ----------
    name, new : the campaign and its records.
    history : names and records of earlier campaigns, in the order of time; with an iterator, one table is in memory at
        a time.
    chance : chance of a false alarm in the whole gate, if nothing has changed.
    worse : also fail a point if the median of its launches is worse than usual by this fraction; 0 for no such rule.
    reference : pattern of the benchmarks from which the common factor of a transport is estimated.
    accepted : names of earlier campaigns that are part of the reference in any case.

    Returns
    -------
    A verdict for the headline statistic and for the 99th percentile of each point.

    Raises
    ------
    DataError
        If the campaigns have no point in common.
    """
    labels: list[str] = []
    origins: dict[str, str] = {}

    def of_campaign(one: tuple[str, pd.DataFrame]) -> pd.DataFrame:
        labels.append(one[0])
        names = _labelled(one[0], one[1]["campaign"])
        origins.update(dict.fromkeys(map(str, names.unique()), one[0]))
        return one[1].assign(campaign=names)

    past = Past(map(of_campaign, history))
    keys, several = identifying(new, past), len(past)
    tables = past.joined() if several else new[:0], new
    before, now = (without_partial_tails(grouped(table, keys)) for table in tables)
    places = {key: place for place, key in enumerate(before.keys)}
    shared = [place for place, key in enumerate(now.keys) if key in places]
    if not shared:
        names = ", ".join(labels) or "the history"
        imported = "imported" in set(new["origin"].astype(str))
        remedy = " Import the files of one system with one --testbed NAME." if imported else ""
        raise DataError(
            f"{name} has no point in common with {names}. Name campaigns of the same benchmarks, sizes and settings."
            f"{remedy}"
        )
    now = now.chosen(shared)
    same = before.chosen([places[key] for key in now.keys])
    wanted = compared(now, same)
    made = Verdicts(now, same, labelled(now, keys), wanted, chance, worse)
    common = made.common(keys.index("transport"), reference)
    rejected, waiting = made.replay({full for full, label in origins.items() if label in accepted})
    comparisons = made.comparisons
    with uncollected():  # there may be very many verdicts
        verdicts = [*made.of_factors(), *made.of_points(), *_absent(before, {*now.keys}, keys, several)]
    places_of: dict[str, int] = {outcome: place for place, outcome in enumerate(OUTCOMES)}
    verdicts.sort(key=lambda one: places_of[one.form])
    return Result(
        name,
        tuple(verdicts),
        chance,
        comparisons,
        tuple(labels),
        common=common,
        rejected=tuple((origins[full], count) for full, count in rejected.items()),
        waiting=tuple(origins[full] for full in waiting),
    )


def _labelled(label: str, names: pd.Series) -> pd.Series:
    """Return the names of campaigns with a label before each."""
    if isinstance(names.dtype, pd.CategoricalDtype):
        return names.cat.rename_categories({name: f"{label}/{name}" for name in names.cat.categories})
    return f"{label}/" + names.astype(str)


def _absent(past: Points, measured: Collection[Key], keys: Sequence[str], campaigns: int) -> Iterator[Finding]:
    """Yield a verdict for each point that every earlier campaign has and the new one lacks."""
    if not len(past):
        return
    several = past.different("campaign")
    absent = [n for n, key in enumerate(past.keys) if key not in measured and several[n] >= campaigns]
    lacking, several = past.chosen(absent), several[absent]
    names = [names[:1] for names in compared(lacking, lacking)]
    usual = {}
    for metric, statistic in dict.fromkeys(one for each in names for one in each):
        values, number = lacking.numbers(statistic_column(metric, statistic))
        counts = np.bincount(number, minlength=len(lacking)).tolist()
        usual[metric, statistic] = list(zip(stats.medians(values, number, len(lacking)).tolist(), counts, strict=True))
    for place, label in enumerate(labelled(lacking, keys)):
        for one in names[place]:
            value, count = usual[one][place]
            limit = limits.Limit(math.nan, 0, count, int(several[place]), 0)
            yield judged(Compared(lacking.keys[place][0], label, *one, math.nan, 0, value, limit, 0), "not measured")
