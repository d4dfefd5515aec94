"""Packets are lost, and the description of the testbed does not say so: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_WHERE = "sockets.tcp_stream"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"percent": percent} for percent in (5, 8, 10, 15)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},loss={case['percent']}"
    specs = [one for one in _measured.streams(testbed) if one.benchmark == _WHERE]
    return _measured.hidden(specs, folder, loss_percent=None, delayed_by=None)


def _shown(campaign: Campaign, case: Parameters) -> str:
    again = _measured.typical(campaign.samples(_WHERE), "retransmits")
    rate = _measured.typical(campaign.samples(_WHERE), "bandwidth_MBps")
    text = _measured.apart("MB/s of a stream and of the stated link", rate, 25.0, 1.5)
    return f"{text}; {again:g} segments sent again"


KIND = Kind(
    words="hidden loss of packets",
    labels=(Label(_WHERE, ("packet-loss",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
