"""Print how often the intervals of fitted LogGP parameters contain the true ones. Asserts nothing.

The data are made up: two protocols with known parameters, a factor of each launch and one of each point, and break points
that labkit finds itself: ``python bench/loggp.py [TRIALS]``.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from labkit.judge import protocol
from labkit.models import loggp
from labkit.models.loggp import Times

SIZES = tuple(1 << k for k in range(21))  # 1 B to 1 MiB
SWITCH = 16 * 1024  # last size of the first protocol
TRUE = (  # s and s/B
    {"L": 1.2e-6, "o_s": 0.3e-6, "o_r": 0.4e-6, "g": 0.5e-6, "G": 2.0e-10, "O_s": 0.5e-10, "O_r": 0.6e-10},
    {"L": 4.0e-6, "o_s": 0.8e-6, "o_r": 1.1e-6, "g": 1.5e-6, "G": 0.9e-10, "O_s": 0.1e-10, "O_r": 0.2e-10},
)
# launches, scatter of launches, of points, and lack of fit: what a size has of its own in every launch
CASES = tuple((n, *of, fit) for fit in (0.0, 0.01) for of in ((0.01, 0.01), (0.05, 0.02)) for n in (6, 10, 20))


for _one in TRUE:
    _one["alpha"] = _one["L"] + _one["o_s"] + _one["o_r"] - _one["G"]
    _one["beta"] = _one["G"] + _one["O_s"] + _one["O_r"]


def true_times() -> dict[str, np.ndarray]:
    """Return what the model says of each quantity, (sizes,), s."""
    times: dict[str, list[float]] = {"time": [], "gap": [], "send": [], "receive": []}
    for m in SIZES:
        p = TRUE[m > SWITCH]
        times["send"].append(p["o_s"] + p["O_s"] * m)
        times["receive"].append(p["o_r"] + p["O_r"] * m)
        times["gap"].append(p["g"] + p["G"] * (m - 1))
        times["time"].append(times["send"][-1] + times["receive"][-1] + p["L"] + p["G"] * (m - 1))
    return {name: np.array(values) for name, values in times.items()}


def made(random: np.random.Generator, launches: int, of_launch: float, of_point: float, fit: float) -> dict[str, Times]:
    """Return times of launches: factors of each quantity and launch, of each point, and of each size, all lognormal."""
    made_up = {}
    for name, values in true_times().items():
        logs = of_launch * random.standard_normal((launches, 1)) + of_point * random.standard_normal(
            (launches, len(SIZES))
        )
        logs += fit * random.standard_normal(len(SIZES))
        made_up[name] = Times(SIZES, values * np.exp(logs))
    return made_up


def trial(
    random: np.random.Generator, launches: int, of_launch: float, of_point: float, fit: float
) -> list[tuple[str, str]]:
    """Return the fate of each parameter of each protocol: covered, missed, or not resolved; empty for other breaks."""
    times = made(random, launches, of_launch, of_point, fit)
    lines = protocol.breaks(SIZES, np.median(times["time"].seconds, axis=0)).lines
    if [line.last for line in lines] != [SWITCH, SIZES[-1]]:
        return []
    fates = []
    for number, found in enumerate(loggp.fit(times, [(line.first, line.last) for line in lines]).ranges):
        for name, value in TRUE[number].items():
            one = found.parameters[name]
            fate = "covered" if one.low <= value <= one.high else "missed" if one.resolved else "not resolved"
            fates.append((f"{name} {number + 1}", fate))
    return fates


def main() -> None:
    """Print a row for each case: shares of resolved parameters whose interval contains the true value."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "trials", nargs="?", type=int, default=1000, metavar="TRIALS", help="trials of each case (default: %(default)s)"
    )
    trials = parser.parse_args().trials
    random = np.random.default_rng(20261122)
    names = [f"{name} {number + 1}" for number in range(2) for name in TRUE[number]]
    print(f"{trials} trials; launches, scatter of launches, of points, lack of fit, right breaks;")
    print("covered, and (resolved) in %")
    for launches, of_launch, of_point, fit in CASES:
        fates = [trial(random, launches, of_launch, of_point, fit) for _ in range(trials)]
        counts = Counter(one for fate in fates for one in fate)
        cells = []
        for name in names:
            covered, resolved = counts[name, "covered"], counts[name, "covered"] + counts[name, "missed"]
            total = resolved + counts[name, "not resolved"]
            cells.append(f"{name}: {100 * covered / max(resolved, 1):.1f} ({100 * resolved / max(total, 1):.0f})")
        right = sum(bool(fate) for fate in fates) / trials
        print(f"{launches:3} {of_launch:5.0%} {of_point:5.0%} {fit:5.0%} {right:6.1%}  {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
