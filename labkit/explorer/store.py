"""Campaigns as tables, read as they grow: a samples file is read once, and again only when it was written anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from labkit import campaign, records, samples
from labkit.errors import DataError
from labkit.samples import Samples

SORTED = ["benchmark", "message_size_B", "fingerprint", "launch"]


def names() -> list[str]:
    """All campaigns below `labkit.campaign.root`, newest first."""
    root = campaign.root()
    found = sorted(root.glob("**/campaign.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    return [str(path.parent.relative_to(root)) for path in found]


def files(name: str, benchmark: str = "*") -> list[Path]:
    """Samples files of a benchmark in a campaign."""
    return sorted((campaign.find(name) / "samples").glob(f"{benchmark}/[!.]*.parquet"))


def benchmarks(held: Sequence[str]) -> list[str]:
    """Benchmarks that occur in some campaigns."""
    return sorted({path.parent.name for name in held for path in files(name)})


def launches(name: str, benchmark: str, fingerprint: str) -> list[Samples]:
    """All launches of a point."""
    found = [samples.load(path) for path in files(name, benchmark) if path.name.startswith(f"{fingerprint}-")]
    return sorted(found, key=lambda one: one.launch)


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Records of several campaigns, one below the other."""
    return pd.concat(frames, ignore_index=True) if frames else records.table([])


class Store:
    """What was read so far, by campaign and benchmark."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], dict[Path, int]] = {}
        self._frames: dict[tuple[str, str], pd.DataFrame] = {}
        self._summary: tuple[object, pd.DataFrame] | None = None
        self.unreadable: dict[Path, str] = {}

    def records(self, name: str, benchmark: str) -> pd.DataFrame:
        """Rows of one benchmark in a campaign; the column campaign has the name it was asked by."""
        key = (name, benchmark)
        there = {path: path.stat().st_mtime_ns for path in files(name, benchmark)}
        seen = self._seen.get(key, {})
        if any(there.get(path) != changed for path, changed in seen.items()):
            seen = {}
        new = [sample for path in there if path not in seen and (sample := self._load(path)) is not None]
        if new or key not in self._frames or not seen:
            frame = records.table(new, campaign=name)
            held = [self._frames[key], frame] if seen and new else [frame]
            self._frames[key] = pd.concat(held, ignore_index=True).sort_values(SORTED, ignore_index=True, kind="stable")
        self._seen[key] = there
        return self._frames[key]

    def _load(self, path: Path) -> Samples | None:
        """Samples of a file; None for one that cannot be read, which is remembered."""
        try:
            return samples.load(path)
        except DataError as error:
            self.unreadable[path] = str(error)
            return None

    def summary(self, held: Sequence[str], benchmark: str) -> pd.DataFrame:
        """One row per point and campaign, over its launches."""
        frames = [frame for name in held if len(frame := self.records(name, benchmark))]
        key = tuple(map(id, frames))
        if self._summary is None or self._summary[0] != key:
            frame = joined(frames)
            self._summary = key, records.summary(frame) if len(frame) else frame
        return self._summary[1]
