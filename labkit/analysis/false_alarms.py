"""How often the rule for bad pairs would blame a healthy system that has the measured scatter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labkit.analysis.all_pairs import hosts_of, of_rounds, rounds, suspicious
from labkit.benchmarks.mpi.all_pairs import NOBODY
from labkit.errors import DataError
from labkit.samples import Samples


@dataclass(frozen=True)
class FalseAlarms:
    """How often healthy systems would be suspected.

    Parameters
    ----------
    draws : simulated measurements.
    once : of them, those with a suspicious pair.
    twice : pairs of them in which the same pair was suspicious in both.
    sentence : what this says.
    """

    draws: int
    once: int
    twice: int
    sentence: str


def false_alarms(samples: Samples, draws: int = 400) -> FalseAlarms:
    """Simulate healthy systems with the real scatter of a measurement, and count how often the rule finds something.

    The times of every pair are divided by their median, so that all pairs are equally fast, and resampled in blocks of
    neighbouring rounds. Differences between starts of the ranks are not included.

    Parameters
    ----------
    samples : one launch of `mpi.all_pairs`.
    draws : measurements to simulate; they are taken in twos.

    Raises
    ------
    DataError
        If the samples are of another benchmark, or a pair met less than six times.
    """
    times, schedule = rounds(samples)
    hosts = hosts_of(samples)
    count = times.shape[1] // len(schedule)
    if count < 6:
        raise DataError(f"Each pair met {count} times, but the test needs at least 6. Measure longer: raise time_cap.")
    relative = times[:, : count * len(schedule)].reshape(len(times), count, len(schedule))
    relative = relative / np.median(relative, axis=1, keepdims=True)
    generator, length = np.random.default_rng(1), max(1, round(count ** (1 / 3)))
    alarms = []
    for _ in range(draws):
        starts = generator.integers(0, count, -(-count // length))
        at = ((starts[:, None] + np.arange(length)) % count).ravel()[:count]
        drawn = relative[:, at].swapaxes(1, 2)  # (ranks, rounds, meetings)
        estimates = np.full((2, len(times), len(times)), np.nan)
        for turn, row in enumerate(schedule):
            met = np.flatnonzero(row != NOBODY)
            for index, low in enumerate((False, True)):
                estimates[index, met, row[met]] = of_rounds(drawn[met, turn], low)
        alarms.append(suspicious(estimates[0], hosts, estimates[1]))
    once = sum(bool(one.any()) for one in alarms)
    twice = sum(bool((one & other).any()) for one, other in zip(alarms[::2], alarms[1::2], strict=True))
    sentence = (
        f"In {draws} simulated measurements of a healthy system with the scatter of this one, a pair was suspicious in "
        f"{once}, and the same pair twice in {twice} of {draws // 2}. (Every pair's times are divided by their median "
        "and drawn anew in blocks; what differs from start to start is not in it.)"
    )
    return FalseAlarms(draws, once, twice, sentence)
