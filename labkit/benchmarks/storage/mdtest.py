"""Operations on files and directories of all ranks per second (mdtest).

Items of all tasks over the time of the slowest. Iterations happen inside one start; the mean is that of their rates.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="metadata operations (mdtest)",
    sized=False,
    metrics={"operation_rate_per_s": lambda spec: 1},
    logs={"mdtest": {}},
    cadence="streaming",
)
