"""Print how often `judge.all_pairs` names a slow host, and how often another one. Asserts nothing.

Made-up tables of all pairs, measured twice. Pairs differ lastingly by a lognormal scatter, and by half as much between the
two measurements. All links of one host are slower by 10 or 30 %. ``python bench/all_pairs.py [TABLES]`` (default 100);
docs/statistics.md has the table.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from labkit.io.markdown import table
from labkit.judge import all_pairs

HOSTS, SCATTERS, EFFECTS = (8, 12, 16, 32), (0.03, 0.1), (0.1, 0.3)


def made(chance: np.random.Generator, hosts: int, scatter: float) -> NDArray[np.float64]:
    """A symmetric table of pairs without effects."""
    times = np.triu(chance.lognormal(0, scatter, (hosts, hosts)), 1)
    times += times.T
    np.fill_diagonal(times, np.nan)
    return times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="?", type=int, default=100)
    count = parser.parse_args().tables
    rows = []
    for hosts in HOSTS:
        names = [f"node{k:02}" for k in range(hosts)]
        for scatter in SCATTERS:
            chance, named = np.random.default_rng(1), dict.fromkeys((0.0, *EFFECTS), 0)
            others = dict.fromkeys(named, 0)
            for _ in range(count):
                lasting = made(chance, hosts, scatter)
                twice = [lasting * made(chance, hosts, scatter / 2) for _ in range(2)]
                for effect in named:
                    factors = np.ones((hosts, hosts))
                    factors[0] = factors[:, 0] = 1 + effect
                    found = {part.name for part in all_pairs.slow_parts([one * factors for one in twice], names)}
                    named[effect] += f"the card or cable of {names[0]}" in found
                    others[effect] += bool(found - {f"the card or cable of {names[0]}"})
            shares = (100 * named[effect] / count for effect in EFFECTS)
            healthy = 100 * (named[0.0] + others[0.0]) / count
            false = 100 * max(others[effect] for effect in EFFECTS) / count
            cells = (f"{100 * scatter:.0f} %", *(f"{share:.0f} %" for share in (*shares, healthy, false)))
            rows.append((str(hosts), *cells))
    titles = [f"named at +{100 * effect:.0f} %" for effect in EFFECTS]
    print(table(["hosts", "scatter of pairs", *titles, "any named, all alike", "another named"], rows, align="rrrrrr"))


if __name__ == "__main__":
    main()
