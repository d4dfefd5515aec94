"""A period in the times of events, such as detours of a core at a fixed rate.

Events are marked on an even grid of time. If they are random, their periodogram has an exponential distribution with
mean 1 [1]_, so the chance of a peak among all frequencies is known. Times without an observation have no mark.

References
----------
.. [1] J. D. Scargle, Studies in astronomical time series analysis II, ApJ 263 (1982).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

MIN_EVENTS = 8  # events
CHANCE = 1e-3  # of a false period
_PAD = 4  # times that the grid is padded with zeros: a peak lies between two frequencies at most so far
_SLOWEST = 4  # periods that the observation covers at least
_HARMONIC = 0.5  # part of the highest peak that the fundamental has at least: a train of pulses has many peaks
_WINDOW = 0.1  # part of a period in which events are counted
_MOST = 1 << 20  # cells of the grid


@dataclass(frozen=True)
class Spectrum:
    """Power against frequency, 1 on average for events at random.

    Parameters
    ----------
    frequencies : (n,), Hz.
    power : (n,).
    limit : power that random events exceed at any frequency with the probability `CHANCE`.
    """

    frequencies: NDArray[np.float64]
    power: NDArray[np.float64]
    limit: float


@dataclass(frozen=True)
class Period:
    """A period of events.

    Parameters
    ----------
    frequency, resolution : Hz.
    power : power of its peak.
    share : share of the events in the fullest tenth of the period; about 0.1 for random events.
    """

    frequency: float
    resolution: float
    power: float
    share: float


def spectrum(starts: ArrayLike, events: ArrayLike, step: float) -> Spectrum | None:
    """Return the periodogram of events; None if there are too few.

    Parameters
    ----------
    starts : (n,), s, rising: when each observation began.
    events : (n,), whether it held an event.
    step : s, of the grid; about the time of an observation.
    """
    times, marks = np.asarray(starts, np.float64), np.asarray(events, bool)
    if marks.sum() < MIN_EVENTS or marks.all() or step <= 0:
        return None
    cells = np.floor((times - times[0]) / step).astype(np.int64)
    length = int(cells[-1]) + 1
    if length > _MOST:
        return None
    observed, held = np.bincount(cells, minlength=length) > 0, np.zeros(length)
    np.maximum.at(held, cells, marks)
    series = np.where(observed, held - held[observed].mean(), 0.0)
    power = np.asarray(np.abs(np.fft.rfft(series, _PAD * length)) ** 2 / (series**2).sum(), np.float64)
    frequencies = np.asarray(np.fft.rfftfreq(_PAD * length, step), np.float64)
    slow = frequencies >= _SLOWEST / (length * step)
    limit = math.log(max(length // 2, 1) * _PAD / CHANCE)
    return Spectrum(frequencies[slow], power[slow], limit)


def period(starts: ArrayLike, events: ArrayLike, step: float) -> Period | None:
    """Return the period of events; None if they may be random.

    Parameters
    ----------
    starts, events, step : as in `spectrum`.

    Examples
    --------
    >>> starts = np.arange(10_000) * 1e-4
    >>> tick = period(starts, np.floor(starts / 4e-3) != np.floor((starts + 1e-4) / 4e-3), 1e-4)
    >>> round(tick.frequency), tick.share > 0.9
    (250, True)
    >>> period(starts, np.random.default_rng(1).random(10_000) < 0.05, 1e-4) is None
    True
    """
    seen = spectrum(starts, events, step)
    if seen is None or not (seen.power > seen.limit).any():
        return None
    high = seen.power >= max(seen.limit, _HARMONIC * float(seen.power.max()))
    first = int(np.argmax(high))  # climb from there to the top of its peak
    while first + 1 < len(high) and seen.power[first + 1] > seen.power[first]:
        first += 1
    times = np.asarray(starts, np.float64)[np.asarray(events, bool)]
    frequency = float(seen.frequencies[first])
    phases = np.sort(times * frequency % 1)
    ends = np.searchsorted(np.concatenate([phases, phases + 1]), phases + _WINDOW, side="right")
    share = float((ends - np.arange(len(phases))).max() / len(phases))
    resolution = float(seen.frequencies[1] - seen.frequencies[0]) * _PAD
    return Period(frequency, resolution, float(seen.power[first]), share)
