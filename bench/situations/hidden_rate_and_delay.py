"""Two faults at once: the link is slower, and packets are later, than the description says: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"mbit": mbit, "ms": ms} for mbit in (30, 60) for ms in (2, 4)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"virtual-cluster:2,rate={case['mbit']}mbit,delay={case['ms']}ms"
    specs = [*_measured.of_machine(), *_measured.messages(testbed, (8, 512, 1024)), *_measured.streams(testbed)]
    return _measured.hidden(specs, folder, rate_bps=200e6, delay=None, delayed_by=None)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return f"{_measured.slow_stream(campaign, 1.8)}; {_measured.late_trips(campaign, case['ms'])}"


KIND = Kind(
    words="a hidden limit of the rate and a hidden delay",
    labels=(
        *(Label(place, ("rate-limit",)) for place in ("mpi.bandwidth", _measured.STREAM)),
        *(Label(place, ("path-delay",)) for place in ("mpi.latency", _measured.ROUND_TRIP)),
    ),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
