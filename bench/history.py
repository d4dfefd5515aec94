"""Print how often series without a change are given one, and how often changes are found. Asserts nothing.

The series are made up, one value a campaign: ``python bench/history.py [SERIES]``, ten minutes for the default.
Where Apache Otava is installed (``pip install apache-otava``, in an environment of its own), it judges the same series.
``--table`` prints the table in ``labkit/stats/changes.py`` instead.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from labkit.stats import changes
from labkit.stats.shift import holm

try:
    from otava.analysis import compute_change_points
except ImportError:
    compute_change_points = None

CHANCE, DAY = 0.05, 0.02
HISTORY = 20  # series of a history
CAMPAIGNS = (20, 50, 100, 200)
DEPENDENCE = (0.0, 0.5, 0.8)
SHAPES = ("normal", "lognormal", "floor", "heavy tail", "two modes")
_STANDARD = math.sqrt((math.e - 1) * math.e)  # deviation of exp(z)


def autoregressive(noise: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Return series, (series, campaigns), each value of which keeps a part of how far the last one was off."""
    values = noise.copy()
    for day in range(1, values.shape[1]):
        values[:, day] = rho * values[:, day - 1] + math.sqrt(1 - rho**2) * noise[:, day]
    return values


def values(random: np.random.Generator, series: int, campaigns: int, shape: str, rho: float = 0) -> NDArray[np.float64]:
    """Return medians of campaigns, (series, campaigns), that differ by about 2 % from day to day.

    Parameters
    ----------
    random, series, campaigns : of the draw.
    shape : ``normal``; ``lognormal``; ``floor``, a least time and a lognormal excess with exponent 1; ``heavy tail``,
        noise of two degrees of freedom; ``two modes``, one day in ten 20 % slower.
    rho : correlation of neighbouring days.
    """
    size = (series, campaigns)
    if shape == "heavy tail":
        return np.asarray(np.exp(DAY * autoregressive(random.standard_t(2, size), rho)))
    normal = autoregressive(random.standard_normal(size), rho)
    if shape == "normal":
        return np.asarray(1 + DAY * normal)
    if shape == "floor":
        return np.asarray(1 + DAY * np.exp(normal) / _STANDARD)
    slow = 10.0 * (random.random(size) < 0.1) if shape == "two modes" else 0.0
    return np.asarray(np.exp(DAY * (normal + slow)))


def found(one: NDArray[np.float64]) -> float:
    """Return the p of a series, 1 if it is above 5 %."""
    cut = changes.change(one, CHANCE)
    return cut.p if cut else 1.0


def rates(campaigns: int, shape: str, histories: int, seed: int = 1) -> tuple[float, float]:
    """Return the share of histories of several series with any false change, and of series with a possible one."""
    random = np.random.default_rng(seed)
    p = [[found(one) for one in values(random, HISTORY, campaigns, shape)] for _ in range(histories)]
    return float(np.mean([min(holm(one)) <= CHANCE for one in p])), float(np.mean(np.array(p) <= CHANCE))


