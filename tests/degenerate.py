"""Campaigns in which nothing follows: every study gets its points, with values that support no claim.

A point has the form of the recorded point of its benchmark in the example campaigns: its ranks, its phases, the values
that its tool reports. Where none was recorded, the benchmark's definition gives the form. The numbers are made here.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import random
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from labkit import benchmarks, studies
from labkit.errors import LabkitError
from labkit.figures.parts import Figure
from labkit.io import project
from labkit.point.columns import METRICS
from labkit.point.spec import Reported, Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

from . import made

SAMPLED = ("storage.encode", "storage.decode")  # tools whose points have iterations; none was recorded
ITERATIONS = 100  # the fewest with a 99th percentile
BUSY = "busy machine"
Value = Callable[[int, int, str], float]  # place of a point, launch, name of the quantity → value


@dataclasses.dataclass(frozen=True)
class Kind:
    """How the values of a degenerate campaign come about.

    Parameters
    ----------
    value : of a quantity: the time, a phase, or a metric that a tool reports.
    launches : of each point.
    busy : whether other programs took processor time.
    kept : share of the points that the campaign has.
    claims : whether a difference may be claimed.
    clock_ns : step of the clock; NaN for the recorded one.
    """

    value: Value
    launches: int = 6  # fewer decide nothing in a large family, so that no claim would be tried
    busy: bool = False
    kept: float = 1.0
    claims: bool = False
    clock_ns: float = math.nan


def _number(*key: object) -> float:
    """Return a number between 0 and 1 that follows from the key."""
    return random.Random(repr(key)).random()


def _high(place: int, name: str) -> list[int]:
    """Return which three of six launches have high values: others for each quantity, so that no launch has its own."""
    return random.Random(repr((place, name, "high"))).sample(range(6), 3)


KINDS = {
    "no points": Kind(lambda place, launch, name: 50.0, kept=0),
    "zeros": Kind(lambda place, launch, name: 0.0),
    "one value": Kind(lambda place, launch, name: 50.0, claims=True),  # rates differ by their work
    "overlapping launches": Kind(
        lambda place, launch, name: 50 * (1 + _number(place)) * (1000.0 if launch in _high(place, name) else 0.001)
    ),
    "one launch of a busy machine": Kind(
        lambda place, launch, name: 2 + 98 * _number(place, name), launches=1, busy=True
    ),
    "reversed order": Kind(lambda place, launch, name: 50_000 / (1 + place) * (1 + launch / 1000), claims=True),
    "parts above the whole": Kind(
        lambda place, launch, name: 10.0 ** (1 + 5 * _number(place, name)) * (1 + launch / 1000), claims=True
    ),
    "below the clock": Kind(lambda place, launch, name: 50_000 / (1 + place) * (1 + launch / 1000), clock_ns=1e15),
    "missing levels": Kind(lambda place, launch, name: 10 * (1 + place) * (1 + launch / 1000), kept=0.4, claims=True),
}


@cache
def _recorded() -> Mapping[str, list[Samples]]:
    """Return the first launches of the points of the example campaigns by benchmark, one of each setting."""
    first: dict[str, dict[Spec, Samples]] = {}
    for folder in sorted((project.CAMPAIGNS / "examples").iterdir()):
        for samples in Campaign(folder).samples():
            if samples.launch == 0:
                first.setdefault(samples.spec.benchmark, {}).setdefault(samples.spec.replace(size=0), samples)
    return {name: [*found.values()] for name, found in first.items()}


@cache
def _like(spec: Spec) -> Samples | None:
    """Return the recorded point that has most options in common with a spec."""
    options = set(spec.values.items())
    found = _recorded().get(spec.benchmark, ())
    return max(
        found, key=lambda one: (one.spec.ranks == spec.ranks, len(options & set(one.spec.values.items()))), default=None
    )


@cache
def specs_of(name: str) -> tuple[Spec, ...]:
    """Return the points that a study asks for with its default parameters, each once."""
    study = studies.get(name)(measure=False, campaign=str(project.CAMPAIGNS / "examples" / "two-cores"))
    every = list(dict.fromkeys(benchmarks.resolve(spec) for spec in study.specs()))
    sizes: dict[Spec, list[int]] = {}
    for spec in every:
        sizes.setdefault(spec.replace(size=0), []).append(spec.size)
    return tuple(spec for spec in every if spec.size in _thin(sorted(sizes[spec.replace(size=0)])))


def _thin(sizes: list[int]) -> set[int]:
    """Return the least and the largest size."""
    return {sizes[0], sizes[-1]}


def point(spec: Spec, place: int, launch: int, kind: Kind) -> Samples:
    """Return a launch of a point."""
    like, benchmark = _like(spec.replace(size=0)), benchmarks.get(spec.benchmark)

    def value(name: str) -> float:
        return kind.value(place, launch, name)

    meta = dict(like.meta) if like else {"engine": "c", "library": "L"}
    meta |= {"start": f"2026-01-01T00:{launch:02}:00.000+00:00"}  # in turns: else no difference could be claimed
    meta |= {"badges": [BUSY] if kind.busy else [], "warnings": [], "fingerprint": f"{place:016x}"}
    meta |= {"testbed": {}} if spec.testbed == "local" else {}  # else a recorded job's links would bound made values
    meta |= {} if math.isnan(kind.clock_ns) else {"clock_ns": kind.clock_ns}
    if like and not like.n:
        fields: dict[str, Any] = {
            "reported": [dataclasses.replace(one, value=value(one.name)) for one in like.reported if one.t is None]
        }
    elif like or spec.benchmark in SAMPLED or not isinstance(benchmark, benchmarks.ToolBenchmark):
        fields = _times(spec, like, value)
    else:
        names = dict.fromkeys([*benchmark.metrics, *benchmark.phases.values(), *benchmark.derived])
        fields = {"reported": [_reported(name, one, value(name)) for name in names for one in ("p50", "value")]}
    return made.samples(spec, launch=launch, meta=meta, host=like.host if like else {}, **fields)


def _reported(name: str, statistic: str, value: float) -> Reported:
    return Reported(name, METRICS[name].unit, statistic, value)


def _times(spec: Spec, like: Samples | None, value: Callable[[str], float]) -> dict[str, Any]:
    """Return times and phases of each rank, µs of the value as ns."""
    ranks = like.ranks if like else tuple(range(spec.ranks))
    phases = like.extras if like else dict.fromkeys(benchmarks.get(spec.benchmark).phases)
    jitter = np.arange(ITERATIONS)[None] % 5 * 0.001
    times = {
        name: np.repeat(value(name) * (1 + jitter) * 1000, len(ranks), axis=0).astype(np.int64)
        for name in ("time_ns", *phases)
        if name.endswith("_ns") or not like
    }
    others = {
        name: np.broadcast_to(column[:, :1], (len(ranks), ITERATIONS)).copy()
        for name, column in phases.items()
        if column is not None and name not in times
    }
    return {"time_ns": times.pop("time_ns"), "ranks": ranks, "extras": times | others}


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of all campaigns made here; it goes when Python ends."""
    return tempfile.TemporaryDirectory(prefix="labkit-degenerate-")


