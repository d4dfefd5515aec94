"""Time of a message over the loopback interface from a thread to itself.

A sample sends a message through a TCP connection on 127.0.0.1 and receives it on the same thread: both system calls,
both copies, and the work of TCP and IP in each direction, without a second process and without a wake-up. Messages
between two processes over the loopback interface need at least this, so it is their floor.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.point.units import MiB

BENCHMARK = KernelBenchmark(
    title="loopback message of one thread",
    kernel="loopback",
    mpi=False,
    sizes="1:1Mi:*4",
    max_size=64 * MiB,
    check=lambda spec: "" if spec.size else "size=0, but a stream carries no empty message. Set size=1.",
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: spec.size},
    expected=lambda spec, rank, send: send(rank),
    cadence="streaming",
)
