"""Statistics of each rank, and of each iteration over ranks: of points that keep every time and of those that do not.

A point of many ranks keeps statistics over them and every time of a few (`labkit.stats.across_ranks`). What describes
all ranks of a point must come from here, not from `Samples.time_ns`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from labkit.point.units import format_share
from labkit.stats import histogram
from labkit.store.samples import Samples
from labkit.store.samples.facts import PLACEMENT, TESTBED

Floats = NDArray[np.float64]


def ranks(samples: Samples) -> tuple[int, ...]:
    """All ranks that were timed, in order; thread t of rank r is r * threads + t."""
    return samples.over.ranks if samples.over else samples.ranks


def quantiles(samples: Samples, qs: Sequence[float]) -> Floats:
    """Quantiles of the times of each rank, (quantiles, ranks), s.

    They are within `labkit.stats.histogram.ERROR` where extremes were kept; the median is exact.
    """
    if samples.over is None:
        return np.asarray(np.quantile(samples.seconds, qs, axis=1), np.float64)
    values = samples.over.quantiles(qs)
    for place, q in enumerate(qs):
        if q == 0.5:
            values[place] = samples.over.of_rank["p50"]
    return values * 1e-9 / _in_a_sample(samples)


def medians(samples: Samples) -> Floats:
    """Median time of each rank over its iterations, (ranks,), s."""
    if samples.over is None:
        return np.asarray(np.median(samples.seconds, axis=1), np.float64)
    return np.asarray(samples.over.of_rank["p50"] * 1e-9 / _in_a_sample(samples), np.float64)


def means(samples: Samples) -> Floats:
    """Mean time of each rank over its iterations, (ranks,), s."""
    sums = samples.over.sums["time_ns"] if samples.over else samples.time_ns.sum(axis=1)
    return np.asarray(sums * 1e-9 / (samples.n * _in_a_sample(samples)), np.float64)


def times_slowest(samples: Samples) -> NDArray[np.int64]:
    """In how many iterations each rank was the slowest, (ranks,); the first of several that took as long."""
    if samples.over:
        return np.asarray(samples.over.of_rank["slowest_count"], np.int64)
    return np.bincount(samples.time_ns.argmax(axis=0), minlength=len(samples.ranks)).astype(np.int64)


def of_iterations(samples: Samples) -> dict[str, Floats]:
    """Slowest, median and fastest rank of each iteration, (iterations,), s.

    Where extremes were kept, the median over ranks is the lower of two in the middle.
    """
    if samples.over is None:
        times = samples.seconds
        return {
            "slowest rank": times.max(axis=0),
            "median rank": np.median(times, axis=0),
            "fastest rank": times.min(axis=0),
        }
    columns = {"slowest rank": "slowest", "median rank": "p50", "fastest rank": "fastest"}
    iterations = samples.extras["iterations"][0] if "iterations" in samples.extras else 1
    return {name: samples.over.of_iteration[column] * 1e-9 / iterations for name, column in columns.items()}


def switches(samples: Samples) -> dict[str, str]:
    """Host → its leaf switch, as far as the batch job or the testbed knew; empty if neither did."""
    leaves = PLACEMENT.of(samples.meta).get("leaves")
    if isinstance(leaves, Mapping) and any(leaves.values()):
        return {str(host): str(leaf) for host, leaf in leaves.items() if leaf}
    hosts, facts = emulated_hosts(samples), TESTBED.of(samples.meta)
    return {host: f"leaf{k // int(facts['per_leaf'])}" for k, host in enumerate(hosts)}


def emulated_hosts(samples: Samples) -> tuple[str, ...]:
    """Names of the hosts of a testbed that emulates them on the cores of one machine; empty for others."""
    facts = TESTBED.of(samples.meta)
    if not isinstance(facts, Mapping) or "per_leaf" not in facts or facts.get("simulated"):
        return ()
    return tuple(f"vc{k}" for k in range(int(facts["nodes"])))


def retention(samples: Samples, what: str) -> str:
    """Small print for a figure of a point that does not keep every time; empty for one that does.

    Parameters
    ----------
    what : what this means for the numbers that are shown.
    """
    if samples.over is None:
        return ""
    return (
        f"extremes were kept of {len(samples.over.ranks):,} ranks (every time of {len(samples.ranks)} sampled ranks, "
        f"histograms with an error of at most {format_share(histogram.ERROR, digits=2)} of all): {what}"
    )


def _in_a_sample(samples: Samples) -> float:
    """Iterations that a sample represents on average: 1, or with timing=total the iterations of a chunk."""
    return float(np.mean(samples.extras["iterations"][0])) if "iterations" in samples.extras else 1.0
