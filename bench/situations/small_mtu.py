"""Packets are small, and the testbed does not say so: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_WHERE = "sockets.tcp_stream"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"mtu": mtu} for mtu in (256, 300, 350, 400)]


def _make(case: Parameters, folder: Path) -> Campaign:
    with _measured.changed_link(_measured.LINK, f"ip link set dev eth0 mtu {case['mtu']}"):
        return _measured.measured([one for one in _measured.streams(_measured.LINK) if one.benchmark == _WHERE], folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    rate = _measured.typical(campaign.samples(_WHERE), "bandwidth_MBps")
    return _measured.apart("MB/s of a stream and with packets of 1500 B", rate, 23.9, 1.1)


KIND = Kind(
    words="a hidden small MTU",
    labels=(Label(_WHERE, ("small-packets",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
