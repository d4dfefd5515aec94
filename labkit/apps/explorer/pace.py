"""How long a selection will take: at the pace of points that were measured like it, and at most."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import median

from labkit.apps.explorer.selection import Selection
from labkit.apps.explorer.store import Store
from labkit.point.units import format_duration
from labkit.run import measuring
from labkit.run.estimate import Estimate, counted, each
from labkit.store import campaign


def sentence(selection: Selection, have: Store, campaigns: Sequence[str]) -> str:
    """Say how many points a selection has, in how many launches, and about how long they take.

    Parameters
    ----------
    have, campaigns : as in `told`.
    """
    points = measuring.expand(selection.specs(), selection.effort)
    return told(Estimate.of(points, selection.effort), each(points), selection.benchmark, have, campaigns)


def told(needed: Estimate, launches: Collection[int], benchmark: str, have: Store, campaigns: Sequence[str]) -> str:
    """Say how many points there are, in how many launches, and about how long they take.

    Parameters
    ----------
    launches : launches of each point.
    have : what was read of campaigns so far.
    campaigns : campaigns whose points of the benchmark show the pace.
    """
    text = counted(launches)
    pace, name = _pace(benchmark, have, campaigns)
    if not name:
        return f"{text}, {needed.limit}"
    about = format_duration(round(needed.about(pace), 1))
    if about == format_duration(round(needed.most, 1)):
        return f"{text}, about {about}"
    return f"{text}, about {about} at the pace of {campaign.titles(campaigns)[name]}, {needed.limit}"


def _pace(benchmark: str, have: Store, campaigns: Sequence[str]) -> tuple[float, str]:
    """Return seconds of a point of a benchmark, and the campaign that shows it; an empty name for none."""
    for name in have.present(campaigns) if benchmark else ():
        rows = have.records(name, benchmark)
        times = rows["elapsed_s"].dropna() if len(rows) else rows
        if len(times):
            return float(median(times)), name
    return 0.0, ""
