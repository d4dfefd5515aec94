"""Time to wake a thread that sleeps in a system call.

A byte goes through a pipe to a thread that sleeps in read, and one comes back through another pipe. A sample is one
round. The wake-up is half of it: a write, the wake-up of the other thread, and the end of its read. lmbench's lat_pipe
reports the whole round, between processes. `cores=one` keeps both threads on one core, where the scheduler switches
between them. On two cores it may have to wake a processor that sleeps.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.micro._cores import Cores, check, chosen

BENCHMARK = KernelBenchmark(
    title="waking a thread",
    kernel="wake_up",
    mpi=False,
    options=Cores,
    check=check,
    sized=False,
    metrics={"wake_up_us": lambda spec: 2},
    cadence="streaming",
    work=lambda spec: dict(zip(("left", "right"), chosen(spec), strict=True)),
)
