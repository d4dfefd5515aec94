"""The description says that packets are of 9000 B, but the links carry small ones: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_STATED = 9000  # B


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"mtu": int(mtu)} for mtu in random.choice([280, 320, 360, 420, 460], 4, replace=False)]


def _make(case: Parameters, folder: Path) -> Campaign:
    with _measured.changed_link(_measured.LINK, f"ip link set dev eth0 mtu {case['mtu']}"):
        return _measured.hidden(_measured.connections(_measured.LINK), folder, mtu=_STATED)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slow_stream(campaign, 1.1, full=24.8)  # MB/s with packets of 9000 B


KIND = Kind(
    words="an MTU that is smaller than stated",
    labels=(Label(_measured.STREAM, ("small-packets",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
