"""Packets are delayed, and the description of the testbed does not say so: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_PLACES = ("mpi.latency", _measured.ROUND_TRIP)


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"ms": int(ms)} for ms in random.choice([1, 2, 3, 5, 8, 10], 4, replace=False)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},delay={case['ms']}ms"
    specs = [*_measured.of_machine(), *_measured.messages(testbed)]
    return _measured.hidden(specs, folder, delay=None, delayed_by=None)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.late_trips(campaign, case["ms"])


KIND = Kind(
    words="a hidden delay",
    labels=tuple(Label(place, ("path-delay",)) for place in _PLACES),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
