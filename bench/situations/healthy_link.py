"""Nothing was injected: links of several rates and delays, described as they are: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Parameters, _measured
from labkit.store.campaign import Campaign

_LINKS = (
    "rate=50mbit",
    "rate=100mbit",
    "rate=200mbit",
    "rate=400mbit",
    "rate=100mbit,delay=1ms",
    "rate=200mbit,delay=3ms",
)


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"link": link} for link in _LINKS]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"virtual-cluster:2,{case['link']}"
    specs = [*_measured.of_machine(), *_measured.messages(testbed, (8, 1024)), *_measured.streams(testbed)]
    return _measured.measured(specs, folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return f"{len(campaign.done())} launches as they were measured"


KIND = Kind(
    words="nothing: links of several rates and delays",
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
