"""Two messages in opposite directions: both ranks of a pair send at once, then receive.

The time of one iteration, not halved, as IMB-MPI1 PingPing counts it: a message obstructed by one in the other
direction. With more than two ranks, rank r of the first half is paired with rank r + ranks/2.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import FromAny, from_peer, paired

BENCHMARK = KernelBenchmark(
    title="ping-ping",
    kernel="pingping",
    options=FromAny,
    check=paired,
    ranks=(2, None),
    metrics={"latency_us": lambda spec: 1, "bandwidth_MBps": lambda spec: spec.size},
    expected=from_peer,
    cadence="streaming",
    equivalents={
        "IMB-MPI1 PingPing": {"timing": "total"},
        "IMB-MPI1 PingPingSpecificSource": {"timing": "total"},
        "IMB-MPI1 PingPingAnySource": {"source": "any", "timing": "total"},
        "IMB-P2P PingPing": {"timing": "total"},
        "IMB-MT PingPingMT": {"threads": 2, "timing": "total"},
    },
    converted={"IMB-P2P PingPing": lambda spec: {"bandwidth_MBps": 1 / spec.ranks}},
    unlike={"IMB-P2P PingPing": "IMB times MPI_Irecv before MPI_Send, labkit MPI_Isend before MPI_Recv"},
)
