"""Print how often the interval inside a launch holds the true median, with and without the effective sample size. Asserts nothing.

Made-up series with a known median, and recorded launches: each of at least 4000 iterations is cut into `PARTS` parts, and
the interval of each part should hold the median of the whole launch. A part can know nothing of changes that take longer
than it lasts, so launches are told apart by the KPSS test of whether they are stationary. `chosen` is what labkit uses. The
initial sequence is Geyer's, by a Fourier transform. ``python bench/effective_size.py [SERIES]`` (default 400);
docs/statistics.md has the tables.

References
----------
.. [1] C. J. Geyer, Practical Markov Chain Monte Carlo, Statistical Science 7 (4), 1992 (initial monotone sequence).
.. [2] D. Kwiatkowski, P. C. B. Phillips, P. Schmidt, Y. Shin, Testing the null hypothesis of stationarity against the
   alternative of a unit root, Journal of Econometrics 54, 1992.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labkit.io.markdown import table
from labkit.read import records
from labkit.stats import rank_interval
from labkit.stats.lists import Lists
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import TIMING

EXAMPLES = Path(__file__).parent.parent / "data/campaigns/examples"
PARTS, LEAST = 16, 4000  # of a recorded launch; iterations of one
CRITICAL = 0.463  # of KPSS at 5 %
Floats = NDArray[np.float64]
Worth = Callable[[Floats, Floats], Floats]


def all_of(rows: Floats, medians: Floats) -> Floats:
    """Every iteration counts, as if they were independent."""
    return np.full(len(rows), float(rows.shape[1]))


def root_batches(rows: Floats, medians: Floats) -> Floats:
    """Batch means with as many batches as iterations in each, without Student's quantile."""
    n = rows.shape[1]
    side = np.sign(rows - medians[:, None])
    length = n // (count := math.isqrt(n))
    means = side[:, : count * length].reshape(len(rows), count, length).mean(axis=2)
    return np.clip(n * side.var(axis=1) / np.maximum(length * means.var(axis=1, ddof=1), 1e-300), 1, n)


