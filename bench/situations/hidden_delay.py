"""Packets are delayed, and the description of the testbed does not say so: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_PLACES = ("mpi.latency", "sockets.tcp_rr")


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"ms": int(ms)} for ms in random.choice([1, 2, 3, 5, 8, 10], 4, replace=False)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},delay={case['ms']}ms"
    specs = [*_measured.of_machine(), *_measured.messages(testbed)]
    return _measured.hidden(specs, folder, delay=None, delayed_by=None)


def _shown(campaign: Campaign, case: Parameters) -> str:
    trip = _measured.typical(campaign.samples("sockets.tcp_rr"), "round_trip_us") or 0.0
    return _measured.apart("µs of a round trip and of one without the delay, at most", trip, 1000.0 * case["ms"], 1.6)


KIND = Kind(
    words="a hidden delay",
    labels=tuple(Label(place, ("path-delay",)) for place in _PLACES),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
