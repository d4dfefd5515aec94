"""Loops over pyverbs: run `labkit.kernels.verbs` as an external program, with any Python that has pyverbs.

The loops measure Python's share of every call and keep it beside the samples (``pyverbs_empty_poll_ns``,
``pyverbs_refused_post_ns``). To learn how fast the network is, use perftest.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import labkit.kernels.verbs
from labkit.errors import SpecError
from labkit.host.pyverbs import interpreter, version
from labkit.kernels.verbs.plan import HOT_SPOTS, ONE_SIDED, STREAMS, Plan
from labkit.options.verbs import Atomic, Availability, Echo, HotSpot, Setup, WriteBandwidth, WriteLatency
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Tool
from labkit.tools._own_json import parsed

TOOL = Tool(
    name="pyverbs",
    read_version=version,
    package="python3-pyverbs",
    purpose="loops over RDMA verbs, every iteration",
    instead="perftest or qperf",
    needs="rdma",
)
ABSENT = "python3 with pyverbs"  # what is missing where no Python can import it
_PROGRAM = str(Path(labkit.kernels.verbs.__file__).parent / "__main__.py")
_DEFINITIONS = {
    "latency": "labkit pyverbs loop: {what}, every iteration timed; Python's share is part of it.",
    "host_overhead": "labkit pyverbs loop: {what}, and the time inside its calls; Python's share is part of both.",
    "pingping": "labkit pyverbs loop: a message each way at once, every iteration timed; Python's share is part of it.",
    "availability": "labkit pyverbs loop: windows of tx_depth messages, with a computation before the wait for them.",
    **dict.fromkeys(HOT_SPOTS, "labkit pyverbs loop: rounds of messages and answers; Python's share is part of each."),
    "bandwidth": "labkit pyverbs loop: windows of tx_depth messages on each queue pair, first post to last completion.",
}

_PROGRAM_DEFINITION = "labkit pyverbs program: time of a request and its answer, every one."


def send_latency(spec: Spec, effort: Effort) -> Invocation:
    """Messages there and back, received by posted receives."""
    return _invocation(spec, effort, "latency", operation="send")


def write_latency(spec: Spec[WriteLatency], effort: Effort) -> Invocation:
    """RDMA writes there and back; each end watches memory, or takes a completion with `immediate`."""
    return _invocation(spec, effort, "latency", operation=_write(spec))


def read_latency(spec: Spec, effort: Effort) -> Invocation:
    """RDMA reads, one at a time."""
    return _invocation(spec, effort, "latency", operation="read")


def atomic_latency(spec: Spec[Atomic], effort: Effort) -> Invocation:
    """Atomic operations, one at a time."""
    return _invocation(spec, effort, "latency", operation=spec.options.operation)


def host_overhead(spec: Spec, effort: Effort) -> Invocation:
    """Messages there and back, with the time inside the calls that post and complete them."""
    return _invocation(spec, effort, "host_overhead", operation="send")


def pingping(spec: Spec, effort: Effort) -> Invocation:
    """A message each way at once."""
    return _invocation(spec, effort, "pingping")


def availability(spec: Spec[Availability], effort: Effort) -> Invocation:
    """Windows of messages beside a computation."""
    return _invocation(spec, effort, "availability", operation=spec.options.operation)


def hotspot_send(spec: Spec[HotSpot], effort: Effort) -> Invocation:
    """Messages to several processes at once."""
    return _invocation(spec, effort, "hotspot_send")


def hotspot_receive(spec: Spec[HotSpot], effort: Effort) -> Invocation:
    """Messages of several processes at once."""
    return _invocation(spec, effort, "hotspot_receive")


def send_bandwidth(spec: Spec, effort: Effort) -> Invocation:
    """A stream of messages into posted receives."""
    return _invocation(spec, effort, "bandwidth", operation="send")


def write_bandwidth(spec: Spec[WriteBandwidth], effort: Effort) -> Invocation:
    """A stream of RDMA writes."""
    return _invocation(spec, effort, "bandwidth", operation=_write(spec))


def read_bandwidth(spec: Spec, effort: Effort) -> Invocation:
    """A stream of RDMA reads."""
    return _invocation(spec, effort, "bandwidth", operation="read")


def atomic_bandwidth(spec: Spec[Atomic], effort: Effort) -> Invocation:
    """A stream of atomic operations."""
    return _invocation(spec, effort, "bandwidth", operation=spec.options.operation)


def registration(spec: Spec, effort: Effort) -> Invocation:
    """Registering and deregistering memory."""
    return _alone(spec, effort, "registration")


def setup(spec: Spec[Setup], effort: Effort) -> Invocation:
    """Making every object, or connections by the RDMA connection manager."""
    if spec.options.rdma_cm:
        job = _invocation(spec, effort, "connect")
        return replace(job, definition="labkit pyverbs: connections by RDMA CM, made and closed, each step timed.")
    return _alone(spec, effort, "setup")


def echo(spec: Spec[Echo], effort: Effort) -> Invocation:
    """A server that sends back what it gets."""
    return _invocation(spec, effort, "echo", operation=spec.options.request)


def sequencer(spec: Spec, effort: Effort) -> Invocation:
    """A counter that clients raise by fetch-and-add."""
    return _invocation(spec, effort, "sequencer")


def key_value(spec: Spec, effort: Effort) -> Invocation:
    """Requests by WRITE, answers by SEND."""
    return _invocation(spec, effort, "key_value")


def _write(spec: Spec[WriteLatency | WriteBandwidth]) -> str:
    return "write_with_immediate" if spec.options.immediate else "write"


def plan(spec: Spec, effort: Effort, program: str, operation: str = "send") -> Plan:
    """Return the plan that both ends get.

    Raises
    ------
    SpecError
        For what pyverbs' loops cannot do.
    """
    given = spec.values
    refused = {
        "connection": given.get("connection") in ("XRC", "DC", "SRD"),
        "rdma_cm": bool(given.get("rdma_cm")) and program != "connect",
        "bidirectional": bool(given.get("bidirectional")),
        "duration": bool(given.get("duration")),
        "multicast": bool(given.get("multicast")),
    }
    wrong = next((name for name, is_so in refused.items() if is_so), "")
    if wrong:
        raise SpecError(f"{wrong}={given[wrong]!r} works with perftest only. Set tool=perftest, or leave it out.")
    if operation == "write" and given.get("completion") == "event" and program == "latency":
        raise SpecError(
            "a plain write gives the peer no completion to wait for. Set immediate=true, or completion=poll."
        )
    names = (
        "connection",
        "completion",
        "mtu",
        "gid",
        "tx_depth",
        "cq_moderation",
        "post_list",
        "qps",
        "clients",
        "buffers_in_turn",
        "reuse",
        "srq",
        "peers",
        "window",
    )
    options: dict[str, Any] = {name: given[name] for name in names if name in given}
    if operation in ONE_SIDED:
        options["connection"] = "RC"
    # an iteration is a message, as in perftest; a sample is a window of them
    each = given["tx_depth"] * given.get("qps", 1) if program in STREAMS else 1
    return Plan(
        program=program,
        operation=operation,
        size=spec.size,
        iterations=-(-(effort.iterations or 0) // each),
        warmup=_warmup(program) if effort.warmup is None else -(-effort.warmup // each),
        time_cap=effort.time_cap,
        seed=effort.seed,
        inline=max(given.get("inline", 0), 0),
        tclass=max(given.get("tclass", 0), 0),
        compute_ns=round(1000 * given.get("compute_us", 0)),
        **options,
    )


def _warmup(program: str) -> int:
    """Iterations before the timed ones."""
    return 2 if program in (*STREAMS, "registration", "setup", "connect") else 20


def _invocation(spec: Spec, effort: Effort, program: str, operation: str = "send") -> Invocation:
    """Return the invocation of a point with two ends."""
    work, one_way = plan(spec, effort, program, operation), operation not in ONE_SIDED
    words = (interpreter() or ABSENT, "-I", _PROGRAM)
    what = "a message there and back" if one_way else "one operation from post to completion"
    return Invocation(
        tool=TOOL,
        needs=(words[0],),
        server=(*words, "server", "{device}", "{gid}", "{port}", work.encode()),
        client=(*words, "client", "{device}", "{gid}", "{port}", "{address}", work.encode()),
        parse=parsed,
        address="127.0.0.1",
        definition=_DEFINITIONS.get(program, _PROGRAM_DEFINITION).format(what=what),
        duration=effort.time_cap,
        time_limit=effort.time_cap * 10 + effort.time_limit,
        facts={"engine_language": "Python"},
    )


def _alone(spec: Spec, effort: Effort, program: str) -> Invocation:
    """Return the invocation of a point with one end."""
    words = (interpreter() or ABSENT, "-I", _PROGRAM)
    return Invocation(
        tool=TOOL,
        needs=(words[0],),
        client=(*words, "alone", "{device}", "{gid}", "0", plan(spec, effort, program).encode()),
        parse=parsed,
        definition=f"labkit pyverbs: {program}, every call timed.",
        duration=effort.time_cap,
        time_limit=effort.time_cap * 10 + effort.time_limit,
        facts={"engine_language": "Python"},
    )
