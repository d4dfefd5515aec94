"""Bandwidth and message rate of a stream of RDMA READ, with several messages under way.

The definition of perftest's ib_read_bw: bytes of all messages over the time from the first post to the last completion
at the sender.

With pyverbs a sample is a window of `tx_depth` messages on each queue pair, from the first post to the last completion:
it includes the end of each window, but not the pause before the next one.
"""

from labkit.benchmarks.verbs import bandwidth
from labkit.options.verbs import Stream
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = bandwidth(
    "RDMA read stream", "read", (perftest.read_bandwidth, pyverbs.read_bandwidth, qperf.read_bandwidth), Stream
)
