"""iperf3: streams over TCP and UDP, in one direction or both; for TCP and UDP_STREAM it stands in for netperf."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from labkit.formats import iperf3 as layout
from labkit.spec import Effort, Reported, Spec
from labkit.tools import Job, Parsed, this_machine

NAME = "iperf3"
PACKAGE = "iperf3"
PROGRAMS = ("iperf3",)
_INTERVALS = 20
_SHORTEST_S = 0.1  # interval that iperf3 allows


def tcp_stream(spec: Spec, effort: Effort) -> Job:
    """Connections that send as fast as they can, the spec's size in each call; the server serves them alone.

    An exact count of iterations is one of blocks (``-k``), over all streams.
    """
    return _job(spec, effort, [], stands_in_for="netperf", definition=(
        "iperf3: bytes the receiver got over its time, which is that of netperf TCP_STREAM nearly."
    ))  # fmt: skip


def tcp_bidirectional(spec: Spec, effort: Effort) -> Job:
    """Connections that send and as many that receive, all at once (``--bidir``)."""
    return _job(spec, effort, ["--bidir"], parse=layout.both, definition=(
        "iperf3 --bidir: sum over both directions of what the receivers got; each direction has connections of its own."
    ))  # fmt: skip


def udp_stream(spec: Spec, effort: Effort) -> Job:
    """Datagrams of the spec's size at the rate the option ``offered`` gives all streams together."""
    offered = spec.option("offered") * 8e6 / spec.option("streams")
    return _job(spec, effort, ["-u", "-b", f"{offered:.0f}"], stands_in_for="netperf", definition=(
        "iperf3 -u: bandwidth is what the receiver got, beside it what was sent, what was lost, and jitter."
    ))  # fmt: skip


def _job(
    spec: Spec,
    effort: Effort,
    own: list[str],
    *,
    definition: str,
    stands_in_for: str = "",
    parse: Callable[[str], list[Reported]] = layout.parse,
) -> Job:
    """A run of streams."""
    address, values = this_machine(spec), spec.values
    seconds = max(1, math.ceil(effort.time_cap))
    length = ["-k", str(effort.iterations)] if effort.iterations else ["-t", str(seconds)]
    interval = max(_SHORTEST_S, round(seconds / _INTERVALS, 1))
    how = [
        *(["-w", str(values["socket_buffer"])] if values["socket_buffer"] else []),
        *(["-N"] if values.get("nodelay") else []),
        *(["-P", str(values["streams"])] if values["streams"] > 1 else []),
        *(["-C", values["congestion"]] if values.get("congestion") else []),
    ]

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(parse(text)), facts=layout.moved(text))

    return Job(
        tool=NAME,
        package=PACKAGE,
        programs=PROGRAMS,
        server=("iperf3", "-s", "-1", "-B", "{address}", "-p", "{port}"),
        client=(
            "iperf3", "-c", "{address}", "-p", "{port}", *length, "-i", f"{interval:g}", "-l", str(spec.size),
            *how, *own, "-J",
        ),
        parse=parsed,
        address=address,
        stands_in_for=stands_in_for,
        definition=definition,
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )  # fmt: skip
