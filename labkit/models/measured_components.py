"""How Zambre et al., *Breaking Band* (ICPP 2019), measure their components: equations, and intervals of a trace.

The equations take times in one unit and return a time in it. `labkit.models.breakdown.combine` applies them launch by
launch. A negative difference means that what was subtracted is not part of the whole, or was measured too long.

The other functions take the packets of a trace (`labkit.formats.pcie_trace.packets`). The analyzer is directly before
the adapter of the node that sends first. They return intervals in ns, one for each message. The paper uses the mean of
at least 100.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.formats.pcie_trace import Packet

Intervals = NDArray[np.float64]
_WRITE, _ACK = "MWr", "Ack"
_BLOCK_B = 64  # of a programmed copy to the adapter, and of a completion: section 2

# ---- software, by the timers of a profiler --------------------------------------------------------------------------


def without_timer(time: float, timer: float) -> float:
    """Time of software less the time to read the timers (section 3: 49.69 ns)."""
    return time - timer


def rest_of_post(llp_post: float, *categories: float) -> float:
    """Rest of LLP_post: the whole less the sum of its categories (section 4.1)."""
    return llp_post - math.fsum(categories)


def layer_of_call(call: float, below: float) -> float:
    """Time of one layer in a call: the call of the layer less the call of the layer below (section 5).

    MPI_Isend less ucp_tag_send_nb is the share of MPICH, ucp_tag_send_nb less uct_ep_am_short the share of UCP.
    """
    return call - below


def layer_of_progress(progress: float, below: float, callback: float) -> float:
    """Time of one layer in a successful wait: its progress less that of the layer below, plus callback (section 5).

    Parameters
    ----------
    progress : progress of the layer: MPI_Wait, or ucp_worker_progress.
    below : of the layer below, which also runs the callbacks: ucp_worker_progress, or uct_worker_progress.
    callback : callback of the layer alone. That of UCP is its whole callback less the callback of MPICH.
    """
    return progress - below + callback


def post_prog(waitall: float, llp_post: float, busy: int, operations: int) -> float:
    """Post_prog: MPI_Waitall for each operation, less the posts that it makes up for (section 6).

    Parameters
    ----------
    waitall : whole time of the call.
    busy : posts of the window that found the queue full, which MPI_Waitall repeats.
    operations : operations of the window.
    """
    return (waitall - busy * llp_post) / operations


def busy_posts(busy_post: float, busy: int, operations: int) -> float:
    """Time of posts that find the queue full, for each operation of a window (section 6)."""
    return busy_post * busy / operations


def latency_of_benchmark(printed: float, update: float) -> float:
    """Observed latency: the output of am_lat, less half of its book-keeping (section 4.3).

    Examples
    --------
    >>> round(latency_of_benchmark(1215.0, 49.69), 3)  # the paper prints 1190.25
    1190.155
    """
    return printed - update / 2


def injection_of_rate(rate: float) -> float:
    """Observed injection overhead: the inverse of a message rate (section 6)."""
    return 1 / rate


# ---- hardware, by intervals of a trace ------------------------------------------------------------------------------


def pcie(round_trip: float) -> float:
    """PCIe: half the round trip between adapter and root complex (section 4.3)."""
    return round_trip / 2


def network(round_trip: float) -> float:
    """Network, or Wire without a switch: half the round trip between the adapters (section 4.3)."""
    return round_trip / 2


def switch(with_switch: float, without: float) -> float:
    """Switch: the latency with a switch less the latency without (section 4.3)."""
    return with_switch - without


def rc_to_mem(pong_to_ping: float, pcie: float, llp_prog: float, llp_post: float) -> float:
    """RC-to-MEM: the time from a pong to the next ping, less 2 PCIe, LLP_prog and LLP_post (section 4.3, Figure 9).

    Examples
    --------
    >>> round(rc_to_mem(752.99, 137.49, 61.63, 175.42), 2)
    240.96
    """
    return pong_to_ping - 2 * pcie - llp_prog - llp_post


# ---- the intervals --------------------------------------------------------------------------------------------------


def injection(trace: Sequence[Packet]) -> Intervals:
    """Return the observed Inj_overhead: from each downstream write of 64 B to the next (section 4.2, Figure 6), ns.

    Raises
    ------
    DataError
        If the trace has fewer than two such writes.
    """
    posts = [one.time_ns for one in trace if _is_post(one)]
    return _some(np.diff(posts), "two downstream MWr of 64 B")


def pcie_round_trips(trace: Sequence[Packet]) -> Intervals:
    """Return the time from each upstream write to its acknowledgement by the root complex (section 4.3), ns.

    The acknowledgement of a write is the one with its sequence number. One that covers several packets counts for the
    last of them.

    Raises
    ------
    DataError
        If no write has such an acknowledgement.
    """
    sent, found = dict[int, float](), list[float]()
    for one in trace:
        if one.direction == "upstream" and one.kind == _WRITE:
            sent[one.sequence] = one.time_ns
        elif one.direction == "upstream":
            sent.pop(one.sequence, None)  # its number came round
        elif one.kind == _ACK and one.sequence in sent:
            found.append(one.time_ns - sent.pop(one.sequence))
    return _some(np.array(found), "an upstream MWr and a downstream Ack with its Sequence")


def network_round_trips(trace: Sequence[Packet]) -> Intervals:
    """Return the time from each ping to its completion, which the adapter writes after the ACK (section 4.3), ns.

    A ping is a downstream write of 64 B; the next upstream write of 64 B is its completion.

    Raises
    ------
    DataError
        If no ping has a completion before the next ping.
    """
    return _between(trace, _is_post, _is_completion, "a downstream MWr of 64 B and an upstream one after it")


def pongs_to_pings(trace: Sequence[Packet]) -> Intervals:
    """Return the time from each inbound pong, the last upstream write before a ping, to that ping (Figure 9), ns.

    Raises
    ------
    DataError
        If no ping has an upstream write before it.
    """
    return _between(trace, _is_inbound, _is_post, "an upstream MWr and a downstream MWr of 64 B after it")


def _is_post(one: Packet) -> bool:
    return one.direction == "downstream" and one.kind == _WRITE and one.size == _BLOCK_B


def _is_inbound(one: Packet) -> bool:
    return one.direction == "upstream" and one.kind == _WRITE


def _is_completion(one: Packet) -> bool:
    return _is_inbound(one) and one.size == _BLOCK_B


def _between(
    trace: Sequence[Packet], begins: Callable[[Packet], bool], ends: Callable[[Packet], bool], wanted: str
) -> Intervals:
    """Return the time from each opening packet, the last one before an end, to the next closing packet."""
    begin, found = None, list[float]()
    for one in trace:
        if begins(one):
            begin = one
        elif begin is not None and ends(one):
            found.append(one.time_ns - begin.time_ns)
            begin = None
    return _some(np.array(found), wanted)


def _some(intervals: Intervals, wanted: str) -> Intervals:
    """Return the intervals; there must be at least one."""
    if not intervals.size:
        raise DataError(f"The trace has no interval: it needs {wanted}. Export all packets between the two nodes.")
    return intervals
