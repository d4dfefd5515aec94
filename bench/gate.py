"""Print how often `labkit gate` fails by chance and how often it finds a slower point, in made-up campaigns. Asserts nothing.

A gate has 20 comparisons of 6 launches each, and a chance of a false alarm of 1 %: ``python bench/gate.py [GATES]``.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from labkit.stats import limits

POINTS, LAUNCHES, CHANCE, NOISE = 20, 6, 0.01, 0.02
CAMPAIGNS = (1, 3, 5, 10, 20)
SLOWER = (0.05, 0.1, 0.2)  # of the one point that is worse
SHAPES = ("lognormal", "heavy tail", "two modes")


def launches(random: np.random.Generator, campaigns: int, shape: str, day: float) -> NDArray[np.float64]:
    """Return medians of launches, (campaigns, points, launches), s; `day` is the spread of whole campaigns."""
    size = (campaigns, POINTS, LAUNCHES)
    noise = {
        "lognormal": lambda: NOISE * random.standard_normal(size),
        "heavy tail": lambda: NOISE * random.standard_t(2, size),
        "two modes": lambda: NOISE * random.standard_normal(size) + 0.2 * (random.random(size) < 0.1),
    }[shape]()
    return np.asarray(np.exp(noise + day * random.standard_normal((campaigns, 1, 1))))


def fails(past: NDArray[np.float64], new: NDArray[np.float64]) -> list[bool]:
    """Return for each point whether the gate fails."""
    verdicts = []
    for point, values in enumerate(new):
        limit = limits.limit(list(past[:, point]), LAUNCHES, CHANCE / POINTS, higher=True)
        verdicts.append(bool(np.count_nonzero(values > limit.value) >= limit.beyond))
    return verdicts


def rates(campaigns: int, shape: str, day: float, gates: int, seed: int = 1) -> list[float]:
    """Return the share of gates with a false alarm, and the share in which a slower point is found, for each `SLOWER`."""
    random = np.random.default_rng(seed)
    counts = np.zeros(1 + len(SLOWER))
    for _ in range(gates):
        every = launches(random, campaigns + 1, shape, day)
        counts[0] += any(fails(every[:-1], every[-1]))
        for place, slower in enumerate(SLOWER):
            counts[place + 1] += fails(every[:-1, :1], every[-1, :1] * (1 + slower))[0]
    return [float(share) for share in counts / gates]


def main() -> None:
    """Print a row for each kind of noise and length of history."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "gates",
        nargs="?",
        type=int,
        default=500,
        metavar="GATES",
        help="simulated gates of each kind (default: %(default)s)",
    )
    gates = parser.parse_args().gates
    print(f"{gates} gates each; launches spread by {NOISE:.0%}, whole campaigns by 0 or as much")
    print(
        f"{'noise':12} {'campaigns':>9} {'spread of campaigns':>20} {'false alarms':>13} "
        + " ".join(f"+{s:.0%}" for s in SLOWER)
    )
    for shape in SHAPES:
        for day in (0.0, NOISE):
            for campaigns in CAMPAIGNS:
                alarms, *power = rates(campaigns, shape, day, gates)
                line = " ".join(f"{share:.0%}" for share in power)
                print(f"{shape:12} {campaigns:9} {day:20.0%} {alarms:13.1%} {line}", flush=True)


if __name__ == "__main__":
    main()
