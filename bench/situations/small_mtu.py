"""Packets are small, and the testbed does not say so: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"mtu": mtu} for mtu in (256, 300, 350, 400)]


def _make(case: Parameters, folder: Path) -> Campaign:
    with _measured.changed_link(_measured.LINK, f"ip link set dev eth0 mtu {case['mtu']}"):
        return _measured.measured(_measured.connections(_measured.LINK), folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slow_stream(campaign, 1.1, full=23.9)  # MB/s with packets of 1500 B


KIND = Kind(
    words="a hidden small MTU",
    labels=(Label(_measured.STREAM, ("small-packets",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
