"""Cost and resolution of the clock that times everything else.

A sample is the time between two consecutive clock reads: the cost that timing adds to an iteration. The resolution is
the step of the clock, which `labkit.stats.clock_resolution` finds from the samples.
"""

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import KernelBenchmark
from labkit.options import frozen
from labkit.stats import clock_resolution


@frozen
class Options:
    """Options of micro.clock.

    Parameters
    ----------
    clock : `monotonic` is what the kernels read; the others are for comparison (Linux clock ids 1, 4, 0, 6).
    """

    clock: Literal["monotonic", "monotonic_raw", "realtime", "monotonic_coarse"] = "monotonic"


_IDS = {"monotonic": 1, "monotonic_raw": 4, "realtime": 0, "monotonic_coarse": 6}


def _step(phases: Mapping[str, NDArray[np.int64]]) -> float:
    return (clock_resolution(phases["time_ns"].ravel()) or math.nan) * 1e-9


BENCHMARK = KernelBenchmark(
    title="cost of a clock read",
    kernel="clock",
    mpi=False,
    options=Options,
    sized=False,
    metrics={"clock_read_ns": lambda spec: 1},
    derived={"clock_step_ns": _step},
    cadence="streaming",
    work=lambda spec: {"clock": _IDS[spec.options.clock]},
)
