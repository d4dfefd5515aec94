"""iperf 2: streams over TCP and UDP, both directions over one connection, and bounce-back.

Bounce-back without a period sends the next request when the answer is there, as netperf's TCP_RR does, with the same
coordinated omission in its tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from labkit.errors import DataError, SpecError
from labkit.formats import iperf as layout
from labkit.host import VERSION
from labkit.options.sockets import Sockets, TcpRr, TcpStream, UdpStream
from labkit.point.spec import Effort, Reported, Spec
from labkit.tools import GROUP, Invocation, Parsed, Tool, by_time, only, this_machine

TOOL = Tool(
    name="iperf",
    commands=("iperf",),
    version="-v",
    pattern=rf"iperf version {VERSION}",
    package="iperf",
    programs=("iperf",),
    format=layout,
    purpose="both ways over one connection; streams; bounce-back",
    instead="iperf3 or netperf",
)
_UNPACED_MBPS = 100_000.0  # beyond any link: iperf has no word for 'as fast as it can' over UDP
# Joins a group on the interface with an address, and ends after one sender, with its report.
_RECEIVER = 'exec iperf -s -u -P 1 -B "$1%$(ip -o addr show to "$2" | cut -d " " -f 2)" -p "$3" -e -f k'


def tcp_rr(spec: Spec[TcpRr], effort: Effort) -> Invocation:
    """Requests and answers of the spec's size, one at a time over one connection (bounce-back).

    Raises
    ------
    SpecError
        For an exact count, which bounce-back ignores, or without TCP_NODELAY, which it always sets.
    """
    by_time(effort, TOOL.name, "netperf")
    only(spec, TOOL.name, "netperf", nodelay=True)
    # the server acknowledges at once (TCP_QUICKACK) unless it is told not to; no other tool has that
    options = ["--bounceback", "--bounceback-period=0", "--bounceback-no-quickack"]
    parse = partial(layout.bounces, congestion=spec.options.congestion)
    return _invocation(
        spec,
        effort,
        options,
        parse,
        stands_in_for="netperf",
        definition=(
            "iperf bounce-back: mean and range of the round trip from request to answer: netperf's, printed to 1 µs."
        ),
        congestion=spec.options.congestion,
    )


def tcp_stream(spec: Spec[TcpStream], effort: Effort) -> Invocation:
    """Connections that send as fast as they can, the spec's size in each call."""
    parse = partial(layout.stream, streams=spec.options.streams, congestion=spec.options.congestion)
    return _invocation(
        spec,
        effort,
        [],
        parse,
        stands_in_for="netperf",
        definition=(
            "iperf: bytes the client wrote over its time; the last are still on their way, unlike in TCP_STREAM."
        ),
        streams=spec.options.streams,
        nodelay=spec.options.nodelay,
        congestion=spec.options.congestion,
    )


def tcp_bidirectional(spec: Spec[TcpStream], effort: Effort) -> Invocation:
    """Connections in which both ends send at the same time (``--full-duplex``)."""
    parse = partial(layout.both, streams=spec.options.streams, congestion=spec.options.congestion)
    return _invocation(
        spec,
        effort,
        ["--full-duplex"],
        parse,
        stands_in_for="iperf3",
        definition=(
            "iperf --full-duplex: sum of what the client wrote and what it read; both directions share each connection."
        ),
        streams=spec.options.streams,
        nodelay=spec.options.nodelay,
        congestion=spec.options.congestion,
    )


def udp_stream(spec: Spec[UdpStream], effort: Effort) -> Invocation:
    """Datagrams of the spec's size at the rate of the option ``offered``.

    Raises
    ------
    SpecError
        For several streams: the server's reports do not come back then. For multicast over IPv6.
    """
    only(spec, TOOL.name, "iperf3", streams=1)
    rate = (spec.options.offered or _UNPACED_MBPS) * 8e6
    offered = ["-u", "-b", f"{rate:.0f}"]
    if spec.options.multicast:
        return _to_group(spec, effort, offered)
    return _invocation(
        spec,
        effort,
        offered,
        layout.datagrams,
        stands_in_for="netperf",
        definition=(
            "iperf -u: bandwidth is what the server reports, beside it what was sent, what was lost, and jitter."
        ),
    )


def _to_group(spec: Spec[UdpStream], effort: Effort, offered: list[str]) -> Invocation:
    """A stream to a multicast group; nobody answers the sender, so the receiver's own report is the result."""
    if spec.options.ip == "ipv6":
        raise SpecError("ip=ipv6, but multicast works over IPv4 only. Set ip=ipv4.")

    def parse(text: str) -> list[Reported]:
        if "connected with" not in text.partition("Server listening on")[2]:
            raise DataError(
                f"none of the datagrams to the multicast group {GROUP} arrived. Let switches and firewalls pass it, or "
                "leave multicast out."
            )
        return layout.datagrams(text)

    to_one = _invocation(
        spec,
        effort,
        offered,
        parse,
        stands_in_for="",
        definition=(
            "iperf -u to a multicast group: bandwidth is what the receiver reports, beside it what was sent, what was "
            "lost, and jitter."
        ),
    )
    program, connect, _, *rest = to_one.client
    return replace(
        to_one,
        needs=("iperf", "ip"),
        server=("sh", "-c", _RECEIVER, "sh", GROUP, "{own_address}", "{port}"),
        server_reports=True,
        client=(program, connect, GROUP, "-B", "{own_address}", *rest),
    )


def _invocation(
    spec: Spec[Sockets],
    effort: Effort,
    test_options: list[str],
    parse: Callable[[str], list[Reported]],
    *,
    stands_in_for: str,
    definition: str,
    streams: int = 1,
    nodelay: bool = False,
    congestion: str = "",
) -> Invocation:
    """A run of one test; an exact count is one of writes of each stream."""
    address, buffer = this_machine(spec), spec.options.socket_buffer
    if effort.iterations and streams > 1:
        raise SpecError(
            f"iterations={effort.iterations}, but iperf counts iterations on one stream only. Set streams=1."
        )
    seconds = max(1, math.ceil(effort.time_cap))
    length = ["-n", str(effort.iterations * spec.size)] if effort.iterations else ["-t", str(seconds)]
    both = [*(["-V"] if ":" in address else []), *(["-u"] if "-u" in test_options else [])]
    common_options = [
        *(["-w", str(buffer)] if buffer else []),
        *(["-N"] if nodelay else []),
        *(["-P", str(streams)] if streams > 1 else []),
        *(["-Z", congestion] if congestion else []),
    ]

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(parse(text)))

    return Invocation(
        tool=TOOL,
        server=("iperf", "-s", *both, "-B", "{address}", "-p", "{port}"),
        client=(
            "iperf",
            "-c",
            "{address}",
            "-p",
            "{port}",
            *(["-V"] if ":" in address else []),
            *length,
            "-l",
            str(spec.size),
            *common_options,
            *test_options,
            "-e",
            "-f",
            "k",
        ),
        listens="udp" if "-u" in test_options else "tcp",
        parse=parsed,
        address=address,
        stands_in_for=stands_in_for,
        definition=definition,
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )
