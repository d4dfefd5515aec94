"""A small socket buffer on a long link, whose delay is stated: measured."""

import numpy as np

from bench.situations import Parameters, _far, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"ms": ms} for ms in (2, 3, 5, 8)]


def _spec(case: Parameters) -> Spec:
    options = {"tool": "iperf3", "socket_buffer": 16384}
    return Spec(benchmark=_measured.STREAM, size=16384, ranks=1, options=options)


def _rate(campaign: Campaign, case: Parameters) -> float:
    return _measured.typical(campaign.samples(_measured.STREAM), "bandwidth_MBps")


KIND = _far.kind("a small socket buffer on a long link", _measured.STREAM, _cases, _spec, _rate)
