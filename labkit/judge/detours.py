"""Detours: interruptions of a fixed amount of work, as micro.noise measures them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.stats import periodic
from labkit.store.samples import Samples

_DETOUR = 0.005  # part of a quantum that a detour takes at least
_SCATTER = 6.0  # scatters of a quantum that a detour takes at least


@dataclass(frozen=True)
class Detours:
    """Noise of one launch of micro.noise.

    Parameters
    ----------
    starts : (n,), s, of the quanta.
    excess_ns : (n,), ns beyond the median quantum.
    detour : (n,), whether a quantum holds one.
    quantum : s, median.
    """

    starts: NDArray[np.float64]
    excess_ns: NDArray[np.int64]
    detour: NDArray[np.bool_]
    quantum: float

    @property
    def spectrum(self) -> periodic.Spectrum | None:
        """Their periodogram; None for too few."""
        return periodic.spectrum(self.starts, self.detour, self.quantum)


def of(one: Samples) -> Detours:
    """The detours of a launch of micro.noise.

    A quantum holds a detour if it takes longer than the median by six scatters, and by 0.5 %.
    """
    times = one.phases["time_ns"][0].astype(np.int64)
    gaps = one.phases["gap_ns"][0].astype(np.int64)
    starts = np.cumsum(gaps + np.concatenate([[0], times[:-1]])) * 1e-9
    middle = float(np.median(times))
    excess = times - int(middle)
    scatter = float(np.median(np.abs(excess))) / 0.6745
    return Detours(starts, excess, excess > max(_SCATTER * scatter, _DETOUR * middle), middle * 1e-9)
