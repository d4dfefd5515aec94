"""One message per round trip over a long link, whose delay is stated: measured."""

import numpy as np

from bench.situations import Parameters, _far, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign

_WHERE = "mpi.bandwidth"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"ms": ms, "KiB": size} for ms in (3, 5) for size in (8, 16)]


def _spec(case: Parameters) -> Spec:
    return Spec(benchmark=_WHERE, size=1024 * case["KiB"], options={"window": 1})


def _rate(campaign: Campaign, case: Parameters) -> float:
    return 1024 * case["KiB"] / _measured.typical(campaign.samples(_WHERE)) / 1e6


KIND = _far.kind("one message per round trip over a long link", _WHERE, _cases, _spec, _rate)
