"""How long a selection will take: at the pace of points that were measured like it, and at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from statistics import median

from labkit.apps.explorer.selection import Selection
from labkit.apps.explorer.store import Store
from labkit.point.units import format_duration, plural
from labkit.run import measuring
from labkit.run.estimate import Estimate
from labkit.store import campaign


def sentence(selection: Selection, have: Store, campaigns: Sequence[str]) -> str:
    """Say how many points a selection has, in how many launches, and about how long they take.

    Parameters
    ----------
    have, campaigns : as in `told`.
    """
    points = measuring.expand(selection.specs(), selection.effort)
    launches = Counter(one.fingerprint for one in points).values()
    return told(Estimate.of(points, selection.effort), launches, selection.benchmark, have, campaigns)


def told(needed: Estimate, launches: Collection[int], benchmark: str, have: Store, campaigns: Sequence[str]) -> str:
    """Say how many points there are, in how many launches, and about how long they take.

    Parameters
    ----------
    launches : launches of each point.
    have : what was read of campaigns so far.
    campaigns : campaigns whose points of the benchmark show the pace.
    """
    text = counted(launches)
    most = format_duration(round(needed.most, 1))
    pace, name = _pace(benchmark, have, campaigns)
    if not name:
        return f"{text}, at most about {most} on an idle machine"
    about = format_duration(round(needed.about(pace), 1))
    if about == most:
        return f"{text}, about {about}"
    return f"{text}, about {about} at the pace of {campaign.titles(campaigns)[name]}, at most {most} on an idle machine"


def counted(launches: Collection[int]) -> str:
    """Say how many points there are, and in how many launches each is measured.

    Examples
    --------
    >>> counted([6]), counted([6, 6]), counted([3, 1])
    ('1 point in 6 launches', '2 points, each in 6 launches: 12 measurements', '2 points: 4 measurements')
    """
    points, most = plural(len(launches), "point"), plural(max(launches), "launch")
    if len(launches) == 1:
        return f"{points} in {most}"
    each = f", each in {most}" if len({*launches}) == 1 else ""
    return f"{points}{each}: {plural(sum(launches), 'measurement')}"


def _pace(benchmark: str, have: Store, campaigns: Sequence[str]) -> tuple[float, str]:
    """Return seconds of a point of a benchmark, and the campaign that shows it; an empty name for none."""
    for name in have.present(campaigns) if benchmark else ():
        rows = have.records(name, benchmark)
        times = rows["elapsed_s"].dropna() if len(rows) else rows
        if len(times):
            return float(median(times)), name
    return 0.0, ""
