"""Traffic control limits a link below the rate that the testbed states: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_PLACES = ("mpi.bandwidth", _measured.STREAM)


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"mbit": int(mbit)} for mbit in random.choice([20, 30, 40, 50, 60, 70, 80], 4, replace=False)]


def _make(case: Parameters, folder: Path) -> Campaign:
    rate = f"{case['mbit']}mbit"
    limit = f"tc class change dev eth0 parent 1: classid 1:1 htb rate {rate} ceil {rate} burst 3028 cburst 3028"
    with _measured.changed_link(_measured.LINK, limit):
        return _measured.measured(_measured.streams(_measured.LINK), folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slow_stream(campaign, 1.8)


KIND = Kind(
    words="a hidden limit of the rate",
    labels=tuple(Label(place, ("rate-limit",)) for place in _PLACES),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
