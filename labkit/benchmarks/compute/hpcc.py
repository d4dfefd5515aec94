"""Results of the HPC Challenge benchmark's summary, a point for each test.

`MPI` tests use all ranks together, `Star` tests run on all ranks at once, each for itself, and give the mean over
ranks, `Single` tests run on one rank. Ping-pong latencies are half a round trip of 8 B; its bandwidths use 2 MB. Values
of the rings are per rank. STREAM's rates are the best of its repetitions.
"""

from labkit.benchmarks import LogBenchmark

_TESTS = (
    *("HPL", "PTRANS", "MPIFFT", "PingPong", "NaturallyOrderedRing", "RandomlyOrderedRing"),
    *(f"{how}{what}" for how in ("Star", "Single") for what in ("DGEMM", "FFT")),
    *(f"{how}STREAM_{kernel}" for how in ("Star", "Single") for kernel in ("Copy", "Scale", "Add", "Triad")),
    *(f"{how}RandomAccess{kind}" for how in ("MPI", "Star", "Single") for kind in ("", "_LCG")),
)

BENCHMARK = LogBenchmark(
    title="HPC Challenge",
    sized=False,
    metrics={name: lambda spec: 1 for name in ("performance_GFLOPS", "updates_GUPS", "bandwidth_MBps", "latency_us")},
    quantities=("test",),
    logs={f"HPCC {test}": {} for test in _TESTS},
    cadence="streaming",
)
