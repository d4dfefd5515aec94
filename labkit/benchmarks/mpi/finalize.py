"""Time of MPI_Finalize on rank 0: one value for each launch.

A launch gives one sample, so the interval needs launches.
"""

from labkit.benchmarks import StartBenchmark

BENCHMARK = StartBenchmark(
    title="shut-down: MPI_Finalize",
    part="finalize",
    ranks=(1, None),
    sized=False,
    metrics={"latency_us": lambda spec: 1},
    active=lambda spec, rank: rank == 0,
    cadence="streaming",
)
