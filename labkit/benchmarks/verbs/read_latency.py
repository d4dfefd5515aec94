"""Latency of RDMA READ: from the post to the completion, which arrives with the data.

The definition of perftest's ib_read_lat. The processor of the other end does nothing.
"""

from labkit.benchmarks import Ends
from labkit.benchmarks.verbs import latency
from labkit.options.verbs import InTurn
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = latency(
    "RDMA read latency",
    "read",
    (perftest.read_latency, pyverbs.read_latency, qperf.read_latency),
    InTurn,
    crossings=2,
    ends=Ends(rdma="verbs", request=True),
)
