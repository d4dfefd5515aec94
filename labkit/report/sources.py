"""A campaign as the report reads it: its facts, samples without their values, records, and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit import records, samples
from labkit.campaign import Campaign
from labkit.errors import DataError

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
    raw : numbers of values: samples times ranks.
    failed : what was skipped or failed, with the reason; from campaign.json and log.txt.
    """

    path: Path
    facts: dict[str, Any]
    points: tuple[samples.Samples, ...]
    records: pd.DataFrame
    summary: pd.DataFrame
    raw: int
    failed: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return str(self.facts.get("name") or self.path.name)

    @property
    def host(self) -> dict[str, Any]:
        """Host of the campaign, else that of its first samples."""
        return dict(self.facts.get("host") or (self.points[0].host if self.points else {}))

    @property
    def notebooks(self) -> list[Path]:
        """Executed notebooks: those of the suite in its order, then others by name."""
        listed = [f"{entry['name']}.ipynb" for entry in _entries(self.facts)]
        found = sorted((self.path / "notebooks").glob("[!.]*.ipynb"))
        return sorted(found, key=lambda path: listed.index(path.name) if path.name in listed else len(listed))

    def error(self, notebook: Path) -> str:
        """What the run says stopped a notebook; empty when nothing did."""
        return next((str(e.get("error") or "") for e in _entries(self.facts) if e["name"] == notebook.stem), "")

    @property
    def files(self) -> list[Path]:
        """Samples files in the order of their names."""
        return sorted((self.path / "samples").glob("**/[!.]*.parquet"))


def _entries(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Notebooks of the run with their errors, as campaign.json holds them."""
    return [entry for entry in facts.get("notebooks", []) if isinstance(entry, dict) and "name" in entry]


def read(path: Path) -> Source:
    """Read a campaign folder; nothing in it is changed.

    Raises
    ------
    DataError
        If the folder is no campaign, or a samples file cannot be read.
    """
    path = Path(path)
    if not (path / "campaign.json").is_file():
        raise DataError(f"{path} is no campaign: it has no campaign.json. Give the folder that 'labkit run' made.")
    held = Campaign(path)
    points: list[samples.Samples] = []
    raw = 0

    def each() -> Iterator[samples.Samples]:
        nonlocal raw
        for one in held.samples():
            raw += one.time_ns.size
            points.append(replace(one, time_ns=_NOTHING, extras={}))
            yield one

    table = records.table(each(), campaign=held.name)
    summary = records.summary(table) if len(table) else table
    return Source(path, held.facts, tuple(points), table, summary, raw, tuple(_failed(path, held.facts)))


def _failed(path: Path, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What was asked for and is not there, with the reason, each once."""
    found: dict[tuple[str, str], None] = {}
    for entry in facts.get("skipped", []):
        if isinstance(entry, dict):
            what = entry.get("point") or entry.get("notebook") or entry.get("name") or "?"
            found[str(what), str(entry.get("reason", "no reason was recorded"))] = None
        else:
            found[str(entry), "no reason was recorded"] = None
    for entry in _entries(facts):
        if not (path / "notebooks" / f"{entry['name']}.ipynb").exists():
            found[f"notebook {entry['name']}", str(entry.get("error") or "it was not executed")] = None
    log = path / "log.txt"
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    for line in lines:
        match = re.match(r"\S+ (failed|skipped) (.*)$", line)
        if match:
            what, _, reason = match[2].partition(": ")
            found[what, reason or match[1]] = None
    yield from found
