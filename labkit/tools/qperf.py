"""qperf: ping-pong over TCP, standing in for netperf's request/response where sockperf cannot.

Its server turns in a loop while it waits: on a machine with few cores both ends get in each other's way.
"""

from __future__ import annotations

import math
from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import qperf as layout
from labkit.spec import Effort, Spec
from labkit.tools import Job, Parsed, this_machine

NAME = "qperf"
PACKAGE = "qperf"
PROGRAMS = ("qperf",)


def tcp_rr(spec: Spec, effort: Effort) -> Job:
    """Messages of the spec's size there and back, one at a time over one connection.

    Raises
    ------
    SpecError
        For an exact count (its latency test with ``-n`` does not end).
    """
    if effort.iterations is not None:
        raise SpecError(f"iterations={effort.iterations}, but qperf knows a time only. Leave it out, or use netperf.")
    address, buffer = this_machine(spec), spec.option("socket_buffer")
    seconds = max(1, math.ceil(effort.time_cap))
    return Job(
        tool=NAME,
        package=PACKAGE,
        programs=PROGRAMS,
        server=("qperf", "-lp", "{port}"),
        client=(
            "qperf", "{address}", "-lp", "{port}", "-ip", "{data_port}", "-t", str(seconds), "-m", str(spec.size),
            *(["-sb", str(buffer)] if buffer else []), "-uu", "-vvc", "-vvs", "tcp_lat",
        ),
        parse=_parsed,
        address=address,
        stands_in_for="netperf",
        definition="qperf tcp_lat: mean only; half a round trip doubled to one, as in netperf TCP_RR.",
        duration=seconds,
        time_limit=seconds + effort.time_limit,
        warnings=(("qperf cannot set TCP_NODELAY: Nagle's algorithm is on.",) if spec.option("nodelay") else ()),
    )  # fmt: skip


def _parsed(text: str, folder: Path) -> Parsed:
    return Parsed(reported=tuple(layout.parse(text)))
