"""Times of the single calls of a ping-pong: post of the send, unsuccessful polls, successful poll, its completion.

A ping-pong with non-blocking calls and MPI_Test, as mpi.host_overhead, which adds up these times. The calls are those
that Zambre et al. (ICPP 2019) break down: MPI_Isend is their Post, the MPI_Test that finds the message their LLP_prog
and HLP_rx_prog. Each call contains one clock read, which micro.clock measures. If a library sends inside the poll, the
time of the poll includes the transfer.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import allowed, first_half, from_peer
from labkit.options.ranks import Buffers

BENCHMARK = KernelBenchmark(
    title="calls of a message",
    kernel="call_times",
    options=Buffers,
    check=allowed,
    ranks=(2, 2),
    requests=lambda spec: 2,
    metrics={"latency_us": lambda spec: 2},
    phases={
        "post_ns": "post_us",
        "poll_ns": "poll_us",
        "find_ns": "find_us",
        "complete_ns": "complete_us",
        "expect_ns": "expect_us",
    },
    active=first_half,
    expected=from_peer,
    cadence="streaming",
)
