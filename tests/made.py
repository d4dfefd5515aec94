"""Samples made by hand: the one builder of the tests, of what a point and launch left behind without measuring it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labkit.judge.view import View
from labkit.point import notes
from labkit.point.columns import METRICS
from labkit.point.notes import badge, note
from labkit.point.spec import Effort, Reported, Spec
from labkit.read import columnar, records
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT

ID = "8d6d0e0c-6f5e-4c7e-9b43-0d5c1f6e2a11"  # for a campaign.json that a test writes


def samples(spec: Spec | str, time_ns: Any = None, *, launch: int = 0, **fields: Any) -> Samples:
    """A launch with given times, or with values that a tool reported.

    Parameters
    ----------
    spec : or the name of its benchmark.
    time_ns : (ranks, iterations) or (iterations,), ns, of the ranks 0, 1, …; None where there are only values.
    fields : of `Samples`. `reported` makes the origin "reported", unless it is given.
    """
    if time_ns is not None:
        times = np.atleast_2d(np.asarray(time_ns)).astype(np.int64)
        fields = {"time_ns": times, "ranks": tuple(range(len(times)))} | fields
    elif "reported" in fields:
        fields = {"origin": "reported", **fields, "reported": tuple(fields["reported"])}
    fields = {"effort": Effort(), "host": {}} | fields | {"meta": noted(fields.get("meta", {}))}
    return Samples(spec=Spec(benchmark=spec) if isinstance(spec, str) else spec, launch=launch, **fields)


def noted(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata in which the badges and warnings have codes, as labkit writes them; a warning has the code "doubt"."""
    marks = [badge(text) for text in meta.get("badges", ())]
    doubts = [note("doubt", text) for text in meta.get("warnings", ())]
    known = dict(notes.details([*marks, *doubts])) | meta.get("notes", {})
    return {**meta, "notes": known} if known else dict(meta)


def values(metric: str = "latency_us", **statistics: float) -> Iterable[Reported]:
    """Values of a metric that a tool reported, by statistic: ``values(p50=2.0, p99=7.0)``."""
    return tuple(Reported(metric, METRICS[metric].unit, name, value) for name, value in statistics.items())


def campaign(folder: Path, some: Iterable[Samples]) -> Campaign:
    """A campaign that holds launches; their metadata name their fingerprints."""
    made_of = Campaign(folder)
    with made_of.saving() as saving:
        for one in some:
            saving.add(one, FINGERPRINT.of(one.meta))
    return made_of


def view(some: Sequence[Samples], *more: Any) -> View:
    """What rules see of launches."""
    launches = columnar.of_samples(some)
    return View("c", launches.records, records.summary(launches.records), launches, *more)
