"""One host has a slower link, as the testbed says: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"mbit": mbit} for mbit in (20, 40, 60, 80)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},throttle=vc1:{case['mbit']}mbit"
    return _measured.measured(_measured.connections(testbed), folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slow_stream(campaign, 1.8)


KIND = Kind(
    words="a slower host that is stated",
    labels=(Label(_measured.STREAM, ("slow-part",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
