"""One-way latency of RDMA WRITE: a ping-pong in which each end watches its memory for the other's last byte.

The definition of perftest's ib_write_lat: half the round trip. The samples are halved too. With `immediate` a write
consumes a receive at the other end, which waits for its completion.
"""

from labkit.benchmarks.verbs import latency
from labkit.options.verbs import WriteLatency
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = latency(
    "RDMA write latency", "write", (perftest.write_latency, pyverbs.write_latency, qperf.write_latency), WriteLatency
)
