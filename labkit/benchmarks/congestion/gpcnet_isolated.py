"""GPCNeT's network tests with the network to themselves: every rank is one of those that are timed.

In a ring every rank receives from and sends to its left and its right neighbour at once: half of that time for
`latency` and `get_latency`, the bytes a rank sends over it for `bandwidth` (8 messages in flight to each),
`bandwidth_sync` (with a barrier) and `put_bandwidth`; `allreduce` and `alltoall` are the collectives. With several
ranks on a host there is one ring, or one collective, for the first ranks of all hosts, one for the second, and so on,
at the same time. The time of an iteration on the slowest rank counts, and the mean over ranks is given beside it.

The tests of network_test (GPCNeT 1.3; Chunduri et al., SC19), which prints the mean over ranks and, as 99 %, that of
the times of all ranks together; `labkit.analysis.gpcnet` works out both. GPCNeT draws 30 random rings and stays
some hundred iterations with each; here the next iteration has the next of 30. `docs/congestion.md` tells all
differences.
"""

from labkit.benchmarks import Benchmark
from labkit.benchmarks.congestion import _gpcnet

BENCHMARK = Benchmark(
    title="GPCNeT's network tests",
    kernel="victims",
    options=_gpcnet.Victims,
    check=_gpcnet.check,
    ranks=(2, None),
    sizes="8:128Ki:*16384",
    max_size=16 * 1024 * 1024,
    dtype=_gpcnet.dtype,
    window=_gpcnet.window,
    requests=_gpcnet.requests,
    buffers=_gpcnet.buffers,
    peers=_gpcnet.peers,
    splits=_gpcnet.splits,
    expected=_gpcnet.expected,
    metrics={"latency_us": _gpcnet.waits, "bandwidth_MBps": _gpcnet.moved},
    work=_gpcnet.work,
    formerly=_gpcnet.formerly,
    cadence="streaming",
    warmup=(200, 10),
)
