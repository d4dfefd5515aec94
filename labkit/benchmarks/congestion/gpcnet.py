"""GPCNeT's network tests: with the network to themselves, and while other ranks load it."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.congestion import _gpcnet
from labkit.benchmarks.congestion._gpcnet import Loaded as Loaded
from labkit.benchmarks.congestion._gpcnet import Victims as Victims
from labkit.benchmarks.congestion._gpcnet import leaving as leaving
from labkit.benchmarks.congestion._gpcnet import load_size as load_size
from labkit.benchmarks.congestion._gpcnet import moved as moved
from labkit.benchmarks.congestion._gpcnet import roles as roles
from labkit.benchmarks.congestion._gpcnet import waits as waits

Phases = Mapping[str, NDArray[np.int64]]


def _impact(of: Callable[[NDArray[np.int64]], float]) -> Callable[[Phases], float]:
    """Statistic of all loaded times of all victims over that of all isolated times."""
    return lambda phases: float(of(phases["time_ns"])) / max(float(of(phases["isolated_ns"])), 1.0)


_ISOLATED = KernelBenchmark(
    title="GPCNeT's network tests",
    kernel="victims",
    every_time=True,
    options=_gpcnet.Victims,
    quantities=("pattern",),
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
    doc="""GPCNeT's network tests in isolation: every rank is timed.

In a ring every rank receives from and sends to its left and its right neighbour at once: half of that time for
`latency` and `get_latency`, the bytes a rank sends over it for `bandwidth` (8 messages in flight to each),
`bandwidth_sync` (with a barrier) and `put_bandwidth`; `allreduce` and `alltoall` are the collectives. With several
ranks on a host there is one ring, or one collective, for the first ranks of all hosts, one for the second, and so on,
at the same time. The time of an iteration on the slowest rank counts, and the mean over ranks is given beside it.

The tests of network_test (GPCNeT 1.3; Chunduri et al., SC19), which prints the mean over ranks and, as 99 %, that of
the times of all ranks together; `labkit.judge.gpcnet` works out both. GPCNeT draws 30 random rings and stays
some hundred iterations with each; here the next iteration has the next of 30. `docs/congestion.md` tells all
differences.
""",
)
FORMS = {
    "gpcnet_isolated": _ISOLATED,
    "gpcnet_loaded": dataclasses.replace(
        _ISOLATED,
        title="GPCNeT's network tests under load",
        options=_gpcnet.Loaded,
        ranks=(4, None),
        active=_gpcnet.is_victim,
        phases={"isolated_ns": "isolated_us", "recovered_ns": "recovered_us", "congestor_ns": "congestor_us"},
        phase_work={"isolated_ns": _gpcnet.waits, "recovered_ns": _gpcnet.waits},
        derived={
            "impact_mean_times": _impact(lambda times: float(times.mean())),
            "impact_p99_times": _impact(lambda times: float(np.quantile(times, 0.99, method="inverted_cdf"))),
        },
        work=lambda spec: _gpcnet.work(spec) | {"turns": 3},
        doc="""\
GPCNeT's network tests while other ranks load the network: isolated, loaded and recovered, in one start of the ranks.

A part of the nodes (80 %, drawn by chance) are congestors, the others victims. In every chunk of iterations the
victims run alone, then while the congestors run, then alone again, each time with the same rings, so that what
drifts on the machine drifts in all three. The headline is the loaded time of the slowest victim; `isolated_us` and
`recovered_us` are the others, and `impact_mean_times` and `impact_p99_times` the congestion impact factors: mean and
99th percentile of the times of all victims under load over those in isolation, as GPCNeT defines them. `congestor_us`
is what a round of the congestors took meanwhile: whether they really loaded the network.

Congestors of network_load_test (GPCNeT 1.3): exchange in pairs of all with all, incast by messages and by puts, and a
rank that all others get from, with 4096 B; with `mixed` each has a separate group. They run until the victims meet at
a non-blocking barrier; nothing of that lies in the victims' loop. It needs 4 ranks; GPCNeT wants 10 nodes.
""",
    ),
}
