"""A quota leaves both ranks less than one processor, as a container may have: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.units import MiB
from labkit.store.campaign import Campaign

_WHERE, _PERIOD_US = "mpi.bandwidth", 20_000


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"processors": float(count)} for count in random.permutation([0.4, 0.5, 0.6, 0.8])]


def _make(case: Parameters, folder: Path) -> Campaign:
    quota = {"cpu.cfs_period_us": str(_PERIOD_US), "cpu.cfs_quota_us": f"{case['processors'] * _PERIOD_US:.0f}"}
    specs = _measured.heavy(4 * MiB)  # an iteration of 256 MiB takes longer than a period
    return _measured.disturbed(specs, folder, _measured.control_group("cpu", quota))


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slower(campaign, _WHERE, 1.5)


KIND = Kind(
    words="a quota of processor time",
    labels=(Label(_WHERE, ("processor-quota",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
