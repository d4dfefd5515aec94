"""Options of benchmarks of RDMA verbs and UCX that tools read."""

from typing import Literal

from labkit.options import frozen

Tool = Literal["auto", "perftest", "pyverbs", "qperf"]
LOOPS_ALONE: dict[str, int] = {"immediate": False, "buffers_in_turn": 1, "reuse": 0}  # no tool but pyverbs has more


@frozen
class Connected:
    """Options of the benchmarks that use queue pairs of a chosen service.

    Parameters
    ----------
    connection : service of the queue pairs: reliable (RC) or unreliable (UC) connection, unreliable datagram (UD);
        XRC, DC and SRD where the device has them.
    """

    connection: Literal["RC", "UC", "UD", "XRC", "DC", "SRD"] = "RC"


@frozen
class Verbs(Connected):
    """Options of all verbs benchmarks with two ends.

    Parameters
    ----------
    tool : `auto` selects perftest if it is installed, else the loops over pyverbs.
    completion : poll for a completion, or sleep until its event.
    inline : largest size of inline data, B; -1 for the tool's default.
    mtu : size of packets, B; 0 for the largest possible.
    tclass : byte of DSCP and ECN in the packets; -1 for the default.
    gid : index of the address in the device's table; -1 selects the RoCE v2 address for IPv4.
    rdma_cm : connect by the RDMA connection manager instead of an exchange over TCP.
    """

    tool: Tool = "auto"
    completion: Literal["poll", "event"] = "poll"
    inline: int = -1
    mtu: int = 0
    tclass: int = -1
    gid: int = -1
    rdma_cm: bool = False


@frozen
class InTurn(Verbs):
    """Options of the verbs benchmarks with messages that may use several buffers.

    Parameters
    ----------
    buffers_in_turn : different buffers, one after the other (pyverbs).
    reuse : share of messages that use the first buffer again, %; the others use a random one (pyverbs).
    """

    buffers_in_turn: int = 1
    reuse: int = 0


@frozen
class Send(InTurn):
    """Options of verbs.send_latency.

    Parameters
    ----------
    srq : use one shared receive queue (SRQ) for all queue pairs.
    """

    srq: bool = False


@frozen
class Atomic:
    """Options of atomic operations.

    Parameters
    ----------
    operation : fetch and add, or compare and swap.
    """

    operation: Literal["fetch_and_add", "compare_and_swap"] = "fetch_and_add"


@frozen
class Addressed:
    """Options of the verbs benchmarks with one end.

    Parameters
    ----------
    gid : index of the address in the device's table; -1 selects the RoCE v2 address for IPv4.
    """

    gid: int = -1


@frozen
class Setup(Addressed):
    """Options of verbs.setup.

    Parameters
    ----------
    rdma_cm : connect to the other end by the RDMA connection manager (RDMA CM), and disconnect.
    """

    rdma_cm: bool = False


@frozen
class Ucx(Addressed):
    """Options of the benchmarks of UCX.

    Parameters
    ----------
    operation : tagged messages, as MPI sends them; put into or get from the memory of the other side; active messages.
    """

    operation: Literal["tag", "put", "get", "am"] = "tag"


@frozen
class Uct(Addressed):
    """Options of the benchmarks of a transport of UCX (UCT).

    Parameters
    ----------
    operation : active messages; put into or get from the memory of the other side.
    layout : how the transport takes the bytes: with the request (short), copied into a separate buffer (bcopy), or
        without a copy (zcopy). ``ucx_info -d`` lists what a transport supports, up to which size.
    driver : interface to the adapter over rc and ud: verbs, or mlx5 for NVIDIA's adapters without verbs.
    """

    operation: Literal["am", "put", "get"] = "am"
    layout: Literal["short", "bcopy", "zcopy"] = "short"
    driver: Literal["verbs", "mlx5"] = "verbs"


@frozen
class Stream(InTurn):
    """Options of the verbs benchmarks that measure a stream.

    Parameters
    ----------
    tx_depth : most messages in flight on each queue pair; with pyverbs the messages of a window.
    cq_moderation : messages per completion; divides `tx_depth`.
    post_list : messages posted with one call; divides `cq_moderation`.
    qps : queue pairs, used in rotation.
    bidirectional : both ends send.
    duration : duration of the stream, s; 0 for a number of messages instead.
    """

    tx_depth: int = 64
    cq_moderation: int = 16
    post_list: int = 1
    qps: int = 1
    bidirectional: bool = False
    duration: int = 0


@frozen
class SendStream(Send, Stream):
    """Options of verbs.send_bandwidth.

    Parameters
    ----------
    multicast : send to a multicast group that the receiver has joined, and count what arrives (perftest, UD on RoCE).
    """

    multicast: bool = False


@frozen
class Served(Addressed):
    """Options of a small program: clients that ask a server.

    Parameters
    ----------
    clients : requests in flight, up to 64.
    inline : largest size of inline data, B.
    mtu : size of packets, B; 0 for the largest possible.
    tclass : byte of DSCP and ECN in the packets; -1 for the default.
    """

    clients: int = 1
    inline: int = 0
    mtu: int = 0
    tclass: int = -1


@frozen
class AtomicBandwidth(Atomic, Stream):
    """Options of verbs.atomic_bandwidth."""


@frozen
class Echo(Connected, Served):
    """Options of verbs.echo.

    Parameters
    ----------
    request : operation that carries requests and answers.
    connection : service of the queue pairs.
    """

    request: Literal["send", "write"] = "send"
    connection: Literal["RC", "UC", "UD"] = "RC"


@frozen
class PingPong(Connected, Addressed):
    """Options of verbs.host_overhead and verbs.pingping.

    Parameters
    ----------
    connection : service of the queue pairs.
    inline : largest size of inline data, B.
    mtu : size of packets, B; 0 for the largest possible.
    """

    connection: Literal["RC", "UC", "UD"] = "RC"
    inline: int = 0
    mtu: int = 0


@frozen
class Availability(Addressed):
    """Options of verbs.availability.

    Parameters
    ----------
    operation : operation of the messages.
    compute_us : computation in each window, µs.
    tx_depth : messages of a window.
    cq_moderation : messages per completion; divides `tx_depth`.
    mtu : size of packets, B; 0 for the largest possible.
    """

    operation: Literal["write", "send", "read"] = "write"
    compute_us: float = 0.0
    tx_depth: int = 64
    cq_moderation: int = 16
    mtu: int = 0


@frozen
class HotSpot(Addressed):
    """Options of hot spots over verbs.

    Parameters
    ----------
    peers : processes around the hot spot, all on the other end's host.
    window : messages in flight with each of them.
    completion : poll for a completion, or sleep until its event.
    srq : the receiving hot spot uses one shared receive queue (SRQ).
    inline : largest size of inline data, B.
    mtu : size of packets, B; 0 for the largest possible.
    """

    peers: int = 2
    window: int = 1
    completion: Literal["poll", "event"] = "poll"
    srq: bool = False
    inline: int = 0
    mtu: int = 0


@frozen
class WriteBandwidth(Stream):
    """Options of verbs.write_bandwidth.

    Parameters
    ----------
    immediate : write with immediate data, which consumes a receive and completes at the other end too (pyverbs).
    """

    immediate: bool = False


@frozen
class WriteLatency(InTurn):
    """Options of verbs.write_latency.

    Parameters
    ----------
    immediate : write with immediate data, which consumes a receive and completes at the other end too (pyverbs).
    """

    immediate: bool = False
