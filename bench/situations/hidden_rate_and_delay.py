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
    rate = _measured.typical(campaign.samples("sockets.tcp_stream"), "bandwidth_MBps")
    trip = _measured.typical(campaign.samples("sockets.tcp_rr"), "round_trip_us")
    slow = _measured.apart("MB/s of a stream and of the stated link", rate, 25.0, 1.8)
    late = _measured.apart("µs of a round trip and of the delay", trip, 1000.0 * case["ms"], 1.6)
    return f"{slow}; {late}"


KIND = Kind(
    words="a hidden limit of the rate and a hidden delay",
    labels=(
        *(Label(place, ("rate-limit",)) for place in ("mpi.bandwidth", "sockets.tcp_stream")),
        *(Label(place, ("path-delay",)) for place in ("mpi.latency", "sockets.tcp_rr")),
    ),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
