"""Estimate how long a suite takes, from the times of its notebooks in earlier campaigns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from labkit.errors import DataError, LabkitError
from labkit.point.units import format_duration, plural
from labkit.store import events
from labkit.store.campaign import root
from labkit.suites import Suite


def rates(folders: Iterable[Path]) -> dict[str, list[float]]:
    """Return notebook → s per point of each of its runs that measured something, from the events of campaigns."""
    rates_by_notebook: dict[str, list[float]] = {}
    for folder in folders:
        name, saved = "", 0
        try:
            run_events = events.read(folder)
        except DataError:
            continue
        for event in run_events:
            if event.kind == "saved":
                saved += 1
            elif event.kind == "notebook" and event["state"] == "begins":
                name, saved = event["name"], 0
            elif event.kind == "notebook" and (event["name"], event["state"]) == (name, "done") and saved:
                rates_by_notebook.setdefault(name, []).append(float(event.facts.get("seconds", 0.0)) / saved)
    return rates_by_notebook


def sentence(suite: Suite, *, repeats: int = 1) -> str:
    """Estimate how long a suite takes, with the source of the estimate, or report that nothing is known.

    Parameters
    ----------
    repeats : number of jobs of an array; each measures the same number of points.
    """
    rates_by_notebook = rates(path.parent for path in sorted(root().glob("**/campaign.json")))
    seconds, points, unknown = 0.0, 0, []
    for entry in suite.entries:
        try:
            count = len(entry.study().points)
        except LabkitError as error:
            return f"No estimate: {entry.name} cannot be planned here. {str(error).splitlines()[0]}"
        stem = entry.notebook.stem
        matching = [rate for name, runs in rates_by_notebook.items() if name.startswith(stem) for rate in runs]
        points += count
        if matching:
            seconds += count * median(matching)
        else:
            unknown.append(entry.name)
    each = " in each job of the array" if repeats > 1 else ""
    if len(unknown) == len(suite.entries):
        return (
            f"{plural(points, 'point × launch')}{each}; no time estimate, because no earlier campaign has these "
            f"notebooks."
        )
    text = (
        f"{plural(points, 'point × launch')}{each}, about {format_duration(seconds)} at the pace of earlier campaigns"
    )
    return f"{text}, without {', '.join(unknown)}, which no earlier campaign has." if unknown else f"{text}."
