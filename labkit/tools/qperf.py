"""qperf: ping-pong and streams over TCP and UDP in place of netperf's, and RDMA tests over RC in place of perftest's.

Its TCP server polls in a loop while it waits: on a machine with few cores the two ends slow each other down. When qperf
connects by itself over RDMA, it gives no GID, which RoCE requires ("failed to modify QP to RTR: Invalid argument").
Therefore rdma_cm connects, which qperf has for RC only; the link then chooses the device.
"""

from __future__ import annotations

import math
from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import qperf as layout
from labkit.options.sockets import Sockets, TcpRr, TcpStream
from labkit.options.verbs import LOOPS_ALONE, AtomicBandwidth, Stream, Verbs
from labkit.point.notes import note
from labkit.point.spec import Effort, Scalar, Spec
from labkit.tools import Invocation, Parsed, Tool, by_time, only, this_machine

TOOL = Tool(
    name="qperf",
    commands=("qperf",),
    package="qperf",
    programs=("qperf",),
    format=layout,
    target="setup",
    purpose="TCP and UDP, and verbs over RC",
    instead="netperf or sockperf, and perftest",
)
_NAGLE = "qperf cannot set TCP_NODELAY: Nagle's algorithm is on."
_BY_CM = "qperf connected with rdma_cm, which the options did not request."
# options of the verbs benchmarks that it does not have, and the value that needs nothing from it
_CANNOT: dict[str, Scalar] = {
    "connection": "RC",
    "inline": -1,
    "mtu": 0,
    "tclass": -1,
    "gid": -1,
    "qps": 1,
    "post_list": 1,
    "bidirectional": False,
    "srq": False,
    "multicast": False,
    **LOOPS_ALONE,
}


def tcp_rr(spec: Spec[TcpRr], effort: Effort) -> Invocation:
    """Messages of the spec's size there and back, one at a time over one connection.

    Raises
    ------
    SpecError
        For an exact count (its latency test with ``-n`` does not end), or another congestion control.
    """
    only(spec, TOOL.name, "netperf", congestion="")
    return _sockets(
        spec,
        effort,
        "tcp_lat",
        ("qperf tcp_lat: mean only; half a round trip doubled to one, as in netperf TCP_RR."),
        nodelay=spec.options.nodelay,
    )


def udp_rr(spec: Spec[Sockets], effort: Effort) -> Invocation:
    """Messages of the spec's size there and back in datagrams, one at a time.

    Raises
    ------
    SpecError
        For an exact count, or multicast.
    """
    only(spec, TOOL.name, "sockperf", multicast=False)
    return _sockets(
        spec, effort, "udp_lat", ("qperf udp_lat: mean only; half a round trip doubled to one, as in netperf UDP_RR.")
    )


def tcp_stream(spec: Spec[TcpStream], effort: Effort) -> Invocation:
    """One connection that sends as fast as it can, the spec's size in each call.

    Raises
    ------
    SpecError
        For an exact count, several streams, or another congestion control.
    """
    only(spec, TOOL.name, "iperf3", streams=1, congestion="")
    return _sockets(
        spec,
        effort,
        "tcp_bw",
        ("qperf tcp_bw: bytes the receiver got over the time of the run, which is that of netperf TCP_STREAM nearly."),
        nodelay=spec.options.nodelay,
    )


def udp_stream(spec: Spec[Sockets], effort: Effort) -> Invocation:
    """Datagrams of the spec's size as fast as they can be sent.

    Raises
    ------
    SpecError
        If an exact count, a rate, several streams or multicast is requested.
    """
    only(spec, TOOL.name, "iperf3", offered=0.0, streams=1)
    only(spec, TOOL.name, "iperf", multicast=False)
    return _sockets(
        spec,
        effort,
        "udp_bw",
        ("qperf udp_bw: bandwidth is what the receiver got, beside it what was sent, as in netperf UDP_STREAM."),
    )


