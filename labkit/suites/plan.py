"""What a suite will run, on what, and for how long; starts nothing but version queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit import campaign
from labkit.campaign import Campaign
from labkit.errors import LabkitError
from labkit.measuring import Point
from labkit.suites.definition import Entry, Suite


@dataclass(frozen=True)
class Planned:
    """One notebook of a plan.

    Parameters
    ----------
    entry : the notebook with its parameters and setting.
    points : of its study, times launches.
    missing : of them, those that are not in the campaign.
    on : library or tool and testbed, each once.
    seconds : how long the missing points take: as they did in earlier campaigns, else their limit.
    known : of the missing points, those that earlier campaigns tell the time of.
    problem : why it cannot run; empty where it can.
    """

    entry: Entry
    points: int = 0
    missing: int = 0
    on: tuple[str, ...] = ()
    seconds: float = 0.0
    known: int = 0
    problem: str = ""


def plan(suite: Suite, into: str | Path | None = None) -> list[Planned]:
    """Notebooks of a suite in the order of their execution, with what is missing of each."""
    folder = Path(into or campaign.root() / suite.name)
    there = Campaign(folder).done() if (folder / "campaign.json").exists() else set()
    took = earlier()
    found = []
    for entry in suite.order:
        try:
            study = entry.study()
        except LabkitError as error:
            found.append(Planned(entry, problem=str(error).splitlines()[0]))
            continue
        missing = [p for p in study.points if (p.spec.benchmark, p.fingerprint, p.launch) not in there]
        there |= {(p.spec.benchmark, p.fingerprint, p.launch) for p in missing}
        known = [took[p.fingerprint] for p in missing if p.fingerprint in took]
        limit = (len(missing) - len(known)) * study.effort.time_cap
        found.append(Planned(entry, len(study.points), len(missing), _on(study.points), sum(known) + limit, len(known)))
    return found


def earlier() -> Mapping[str, float]:
    """Fingerprint → median time of a point in the campaigns that labkit run has finished, s."""
    import pandas as pd

    frames = []
    for path in campaign.root().glob("**/records.parquet"):
        try:
            frames.append(pd.read_parquet(path, columns=["fingerprint", "elapsed_s"]))
        except (OSError, ValueError, KeyError):
            continue  # derived: the run that made it may have been ended
    if not frames:
        return {}
    rows = pd.concat(frames).dropna()
    return {str(name): float(value) for name, value in rows.groupby("fingerprint")["elapsed_s"].median().items()}


def _on(points: Sequence[Point]) -> tuple[str, ...]:
    """Libraries, tools and testbeds."""
    libraries = dict.fromkeys(p.library for p in points if p.library != "none")
    testbeds = dict.fromkeys(p.spec.testbed for p in points)
    return (*libraries, *(name for name in testbeds if name != "local"))
