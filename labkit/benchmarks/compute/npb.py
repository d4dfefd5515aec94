"""Kernels and pseudo-applications of the NAS Parallel Benchmarks: rate and time of the timed part.

Each kernel counts its own operations (IS keys, EP random numbers, the others flops), so rates compare within a
kernel and a class only.
"""

from labkit.benchmarks import LogBenchmark

_KERNELS = ("BT", "CG", "DC", "DT", "EP", "FT", "IS", "LU", "MG", "SP", "UA", "BT-MZ", "LU-MZ", "SP-MZ")

BENCHMARK = LogBenchmark(
    title="NAS Parallel Benchmarks",
    sized=False,
    metrics={"operations_Mops": lambda spec: 1, "run_time_s": lambda spec: 1},
    quantities=("kernel",),
    logs={f"NPB {kernel}": {} for kernel in _KERNELS},
    cadence="streaming",
)
