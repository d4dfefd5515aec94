"""Bandwidth and message rate of a stream of RDMA READ, with several messages under way.

The definition of perftest's ib_read_bw: bytes of all messages over the time from the first post to the last completion
at the sender. With pyverbs a sample is the time of `tx_depth` messages in the middle of the stream.
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.verbs import Stream, check
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = Benchmark(
    title="RDMA read stream",
    options=Stream,
    sizes="64:64Ki:*4",
    max_size=2**30,
    check=lambda spec: check(spec, "read"),
    metrics={
        "bandwidth_MBps": lambda spec: spec.size * spec.option("tx_depth"),
        "message_rate_per_s": lambda spec: spec.option("tx_depth"),
    },
    jobs=(perftest.read_bandwidth, pyverbs.read_bandwidth, qperf.read_bandwidth),
    cadence="streaming",
)
