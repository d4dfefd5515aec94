"""Bandwidth of UCX, the layer that most MPI libraries send through, between two processes, in one direction.

The definition of ucx_perftest: ``tag_bw``, ``ucp_put_bw``, ``ucp_am_bw`` and ``ucp_get`` with 32 operations under way;
bytes over the time of all of them. The tool does not report its samples. ``transport`` is the path: auto, tcp, shm,
rc or ud.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import UCX
from labkit.options.verbs import Ucx
from labkit.tools import ucx_perftest

BENCHMARK = ToolBenchmark(
    title="UCX bandwidth",
    options=Ucx,
    sizes="1Ki:4Mi",
    max_size=2**26,
    check=lambda spec: "" if spec.size else "size=0, but ucx_perftest moves at least 1 B. Set size=65536.",
    metrics={"bandwidth_MBps": lambda spec: spec.size, "message_rate_per_s": lambda spec: 1},
    tools=(ucx_perftest.bandwidth,),
    logs={"ucx_perftest bandwidth": {}},
    cadence="streaming",
    ends=UCX,
    directions=1,
)
