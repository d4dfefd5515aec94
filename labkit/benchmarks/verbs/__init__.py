"""RDMA verbs: options and checks that the benchmarks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.verbs import Connected, Echo, InTurn, PingPong, Send, Served, Stream, Uct, Verbs
from labkit.point.spec import Effort, Scalar, Spec, has

if TYPE_CHECKING:
    from labkit.tools import Invocation

    Of = TypeVar("Of")
    Tools = tuple[Callable[[Spec[Of], Effort], Invocation], ...]

VERBS, UCX = Ends(rdma="verbs"), Ends(rdma="ucx", transports=True)
MTUS = (0, 256, 512, 1024, 2048, 4096)


_PERFTEST = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send", "atomic": "Atomic"}
_QPERF = {"write": "rdma_write_", "read": "rdma_read_", "send": ""}


def _logs(operation: str, kind: str) -> dict[str, dict[str, Scalar]]:
    """Return the tests of perftest and qperf that measure an operation: ``Latency`` or ``BW``."""
    tests: dict[str, dict[str, Scalar]] = {f"perftest {_PERFTEST[operation]} {kind}": {}}
    end = "lat" if kind == "Latency" else "bw"
    for service in ("RC", "UC", "UD") if operation in _QPERF else ():
        tests[f"qperf {service.lower()}_{_QPERF[operation]}{end}"] = {"connection": service}
        if (operation, kind) == ("send", "BW"):
            tests[f"qperf {service.lower()}_bi_bw"] = {"connection": service, "bidirectional": True}
    return tests


def service(spec: Spec) -> str:
    """Service of the queue pairs that carry the messages; empty if the benchmark has no such option."""
    return spec.options.connection if has(spec.options, Connected) else ""


def window(spec: Spec[Stream]) -> int:
    """Messages of one sample of a stream."""
    return spec.options.tx_depth * spec.options.qps


def check(spec: Spec[Verbs], operation: str) -> str:
    """Say what is wrong with a spec of an operation; empty if nothing is."""
    options, size = spec.options, spec.size
    service, mtu = options.connection, options.mtu
    reliable, written = ("RC", "XRC", "DC", "SRD"), ("RC", "UC", "XRC", "DC", "SRD")
    if wrong := packet(size, mtu, service):
        return wrong
    if operation in ("read", "atomic") and service not in reliable:
        return f"connection={service}, but {operation} needs a reliable one. Set connection=RC."
    if operation == "write" and service not in written:
        return f"connection={service}, but UD cannot write into remote memory. Set connection=RC or UC."
    if operation == "atomic" and size != 8:
        return f"size={size} B, but an atomic operation works on 8 B. Set size=8."
    if not -1 <= options.tclass <= 255:
        return f"tclass={options.tclass}, but it must be 0 to 255. Set tclass=0."
    if has(options, InTurn) and not (1 <= options.buffers_in_turn <= 65536 and 0 <= options.reuse <= 100):
        return (
            f"buffers_in_turn={options.buffers_in_turn}, reuse={options.reuse}, but there are 1 to 65536 buffers, and "
            "0 to 100 % use the first again. Set buffers_in_turn=64, reuse=50."
        )
    if has(options, Send) and options.srq and service != "RC" and service != "UD":
        return f"connection={service}, srq=True, but queue pairs of RC and UD share receives here. Set connection=RC."
    if not has(options, Stream):
        return ""
    depth, moderation, post_list = options.tx_depth, options.cq_moderation, options.post_list
    if min(depth, moderation, post_list, options.qps) < 1 or depth % moderation or moderation % post_list:
        return (
            f"tx_depth={depth}, cq_moderation={moderation}, post_list={post_list}, but each must divide the one "
            "before it. Set tx_depth=64, cq_moderation=16, post_list=4."
        )
    return ""


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


def uct(spec: Spec[Uct]) -> str:
    """Say what is wrong with a spec of a transport of UCX; empty if nothing is."""
    operation, size = spec.options.operation, spec.size
    if operation == "am" and size < 8:
        return f"size={size} B, but an active message has a header of 8 B. Set size=8."
    if not size:
        return "size=0, but ucx_perftest moves at least 1 B. Set size=8."
    if operation == "get" and spec.options.layout == "short":
        return "layout=short, but a get has no short form. Set layout=bcopy or zcopy."
    return ""


def packet(size: int, mtu: int, connection: str = "RC") -> str:
    """Say what is wrong with a message and its largest packet; empty if nothing is."""
    if not size:
        return "size=0, but a message has at least 1 B. Set size=8."
    if mtu not in MTUS:
        return f"mtu={mtu}, but a packet has {', '.join(map(str, MTUS[1:]))} B. Set one of these, or 0."
    if connection == "UD" and size > (mtu or MTUS[-1]):
        return (
            f"size={size} B, but a UD message holds at most one packet of {mtu or MTUS[-1]} B. Set a smaller size, or "
            "connection=RC."
        )
    return ""


def ping_pong(spec: Spec[PingPong]) -> str:
    """Return what is wrong with a spec of a ping-pong that only the pyverbs loops run; empty if nothing is."""
    return packet(spec.size, spec.options.mtu, spec.options.connection)


def scenario(spec: Spec[Served]) -> str:
    """Say what is wrong with a spec of a small program; empty if nothing is."""
    clients, counted = spec.options.clients, spec.benchmark == "verbs.sequencer"
    if not 1 <= clients <= 64:
        return f"clients={clients}, but it must be 1 to 64. Set clients=1."
    if counted and spec.size != 8:
        return f"size={spec.size} B, but the counter has 8 B. Set size=8."
    if not counted and spec.size < 16:
        return f"size={spec.size} B, but a request has at least 16 B. Set size=16."
    if has(spec.options, Echo) and spec.options.request == "write" and spec.options.connection == "UD":
        return "request=write, connection=UD, but UD cannot write into remote memory. Set connection=RC or UC."
    return ""
