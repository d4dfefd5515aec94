"""Packets are lost, as the testbed says: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"percent": percent} for percent in (5, 8, 10, 15)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},loss={case['percent']}"
    return _measured.measured(_measured.connections(testbed), folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.lossy_stream(campaign, case["percent"])


KIND = Kind(
    words="loss of packets that is stated",
    labels=(Label(_measured.STREAM, ("packet-loss",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
