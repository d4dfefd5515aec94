"""netperf: request/response and stream over TCP and UDP, the tool that defines the sockets benchmarks.

Debian has it in the component non-free, built without Unix sockets and without pacing. Version 2.7 aborts with
comma-separated output and some selectors; ``-k`` works. Selectors on the command line turn its latency histogram on,
and ``-j`` makes sure. Its request/response tests send the next request when the answer is there. While one answer is
late, requests that would also be late are never sent, so the tail looks too good (coordinated omission).
"""

from __future__ import annotations

import math
from pathlib import Path

from labkit.formats import netperf as layout
from labkit.options.sockets import Sockets, TcpRr, TcpStream
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool, by_time, only, this_machine

TOOL = Tool(
    name="netperf",
    commands=("netperf",),
    version="-V",
    package="netperf",
    free=False,
    programs=("netperf", "netserver"),
    format=layout,
    purpose="streams and round trips over TCP and UDP",
    instead="iperf3 (streams), sockperf or qperf (round trips)",
)


def tcp_rr(spec: Spec[TcpRr], effort: Effort) -> Invocation:
    """Requests and responses of the spec's size, one at a time over one connection."""
    options = ["-r", f"{spec.size},{spec.size}", *(["-D"] if spec.options.nodelay else [])]
    return _invocation(
        spec,
        effort,
        "TCP_RR",
        options,
        congestion=spec.options.congestion,
        length=effort.iterations,
        definition=(
            "netperf TCP_RR: round trip from request to response, percentiles from its own histogram in whole µs."
        ),
    )


def udp_rr(spec: Spec[Sockets], effort: Effort) -> Invocation:
    """Requests and responses of the spec's size in datagrams, one at a time; one that is lost ends the run.

    Raises
    ------
    SpecError
        For multicast.
    """
    only(spec, TOOL.name, "sockperf", multicast=False)
    options = ["-r", f"{spec.size},{spec.size}"]
    return _invocation(
        spec,
        effort,
        "UDP_RR",
        options,
        length=effort.iterations,
        definition=(
            "netperf UDP_RR: round trip from request to response, percentiles from its own histogram in whole µs."
        ),
    )


def tcp_stream(spec: Spec[TcpStream], effort: Effort) -> Invocation:
    """One connection that sends as fast as it can, the spec's size in each call.

    Raises
    ------
    SpecError
        For several streams.
    """
    only(spec, TOOL.name, "iperf3 or iperf", streams=1)
    options = ["-m", str(spec.size), *(["-D"] if spec.options.nodelay else [])]
    length = effort.iterations and effort.iterations * spec.size
    return _invocation(
        spec,
        effort,
        "TCP_STREAM",
        options,
        congestion=spec.options.congestion,
        length=length,
        definition=(
            "netperf TCP_STREAM: bytes sent over the time until the receiver has them all; latencies are of send calls."
        ),
    )


def udp_stream(spec: Spec[Sockets], effort: Effort) -> Invocation:
    """Datagrams of the spec's size as fast as they can be sent.

    Raises
    ------
    SpecError
        For a rate, as Debian builds it without pacing, several streams, multicast, or an exact count, which would need
        an answer.
    """
    only(spec, TOOL.name, "iperf3 or iperf", offered=0.0, streams=1)
    only(spec, TOOL.name, "iperf", multicast=False)
    by_time(effort, TOOL.name, "iperf")
    options = ["-R", "1", "-m", str(spec.size)]  # without -R 1 it refuses whatever a router might have to carry
    return _invocation(
        spec,
        effort,
        "UDP_STREAM",
        options,
        length=None,
        more=layout.DATAGRAMS,
        definition=(
            "netperf UDP_STREAM: bandwidth is what arrived, beside it what was sent; latencies are of send calls."
        ),
    )


def _invocation(
    spec: Spec[Sockets],
    effort: Effort,
    test: str,
    test_options: list[str],
    *,
    length: int | None,
    definition: str,
    congestion: str = "",
    more: tuple[str, ...] = (),
) -> Invocation:
    """A run of one test; a length below 0 counts transactions or bytes in place of seconds."""
    address, buffer = this_machine(spec), spec.options.socket_buffer
    family = "-6" if ":" in address else "-4"
    seconds = max(1, math.ceil(effort.time_cap))  # 0 would mean for ever, and fractions are cut off
    buffers = ["-s", str(buffer), "-S", str(buffer)] if buffer else []
    control = ["-K", f"{congestion},{congestion}"] if congestion else []
    # the last selector proves the output whole
    selectors = [*layout.SELECTORS[:-1], *more, *(layout.CONGESTION if congestion else ()), layout.SELECTORS[-1]]

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(layout.parse(text, congestion)))

    return Invocation(
        tool=TOOL,
        server=("netserver", family, "-L", "{address}", "-p", "{port}", "-D"),
        client=(
            "netperf",
            "-H",
            "{address}",
            family,
            "-p",
            "{port}",
            "-t",
            test,
            "-l",
            str(-length if length else seconds),
            "-c",
            "-C",
            "-j",
            "--",
            *test_options,
            *buffers,
            *control,
            "-k",
            ",".join(selectors),
        ),
        parse=parsed,
        address=address,
        definition=definition,
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )
