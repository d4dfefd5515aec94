"""Processor time of a message: the time inside the calls that post and complete it.

A ping-pong with non-blocking calls. The host's share of each round trip is the time to post the send and the receive,
the one MPI_Test that finds the message there, and the completion of the send; the unsuccessful tests in between are
waiting, not overhead. The latency test of host overhead in Liu et al. (2003), section 4.3, and LogP's o. The clock
reads around the calls lie inside and are recorded as timer overhead.
"""

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import allowed, first_half, from_peer
from labkit.options.ranks import Buffers

BENCHMARK = KernelBenchmark(
    title="host overhead",
    kernel="host_overhead",
    options=Buffers,
    check=allowed,
    ranks=(2, 2),
    requests=lambda spec: 2,
    metrics={"latency_us": lambda spec: 2},
    phases={"overhead_ns": "overhead_us"},
    active=first_half,
    expected=from_peer,
    cadence="streaming",
)
