"""Time of a whole MPI program that does nothing: from starting the launcher to its end, one value for each launch.

The program is a rank of this lab: starting Python and loading mpi4py are part of it on every host, as they are of every
Python program with MPI. With a C program osu_hello (OMB 7.4, mpi/startup/osu_hello.c) asks the same.
"""

from labkit.benchmarks import StartBenchmark

BENCHMARK = StartBenchmark(
    title="start-up: a whole program",
    part="program",
    ranks=(1, None),
    sized=False,
    metrics={"latency_us": lambda spec: 1},
    active=lambda spec, rank: rank == 0,
    cadence="streaming",
    equivalents={"osu_hello": {}},
)
