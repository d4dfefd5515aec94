"""Overheads of sender and receiver, o_s and o_r: MPI_Send, and MPI_Recv of a message that has arrived already.

Rank 0 sends, waits until message and answer have arrived, and receives the answer; the peer answers at once with a
message of the same size. The delay is three times the shortest of nine untimed round trips before each chunk. The times
of the send and the receive are o_s and o_r of the parameterized LogP model (Kielmann, Bal, Verstoep, Fast Measurement
of LogP Parameters for Message Passing Platforms, IPDPS 2000 workshops, LNCS 1800). Netgauge's pattern loggp delays
sends and receives in the same way, and takes the mean of nine. Each contains one clock read. If a library moves large
messages only inside its calls, both contain their transfer: see docs/models.md.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import allowed, first_half, from_peer
from labkit.options.ranks import Buffers

BENCHMARK = KernelBenchmark(
    title="overhead of sender and receiver",
    kernel="delayed_overhead",
    options=Buffers,
    check=allowed,
    ranks=(2, 2),
    metrics={"overhead_us": lambda spec: 1},
    phases={
        "send_ns": "send_overhead_us",
        "receive_ns": "receive_overhead_us",
        "delay_ns": "delay_us",
    },
    active=first_half,
    expected=from_peer,
    cadence="streaming",
)
