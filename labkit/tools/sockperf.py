"""sockperf: ping-pong over TCP with the time of every packet, standing in for netperf's request/response."""

from __future__ import annotations

import math
from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import sockperf as layout
from labkit.spec import Effort, Spec
from labkit.tools import Job, Parsed, kept, this_machine

NAME = "sockperf"
PACKAGE = "sockperf"
PROGRAMS = ("sockperf",)
SIZES = (14, 2**20 - 1)  # B; the head of a message, and defs.h: MAX_TCP_SIZE
_LOG = "packets.csv"
_START_S = 2.5  # it gauges its clock first
_WARM_S = 0.45  # what sockperf leaves out at the start and the end: 400 ms and 50 ms


def tcp_rr(spec: Spec, effort: Effort) -> Job:
    """Messages of the spec's size there and back, one at a time over one connection.

    Raises
    ------
    SpecError
        For a size that sockperf cannot send, or IPv6, which version 3.7 refuses.
    """
    low, high = SIZES
    if not low <= spec.size <= high:
        raise SpecError(f"size={spec.size} B, but sockperf sends {low} to {high} B. Set such a size, or use netperf.")
    if spec.option("ip") == "ipv6":
        raise SpecError("ip=ipv6, but sockperf takes IPv4 addresses alone. Set ip=ipv4, or use netperf or qperf.")
    address, buffer = this_machine(spec), spec.option("socket_buffer")
    seconds = math.ceil(effort.time_cap + _WARM_S)
    both = [
        "--tcp", "-i", "{address}", "-p", "{port}", "-m", str(spec.size),
        *(["--buffer-size", str(buffer)] if buffer else []),
        *([] if spec.option("nodelay") else ["--tcp-avoid-nodelay"]),
    ]  # fmt: skip

    def parsed(text: str, folder: Path) -> Parsed:
        reported = tuple(layout.parse(text))
        trip, start = layout.log((folder / _LOG).read_text(errors="replace"))
        return kept(Parsed(reported=reported, time_ns=trip, extras={"start_ns": start}), effort)

    return Job(
        tool=NAME,
        package=PACKAGE,
        programs=PROGRAMS,
        server=("sockperf", "server", *both),
        client=("sockperf", "ping-pong", *both, "-t", str(seconds), "--full-log", _LOG),
        parse=parsed,
        address=address,
        stands_in_for="netperf",
        definition="sockperf ping-pong: time from sending to answer of every packet: netperf's round trip.",
        duration=seconds + _START_S,
        time_limit=seconds + _START_S + effort.time_limit,
    )
