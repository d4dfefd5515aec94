"""RDMA verbs: options and checks that the benchmarks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.point.spec import Effort, Scalar, Spec, has

if TYPE_CHECKING:
    from labkit.tools import Invocation

    Of = TypeVar("Of")
    Tools = tuple[Callable[[Spec[Of], Effort], Invocation], ...]

Tool = Literal["auto", "perftest", "pyverbs", "qperf"]
VERBS = Ends(rdma="verbs")
MTUS = (0, 256, 512, 1024, 2048, 4096)


_PERFTEST = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send", "atomic": "Atomic"}
_QPERF = {"write": "rdma_write_", "read": "rdma_read_", "send": ""}


def _logs(operation: str, kind: str) -> dict[str, dict[str, Scalar]]:
    """Return the tests of perftest and qperf that measure an operation: ``Latency`` or ``BW``."""
    tests: dict[str, dict[str, Scalar]] = {f"perftest {_PERFTEST[operation]} {kind}": {}}
    end = "lat" if kind == "Latency" else "bw"
    for service in ("RC", "UC", "UD") if operation in _QPERF else ():
        tests[f"qperf {service.lower()}_{_QPERF[operation]}{end}"] = {"connection": service}
    return tests


@dataclass(frozen=True, kw_only=True)
class Verbs:
    """Options of all verbs benchmarks with two ends.

    Parameters
    ----------
    tool : `auto` takes perftest where it is installed, else the loops over pyverbs.
    connection : service of the queue pairs: reliable (RC) or unreliable (UC) connection, unreliable datagram (UD);
        XRC, DC and SRD where the device has them.
    completion : poll for a completion, or sleep until an event tells of one.
    inline : B up to which data are copied with a request; -1 leaves it to the tool.
    mtu : B of the largest packet; 0 takes the largest.
    tclass : byte of DSCP and ECN in the packets; -1 leaves it.
    gid : place of the address in the device's table; -1 takes the RoCE v2 address for IPv4.
    rdma_cm : connect by the RDMA connection manager instead of an exchange over TCP.
    """

    tool: Tool = "auto"
    connection: Literal["RC", "UC", "UD", "XRC", "DC", "SRD"] = "RC"
    completion: Literal["poll", "event"] = "poll"
    inline: int = -1
    mtu: int = 0
    tclass: int = -1
    gid: int = -1
    rdma_cm: bool = False


@dataclass(frozen=True, kw_only=True)
class InTurn(Verbs):
    """Options of the verbs benchmarks whose messages may use several buffers.

    Parameters
    ----------
    buffers_in_turn : different buffers, one after the other (pyverbs).
    reuse : % of the messages that use the first buffer again, the others any of them (pyverbs).
    """

    buffers_in_turn: int = 1
    reuse: int = 0


@dataclass(frozen=True, kw_only=True)
class Atomic:
    """Options of atomic operations.

    Parameters
    ----------
    operation : add to the number there, or put another in its place if it is the one expected.
    """

    operation: Literal["fetch_and_add", "compare_and_swap"] = "fetch_and_add"


@dataclass(frozen=True, kw_only=True)
class Addressed:
    """Options of the verbs benchmarks with one end.

    Parameters
    ----------
    gid : place of the address in the device's table; -1 takes the RoCE v2 address for IPv4.
    """

    gid: int = -1


@dataclass(frozen=True, kw_only=True)
class Ucx(Addressed):
    """Options of the benchmarks of UCX.

    Parameters
    ----------
    operation : messages by tag, as MPI sends them; put and get into the other's memory; active messages.
    """

    operation: Literal["tag", "put", "get", "am"] = "tag"


@dataclass(frozen=True, kw_only=True)
class Stream(Verbs):
    """Options of the verbs benchmarks that measure a stream.

    Parameters
    ----------
    tx_depth : messages under way on each queue pair at most; those of a window with pyverbs.
    cq_moderation : messages to a completion; divides `tx_depth`.
    post_list : messages posted with one call; divides `cq_moderation`.
    qps : queue pairs, used in turn.
    bidirectional : both ends send.
    duration : s to stream, instead of a count; 0 for a count.
    """

    tx_depth: int = 64
    cq_moderation: int = 16
    post_list: int = 1
    qps: int = 1
    bidirectional: bool = False
    duration: int = 0


def window(spec: Spec[Stream]) -> int:
    """Messages of one sample of a stream."""
    return spec.options.tx_depth * spec.options.qps


def check(spec: Spec[Verbs], operation: str) -> str:
    """Say what is wrong with a spec of an operation; empty if nothing is."""
    options, size = spec.options, spec.size
    service, mtu = options.connection, options.mtu
    reliable, written = ("RC", "XRC", "DC", "SRD"), ("RC", "UC", "XRC", "DC", "SRD")
    if not size:
        return "size=0, but a message has at least 1 B. Set size=8."
    if mtu not in MTUS:
        return f"mtu={mtu}, but a packet has {', '.join(map(str, MTUS[1:]))} B. Set one of these, or 0."
    if operation in ("read", "atomic") and service not in reliable:
        return f"connection={service}, but {operation} needs a reliable one. Set connection=RC."
    if operation == "write" and service not in written:
        return f"connection={service}, but UD cannot write into remote memory. Set connection=RC or UC."
    if service == "UD" and size > (mtu or 4096):
        return (
            f"size={size} B, but a UD message holds at most one packet of {mtu or 4096} B. Set a smaller size, or "
            "connection=RC."
        )
    if operation == "atomic" and size != 8:
        return f"size={size} B, but an atomic operation works on 8 B. Set size=8."
    if not -1 <= options.tclass <= 255:
        return f"tclass={options.tclass}, but it must be 0 to 255. Set tclass=0."
    if not has(options, Stream):
        return ""
    depth, moderation, post_list = options.tx_depth, options.cq_moderation, options.post_list
    if min(depth, moderation, post_list, options.qps) < 1 or depth % moderation or moderation % post_list:
        return (
            f"tx_depth={depth}, cq_moderation={moderation}, post_list={post_list}, but each must divide the one "
            "before it. Set tx_depth=64, cq_moderation=16, post_list=4."
        )
    return ""


@dataclass(frozen=True, kw_only=True)
class Served(Addressed):
    """Options of a small program: clients that ask a server.

    Parameters
    ----------
    clients : requests in flight, up to 64.
    inline : B up to which data are copied with a request.
    mtu : B of the largest packet; 0 takes the largest.
    tclass : byte of DSCP and ECN in the packets; -1 leaves it.
    """

    clients: int = 1
    inline: int = 0
    mtu: int = 0
    tclass: int = -1


Asked = TypeVar("Asked", bound=Verbs)
Streamed = TypeVar("Streamed", bound=Stream)
Program = TypeVar("Program", bound=Served)


def latency(
    title: str,
    operation: str,
    tools: Tools[Asked],
    options: type[Asked],
    sizes: str = "2:64Ki",
    max_size: int = 2**30,
    crossings: int = 1,
    ends: Ends = VERBS,
) -> ToolBenchmark[Asked]:
    """Make a benchmark of one operation at a time."""
    return ToolBenchmark(
        title=title,
        options=options,
        sizes=sizes,
        max_size=max_size,
        check=lambda spec: check(spec, operation),
        metrics={"latency_us": lambda spec: 1},
        tools=tools,
        logs=_logs(operation, "Latency"),
        cadence="streaming",
        ends=ends,
        crossings=crossings,
    )


def bandwidth(title: str, operation: str, tools: Tools[Streamed], options: type[Streamed]) -> ToolBenchmark[Streamed]:
    """Make a benchmark of a stream of operations, several of them under way."""
    return ToolBenchmark(
        title=title,
        options=options,
        sizes="64:64Ki:*4",
        max_size=2**30,
        check=lambda spec: check(spec, operation),
        metrics={"bandwidth_MBps": lambda spec: spec.size * window(spec), "message_rate_per_s": window},
        tools=tools,
        logs=_logs(operation, "BW"),
        cadence="streaming",
        ends=VERBS,
        directions=1,
    )


def program(
    title: str,
    tool: Callable[[Spec[Program], Effort], Invocation],
    options: type[Program],
    sizes: str = "16:1Ki:*4",
    max_size: int = 4096,
) -> ToolBenchmark[Program]:
    """Make a benchmark of a small program over pyverbs: time of a request, and requests per second."""
    return ToolBenchmark(
        title=title,
        options=options,
        sizes=sizes,
        max_size=max_size,
        check=scenario,
        metrics={"round_trip_us": lambda spec: 1, "transaction_rate_per_s": lambda spec: spec.options.clients},
        tools=(tool,),
        cadence="streaming",
        ends=VERBS,
    )


def scenario(spec: Spec[Served]) -> str:
    """Say what is wrong with a spec of a small program; empty if nothing is."""
    clients, counted = spec.options.clients, spec.benchmark == "verbs.sequencer"
    if not 1 <= clients <= 64:
        return f"clients={clients}, but it must be 1 to 64. Set clients=1."
    if counted and spec.size != 8:
        return f"size={spec.size} B, but the counter has 8 B. Set size=8."
    if not counted and spec.size < 16:
        return f"size={spec.size} B, but a request has at least 16 B. Set size=16."
    if spec.values.get("request") == "write" and spec.values.get("connection") == "UD":
        return "request=write, connection=UD, but UD cannot write into remote memory. Set connection=RC or UC."
    return ""
