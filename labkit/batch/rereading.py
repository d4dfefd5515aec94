"""Notebooks that a campaign names but holds no executed copy of, as in a recording or an archive without them."""

from __future__ import annotations

from collections.abc import Callable

from labkit import studies
from labkit.batch.notebooks import execute, finish, inherited
from labkit.batch.suites import NOTEBOOKS, Entry
from labkit.campaign import Campaign


def missing(held: Campaign) -> list[Entry]:
    """Notebooks of the campaign's suite without an executed copy, set to measure nothing.

    Those that this labkit has no source of, or that cannot but measure, are left out.
    """
    settings, found = held.facts.get("sweep", {}).get("settings", {}), []
    for name, parameters in held.facts.get("parameters", {}).items():
        fitting = [path for path in NOTEBOOKS.glob("*.ipynb") if f"{name}-".startswith(f"{path.stem}-")]
        if not fitting or (held.path / "notebooks" / f"{name}.ipynb").exists():
            continue
        source = max(fitting, key=lambda path: len(path.stem))
        if "measure" in studies.defaults(studies.of_notebook(source)):
            only = {"measure": False, "campaign": str(held.path.resolve())}
            suffix, setting = name[len(source.stem) :], settings.get(name, {})
            found.append(Entry(source, {**parameters, **only}, suffix, setting))
    return found


def reread(held: Campaign, progress: Callable[[str], None]) -> None:
    """Execute what `missing` finds, from what was measured; nothing is measured, nothing in ``campaign.json`` changes.

    Raises
    ------
    LaunchError
        If somebody measures into the campaign.
    """
    entries = missing(held)
    if not entries:
        return
    with held.lease(), inherited(held):
        for number, entry in enumerate(entries, 1):
            progress(f"executing {entry.name}, which measures nothing ({number} of {len(entries)})")
            execute(entry, held)
        finish([path for entry in entries if (path := held.path / "notebooks" / f"{entry.name}.ipynb").exists()])
