"""Operations per second, or the time of one, by file and record size (IOzone ``-O``, ``-N``).

An operation is the read or write of one record. With ``-t`` the rate is the sum over the processes. The times are whole
µs, so those below 1 µs are missing. The size refers to a record.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="IOzone, operations",
    metrics={"iops_per_s": lambda spec: 1, "latency_us": lambda spec: 1},
    logs={"IOzone operations": {}},
    cadence="streaming",
    size_label="request size (B)",
)
