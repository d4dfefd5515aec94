"""Cost of a system call that does next to nothing.

A sample is a hundred calls of getppid, made through syscall(). The definition follows lmbench's lat_syscall null.
"""

from labkit.benchmarks import KernelBenchmark

_CALLS = 100

BENCHMARK = KernelBenchmark(
    title="system call",
    kernel="system_call",
    mpi=False,
    sized=False,
    metrics={"system_call_ns": lambda spec: _CALLS},
    cadence="streaming",
    window=lambda spec: _CALLS,
)
