"""How long a selection will take: at the pace of points that were measured like it, and at most."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from statistics import median

from labkit.apps.explorer.selection import Selection
from labkit.apps.explorer.store import Store
from labkit.point.units import format_duration, plural
from labkit.run import measuring, schedule

START = 1.5  # s that a start of ranks or of a tool takes at most on an idle machine; a cluster may need longer


def sentence(selection: Selection, have: Store, campaigns: Sequence[str]) -> str:
    """Say how many points and starts there are, and about how long they take.

    Parameters
    ----------
    have : what was read of campaigns so far.
    campaigns : whose points of the benchmark show the pace.
    """
    points = measuring.expand(selection.specs(), selection.effort)
    starts = [
        group
        for _, launch in groupby(sorted(points, key=lambda one: one.launch), key=lambda one: one.launch)
        for group in schedule.starts(list(launch), selection.effort)
    ]
    cap = selection.effort.time_cap
    most = len(points) * cap + len(starts) * START
    text = f"{plural(len(points), 'point × launch')} in {plural(len(starts), 'start')}"
    pace = _pace(selection.benchmark, have, campaigns, cap)
    if pace is None:
        return f"{text}: at most about {format_duration(round(most, 1))} on an idle machine"
    seconds, name = pace
    about = min(most, len(points) * seconds + len(starts) * START)
    ends = format_duration(round(about, 1)), format_duration(round(most, 1))
    return f"{text}: about {ends[0]} at the pace of {Path(name).name}, at most {ends[1]} on an idle machine"


def _pace(benchmark: str, have: Store, campaigns: Sequence[str], cap: float) -> tuple[float, str] | None:
    """Seconds of a point of a benchmark with this time cap, and the campaign that shows it."""
    for name in have.present(campaigns):
        rows = have.records(name, benchmark)
        times = rows["elapsed_s"].dropna() if len(rows) else rows
        if len(times):
            return min(float(median(times)), cap * 1.2), name
    return None
