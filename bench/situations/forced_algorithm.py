"""A collective was forced to a linear algorithm: measured, beside the choice of the library."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign

_WHERE = "mpi.allreduce"
_VARIABLES = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_allreduce_algorithm": "1"}
_TESTBED = "virtual-cluster:8,rate=50mbit"
_RANKS = 8


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"KiB": size} for size in (16, 32, 64, 128)]


def _make(case: Parameters, folder: Path) -> Campaign:
    own = Spec(benchmark=_WHERE, size=1024 * case["KiB"], ranks=_RANKS, transport="tcp", testbed=_TESTBED)
    pair = Spec(benchmark="mpi.latency", size=own.size, transport="tcp", testbed=_TESTBED)
    specs = [own, own.replace(environment=_VARIABLES), pair]
    return _measured.measured([*_measured.of_machine(), *specs], folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    forced, free = (
        _measured.typical(one for one in campaign.samples(_WHERE) if bool(one.spec.environment) is given)
        for given in (True, False)
    )
    return _measured.above("s with the linear algorithm and with the choice of the library", forced, free, 1.5)


KIND = Kind(
    words="a collective forced to a slow algorithm",
    labels=(Label(_WHERE, ("algorithm",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
