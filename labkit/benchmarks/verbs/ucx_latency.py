"""Latency of UCX, the layer that most MPI libraries send through, between two processes.

The definition of ucx_perftest: half the round trip of ``tag_lat``, ``ucp_put_lat`` and ``ucp_am_lat``, the whole of
``ucp_get``. Compared with mpi.latency over the same path, it shows the cost of MPI. The tool does not report its
samples; its median is over the newest iterations. ``transport`` is the path: auto, tcp, shm, rc or ud.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import UCX
from labkit.options.verbs import Ucx
from labkit.tools import ucx_perftest

BENCHMARK = ToolBenchmark(
    title="UCX latency",
    options=Ucx,
    sizes="1:1Mi",
    max_size=2**26,
    check=lambda spec: "" if spec.size else "size=0, but ucx_perftest moves at least 1 B. Set size=8.",
    metrics={"latency_us": lambda spec: 1},
    tools=(ucx_perftest.latency,),
    logs={"ucx_perftest latency": {}},
    cadence="streaming",
    ends=UCX,
    crossings=1,
)
