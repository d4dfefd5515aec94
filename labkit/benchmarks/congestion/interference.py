"""Interference of two jobs: times of a victim alone and beside an aggressor on other hosts.

Every launch is a pair of starts with the same number of iterations: the victim alone and beside the aggressor, in
alternating order. The aggressor starts `lead` seconds before the victim and stops after it, at the latest after ten
minutes. The headline is the time of the victim's slowest rank beside the aggressor; `alone_us` is the time without it;
`impact_p50_times` is the ratio of the medians, `impact_mean_times` the ratio of the means, and so of the run times.
labkit keeps all iterations of both phases and all ranks. The two jobs get hosts alternately, the victim first, so both
cross a tree of switches.

Kenny et al., "An evaluation of Ethernet performance for scientific workloads" (2020), Figs. 8 to 10: the transposes of
an FFT beside the halo exchange of a simulation that started 10 s earlier.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import InterferenceBenchmark
from labkit.benchmarks.simulated import Simulation
from labkit.options.congestion import Interference
from labkit.point.spec import Spec
from labkit.tools import iperf3

if TYPE_CHECKING:
    from labkit.tools import Invocation

_VICTIMS = {"fft": "apps.fft_subcom3d", "latency": "mpi.latency", "allreduce": "mpi.allreduce"}
_DATAGRAM, _CALL, _VALUE = 1400, 128 * 1024, 8  # B, unless given


def _victim(spec: Spec[Interference], hosts: Sequence[str]) -> Spec:
    """The spec of the timed ranks."""
    return spec.replace(benchmark=_VICTIMS[spec.options.victim], hosts=tuple(hosts), options={})


def _ranks(spec: Spec[Interference], hosts: Sequence[str]) -> Spec | None:
    """The spec of the halo's ranks; None for an aggressor of flows."""
    options = spec.options
    if options.aggressor != "halo3d26":
        return None
    cells = dict.fromkeys(("nx", "ny", "nz"), options.cells)
    return spec.replace(
        benchmark="apps.halo3d26",
        size=options.aggressor_size or _VALUE,
        hosts=tuple(hosts),
        ranks=options.aggressor_ranks or max(2, len(hosts) * (spec.ppn or 1)),
        options={**cells, "vars": 8, "sleep_us": 216.0},
    )


def _flows(spec: Spec[Interference], hosts: int, seconds: int) -> "list[tuple[Invocation, int, int]]":
    """Floods from the first half of the hosts to the second, or connections of all into the last."""
    options, size = spec.options, spec.options.aggressor_size
    if options.aggressor == "udp":
        half = max(hosts // 2, 1)
        flood = iperf3.flood(options.offered, size or _DATAGRAM, seconds)
        return [(flood, k, (k + half) % hosts) for k in range(half)]
    if options.aggressor == "incast":
        pour = iperf3.pour(options.streams, size or _CALL, seconds)
        return [(pour, k, hosts - 1) for k in range(max(hosts - 1, 1))]
    return []


def _check(spec: Spec[Interference]) -> str:
    values = spec.values
    limits = {
        "lead": (0, 300),
        "aggressor_size": (0, 2**20),
        "aggressor_ranks": (0, 2**20),
        "cells": (1, 1000),
        "offered": (0, 1e6),
        "streams": (1, 128),
    }
    for name, (low, high) in limits.items():
        if not low <= values[name] <= high:
            return f"{name}={values[name]}, but it must be {low} to {high:g}. Set {name}={low}."
    if spec.options.victim == "latency" and spec.ranks != 2:
        return f"ranks={spec.ranks}, but ping-pong needs exactly 2. Set ranks=2."
    return ""


def waits(spec: Spec[Interference]) -> float:
    """Number of messages of an iteration that wait for one another."""
    return 2.0 if spec.options.victim == "latency" else 1.0


def _ratio(phases: Mapping[str, NDArray[np.int64]], statistic: Callable[[NDArray[np.int64]], float]) -> float:
    """Statistic of the times beside the aggressor, divided by the same alone; slowest rank of each iteration."""
    beside, alone = (float(statistic(phases[name].max(axis=0))) for name in ("time_ns", "alone_ns"))
    return beside / max(alone, 1.0)


BENCHMARK = InterferenceBenchmark(
    title="interference of two jobs",
    options=Interference,
    check=_check,
    ranks=(2, None),
    sizes="10000",
    max_size=16 * 1024 * 1024,
    metrics={"latency_us": waits},
    phases={"alone_ns": "alone_us"},
    phase_work={"alone_ns": waits},
    derived={
        "impact_p50_times": lambda phases: _ratio(phases, partial(np.quantile, q=0.5)),
        "impact_mean_times": lambda phases: _ratio(phases, np.mean),
        "impact_p99_times": lambda phases: _ratio(phases, partial(np.quantile, q=0.99)),
    },
    victim=_victim,
    aggressor=_ranks,
    flows=_flows,
    lead=lambda spec: float(spec.options.lead),
    cadence="streaming",
    simulation=Simulation(
        follows=("victim", "aggressor", "lead", "aggressor_size", "aggressor_ranks", "cells", "streams")
    ),
    warmup=2,
)
