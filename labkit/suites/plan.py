"""What a suite will run, with which libraries, and for how long. It starts only version queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from labkit.errors import DataError, LabkitError
from labkit.read.records import tables
from labkit.run import sample_volume
from labkit.run.measuring import Point
from labkit.store.campaign import Campaign, root
from labkit.suites.definition import Entry, Suite


@dataclass(frozen=True)
class Planned:
    """One notebook of a plan.

    Parameters
    ----------
    entry : the notebook with its parameters and setting.
    points : number of points of its study, times launches.
    missing : number of points that are not in the campaign.
    on : libraries, tools and testbeds, each once.
    seconds : how long the missing points take: their time in earlier campaigns, else their limit.
    known : number of missing points whose time is known from earlier campaigns.
    bytes : estimated size of the samples of the missing points; see `labkit.run.sample_volume`.
    problem : why it cannot run; empty if it can.
    """

    entry: Entry
    points: int = 0
    missing: int = 0
    on: tuple[str, ...] = ()
    seconds: float = 0.0
    known: int = 0
    bytes: int = 0
    problem: str = ""


def plan(suite: Suite, into: str | Path | None = None) -> list[Planned]:
    """Return the notebooks of a suite in the order of their execution, with what is missing of each."""
    folder = Path(into or root() / suite.name)
    present = Campaign(folder).done() if (folder / "campaign.json").exists() else set()
    times = times_of_earlier_campaigns()
    planned = []
    for entry in suite.order:
        try:
            study = entry.study()
        except LabkitError as error:
            planned.append(Planned(entry, problem=str(error).splitlines()[0]))
            continue
        missing = [p for p in study.points if (p.spec.benchmark, p.fingerprint, p.launch) not in present]
        present |= {(p.spec.benchmark, p.fingerprint, p.launch) for p in missing}
        known = [times[p.fingerprint] for p in missing if p.fingerprint in times]
        limit = (len(missing) - len(known)) * study.effort.time_cap
        size = sum(sample_volume.volume(p.spec, study.effort).kept for p in missing)
        seconds = sum(known) + limit
        planned.append(Planned(entry, len(study.points), len(missing), _on(study.points), seconds, len(known), size))
    return planned


def times_of_earlier_campaigns() -> Mapping[str, float]:
    """Return fingerprint → median time of a point, in s, in the campaigns that labkit run has finished."""
    frames = []
    for path in root().glob("**/records.parquet"):
        try:
            rows = tables.read(path, ["fingerprint", "elapsed_s"])
        except DataError:
            continue  # a derived file: the run that wrote it may have been killed
        if {"fingerprint", "elapsed_s"} <= set(rows):
            frames.append(rows)
    if not frames:
        return {}
    rows = pd.concat(frames).dropna()
    return {str(name): float(value) for name, value in rows.groupby("fingerprint")["elapsed_s"].median().items()}


def _on(points: Sequence[Point]) -> tuple[str, ...]:
    """Return the libraries, tools and testbeds of points; several of a kind, which differ in their options, as one."""
    libraries = dict.fromkeys(name for p in points if p.library != "none" for name in p.library.split(", "))
    kinds: dict[str, list[str]] = {}
    for testbed in dict.fromkeys(p.spec.testbed for p in points if p.spec.testbed != "local"):
        kinds.setdefault(testbed.partition(",")[0], []).append(testbed)
    places = (names[0] if len(names) == 1 else f"{kind} in {len(names)} variants" for kind, names in kinds.items())
    return (*libraries, *places)
