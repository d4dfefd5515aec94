"""netperf: request/response and stream over TCP, the tool whose definitions the sockets benchmarks take.

Debian has it in the component non-free. Its version 2.7 aborts when asked for comma-separated output with some
selectors; ``-k`` is sound. Selectors on the command line turn its latency histogram on, and ``-j`` makes sure.
"""

from __future__ import annotations

import math
from pathlib import Path

from labkit.formats import netperf as layout
from labkit.spec import Effort, Spec
from labkit.tools import Job, Parsed, this_machine

NAME = "netperf"
PACKAGE = "netperf"
PROGRAMS = ("netperf", "netserver")


def tcp_rr(spec: Spec, effort: Effort) -> Job:
    """Requests and responses of the spec's size, one at a time over one connection."""
    test = ["-r", f"{spec.size},{spec.size}", *(["-D"] if spec.option("nodelay") else [])]
    return _job(spec, effort, "TCP_RR", test, length=effort.iterations, definition=(
        "netperf TCP_RR: round trip from request to response, percentiles from its own histogram in whole µs."
    ))  # fmt: skip


def tcp_stream(spec: Spec, effort: Effort) -> Job:
    """One connection that sends as fast as it can, the spec's size in each call."""
    test = ["-m", str(spec.size), *(["-D"] if spec.option("nodelay") else [])]
    length = effort.iterations and effort.iterations * spec.size
    return _job(spec, effort, "TCP_STREAM", test, length=length, definition=(
        "netperf TCP_STREAM: bytes sent over the time until the receiver has them all; latencies are of send calls."
    ))  # fmt: skip


def _job(spec: Spec, effort: Effort, test: str, own: list[str], *, length: int | None, definition: str) -> Job:
    """A run of one test; a length below 0 counts transactions or bytes in place of seconds."""
    address, buffer = this_machine(spec), spec.option("socket_buffer")
    family = "-6" if ":" in address else "-4"
    seconds = max(1, math.ceil(effort.time_cap))  # 0 would mean for ever, and fractions are cut off
    buffers = ["-s", str(buffer), "-S", str(buffer)] if buffer else []
    return Job(
        tool=NAME,
        package=PACKAGE,
        programs=PROGRAMS,
        server=("netserver", family, "-L", "{address}", "-p", "{port}", "-D"),
        client=(
            "netperf", "-H", "{address}", family, "-p", "{port}", "-t", test, "-l", str(-length if length else seconds),
            "-c", "-C", "-j", "--", *own, *buffers, "-k", ",".join(layout.SELECTORS),
        ),
        parse=_parsed,
        address=address,
        definition=definition,
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )  # fmt: skip


def _parsed(text: str, folder: Path) -> Parsed:
    return Parsed(reported=tuple(layout.parse(text)))
