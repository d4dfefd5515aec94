"""Launch of an empty kernel: the time until the host knows that it has run.

A sample is cuLaunchKernel with one thread, and cuStreamSynchronize. Its phases are the call alone and the wait alone.
The call returns before the kernel runs: a program that launches many kernels pays for the calls only.
"""

from labkit.benchmarks import DeviceBenchmark
from labkit.options.ranks import OnGpu

BENCHMARK = DeviceBenchmark(
    title="launch of an empty kernel",
    kernel="gpu_launch",
    options=OnGpu,
    mpi=False,
    sized=False,
    buffers=lambda spec: (0, 0),
    phases={"call_ns": "launch_us", "wait_ns": "wait_us"},
    metrics={"latency_us": lambda spec: 1},
    cadence="streaming",
)
