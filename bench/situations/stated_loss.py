"""Packets are lost, as the testbed says: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_WHERE = "sockets.tcp_stream"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"percent": percent} for percent in (5, 8, 10, 15)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},loss={case['percent']}"
    return _measured.measured([one for one in _measured.streams(testbed) if one.benchmark == _WHERE], folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    rate = _measured.typical(campaign.samples(_WHERE), "bandwidth_MBps")
    return _measured.apart("MB/s of a stream and of the link without loss", rate, 25.0, 1.5)


KIND = Kind(
    words="loss of packets that is stated",
    labels=(Label(_WHERE, ("packet-loss",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
