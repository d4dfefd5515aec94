"""iperf3: streams over TCP and UDP, in one direction or both, from one host or many; it replaces netperf."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from labkit.formats import iperf3 as layout
from labkit.options.congestion import Incast
from labkit.options.sockets import Sockets, TcpStream, UdpStream
from labkit.point.spec import Effort, Reported, Spec
from labkit.tools import Invocation, Parsed, Tool, _incast, only, this_machine

TOOL = Tool(
    name="iperf3",
    commands=("iperf3",),
    package="iperf3",
    conda="iperf",
    programs=("iperf3",),
    format=layout,
    target="setup",
    purpose="streams over TCP and UDP, several and both ways",
    instead="netperf or iperf",
)
_INTERVALS = 20
_SHORTEST_S = 0.1  # interval that iperf3 allows
_MARGIN_S = 1  # senders that start together begin and end apart by less, although one waits in the queues of others
MARK = 0x20  # byte of DSCP and ECN in packets of `flood` and `pour`: CS1, for what can wait (RFC 3662)
SERVER = ("iperf3", "-s", "-1", "-B", "{address}", "-p", "{port}")


def tcp_stream(spec: Spec[TcpStream], effort: Effort) -> Invocation:
    """Connections that send as fast as they can, the spec's size in each call; the server serves them alone.

    An exact count of iterations is one of blocks (``-k``), over all streams.
    """
    return _invocation(
        spec,
        effort,
        [],
        stands_in_for="netperf",
        definition=("iperf3: bytes the receiver got over its time, which is that of netperf TCP_STREAM nearly."),
    )


def tcp_bidirectional(spec: Spec[TcpStream], effort: Effort) -> Invocation:
    """The same number of sending and receiving connections, all at once (``--bidir``)."""
    return _invocation(
        spec,
        effort,
        ["--bidir"],
        parse=layout.both,
        definition=(
            "iperf3 --bidir: sum over both directions of what the receivers got; "
            "each direction has its own connections."
        ),
    )


def udp_stream(spec: Spec[UdpStream], effort: Effort) -> Invocation:
    """Datagrams of the spec's size at the rate the option ``offered`` gives all streams together.

    Raises
    ------
    SpecError
        For multicast.
    """
    only(spec, TOOL.name, "iperf", multicast=False)
    offered = spec.options.offered * 8e6 / spec.options.streams
    return _invocation(
        spec,
        effort,
        ["-u", "-b", f"{offered:.0f}"],
        stands_in_for="netperf",
        definition=(
            "iperf3 -u: bandwidth is what the receiver got, beside it what was sent, what was lost, and jitter."
        ),
    )


def incast(spec: Spec[Incast], effort: Effort) -> Invocation:
    """Senders with some connections each to one host, every sender to its own server there."""
    _incast.check(spec, effort, "tcp", "iperf3 sends over TCP")
    options, seconds = spec.options, spec.options.duration + 2 * _MARGIN_S
    interval = f"{max(2 * _SHORTEST_S, round(options.duration / _INTERVALS, 1)):g}"  # of each of many outputs

    def parsed(text: str, folder: Path) -> Parsed:
        values = layout.beside_others(text, _MARGIN_S)
        return Parsed(reported=tuple(values), facts={"payload_B": layout.received(text)})

    return Invocation(
        tool=TOOL,
        server=(*SERVER, "-J", "-i", interval),
        client=(
            "iperf3",
            "-c",
            "{address}",
            "-p",
            "{port}",
            "-t",
            str(seconds),
            "-i",
            "0",
            "-l",
            str(spec.size),
            *(["-P", str(options.streams)] if options.streams > 1 else []),
            *(["-C", options.congestion] if options.congestion else []),
            "-J",
            "--get-server-output",
        ),
        each=({},) * options.senders,
        parse=parsed,
        combine=_incast.combine,
        address="127.0.0.1",
        definition=(
            "iperf3: sum over all senders of what the receiver got while all of them send, without the first and the "
            f"last {_MARGIN_S} s of each."
        ),
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )


def flood(offered: float, size: int, seconds: int) -> Invocation:
    """Datagrams of a size, B, at a rate, MB/s (0: as fast as possible), marked `MARK`, for some seconds at most."""
    return _load(seconds, "-u", "-b", f"{offered * 8e6:.0f}", "-l", str(size))


def pour(streams: int, size: int, seconds: int) -> Invocation:
    """TCP connections with calls of a size, B, marked `MARK`, for s at most."""
    return _load(seconds, "-P", str(streams), "-l", str(size))


def _load(seconds: int, *how: str) -> Invocation:
    return Invocation(
        tool=TOOL,
        server=SERVER,
        client=(
            "iperf3",
            "-c",
            "{address}",
            "-p",
            "{port}",
            "-t",
            str(seconds),
            "-i",
            "0",
            "-S",
            str(MARK),
            *how,
            "-J",
        ),
        parse=lambda text, folder: Parsed(),
        address="127.0.0.1",
        definition="iperf3 as a load: nothing of it is measured.",
        duration=seconds,
        time_limit=seconds,
    )


def _invocation(
    spec: Spec[Sockets],
    effort: Effort,
    test_options: list[str],
    *,
    definition: str,
    stands_in_for: str = "",
    parse: Callable[[str], list[Reported]] = layout.parse,
) -> Invocation:
    """A run of streams."""
    address, buffer, options = this_machine(spec), spec.options.socket_buffer, spec.values
    seconds = max(1, math.ceil(effort.time_cap))
    length = ["-k", str(effort.iterations)] if effort.iterations else ["-t", str(seconds)]
    interval = max(_SHORTEST_S, round(seconds / _INTERVALS, 1))
    common_options = [
        *(["-w", str(buffer)] if buffer else []),
        *(["-N"] if options.get("nodelay") else []),
        *(["-P", str(options["streams"])] if options["streams"] > 1 else []),
        *(["-C", options["congestion"]] if options.get("congestion") else []),
    ]

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(parse(text)), facts=layout.moved(text))

    return Invocation(
        tool=TOOL,
        server=SERVER,
        client=(
            "iperf3",
            "-c",
            "{address}",
            "-p",
            "{port}",
            *length,
            "-i",
            f"{interval:g}",
            "-l",
            str(spec.size),
            *common_options,
            *test_options,
            "-J",
        ),
        parse=parsed,
        address=address,
        stands_in_for=stands_in_for,
        definition=definition,
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )
