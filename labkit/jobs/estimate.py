"""How long a suite takes, from what its notebooks took in earlier campaigns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from labkit import campaign
from labkit.campaign import events
from labkit.errors import DataError, LabkitError
from labkit.suites import Suite
from labkit.units import format_duration


def rates(folders: Iterable[Path]) -> dict[str, list[float]]:
    """Notebook → s per point of every run of it that measured something, from the events of campaigns."""
    found: dict[str, list[float]] = {}
    for folder in folders:
        name, saved = "", 0
        try:
            held = events.read(folder)
        except DataError:
            continue
        for one in held:
            if one.kind == "saved":
                saved += 1
            elif one.kind == "notebook" and one["state"] == "begins":
                name, saved = one["name"], 0
            elif one.kind == "notebook" and (one["name"], one["state"]) == (name, "done") and saved:
                found.setdefault(name, []).append(float(one.facts.get("seconds", 0.0)) / saved)
    return found


def sentence(suite: Suite, *, repeats: int = 1) -> str:
    """About how long a suite takes, and what that is taken from; says so where nothing is known.

    Parameters
    ----------
    repeats : jobs of an array, each of which measures as many points.
    """
    known = rates(path.parent for path in sorted(campaign.root().glob("**/campaign.json")))
    seconds, points, silent = 0.0, 0, []
    for entry in suite.entries:
        try:
            count = len(entry.study().points)
        except LabkitError as error:
            return f"No estimate: {entry.name} cannot be planned here. {str(error).splitlines()[0]}"
        runs = [rate for name, held in known.items() if name.startswith(entry.notebook.stem) for rate in held]
        points += count
        if runs:
            seconds += count * median(runs)
        else:
            silent.append(entry.name)
    each = " in each job of the array" if repeats > 1 else ""
    if len(silent) == len(suite.entries):
        return f"{points} points{each}; no time estimate, because no earlier campaign has these notebooks."
    text = f"{points} points{each}, about {format_duration(seconds)} at the pace of earlier campaigns"
    return f"{text}, without {', '.join(silent)}, which no earlier campaign has." if silent else f"{text}."
