"""Both ranks may use one core only, as a batch job or a container may leave them: measured."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort, Spec
from labkit.store.campaign import Campaign

_WHERE = "mpi.latency"
_EFFORT = Effort(launches=3, iterations=500, warmup=10, time_cap=1.0)


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"core": int(core)} for _ in range(2) for core in random.permutation(2)]


@contextmanager
def _only(core: int) -> Iterator[None]:
    """Leave one core to what this process starts."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _make(case: Parameters, folder: Path) -> Campaign:
    specs = [Spec(benchmark=_WHERE, size=size, transport="shm") for size in (8, 1024)]
    return _measured.disturbed(specs, folder, _only(case["core"]), _EFFORT)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slower(campaign, _WHERE, 2.0)


KIND = Kind(
    words="two ranks on one core",
    labels=(Label(_WHERE, ("oversubscription",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
