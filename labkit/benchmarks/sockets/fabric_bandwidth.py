"""Transfers through libfabric in one direction, as fabtests print them: streams of messages, RMA, atomic operations.

The option `test` names the program, such as fi_rdm_tagged_bw or fi_rma_bw.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="libfabric bandwidth (fabtests)",
    metrics={"bandwidth_MBps": lambda spec: 1, "message_rate_per_s": lambda spec: 1},
    quantities=("test",),
    logs={"fabtests": {}},
    cadence="streaming",
)
