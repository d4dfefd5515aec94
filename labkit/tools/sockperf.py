"""sockperf: ping-pong and a load at its own rate over TCP and UDP, with the time of every packet.

Ping-pong replaces netperf's request/response. Like netperf, it sends nothing while an answer is late, so that the tail
looks better than it is (coordinated omission). Under load one thread sends at a fixed rate without waiting for answers,
and another one receives. With ``--reply-every 1`` every message is a sample. A sender that is itself delayed still
omits some, so each message's delay against its plan is kept beside its round trip.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from labkit.errors import SpecError
from labkit.formats import sockperf as layout
from labkit.options.sockets import Sockets, TcpRr, UnderLoad, UnderStreams
from labkit.point.notes import note
from labkit.point.spec import Effort, Reported, Spec
from labkit.tools import GROUP, Invocation, Parsed, Tool, _under_streams, only, this_machine, trimmed

TOOL = Tool(
    name="sockperf",
    commands=("sockperf",),
    package="sockperf",
    programs=("sockperf",),
    format=layout,
    target="setup",
    purpose="sockets.under_load, under_streams; round trips with every sample",
    instead="netperf or qperf, but for under_load",
)
SIZES = {"tcp": (14, 2**20 - 1), "udp": (14, 65507)}  # B; the head of a message, and defs.h: MAX_TCP_SIZE, a datagram
_LOG = "packets.csv"
_START_S = 2.5  # it calibrates its clock first
_WARM_S = 0.45  # what sockperf leaves out at the start and the end: 400 ms and 50 ms
_BEHIND = 0.95  # of the rate asked for; below it the sender could not keep up


def tcp_rr(spec: Spec[TcpRr], effort: Effort) -> Invocation:
    """Messages of the spec's size there and back, one at a time over one connection.

    Raises
    ------
    SpecError
        For a size that sockperf cannot send, another congestion control, or IPv6, which version 3.7 refuses.
    """
    only(spec, TOOL.name, "netperf", congestion="")
    return _ping_pong(spec, effort, "tcp", nodelay=spec.options.nodelay)


def udp_rr(spec: Spec[Sockets], effort: Effort) -> Invocation:
    """Messages of the spec's size there and back in datagrams, one at a time.

    Raises
    ------
    SpecError
        For a size that sockperf cannot send, or IPv6.
    """
    return _ping_pong(spec, effort, "udp", multicast=bool(spec.values.get("multicast")))


def under_load(spec: Spec[UnderLoad], effort: Effort) -> Invocation:
    """Messages of the spec's size at a given rate; the other end answers each of them.

    Raises
    ------
    SpecError
        For a size that sockperf cannot send.
    """
    rate = spec.options.message_rate

    def parsed(text: str, folder: Path) -> Parsed:
        return trimmed(_paced(_samples(text, folder), rate), effort)

    mode_options = ["under-load", "--mps", str(rate), "--reply-every", "1"]
    shortest = ((effort.iterations or 0) + (effort.warmup or 0)) / rate
    return _invocation(
        spec,
        effort,
        spec.options.protocol,
        mode_options,
        parsed,
        shortest,
        definition=(
            "sockperf under-load: time from sending to answer of every message, "
            "sent at a rate that waits for no answer."
        ),
        nodelay=spec.options.nodelay,
    )


def under_streams(spec: Spec[UnderStreams], effort: Effort) -> Invocation:
    """Messages of the spec's size at a separate rate, beside streams of iperf3 in both directions.

    Raises
    ------
    SpecError
        For a size that sockperf cannot send.
    """
    return _under_streams.beside(under_load(spec, effort), spec, effort)


def _ping_pong(
    spec: Spec[Sockets], effort: Effort, protocol: str, *, nodelay: bool = True, multicast: bool = False
) -> Invocation:
    def parsed(text: str, folder: Path) -> Parsed:
        return trimmed(_samples(text, folder), effort)

    return _invocation(
        spec,
        effort,
        protocol,
        ["ping-pong"],
        parsed,
        stands_in_for="" if multicast else "netperf",
        definition="sockperf ping-pong: time from sending to answer of every packet: netperf's round trip"
        + (", through a multicast group." if multicast else "."),
        nodelay=nodelay,
        multicast=multicast,
    )


def _samples(text: str, folder: Path) -> Parsed:
    """Parse what sockperf printed, and every packet of its log."""
    trip, start = layout.log((folder / _LOG).read_text(errors="replace"))
    sent = {"messages": layout.messages(text)}
    return Parsed(reported=tuple(layout.parse(text)), time_ns=trip, extras={"start_ns": start}, facts=sent)


def _paced(samples: Parsed, rate: int) -> Parsed:
    """Add to samples under load how late each message left, and a warning if the rate was not reached."""
    start, counts = samples.extras["start_ns"], {value.name: value.value for value in samples.reported}
    # under load, packets that came back per second are not a transaction rate
    reported = [value for value in samples.reported if value.name != "transaction_rate_per_s"]
    extras, warnings = dict(samples.extras), []
    span = float(start[-1] - start[0]) * 1e-9 if len(start) > 1 else 0.0
    reached = (len(start) - 1) / span if span else 0.0
    reported.append(Reported("message_rate_per_s", "1/s", "mean", reached))
    if reached < _BEHIND * rate:
        text = f"the sender reached {reached:.0f} of {rate} messages per second."
        warnings.append(note("slow-sender", text, reached=reached, wanted=rate))
    if counts.get("dropped_messages", 0):
        text = "messages were lost, so the delay of the others is unknown."
        warnings.append(note("lost-messages", text))
    elif len(start):
        extras["late_ns"] = late = layout.late(start, rate)
        p50, p99 = np.percentile(late, (50, 99)) * 1e-3
        lateness = (("p50", p50), ("p99", p99), ("max", late.max() * 1e-3))
        reported += [Reported("late_us", "µs", name, float(value)) for name, value in lateness]
    return replace(samples, reported=tuple(reported), extras=extras, warnings=tuple(warnings))


def _invocation(
    spec: Spec[Sockets | UnderLoad],
    effort: Effort,
    protocol: str,
    mode_options: list[str],
    parsed: Callable[[str, Path], Parsed],
    shortest: float = 0.0,
    *,
    definition: str,
    nodelay: bool,
    stands_in_for: str = "",
    multicast: bool = False,
) -> Invocation:
    """A run in one of sockperf's modes, of at least a time in s."""
    low, high = SIZES[protocol]
    if not low <= spec.size <= high:
        raise SpecError(f"size={spec.size} B, but sockperf sends {low} to {high} B. Set such a size, or use netperf.")
    if spec.options.ip == "ipv6":
        raise SpecError("ip=ipv6, but sockperf supports IPv4 only. Set ip=ipv4, or use netperf or qperf.")
    address, buffer = this_machine(spec), spec.options.socket_buffer
    seconds = math.ceil(max(effort.time_cap, shortest) + _WARM_S)
    both = [
        *(["--tcp"] if protocol == "tcp" else []),
        "-i",
        GROUP if multicast else "{address}",
        "-p",
        "{port}",
        *(["--mc-rx-if", "{own_address}", "--mc-tx-if", "{own_address}"] if multicast else []),
        "-m",
        str(spec.size),
        *(["--buffer-size", str(buffer)] if buffer else []),
        *(["--tcp-avoid-nodelay"] if protocol == "tcp" and not nodelay else []),
    ]
    mode, *options = mode_options
    return Invocation(
        tool=TOOL,
        server=("sockperf", "server", *both),
        client=("sockperf", mode, *both, *options, "-t", str(seconds), "--full-log", _LOG),
        listens="tcp" if protocol == "tcp" else "udp",
        parse=parsed,
        address=address,
        stands_in_for=stands_in_for,
        definition=definition,
        duration=seconds + _START_S,
        time_limit=seconds + _START_S + effort.time_limit,
    )
