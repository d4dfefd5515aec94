"""Messages that a client sends as fast as it can, counted where they leave (sockperf throughput).

Fewer messages may arrive; sockperf does not count them.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="messages sent (sockperf throughput)",
    metrics={"message_rate_per_s": lambda spec: 1, "sent_MBps": lambda spec: 1},
    logs={f"sockperf throughput {protocol}": {"protocol": protocol} for protocol in ("tcp", "udp")},
    cadence="streaming",
)
