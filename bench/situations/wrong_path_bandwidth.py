"""Ranks on one host were told to send over TCP: recorded, and cut out of an example."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import apart, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_WHERE, _EXAMPLE = "mpi.bandwidth", "two-cores"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"beside": number % 2 == 0} for number in range(4)])


def _make(case: Parameters, folder: Path) -> Campaign:
    paths = ("tcp", "shm") if case["beside"] else ("tcp",)
    some = part(_EXAMPLE, _WHERE, lambda one: one.spec.transport in paths)
    return kept(folder, _EXAMPLE, [*launched(some, case["launches"]), *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    slow = typical(one for one in campaign.samples(_WHERE) if one.spec.transport == "tcp" and one.spec.size == 65536)
    fast = typical(part(_EXAMPLE, _WHERE, lambda one: one.spec.transport == "shm" and one.spec.size == 65536))
    return apart("s of a window over TCP and through shared memory", slow, fast)


KIND = Kind(
    words="ranks on one host send over TCP (bandwidth)",
    labels=(Label(_WHERE, ("wrong-path",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
