"""Campaigns or levels of a factor against a base: the verdicts of `labkit compare` on the points on show."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

from labkit.apps.explorer import store
from labkit.errors import SpecError
from labkit.judge import comparison
from labkit.judge.comparison import Comparison, Launches
from labkit.judge.comparison.matching import Difference, match
from labkit.read.records.factors import SETTING, level, named
from labkit.stats.decision import RELEVANT
from labkit.store import campaign

CAMPAIGN = "campaign"


def bases(summary: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Possible bases of a comparison: campaigns, then levels of factors as in ``transport=shm``.

    Parameters
    ----------
    columns : columns in which the points differ.
    """
    found = []
    for column in sorted(columns, key=lambda name: name != CAMPAIGN):
        levels = sorted({level(value) for value in summary[column]} - {"-"})
        if len(levels) > 1 and (column in (CAMPAIGN, *SETTING) or column.startswith(("option_", "env_"))):
            found += levels if column == CAMPAIGN else [f"{named(column)}={one}" for one in levels]
    return found


def compared(
    names: Sequence[str],
    benchmark: str,
    base: str,
    *,
    by: str = CAMPAIGN,
    allow: Collection[str] = (),
    metric: str = "",
    relevant: float = RELEVANT,
) -> Comparison:
    """Compare campaigns, or the levels of a factor in them; the base comes first.

    Parameters
    ----------
    names : names of campaigns.
    base : one of them.
    by : ``campaign``, or a factor, with its levels as in ``transport=shm,tcp``.
    allow, metric, relevant : as in `labkit.judge.comparison.compare`.

    Raises
    ------
    SpecError
        If there is only one side.
    """
    factor, _, levels = (by.strip() or CAMPAIGN).partition("=")
    sides = _sides(names, benchmark, base, factor, metric, [one for one in levels.split(",") if one])
    return comparison.compare(sides, by=factor, allow=allow, metric=metric, relevant=relevant)


def undeclared(
    names: Sequence[str], benchmark: str, base: str, *, by: str = CAMPAIGN, allow: Collection[str] = ()
) -> tuple[Difference, ...]:
    """Return the factors in which sides of `compared` differ, and which `allow` does not declare.

    Raises
    ------
    SpecError
        If there is only one side.
    """
    factor, _, levels = (by.strip() or CAMPAIGN).partition("=")
    sides = _sides(names, benchmark, base, factor, "", [one for one in levels.split(",") if one])
    return tuple(one for one in match(sides, by=factor, allow=allow).differences if not one.declared)


def _sides(
    names: Sequence[str], benchmark: str, base: str, factor: str, metric: str, levels: Sequence[str] = ()
) -> dict[str, list[Launches]]:
    """Launches of campaigns by their titles, or of the levels of a factor in them; the base comes first."""
    ordered = [base, *(name for name in names if name != base)] if base in names else list(names)
    read = {name: comparison.read(store.opened(name), benchmark, metric) for name in ordered}
    titles = campaign.titles(names)
    sides = {titles[name]: launches for name, launches in read.items() if launches}
    if factor != CAMPAIGN:
        pooled = [launch for launches in sides.values() for launch in launches]
        sides = comparison.by_levels(pooled, factor, levels)
    if len(sides) < 2:
        raise SpecError(
            f"One campaign on show has {benchmark}, but a comparison needs two. Select another, or compare levels of a "
            "factor: write its name into 'factor', such as transport."
        )
    return sides


def against(names: Sequence[str], benchmark: str, base: str, others: Sequence[str], metric: str) -> Comparison:
    """Compare what is on show with one of `bases`; points that differ in more than that carry a badge.

    Parameters
    ----------
    others : what `bases` offers.
    """
    factor, _, chosen = base.partition("=")
    if not chosen:
        sides = _sides(names, benchmark, base, CAMPAIGN, metric)
        return comparison.pairwise(sides, by=CAMPAIGN, metric=metric, force=True)
    levels = [one.partition("=")[2] for one in others if one.startswith(f"{factor}=") and one != base]
    sides = _sides(names, benchmark, "", factor, metric, [chosen, *levels])
    return comparison.pairwise(sides, by=factor, metric=metric, force=True)