def _sockets(spec: Spec[Sockets], effort: Effort, test: str, definition: str, *, nodelay: bool = False) -> Invocation:
    """A run of one test over TCP or UDP."""
    by_time(effort, TOOL.name, "netperf")
    address, buffer = this_machine(spec), spec.options.socket_buffer
    seconds = max(1, math.ceil(effort.time_cap))
    nagle = (note("nagle", _NAGLE),) if nodelay else ()
    return Invocation(
        tool=TOOL,
        server=("qperf", "-lp", "{port}"),
        client=(
            "qperf",
            "{address}",
            "-lp",
            "{port}",
            "-ip",
            "{data_port}",
            "-t",
            str(seconds),
            "-m",
            str(spec.size),
            *(["-sb", str(buffer)] if buffer else []),
            "-uu",
            "-vvc",
            "-vvs",
            test,
        ),
        parse=_parsed,
        address=address,
        stands_in_for="netperf",
        definition=definition,
        duration=seconds,
        time_limit=seconds + effort.time_limit,
        warnings=nagle,
    )


def send_latency(spec: Spec[Verbs], effort: Effort) -> Invocation:
    """Ping-pong of messages that the other end has posted a receive for."""
    return _rdma(spec, effort, "rc_lat")


def write_latency(spec: Spec[Verbs], effort: Effort) -> Invocation:
    """Ping-pong of writes into the other end's memory, each seen by polling it."""
    return _rdma(spec, effort, "rc_rdma_write_poll_lat")


def read_latency(spec: Spec[Verbs], effort: Effort) -> Invocation:
    """Reads of the other end's memory, one at a time."""
    return _rdma(spec, effort, "rc_rdma_read_lat")


def send_bandwidth(spec: Spec[Stream], effort: Effort) -> Invocation:
    """Messages as fast as receives for them are there."""
    return _rdma(spec, effort, "rc_bw", spec.options.duration)


def write_bandwidth(spec: Spec[Stream], effort: Effort) -> Invocation:
    """Writes into the other end's memory, as fast as possible."""
    return _rdma(spec, effort, "rc_rdma_write_bw", spec.options.duration)


def read_bandwidth(spec: Spec[Stream], effort: Effort) -> Invocation:
    """Reads of the other end's memory, as fast as possible."""
    return _rdma(spec, effort, "rc_rdma_read_bw", spec.options.duration)


def atomic_bandwidth(spec: Spec[AtomicBandwidth], effort: Effort) -> Invocation:
    """Atomic operations on 8 B of the other end's memory, as fast as possible; only their rate."""
    swap = spec.options.operation == "compare_and_swap"
    return _rdma(spec, effort, "rc_compare_swap_mr" if swap else "rc_fetch_add_mr", spec.options.duration)


def _rdma(spec: Spec[Verbs], effort: Effort, test: str, duration: int = 0) -> Invocation:
    """A run of one test over RC, connected by rdma_cm.

    Parameters
    ----------
    duration : s, instead of the time cap.

    Raises
    ------
    SpecError
        For an exact count, and options that qperf does not have.
    """
    by_time(effort, TOOL.name, "perftest")
    values = spec.values
    for name, default in _CANNOT.items():
        if (asked := values.get(name, default)) != default:
            instead = "pyverbs" if name in LOOPS_ALONE else "perftest"
            raise SpecError(
                f"{name}={asked}, but qperf {test} supports {default} only. Set {name}={default}, or use {instead}."
            )
    waits = spec.options.completion == "event"
    if waits and test.startswith("rc_rdma_write"):
        raise SpecError("completion=event, but the target sees a write by polling memory. Set completion=poll.")
    seconds = max(1, math.ceil(duration or effort.time_cap))
    return Invocation(
        tool=TOOL,
        server=("qperf", "-lp", "{port}"),
        client=(
            "qperf",
            "{rdma_address}",
            "-lp",
            "{port}",
            "-cm1",
            "-t",
            str(seconds),
            *([] if test.endswith("_mr") else ["-m", str(spec.size)]),
            *([] if waits or "poll" in test else ["-cp1"]),
            "-uu",
            "-vvs",
            test,
        ),
        parse=_parsed,
        address="127.0.0.1",
        stands_in_for="perftest",
        definition=(
            f"qperf {test}: mean only, over RC, queues as deep as qperf makes them; send and write latencies are half "
            "the round trip."
        ),
        duration=seconds,
        time_limit=seconds + effort.time_limit,
        warnings=() if spec.options.rdma_cm else (note("rdma-cm", _BY_CM),),
    )


def _parsed(text: str, folder: Path) -> Parsed:
    return Parsed(reported=tuple(layout.parse(text)))