def power(series: int, campaigns: int, shape: str, rho: float) -> list[float]:
    """Return the shares of false changes; of steps by 5 and 10 % found; and of fifths of a series, by as much.

    False changes are rare, so that five times as many series are tried.
    """
    random = np.random.default_rng([campaigns, round(10 * rho), SHAPES.index(shape)])
    days = np.arange(campaigns)
    step = days >= campaigns // 2
    returning = step & (days < campaigns // 2 + campaigns // 5)
    every = values(random, 5 * series, campaigns, shape, rho)
    levels = [1 + by * part for part in (step, returning) for by in (0.05, 0.1)]
    false = np.mean([found(one) <= CHANCE for one in every])
    return [float(false), *(float(np.mean([found(one * by) <= CHANCE for one in every[:series]])) for by in levels)]


def _halves(one: NDArray[np.float64]) -> bool:
    """Return whether Welch's test tells the halves of a series apart (its normal approximation)."""
    halves = np.array_split(one, 2)
    error = math.sqrt(sum(half.var(ddof=1) / half.size for half in halves))
    return 2 * NormalDist().cdf(-abs(halves[1].mean() - halves[0].mean()) / error) <= CHANCE


def _five_percent(one: NDArray[np.float64]) -> bool:
    """Return whether any value from the tenth on is more than 5 % off the mean of those before."""
    before = np.cumsum(one)[8:-1] / np.arange(9, one.size)
    return bool((np.abs(one[9:] / before - 1) > 0.05).any())


METHODS: Mapping[str, Callable[[NDArray[np.float64]], bool]] = {
    "labkit": lambda one: found(one) <= CHANCE,
    **({"Otava": lambda one: bool(compute_change_points(one.tolist())[0])} if compute_change_points else {}),
    "t-test of halves": _halves,
    "±5 %": _five_percent,
}


def of_methods(series: int) -> None:
    """Print how often each method gives a series without a change one."""
    print(f"\nfalse alarms in series without a change, %\n{'days':10} {'ρ':>3} {'campaigns':>9}  {'  '.join(METHODS)}")
    for shape, rho in (("normal", 0.0), ("lognormal", 0.0), ("floor", 0.0), *(("normal", r) for r in DEPENDENCE[1:])):
        for campaigns in CAMPAIGNS[1:]:
            random = np.random.default_rng([campaigns, round(10 * rho), SHAPES.index(shape)])
            every = values(random, series, campaigns, shape, rho)
            shares = {name: np.mean([alarm(one) for one in every]) for name, alarm in METHODS.items()}
            cells = "  ".join(f"{100 * share:{len(name)}.1f}" for name, share in shares.items())
            print(f"{shape:10} {rho:3} {campaigns:9}  {cells}", flush=True)


def table(random: np.random.Generator) -> None:
    """Print the ratios that autoregressive series without a change exceed with each chance, or shorter ones do."""
    largest = np.full(len(changes.CHANCES), -np.inf)
    for campaigns, series in ((8, 20000), (12, 20000), (20, 20000), (35, 12000), (60, 8000), (100, 5000), (200, 3000)):
        for rho in (0.6, 0.8, 0.9):
            blocks = [
                changes.likelihood_ratio(autoregressive(random.standard_normal((50, campaigns)), rho))[0]
                for _ in range(series // 50)
            ]
            largest = np.maximum(largest, np.quantile(np.concatenate(blocks), 1 - np.array(changes.CHANCES)))
        print(f"    {campaigns}: ({', '.join(f'{one:.2f}' for one in largest)}),", flush=True)


def main() -> None:
    """Print the numbers of docs/history.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "series", nargs="?", type=int, default=100, metavar="SERIES", help="of each kind (default: %(default)s)"
    )
    parser.add_argument("--table", action="store_true", help="print the table in labkit/stats/changes.py")
    asked = parser.parse_args()
    if asked.table:
        table(np.random.default_rng(20261126))
        return
    print(f"{asked.series} series of each kind; days spread by {DAY:.0%}, {CHANCE:.0%} declared; shares in %")
    print(f"{'days':10} {'ρ':>3} {'campaigns':>9} {'false':>6}  step +5 % +10 %  returning +5 % +10 %")
    for rho in DEPENDENCE:
        for shape in SHAPES if not rho else SHAPES[:3]:
            for campaigns in CAMPAIGNS:
                false, *shares = power(asked.series, campaigns, shape, rho)
                cells = "  ".join(f"{100 * share:5.0f}" for share in shares)
                print(f"{shape:10} {rho:3} {campaigns:9} {100 * false:6.1f}  {cells}", flush=True)
    of_methods(2 * asked.series)
    print(f"\nhistories of {HISTORY} series: any false change (Holm), possible in a series, %")
    for shape in ("lognormal", "heavy tail", "two modes"):
        for campaigns in (12, 20, 40):
            false, possible = rates(campaigns, shape, asked.series // 2)
            print(f"{shape:10} {campaigns:9} {100 * false:6.1f} {100 * possible:6.1f}", flush=True)


if __name__ == "__main__":
    main()
