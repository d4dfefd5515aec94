"""A small socket buffer on a long link, whose delay is stated: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign

_WHERE = "sockets.tcp_stream"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"ms": ms} for ms in (2, 3, 5, 8)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},delay={case['ms']}ms"
    options = {"tool": "iperf3", "socket_buffer": 16384}
    one = Spec(benchmark=_WHERE, size=16384, ranks=1, testbed=testbed, options=options)
    return _measured.measured([one, *_measured.of_machine(), *_measured.messages(testbed, (8, 1024))], folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    rate = _measured.typical(campaign.samples(_WHERE), "bandwidth_MBps")
    return _measured.apart("MB/s with the small buffer and of the link", rate, 25.0, 2.0)


KIND = Kind(
    words="a small socket buffer on a long link",
    labels=(Label(_WHERE, ("window-of-round-trip", "few-outstanding")),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
