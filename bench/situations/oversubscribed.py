"""More ranks than cores: measured."""

import os
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort, Spec
from labkit.store.campaign import Campaign

_WHERE = "mpi.allreduce"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"times": times} for times in (2, 2, 3, 3)]


def _make(case: Parameters, folder: Path) -> Campaign:
    ranks = case["times"] * len(os.sched_getaffinity(0))
    own = [Spec(benchmark=_WHERE, size=8, ranks=ranks, transport="shm")]
    pair = [Spec(benchmark="mpi.latency", size=8, transport="shm")]
    effort = Effort(launches=3, iterations=200, warmup=10, time_cap=0.5)
    return _measured.measured([*_measured.of_machine(), *own, *pair], folder, effort)


def _shown(campaign: Campaign, case: Parameters) -> str:
    many, two = (_measured.typical(campaign.samples(name)) for name in (_WHERE, "mpi.latency"))
    return _measured.above("s of an allreduce and of a message", many, two, 4.0)


KIND = Kind(
    words="more ranks than cores",
    labels=(Label(_WHERE, ("oversubscription",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
