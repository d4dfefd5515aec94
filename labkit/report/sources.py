"""A campaign as the report reads it: its facts, samples without their values, records, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit import records, samples
from labkit.campaign import Campaign, events
from labkit.errors import DataError
from labkit.suites.notebooks import NAME
from labkit.suites.rereading import AGAIN, FOLDER

if TYPE_CHECKING:
    import pandas as pd

_NOTHING = np.empty((0, 0), np.int64)


@dataclass(frozen=True)
class Source:
    """One campaign of a report.

    Parameters
    ----------
    path : its folder.
    facts : what campaign.json holds.
    points : its samples, with their headers only.
    records : a row per point and launch.
    summary : a row per point.
    raw : samples that are kept, of all ranks of all points.
    extremes : launches of points that keep extremes over their ranks instead of every sample.
    failed : what was skipped or failed, with the reason; from campaign.json and its events.
    folders : where executed notebooks are looked for; the first that holds one of a name is taken.
    """

    path: Path
    facts: dict[str, Any]
    points: tuple[samples.Samples, ...]
    records: pd.DataFrame
    summary: pd.DataFrame
    raw: int
    extremes: int
    failed: tuple[tuple[str, str], ...]
    folders: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return str(self.facts.get("name") or self.path.name)

    @property
    def host(self) -> dict[str, Any]:
        """Host of the campaign, else that of its first samples."""
        held = self.facts.get("host")
        return dict(held) if isinstance(held, dict) and held else dict(self.points[0].host if self.points else {})

    @property
    def notebooks(self) -> list[Path]:
        """Executed notebooks, each once: those of the suite in its order, then others by name.

        A link is none of them: it would show a file that is no part of the campaign.
        """
        listed = [f"{entry['name']}.ipynb" for entry in _entries(self.facts)]
        found: dict[str, Path] = {}
        for folder in self.folders:
            for path in sorted(folder.glob("[!.]*.ipynb")):
                if path.is_file() and path.resolve().parent == folder.resolve():
                    found.setdefault(path.name, path)
        return sorted(
            found.values(),
            key=lambda path: (listed.index(path.name) if path.name in listed else len(listed), path.name),
        )

    def error(self, notebook: Path) -> str:
        """What the run says stopped a notebook; empty when nothing did."""
        return next((str(e.get("error") or "") for e in _entries(self.facts) if e["name"] == notebook.stem), "")

    @property
    def files(self) -> list[Path]:
        """Samples files in the order of their names."""
        return sorted((self.path / "samples").glob("**/[!.]*.parquet"))


def _entries(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Notebooks of the run with their errors, as campaign.json holds them."""
    held = facts.get("notebooks")
    entries = [entry for entry in held if isinstance(entry, dict)] if isinstance(held, list) else []
    return [entry for entry in entries if isinstance(name := entry.get("name"), str) and NAME.fullmatch(name)]


def read(path: Path, *, again: bool = False) -> Source:
    """Read a campaign folder; nothing in it is changed.

    Parameters
    ----------
    again : prefer notebooks that labkit executed anew to those that the campaign holds.

    Raises
    ------
    DataError
        If the folder is no campaign, or a samples file cannot be read.
    """
    path = Path(path)
    if not (path / "campaign.json").is_file():
        raise DataError(f"{path} is not a campaign: it has no campaign.json. Name a folder that 'labkit run' made.")
    held = Campaign(path)
    points: list[samples.Samples] = []
    raw = extremes = 0

    def each() -> Iterator[samples.Samples]:
        nonlocal raw, extremes
        for one in held.samples():
            raw += one.time_ns.size
            extremes += one.over is not None
            points.append(replace(one, time_ns=_NOTHING, extras={}, over=None))
            yield one

    table = records.table(each(), campaign=held.name)
    summary = records.summary(table) if len(table) else table
    folders = tuple(dict.fromkeys([*([held.derived / AGAIN] if again else []), path / FOLDER, held.derived / FOLDER]))
    failed = tuple(_failed(path, held.facts, folders))
    return Source(path, held.facts, tuple(points), table, summary, raw, extremes, failed, folders)


def _failed(path: Path, facts: dict[str, Any], folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """What was asked for and is not there, with the reason, each once."""
    found: dict[tuple[str, str], None] = {}
    skipped = facts.get("skipped")
    for entry in skipped if isinstance(skipped, list) else []:
        if isinstance(entry, dict):
            what = entry.get("point") or entry.get("notebook") or entry.get("name") or "?"
            found[str(what), str(entry.get("reason", "no reason was recorded"))] = None
        else:
            found[str(entry), "no reason was recorded"] = None
    for entry in _entries(facts):
        if not any((folder / f"{entry['name']}.ipynb").exists() for folder in folders):
            found[f"notebook {entry['name']}", str(entry.get("error") or "it did not run")] = None
    for one in events.read(path):
        if one.kind in ("failed", "skipped"):
            found[one["what"], one["reason"] or one.kind] = None
    yield from found
