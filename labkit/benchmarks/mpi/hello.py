"""Time of an empty MPI program, from the start of the launcher to its end; one value per launch.

The program is a rank of labkit: its time includes starting Python and loading mpi4py. osu_hello (OMB 7.4,
mpi/startup/osu_hello.c) measures the same with a C program.
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
