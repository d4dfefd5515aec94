"""How much a fixed amount of arithmetic is disturbed: operating-system noise by the fixed work quantum.

A sample is the time of one quantum: a fixed number of steps of arithmetic in registers, one after another. On an
undisturbed core all quanta take the same time. A longer quantum has a detour: a timer tick, an interrupt, other work on
the core, or a hypervisor that runs another guest. `gap_us` is the time between two quanta. It gives each sample its
place in time, so a spectrum shows detours that come back at a fixed rate. The definition follows the fixed work
quantum (FWQ) test of Sottile and Seager, in LLNL's ASC Sequoia benchmarks.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.benchmarks import KernelBenchmark
from labkit.options import frozen
from labkit.point.spec import Spec

_MOST = 100_000_000  # some tenths of a second


@frozen
class Options:
    """Options of micro.noise.

    Parameters
    ----------
    steps : steps of arithmetic in a quantum; 80,000 take about 0.1 ms.
    """

    steps: int = 80_000


def _lost(phases: Mapping[str, NDArray[np.int64]]) -> float:
    """Time of all quanta beyond the time of the fastest one, as a share of the total, %."""
    times = phases["time_ns"]
    return stats.percent(times.mean() - times.min(), times.mean())


def _check(spec: Spec[Options]) -> str:
    """What is wrong with the option; empty if nothing is."""
    if 1000 <= spec.options.steps <= _MOST:
        return ""
    return f"steps={spec.options.steps}, but it must be 1,000 to {_MOST:,}. Set steps=80000."


BENCHMARK = KernelBenchmark(
    title="noise of the operating system",
    kernel="noise",
    mpi=False,
    options=Options,
    check=_check,
    sized=False,
    metrics={"quantum_us": lambda spec: 1},
    phases={"gap_ns": "gap_us"},
    derived={"noise_percent": _lost},
    cadence="streaming",
    window=lambda spec: spec.options.steps,
    requests=lambda spec: 1,
)
