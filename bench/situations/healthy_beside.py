"""Nothing was injected: ranks on one host were told to send over TCP, and through shared memory, to compare both."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, NotShownError, Parameters
from bench.situations._recorded import costs, kept, launched, part, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _BENCHMARKS, _PATHS, _EACH = "two-cores", ("mpi.latency", "mpi.bandwidth"), ("shm", "tcp"), 4


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [
        one
        for group, name in enumerate(_BENCHMARKS)
        for one in with_launches(random, [{"benchmark": name, "group": group}] * _EACH)
    ]


def _make(case: Parameters, folder: Path) -> Campaign:
    some = part(_EXAMPLE, case["benchmark"], lambda one: one.spec.transport in _PATHS)
    return kept(folder, _EXAMPLE, [*launched(some, case["launches"]), *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    paths = {one.spec.transport for one in campaign.samples(case["benchmark"])}
    if paths != {*_PATHS}:
        raise NotShownError(f"paths: {paths}")
    return "both paths, as they were recorded"


KIND = Kind(words="nothing: TCP beside shared memory", source="recorded", cases=_cases, make=_make, shown=_shown)
