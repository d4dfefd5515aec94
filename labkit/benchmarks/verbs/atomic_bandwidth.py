"""Bandwidth and message rate of a stream of atomic operations on 8 B, with several messages under way.

The definition of perftest's ib_atomic_bw: bytes of all messages over the time from the first post to the last
completion at the sender.

With pyverbs a sample is a window of `tx_depth` messages on each queue pair, from the first post to the last completion:
it includes the end of each window, but not the pause before the next one.
"""

from labkit.benchmarks import ToolBenchmark
from labkit.benchmarks.verbs import VERBS, check, window
from labkit.options.verbs import AtomicBandwidth
from labkit.tools import perftest, pyverbs, qperf

BENCHMARK = ToolBenchmark(
    title="atomic stream",
    options=AtomicBandwidth,
    sizes="8",
    max_size=8,
    check=lambda spec: check(spec, "atomic"),
    metrics={
        "message_rate_per_s": window,
    },
    tools=(perftest.atomic_bandwidth, pyverbs.atomic_bandwidth, qperf.atomic_bandwidth),
    cadence="streaming",
    ends=VERBS,
)
