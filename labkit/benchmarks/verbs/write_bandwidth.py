"""Bandwidth and message rate of a stream of RDMA WRITE, with several messages under way.

The definition of perftest's ib_write_bw: bytes of all messages over the time from the first post to the last completion
at the sender.

With pyverbs a sample is a window of `tx_depth` messages on each queue pair, from the first post to the last completion:
it includes the end of each window, but not the pause before the next one.
"""

from labkit.benchmarks.verbs import bandwidth
from labkit.options.verbs import WriteBandwidth
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = bandwidth(
    "RDMA write stream",
    "write",
    (perftest.write_bandwidth, pyverbs.write_bandwidth, qperf.write_bandwidth),
    WriteBandwidth,
)
