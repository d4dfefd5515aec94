"""Latency of one transport of UCX (UCT), the layer below UCP, between two processes.

The definition of ucx_perftest: half the round trip of ``am_lat`` and ``put_lat``, the whole of ``get``. Against
verbs.ucx_latency over the same path it shows what UCP adds, against verbs.send_latency what UCT adds. The tool does not
report its samples; its median is over the newest iterations. ``transport`` is the path: tcp, shm (POSIX), posix, sysv,
rc or ud.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import UCX, uct
from labkit.options.verbs import Uct
from labkit.tools import ucx_perftest

BENCHMARK = ToolBenchmark(
    title="UCT latency",
    options=Uct,
    sizes="8:64",
    max_size=2**26,
    check=uct,
    metrics={"latency_us": lambda spec: 1},
    tools=(ucx_perftest.uct_latency,),
    logs={"ucx_perftest UCT latency": {}},
    cadence="streaming",
    ends=UCX,
    crossings=1,
)
