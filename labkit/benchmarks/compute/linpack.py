"""Solution of a dense system of linear equations on one host, as Intel's LINPACK benchmark measures it.

The performance is (2/3 N³ + 2 N²) operations over the time of the solution: mean, minimum and maximum over the trials
of a size. compute.hpl solves such a system on many hosts.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="dense linear system on one host (Intel's LINPACK)",
    metrics={"performance_GFLOPS": lambda spec: 1, "run_time_s": lambda spec: 1},
    logs={"LINPACK": {}},
    cadence="streaming",
)
