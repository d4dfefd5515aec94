"""Bandwidth of UCX, the layer that most MPI libraries send through, between two processes, in one direction.

The definition of ucx_perftest: ``tag_bw``, ``ucp_put_bw``, ``ucp_am_bw`` and ``ucp_get`` with 32 operations under way;
bytes over the time of all of them. The tool keeps its samples to itself. ``transport`` is the path: auto, tcp, shm,
rc or ud.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.tools import ucx_perftest


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of verbs.ucx_bandwidth.

    Parameters
    ----------
    operation : messages by tag, as MPI sends them; put and get into the other's memory; active messages.
    gid : entry of the device's table of addresses over rc and ud; -1 takes that of RoCE version 2 with an IPv4 address.
    """

    operation: Literal["tag", "put", "get", "am"] = "tag"
    gid: int = -1


BENCHMARK = ToolBenchmark(
    title="UCX bandwidth",
    options=Options,
    sizes="1Ki:4Mi",
    max_size=2**26,
    check=lambda spec: "" if spec.size else "size=0, but ucx_perftest moves at least 1 B. Set size=65536.",
    metrics={"bandwidth_MBps": lambda spec: spec.size, "message_rate_per_s": lambda spec: 1},
    jobs=(ucx_perftest.bandwidth,),
    cadence="streaming",
)
