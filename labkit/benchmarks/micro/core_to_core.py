"""Time for a line of cache to go from one core to another.

Two threads on two cores share one word. One writes odd numbers and waits for the even ones, which the other writes. So
the line of the word changes sides twice in a turn, and a sample is a hundred turns. It is the floor of the latency over
shared memory: a message cannot arrive before the line that announces it. The value is half the round trip, as
core-to-core-latency (Viennot) reports it. Its first test changes the line by compare-and-swap. Here one side stores and
the other loads, as in a message.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.micro._cores import Cores, chosen, two

_TURNS = 100


BENCHMARK = KernelBenchmark(
    title="cache line between two cores",
    kernel="core_to_core",
    mpi=False,
    options=Cores,
    check=two,
    sized=False,
    metrics={"line_transfer_ns": lambda spec: 2 * _TURNS},
    cadence="streaming",
    window=lambda spec: _TURNS,
    work=lambda spec: dict(zip(("left", "right"), chosen(spec), strict=True)),
)
