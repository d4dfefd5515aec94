"""Another program computes on one core, to which a rank is bound: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.units import MiB
from labkit.store.campaign import Campaign

_WHERE = "mpi.bandwidth"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"core": int(core), "programs": count} for count in (1, 2) for core in random.permutation(2)]


def _make(case: Parameters, folder: Path) -> Campaign:
    specs = [one.replace(bind="core") for one in _measured.heavy(MiB, 4 * MiB)]
    return _measured.disturbed(specs, folder, _measured.spinning(case["programs"], [case["core"]]))


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slower(campaign, _WHERE, 1.5)


KIND = Kind(
    words="another program on the core of a rank",
    labels=(Label(_WHERE, ("busy-machine",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
