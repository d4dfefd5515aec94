"""The eager limit of the library was set low, so that messages on a long link wait for the receiver: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign

_WHERE, _VARIABLE = "mpi.latency", "OMPI_MCA_btl_tcp_eager_limit"
_SIZES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)


def _cases(random: np.random.Generator) -> list[Parameters]:
    limits, delays = random.permutation([384, 768, 1536, 3072]), random.choice([1, 2, 3], 4)
    return [{"limit": int(limit), "ms": int(ms)} for limit, ms in zip(limits, delays, strict=True)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},delay={case['ms']}ms"
    forced = {_VARIABLE: str(case["limit"])}
    specs = [Spec(benchmark=_WHERE, size=size, transport="tcp", testbed=testbed, environment=forced) for size in _SIZES]
    return _measured.measured([*_measured.of_machine(), *specs], folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(size: int) -> float:
        return _measured.typical(one for one in campaign.samples(_WHERE) if one.spec.size == size)

    below = max(size for size in _SIZES if size < case["limit"])
    above = min(size for size in _SIZES if size > case["limit"])
    return _measured.above("s of a message above the limit and below it", of(above), of(below), 1.6)


KIND = Kind(
    words="an eager limit that is too low for a long link",
    labels=(Label(_WHERE, ("eager-limit",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
