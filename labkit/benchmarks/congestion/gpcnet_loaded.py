"""GPCNeT's network tests while other ranks load the network: isolated, loaded and recovered, in one start of the ranks.

A part of the nodes (80 %, drawn by chance) are congestors, the others victims. In every chunk of iterations the
victims run alone, then while the congestors run, then alone again, each time with the same rings, so that what
drifts on the machine drifts in all three. The headline is the loaded time of the slowest victim; `isolated_us` and
`recovered_us` are the others, and `impact_mean_times` and `impact_p99_times` the congestion impact factors: mean and
99th percentile of the times of all victims under load over those in isolation, as GPCNeT defines them. `congestor_us`
is what a round of the congestors took meanwhile: whether they really loaded the network.

Congestors of network_load_test (GPCNeT 1.3): exchange in pairs of all with all, incast by messages and by puts, and a
rank that all others get from, with 4096 B; with `mixed` each has a group of its own. They run until the victims meet at
a non-blocking barrier; nothing of that lies in the victims' loop. From 4 ranks on, where GPCNeT wants 10 nodes.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import Benchmark
from labkit.benchmarks.congestion import _gpcnet

Lanes = Mapping[str, NDArray[np.int64]]


def _impact(of: Callable[[NDArray[np.int64]], float]) -> Callable[[Lanes], float]:
    """Loaded over isolated, of all times of all victims."""
    return lambda phases: float(of(phases["time_ns"])) / max(float(of(phases["isolated_ns"])), 1.0)


BENCHMARK = Benchmark(
    title="GPCNeT's network tests under load",
    kernel="victims",
    options=_gpcnet.Loaded,
    check=_gpcnet.check,
    ranks=(4, None),
    sizes="8:128Ki:*16384",
    max_size=16 * 1024 * 1024,
    dtype=_gpcnet.dtype,
    window=_gpcnet.window,
    requests=_gpcnet.requests,
    buffers=_gpcnet.buffers,
    peers=_gpcnet.peers,
    splits=_gpcnet.splits,
    active=_gpcnet.is_victim,
    expected=_gpcnet.expected,
    metrics={"latency_us": _gpcnet.waits, "bandwidth_MBps": _gpcnet.moved},
    phases={"isolated_ns": "isolated_us", "recovered_ns": "recovered_us", "congestor_ns": "congestor_us"},
    phase_work={"isolated_ns": _gpcnet.waits, "recovered_ns": _gpcnet.waits},
    derived={
        "impact_mean_times": _impact(lambda times: float(times.mean())),
        "impact_p99_times": _impact(lambda times: float(np.quantile(times, 0.99, method="inverted_cdf"))),
    },
    work=lambda spec: _gpcnet.work(spec) | {"turns": 3},
    formerly=_gpcnet.formerly,
    cadence="streaming",
    warmup=(200, 10),
)