def initial_sequence(rows: Floats, medians: Floats) -> Floats:
    """Geyer's initial monotone sequence of autocovariances."""
    n = rows.shape[1]
    side = np.sign(rows - medians[:, None])
    side -= side.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(side, 1 << (2 * n - 1).bit_length(), axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, : n // 2 * 2] / n
    pairs = covariance[:, ::2] + covariance[:, 1::2]
    pairs = np.minimum.accumulate(np.where(np.logical_and.accumulate(pairs > 0, axis=1), pairs, 0), axis=1)
    spread = covariance[:, 0]
    return np.clip(n * spread / np.maximum(2 * pairs.sum(axis=1) - spread, 1e-300), 1, n)


METHODS: dict[str, Worth] = {
    "independent": all_of,
    "√n batches": root_batches,
    "initial sequence": initial_sequence,
    "10 batches (chosen)": lambda rows, medians: rank_interval.effective(Lists.of(rows), medians),
}


def holds(rows: Floats, true: float) -> dict[str, tuple[float, float]]:
    """Method → share of the intervals that hold the true median, and the median effective size."""
    ordered, medians = np.sort(rows, axis=1), np.median(rows, axis=1)
    found = {}
    for name, method in METHODS.items():
        worth = method(rows, medians)
        low, high = rank_interval.wider(np.full(len(rows), rows.shape[1]), worth)
        every = np.arange(len(rows))
        inside = (ordered[every, low - 1] <= true) & (true <= ordered[every, high - 1])
        found[name] = float(inside.mean()), float(np.median(worth))
    return found


def autoregressive(chance: np.random.Generator, series: int, n: int, previous: float) -> tuple[Floats, float]:
    """Lognormal times that take over a part of the one before."""
    rows = chance.normal(size=(series, n + 500))
    for k in range(1, rows.shape[1]):
        rows[:, k] = previous * rows[:, k - 1] + math.sqrt(1 - previous**2) * rows[:, k]
    return np.exp(0.2 * rows[:, 500:]), 1.0


def periodic(chance: np.random.Generator, series: int, n: int, period: int) -> tuple[Floats, float]:
    """A wave with noise, from a random moment on."""
    phase = chance.integers(0, period, (series, 1))
    return 1 + 0.3 * np.sin(2 * np.pi * (np.arange(n) + phase) / period) + chance.normal(0, 0.05, (series, n)), 1.0


def two_levels(chance: np.random.Generator, series: int, n: int, stay: int) -> tuple[Floats, float]:
    """Two times 10 % apart, each kept for `stay` iterations on average."""
    level = (np.cumsum(chance.random((series, n)) < 1 / stay, axis=1) + chance.integers(0, 2, (series, 1))) % 2
    noise = chance.normal(0, 0.05, (series, n))
    return 1 + 0.1 * level + noise, 1.05


SERIES = {
    "independent": lambda chance, series, n: autoregressive(chance, series, n, 0.0),
    "AR(1), 0.5": lambda chance, series, n: autoregressive(chance, series, n, 0.5),
    "AR(1), 0.9": lambda chance, series, n: autoregressive(chance, series, n, 0.9),
    "AR(1), 0.97": lambda chance, series, n: autoregressive(chance, series, n, 0.97),
    "period of 50": lambda chance, series, n: periodic(chance, series, n, 50),
    "two levels for 10": lambda chance, series, n: two_levels(chance, series, n, 10),
    "two levels for 50": lambda chance, series, n: two_levels(chance, series, n, 50),
}


def kpss(values: Floats) -> float:
    """KPSS's statistic of the sides of the median, with Schwert's 12 (n / 100)^(1/4) lags."""
    side = np.sign(values - np.median(values))
    side -= side.mean()
    n, sums, lags = len(side), np.cumsum(side), int(12 * (len(side) / 100) ** 0.25)
    spread = side @ side + 2 * sum((1 - k / (lags + 1)) * (side[k:] @ side[:-k]) for k in range(1, lags + 1))
    return float(sums @ sums) / n / float(spread)


def recorded() -> list[Floats]:
    """Times of long launches in the examples."""
    found = []
    for path in sorted(EXAMPLES.iterdir()):
        for one in Campaign(path).samples():
            if one.time_ns.shape[-1] >= LEAST and one.over is None and TIMING.of(one.meta) != "total":
                found.append(records.seconds(one))
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("series", nargs="?", type=int, default=400)
    series = parser.parse_args().series
    rows = []
    for name, make in SERIES.items():
        for n in (100, 300, 1000, 5000):
            found = holds(*make(np.random.default_rng(1), series, n))
            rows.append((name, str(n), *(f"{100 * share:.0f} % ({worth:.0f})" for share, worth in found.values())))
    print(table(["series", "n", *METHODS], rows, align="lr" + "r" * len(METHODS)), "\n")
    kinds: dict[str, list[dict[str, tuple[float, float]]]] = {"stationary": [], "not stationary": []}
    for times in recorded():
        length = len(times) // PARTS
        parts = times[: PARTS * length].reshape(PARTS, length)
        kinds["stationary" if kpss(times) < CRITICAL else "not stationary"].append(
            holds(parts, float(np.median(times)))
        )
    lines = [
        (kind, str(len(some)), *(f"{100 * np.mean([one[name][0] for one in some]):.0f} %" for name in METHODS))
        for kind, some in kinds.items()
    ]
    print(table(["recorded launches", "", *METHODS], lines, align="lr" + "r" * len(METHODS)), "\n")
    block = np.random.default_rng(1).lognormal(size=(300, 1000))
    medians = np.median(block, axis=1)
    for name, method in {**METHODS, "sorting": lambda rows, _: np.sort(rows, axis=1)}.items():
        begin = time.perf_counter()
        method(block, medians)
        print(f"{name}: {(time.perf_counter() - begin) * 1e6 / len(block):.0f} µs for 1000 iterations")


if __name__ == "__main__":
    main()
