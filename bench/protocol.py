"""Print how often smooth curves are said to have a protocol change, and how often jumps are found. Asserts nothing.

The curves are made up, 21 powers of two, medians of six launches: ``python bench/protocol.py [CURVES]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from labkit.judge import protocol

SIZES = 2.0 ** np.arange(21)
LAUNCHES, OF_LAUNCH, JUMP = 6, 0.02, 0.1
NOISES = (
    (0.01, 0.0),
    (0.02, 0.0),
    (0.01, 0.8),
    (0.02, 0.8),
)  # scatter of launches at a size, correlation of neighbours

Curve = Callable[[np.random.Generator], NDArray[np.float64]]


def _straight(random: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(1 + 10 ** random.uniform(-4, -2.5) * SIZES)


def _cache(random: np.random.Generator) -> NDArray[np.float64]:
    falling = 1 + np.exp(-(np.log2(SIZES) - random.uniform(8, 16)) / random.uniform(0.8, 1.6))
    return np.asarray(_straight(random) * (1 + random.uniform(0.3, 1) / falling))


def _power(random: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(1 + (SIZES / 10 ** random.uniform(1, 4)) ** random.uniform(0.4, 0.9))


def _pipelining(random: np.random.Generator) -> NDArray[np.float64]:
    line = _straight(random)
    return np.asarray(1 + (line - 1) * (1 + 1 / (1 + SIZES / 10 ** random.uniform(3, 4.5))))


CURVES: Mapping[str, Curve] = {
    "straight line": _straight,
    "power law": _power,
    "pipelining": _pipelining,
    "cache falls off": _cache,
    "sharp bend": lambda random: np.maximum(1, _straight(random) - 1),
}


def noise(random: np.random.Generator, scatter: float, rho: float) -> NDArray[np.float64]:
    """Return medians over launches that each have a factor of their own and points that depend on their neighbours."""
    points = random.standard_normal((LAUNCHES, len(SIZES)))
    for k in range(1, len(SIZES)):
        points[:, k] = rho * points[:, k - 1] + np.sqrt(1 - rho**2) * points[:, k]
    launches = OF_LAUNCH * random.standard_normal((LAUNCHES, 1))
    return np.asarray(np.median(np.exp(scatter * points + launches), axis=0))


def rates(curve: Curve, scatter: float, rho: float, curves: int, seed: int = 1) -> tuple[float, float, float]:
    """Return shares of curves with any break, with a false protocol change, and of jumps that are found as such.

    A jump is found if the sizes around it are those of the break, or one size off.
    """
    random = np.random.default_rng(seed)
    breaks = false = found = 0
    for _ in range(curves):
        smooth = curve(random)
        seen = protocol.breaks(SIZES, smooth * noise(random, scatter, rho)).breaks
        breaks, false = breaks + bool(seen), false + any(one.abrupt for one in seen)
        at = SIZES[random.integers(4, len(SIZES) - 4)]
        jumping = smooth * np.where(at <= SIZES, 1 + JUMP, 1) * noise(random, scatter, rho)
        seen = protocol.breaks(SIZES, jumping).breaks
        found += any(one.abrupt and one.after < 2 * at and one.before > at / 4 for one in seen)
    return breaks / curves, false / curves, found / curves


def main() -> None:
    """Print a row for each curve and noise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "curves", nargs="?", type=int, default=400, metavar="CURVES", help="of each kind (default: %(default)s)"
    )
    curves = parser.parse_args().curves
    print(f"{curves} curves of each kind, {LAUNCHES} launches; shares with any break, a false protocol change, and")
    print(f"of jumps by {JUMP:.0%} found, in %")
    for name, curve in CURVES.items():
        for scatter, rho in NOISES:
            cells = " ".join(f"{100 * share:6.1f}" for share in rates(curve, scatter, rho, curves))
            print(f"{name:16} {scatter:4.0%} {rho:4} {cells}", flush=True)


if __name__ == "__main__":
    main()
