"""Latency of MPI_Allgatherv: every rank receives one message from every rank.

Every rank times every iteration; the slowest rank counts, and OSU's mean over ranks is given beside it. With
`cadence=isolated` a barrier follows each iteration outside the timed part, as in osu_allgatherv (OMB 7.4,
mpi/collective/blocking/osu_allgatherv.c) and in IMB-MPI1 Allgatherv (its default, -sync on); `streaming` runs them
back to back, as IMB-MPI1 Allgatherv -sync off does; `synchronised` starts each at a moment agreed on synchronised
clocks. The size is that of one rank's message; the counts, one for each rank, are all the same, so that the data are
those of mpi.allgather. Bus bandwidth is (n-1) times size over time (nccl-tests).
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.mpi import InPlace, allowed, pieces

BENCHMARK = Benchmark(
    title="allgatherv",
    kernel="allgatherv",
    options=InPlace,
    check=allowed,
    ranks=(2, None),
    sizes="1:1Mi",
    buffers=lambda spec: (spec.size, spec.size * spec.ranks),
    placed=lambda spec, rank: rank * spec.size,
    expected=lambda spec, rank, send: pieces(spec, send, range(spec.ranks), 0),
    metrics={"latency_us": lambda spec: 1, "busbw_GBps": lambda spec: (spec.ranks - 1) * spec.size},
    equivalents={
        "osu_allgatherv": {},
        "IMB-MPI1 Allgatherv": {},
        "IMB-MT AllgathervMT": {"threads": 2},
    },
)
