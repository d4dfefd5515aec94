"""Bandwidth while the sender computes: the processor time that is free before the bandwidth drops.

As mpi.bandwidth, with a computation of `compute_us` between posting a window and waiting for it. In a sweep over that
time, the bandwidth stays constant while messages progress without the processor. The CPU availability is the computed
share of the running time at which the bandwidth drops. The bandwidth test of host overhead in Liu et al. (2003),
section 4.3.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import InFlight, allowed, first_half, from_active
from labkit.options import frozen
from labkit.options.ranks import Buffers
from labkit.point.spec import Spec


@frozen
class Options(InFlight, Buffers):
    """Options of mpi.availability.

    Parameters
    ----------
    compute_us : computation in each window, µs.
    """

    compute_us: float = 0.0


def _check(spec: Spec[Options]) -> str:
    compute_us = spec.options.compute_us
    return (
        allowed(spec)
        if 0 <= compute_us <= 1e6
        else f"compute_us={compute_us}, but it must be 0 to 1000000. Set compute_us=0."
    )


def _share(phases: Mapping[str, NDArray[np.int64]]) -> float:
    return float(100 * np.median(phases["compute_ns"] / np.maximum(phases["time_ns"], 1)))


BENCHMARK = KernelBenchmark(
    title="bandwidth while computing",
    kernel="availability",
    options=Options,
    check=_check,
    ranks=(2, 2),
    window=lambda spec: spec.options.window,
    metrics={
        "bandwidth_MBps": lambda spec: spec.options.window * spec.size,
        "message_rate_per_s": lambda spec: spec.options.window,
    },
    phases={"compute_ns": "compute_us"},
    derived={"available_percent": _share},
    active=first_half,
    expected=from_active,
    work=lambda spec: {"mode": int(spec.options.compute_us * 1000)},
    cadence="windowed",
    warmup=(10, 2),
)
