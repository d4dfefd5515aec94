"""Only small messages were measured for a bandwidth: recorded sizes, of which the larger ones are left out."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_WHERE, _EXAMPLE = "mpi.bandwidth", "two-cores"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"largest": size} for size in (64, 256) for _ in range(2)])


def _make(case: Parameters, folder: Path) -> Campaign:
    some = part(_EXAMPLE, _WHERE, lambda one: one.spec.transport == "shm" and one.spec.size <= case["largest"])
    return kept(folder, _EXAMPLE, [*launched(some, case["launches"]), *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    def per_byte(size: int) -> float:
        return typical(part(_EXAMPLE, _WHERE, lambda one: one.spec.transport == "shm" and one.spec.size == size)) / size

    return above("s per byte of the largest size and of 64 KiB", per_byte(case["largest"]), per_byte(65536))


KIND = Kind(
    words="messages too small for a bandwidth",
    labels=(Label(_WHERE, ("small-messages",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
