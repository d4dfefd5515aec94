"""How long a selection will take: at the pace of points that were measured like it, and at most."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from labkit.apps.explorer.selection import Selection
from labkit.apps.explorer.store import Store
from labkit.point.units import format_duration, plural
from labkit.run import measuring
from labkit.run.estimate import Estimate
from labkit.store import campaign


def sentence(selection: Selection, have: Store, campaigns: Sequence[str]) -> str:
    """Say how many points and starts a selection has, and about how long they take.

    Parameters
    ----------
    have, campaigns : as in `told`.
    """
    points = measuring.expand(selection.specs(), selection.effort)
    return told(Estimate.of(points, selection.effort), selection.benchmark, have, campaigns)


def told(needed: Estimate, benchmark: str, have: Store, campaigns: Sequence[str]) -> str:
    """Say how many points and starts there are, and about how long they take.

    Parameters
    ----------
    have : what was read of campaigns so far.
    campaigns : whose points of the benchmark show the pace.
    """
    text = f"{plural(needed.points, 'point × launch')} in {plural(needed.starts, 'start')}"
    most = format_duration(round(needed.most, 1))
    pace, name = _pace(benchmark, have, campaigns)
    if not name:
        return f"{text}: at most about {most} on an idle machine"
    about = format_duration(round(needed.about(pace), 1))
    if about == most:
        return f"{text}: about {about}"
    return f"{text}: about {about} at the pace of {campaign.titles(campaigns)[name]}, at most {most} on an idle machine"


def _pace(benchmark: str, have: Store, campaigns: Sequence[str]) -> tuple[float, str]:
    """Return seconds of a point of a benchmark, and the campaign that shows it; an empty name for none."""
    for name in have.present(campaigns) if benchmark else ():
        rows = have.records(name, benchmark)
        times = rows["elapsed_s"].dropna() if len(rows) else rows
        if len(times):
            return float(median(times)), name
    return 0.0, ""
