"""Most of the timed iterations belong to the warm-up: recorded times, of which the first ones are made slow."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _WHERE = "virtual-cluster", "mpi.latency"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"share": share, "times": 6.0} for share in (0.6, 0.7, 0.8, 0.9)])


def _make(case: Parameters, folder: Path) -> Campaign:
    changed = []
    for one in launched(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), case["launches"]):
        slow = np.ones(one.n)
        slow[: int(case["share"] * one.n)] = case["times"]
        changed.append(replace(one, time_ns=(one.time_ns * slow).astype(np.int64)))
    return kept(folder, _EXAMPLE, [*changed, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    usual = typical(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE))
    return above("s of an iteration, with the slow start and without", typical(campaign.samples(_WHERE)), usual)


KIND = Kind(
    words="a warm-up longer than half of the timed iterations",
    labels=(Label(_WHERE, ("short-warm-up",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
