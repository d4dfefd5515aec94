"""Print how often a history shows a change by chance, and how often it finds one. Asserts nothing.

The campaigns are made up: 20 series, one value of a campaign each: ``python bench/history.py [HISTORIES]``.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from labkit.stats import changes
from labkit.stats.shift import holm

SERIES, CHANCE, DAY = 20, 0.05, 0.02
CAMPAIGNS = (8, 12, 20, 40)
STEPS = (0.02, 0.05, 0.1)
SHAPES = ("lognormal", "heavy tail", "two modes")


def values(random: np.random.Generator, campaigns: int, shape: str) -> NDArray[np.float64]:
    """Return medians of campaigns, (series, campaigns), that differ by about 2 % from day to day."""
    size = (SERIES, campaigns)
    noise = {
        "lognormal": lambda: random.standard_normal(size),
        "heavy tail": lambda: random.standard_t(2, size),
        "two modes": lambda: random.standard_normal(size) + 10.0 * (random.random(size) < 0.1),
    }[shape]()
    return np.asarray(np.exp(DAY * noise))


def rates(campaigns: int, shape: str, histories: int, seed: int = 1) -> tuple[float, float, list[float]]:
    """Return the share of histories with any false change, of series with a possible one, and of steps found."""
    random = np.random.default_rng(seed)
    false, possible, power = 0, 0, np.zeros(len(STEPS))
    for _ in range(histories):
        every = values(random, campaigns, shape)
        p = [changes.change(one)[1] for one in every]
        false += min(holm(p)) <= CHANCE
        possible += sum(one <= CHANCE for one in p)
        for place, step in enumerate(STEPS):
            stepped = every * np.where(np.arange(campaigns) < campaigns // 2, 1.0, 1.0 + step)
            power[place] += sum(one <= CHANCE for one in holm([changes.change(one)[1] for one in stepped])) / SERIES
    return false / histories, possible / histories / SERIES, [float(one) for one in power / histories]


def main() -> None:
    """Print a row for each kind of noise and number of campaigns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "histories",
        nargs="?",
        type=int,
        default=500,
        metavar="HISTORIES",
        help="simulated histories of each kind (default: %(default)s)",
    )
    histories = parser.parse_args().histories
    print(f"{histories} histories of {SERIES} series; days spread by {DAY:.0%}, {CHANCE:.0%} declared")
    steps = " ".join(f"+{step:.0%}" for step in STEPS)
    print(
        f"{'noise':12} {'campaigns':>9} {'any false change':>17} {'possible in a series':>21}  steps of all series {steps}"
    )
    for shape in SHAPES:
        for campaigns in CAMPAIGNS:
            false, possible, power = rates(campaigns, shape, histories)
            found = " ".join(f"{share:.0%}" for share in power)
            print(f"{shape:12} {campaigns:9} {false:17.1%} {possible:21.1%}  {found}", flush=True)


if __name__ == "__main__":
    main()
