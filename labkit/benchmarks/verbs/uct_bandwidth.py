"""Bandwidth of one transport of UCX (UCT), the layer below UCP, between two processes, in one direction.

The definition of ucx_perftest: Bytes divided by the time of all operations: ``am_bw`` with at most 127 unanswered
messages, ``put_bw`` with as many in flight as the transport queues, ``get`` with 32. The tool does not report its
samples. ``transport`` is the path: tcp, shm (POSIX), posix, sysv, rc or ud.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import UCX, uct
from labkit.options.verbs import Uct
from labkit.tools import ucx_perftest

BENCHMARK = ToolBenchmark(
    title="UCT bandwidth",
    options=Uct,
    sizes="8:64",
    max_size=2**26,
    check=uct,
    metrics={"bandwidth_MBps": lambda spec: spec.size, "message_rate_per_s": lambda spec: 1},
    tools=(ucx_perftest.uct_bandwidth,),
    logs={"ucx_perftest UCT bandwidth": {}},
    cadence="streaming",
    ends=UCX,
    directions=1,
)