class Made(Campaign):
    """A campaign in memory, of the points of a study.

    Parameters
    ----------
    points : its samples.
    """

    def __init__(self, points: Collection[Samples]) -> None:
        super().__init__(Path(_folder().name) / "none")
        self._points = points

    def samples(self, benchmark: str = "*", wanted: Any = None) -> Iterator[Samples]:
        """Yield the samples of a benchmark."""
        return (one for one in self._points if benchmark in ("*", one.spec.benchmark))


def study(name: str, kind: Kind) -> studies.Study:
    """Return a study that reads a degenerate campaign."""
    own = studies.get(name)(measure=False, campaign=str(project.CAMPAIGNS / "examples" / "two-cores"))
    points = [
        point(spec, place, launch, kind)
        for place, spec in enumerate(specs_of(name))
        if _number(name, place) < kind.kept
        for launch in range(kind.launches)
    ]
    own.read_from(Made(points))
    return own


def texts(own: studies.Study) -> dict[str, str]:
    """Return the texts of a study by the method that gives them."""
    found = {}
    for name, method in inspect.getmembers(type(own), inspect.isfunction):
        returned = inspect.signature(method)
        if name.startswith("_") or name in ("warnings", "export") or "Text" not in str(returned.return_annotation):
            continue
        if len(returned.parameters) == 1:
            try:
                part = getattr(own, name)()
                found[name] = "" if isinstance(part, Figure) else str(part)
            except LabkitError as error:  # a cell of a notebook shows it
                found[name] = str(error)
    return found
