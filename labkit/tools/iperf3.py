"""iperf3: a TCP stream, standing in for netperf's."""

from __future__ import annotations

import math
from pathlib import Path

from labkit.formats import iperf3 as layout
from labkit.spec import Effort, Spec
from labkit.tools import Job, Parsed, this_machine

NAME = "iperf3"
PACKAGE = "iperf3"
PROGRAMS = ("iperf3",)
_INTERVALS = 20
_SHORTEST_S = 0.1  # interval that iperf3 allows


def tcp_stream(spec: Spec, effort: Effort) -> Job:
    """One connection that sends as fast as it can, the spec's size in each call; the server serves it alone.

    An exact count of iterations is one of blocks (``-k``).
    """
    address, buffer = this_machine(spec), spec.option("socket_buffer")
    seconds = max(1, math.ceil(effort.time_cap))
    length = ["-k", str(effort.iterations)] if effort.iterations else ["-t", str(seconds)]
    interval = max(_SHORTEST_S, round(seconds / _INTERVALS, 1))
    return Job(
        tool=NAME,
        package=PACKAGE,
        programs=PROGRAMS,
        server=("iperf3", "-s", "-1", "-B", "{address}", "-p", "{port}"),
        client=(
            "iperf3", "-c", "{address}", "-p", "{port}", *length, "-i", f"{interval:g}", "-l", str(spec.size),
            *(["-w", str(buffer)] if buffer else []), *(["-N"] if spec.option("nodelay") else []), "-J",
        ),
        parse=_parsed,
        address=address,
        stands_in_for="netperf",
        definition="iperf3: bytes the receiver got over its time, which is that of netperf TCP_STREAM nearly.",
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )  # fmt: skip


def _parsed(text: str, folder: Path) -> Parsed:
    return Parsed(reported=tuple(layout.parse(text)))
