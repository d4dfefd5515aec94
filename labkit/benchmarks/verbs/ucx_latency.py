"""Latency of UCX, the layer that most MPI libraries send through, between two processes.

The definition of ucx_perftest: half the round trip of ``tag_lat``, ``ucp_put_lat`` and ``ucp_am_lat``, the whole of
``ucp_get``. Against mpi.latency over the same path it tells what MPI adds. The tool keeps its samples to itself; its
median is that of the newest iterations. ``transport`` is the path: auto, tcp, shm, rc or ud.
"""

from dataclasses import dataclass
from typing import Literal

from labkit.benchmarks import ToolBenchmark
from labkit.tools import ucx_perftest


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of verbs.ucx_latency.

    Parameters
    ----------
    operation : messages by tag, as MPI sends them; put and get into the other's memory; active messages.
    gid : entry of the device's table of addresses over rc and ud; -1 takes that of RoCE version 2 with an IPv4 address.
    """

    operation: Literal["tag", "put", "get", "am"] = "tag"
    gid: int = -1


BENCHMARK = ToolBenchmark(
    title="UCX latency",
    options=Options,
    sizes="1:1Mi",
    max_size=2**26,
    check=lambda spec: "" if spec.size else "size=0, but ucx_perftest moves at least 1 B. Set size=8.",
    metrics={"latency_us": lambda spec: 1},
    jobs=(ucx_perftest.latency,),
    cadence="streaming",
)
