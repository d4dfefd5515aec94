"""Print how often the rules of plausibility fire by chance, and how often they find what is odd. Asserts nothing.

The data are made up: eight sizes of the same true time, so that every order is chance: ``python bench/plausibility.py
[TRIALS]``.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from labkit.judge.rules._deciding import slowest
from labkit.judge.rules._orders import worst
from labkit.judge.view.points import Point, Series
from labkit.stats.lists import Lists
from labkit.stats.modes import two_modes

SIZES, LAUNCHES, SCATTER = 8, (1, 3, 6, 10), (0.01, 0.05, 0.2)
FALLS = (1.1, 1.3, 2.0)  # times that one size is slower than the next
SAMPLES = 3000


def noise(random: np.random.Generator, scatter: float, heavy: bool, size: tuple[int, ...]) -> NDArray[np.float64]:
    """Return factors of launches, from a normal or a heavy-tailed distribution of logarithms."""
    return np.asarray(np.exp(scatter * (random.standard_t(3, size) if heavy else random.standard_normal(size))))


def verdict(values: NDArray[np.float64]) -> str:
    """Return how it was decided that a series of (sizes, launches) is in a wrong order; empty if it is not."""
    points = [Point({}, row, "latency_us", "p50", "", float(place)) for place, row in enumerate(values)]
    surest = worst(Series.of(points), rises=True)
    return surest[2].decided.how if surest else ""


def main() -> None:
    """Print a row for each scatter and number of launches, then one for each form of a distribution."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "trials", nargs="?", type=int, default=1000, metavar="TRIALS", help="series of each kind (default: %(default)s)"
    )
    trials = parser.parse_args().trials
    random = np.random.default_rng(20261122)
    print(
        f"{trials} series of {SIZES} equal sizes; false alarms by how they were decided, then falls that a test shows"
    )
    for heavy in (False, True):
        for scatter in SCATTER:
            for launches in LAUNCHES:
                alarms: Counter[str] = Counter()
                power, slow = [0] * len(FALLS), 0
                for _ in range(trials):
                    values = noise(random, scatter, heavy, (SIZES, launches))
                    alarms[verdict(values)] += 1
                    slow += slowest(values[0], 1) is not None
                    for place, fall in enumerate(FALLS):
                        falling = values.copy()
                        falling[: SIZES // 2] *= fall
                        power[place] += verdict(falling) == "tested"
                shares = "  ".join(f"{alarms[name] / trials:6.1%}" for name in ("tested", "few launches"))
                found = "  ".join(f"{count / trials:5.0%}" for count in power)
                kind = "heavy tail" if heavy else "lognormal"
                print(
                    f"{kind:10} {scatter:5.0%} {launches:3} {shares}   slow {slow / trials:6.1%}   {found}", flush=True
                )
    forms = {
        "lognormal": lambda s: random.lognormal(0, s, SAMPLES),
        "exponential": lambda s: 1 + random.exponential(s, SAMPLES),
        "uniform": lambda s: random.uniform(1, 1 + s, SAMPLES),
        "heavy tail": lambda s: np.exp(np.minimum(s * random.standard_t(3, SAMPLES), 100.0)),
        "random walk": lambda s: np.exp(s * np.cumsum(random.standard_normal(SAMPLES)) / SAMPLES**0.5),
        "two modes": lambda s: (
            random.lognormal(0, s / 4, SAMPLES) * np.where(random.random(SAMPLES) < 0.3, 1 + 3 * s, 1)
        ),
    }
    for name, form in forms.items():
        rates = [len(two_modes(Lists.of([form(s) for _ in range(trials)]))) / trials for s in (0.05, 0.2, 1.0)]
        print(f"modes of {name:12} " + "  ".join(f"{rate:6.1%}" for rate in rates), flush=True)


if __name__ == "__main__":
    main()
