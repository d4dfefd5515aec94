"""Solution of a dense system of linear equations by all ranks (HPL, High-Performance Linpack).

The performance is 2/3 N³ + 3/2 N² operations over the wall time of the solution, as HPL counts. Order `n`, block `nb`
and the grid `p` by `q` of processes are options of the point.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="dense linear system (HPL)",
    sized=False,
    metrics={"performance_GFLOPS": lambda spec: 1, "run_time_s": lambda spec: 1},
    logs={"HPL": {}},
    cadence="streaming",
)
