"""HPCG by its authors or a vendor, as its report rates it; not labkit's own kernel (`compute.hpcg`).

`performance_GFLOPS` is HPCG's rating, with all overheads. `run_time_s` is the total of the benchmark's time summary.
Options of a point are the cells of a rank (`nx`, `ny`, `nz`) and the threads.
"""

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="conjugate gradients (HPCG)",
    sized=False,
    metrics={"performance_GFLOPS": lambda spec: 1, "run_time_s": lambda spec: 1},
    logs={"HPCG": {}},
    cadence="streaming",
)
