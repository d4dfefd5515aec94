"""Other programs compute on all cores while ranks exchange messages: measured."""

import os
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.units import KiB, MiB
from labkit.store.campaign import Campaign

_WHERE = "mpi.bandwidth"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"programs": count} for count in (2, 2, 3, 4)]


def _make(case: Parameters, folder: Path) -> Campaign:
    count = case["programs"] * (len(os.sched_getaffinity(0)) // 2 or 1)
    return _measured.disturbed(_measured.heavy(256 * KiB, MiB), folder, _measured.spinning(count))


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slower(campaign, _WHERE, 1.8)


KIND = Kind(
    words="other programs on all cores",
    labels=(Label(_WHERE, ("busy-machine",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
