"""Time of MPI_Init: one value for each rank and launch.

The time inside MPI_Init_thread on the slowest rank, once the library is loaded; the mean over ranks is also given.
The time that osu_init prints (OMB 7.4, mpi/startup/osu_init.c). A launch gives one sample, so the interval needs
launches.
"""

from labkit.benchmarks import StartBenchmark

BENCHMARK = StartBenchmark(
    title="start-up: MPI_Init",
    part="init",
    ranks=(1, None),
    sized=False,
    metrics={"latency_us": lambda spec: 1},
    cadence="streaming",
    equivalents={"osu_init": {}},
)
