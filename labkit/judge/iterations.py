"""Effects in the iterations of launches: a slow start, a drift, two modes. All times are read once."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.read.columnar import Launches
from labkit.stats.binomial import at_least
from labkit.stats.lists import Lists
from labkit.stats.modes import Modes, two_modes
from labkit.store.samples.facts import TIMING

CHANCE = 1e-3  # of a false statement on one launch
FEWEST = 200  # iterations of a launch that shows a slow start or a drift
FEWEST_OF_STEP = 50  # iterations of a launch that shows a long slow start
BLOCKS = 10  # of iterations, for a drift
NOISE = "micro.noise"  # has a separate rule
_FIRST = 0.05  # of the iterations that a warm-up concerns
_STEP = 1.5  # times the rest that a longer slow start takes: all its blocks, and all of the rest
_PAIRS = np.triu_indices(BLOCKS, 1)  # of blocks
_SLOWER = 1.1  # times the rest that the first iterations take at least
_DRIFT = 0.02  # least change from the first block to the last, as a part
Launch = tuple[str, int]  # fingerprint and number
T = TypeVar("T")


@dataclass(frozen=True)
class Start:
    """First iterations that are slower than the rest.

    Parameters
    ----------
    count, rest : number of first iterations, and of the others.
    above : number of first iterations above the median of the rest.
    ratio : ratio of the medians.
    """

    count: int
    rest: int
    above: int
    ratio: float


@dataclass(frozen=True)
class Drift:
    """A steady change of the median time.

    Parameters
    ----------
    count : iterations.
    change : relative change from the first block to the last.
    """

    count: int
    change: float


@dataclass(frozen=True)
class Iterations:
    """Effects in the times of the iterations of a campaign.

    Parameters
    ----------
    raw : number of samples that are kept, of all ranks of all points.
    extremes : number of launches of points that keep extremes over their ranks instead of every sample.
    modes, starts, drifts : launch → effect; a launch with a slow start has no drift.
    """

    raw: int = 0
    extremes: int = 0
    modes: Mapping[Launch, Modes] = field(default_factory=dict)
    starts: Mapping[Launch, Start] = field(default_factory=dict)
    drifts: Mapping[Launch, Drift] = field(default_factory=dict)


def of(launches: Launches) -> Iterations:
    """Return the effects in the iterations of launches."""
    raw = extremes = 0
    modes: dict[Launch, Modes] = {}
    starts: dict[Launch, Start] = {}
    drifts: dict[Launch, Drift] = {}
    names, numbers = (launches.records[name].tolist() for name in ("fingerprint", "launch"))
    for times in launches.times():
        batch, benchmark = times.batch, times.batch.kind.spec.benchmark
        raw += batch.time_ns.size
        extremes += len(batch) * (batch.over is not None)

        def keyed(shown: Iterator[tuple[int, T]], rows: NDArray[np.intp]) -> Iterator[tuple[Launch, T]]:
            return (((names[row], int(numbers[row])), one) for place, one in shown for row in [int(rows[place])])

        if batch.timed and benchmarks.runnable(benchmark) and TIMING.of(batch.kind.meta) != "total":
            modes.update(keyed(iter(two_modes(times.seconds).items()), times.rows))
        which = np.flatnonzero(batch.counts >= FEWEST_OF_STEP)
        if len(which) and benchmark != NOISE:
            seconds = times.seconds.chosen(which)
            slow = dict(warm_up(seconds))
            starts.update(keyed(iter(slow.items()), times.rows[which]))
            if len(long := np.flatnonzero(seconds.counts >= FEWEST)):
                drift = ((int(long[place]), one) for place, one in _drift(seconds.chosen(long)))
                drifts.update(keyed((one for one in drift if one[0] not in slow), times.rows[which]))
    return Iterations(raw, extremes, modes, starts, drifts)


def warm_up(seconds: Lists) -> Iterator[tuple[int, Start]]:
    """Yield the launches whose first iterations are slower than the rest, by a binomial test, or by a step.

    A launch that shows both is yielded twice, with the step last. Launches need `FEWEST_OF_STEP` iterations.
    """
    long = np.flatnonzero(seconds.counts >= FEWEST)
    if len(long):
        yield from ((int(long[place]), one) for place, one in _first(seconds.chosen(long)))
    yield from _steps(seconds)


def _first(seconds: Lists) -> Iterator[tuple[int, Start]]:
    """Yield the launches whose first iterations are slower than the rest, by a binomial test."""
    counts = np.maximum(20, (seconds.counts * _FIRST).astype(np.intp))
    ordered = seconds.cut(np.column_stack([counts, _blocks(seconds.counts - counts)])).sorted()
    start = ordered.medians().reshape(len(seconds), -1)[:, 0]
    # at least half of all values are above the least of the blocks' medians, which is found faster than that of all
    least = ordered.at((ordered.counts - 1) // 2).reshape(len(seconds), -1)[:, 1:].min(axis=1)
    for place in np.flatnonzero(start >= _SLOWER * (1 - 1e-9) * least).tolist():
        count = int(counts[place])
        first, rest = np.split(seconds[place], [count])
        early, late = float(start[place]), float(np.median(rest))
        above = int((first > late).sum())
        if above >= _least_above(count) and late > 0 and early / late >= _SLOWER:
            yield place, Start(count, len(rest), above, early / late)


def _steps(seconds: Lists) -> Iterator[tuple[int, Start]]:
    """Yield the launches that are slow for several blocks, and then faster to their end, with a clear step between.

    By chance, ten blocks have their k largest medians first, for any k from 2 to 9, in 1 of 6 launches, and far more
    rarely so far apart; more than half of the launches must show it before a rule reports it.
    """
    counts = _blocks(seconds.counts)
    medians = seconds.cut(counts).sorted().medians().reshape(len(seconds), BLOCKS)
    before = np.minimum.accumulate(medians, axis=1)[:, :-1]  # the least up to a block, and the largest behind it
    behind = np.maximum.accumulate(medians[:, ::-1], axis=1)[:, ::-1][:, 1:]
    steps = before / np.where(behind > 0, behind, np.inf)
    steps[:, 0] = 0.0  # the test of the first iterations is finer
    for place in np.flatnonzero(steps.max(axis=1, initial=0.0) >= _STEP).tolist():
        count = int(counts[place, : steps[place].argmax() + 1].sum())
        first, rest = np.split(seconds[place], [count])
        late = float(np.median(rest))
        yield place, Start(count, len(rest), int((first > late).sum()), float(np.median(first)) / late)


@cache
def _least_above(count: int) -> int:
    """Return how many of some first iterations must lie above a median, so that it is not chance."""
    return bisect.bisect_left(range(count + 2), True, key=lambda above: at_least(above, count, 0.5) <= CHANCE)


def _drift(seconds: Lists) -> Iterator[tuple[int, Drift]]:
    """Yield the launches with rising or falling medians of successive blocks, by Kendall's test."""
    medians = seconds.cut(_blocks(seconds.counts)).sorted().medians().reshape(len(seconds), BLOCKS)
    earlier, later = _PAIRS
    scores = np.abs(np.sign(medians[:, later] - medians[:, earlier]).sum(axis=1).astype(np.intp))
    for place in np.flatnonzero(scores >= _least_score()).tolist():
        change = float(medians[place, -1] / medians[place, 0] - 1)
        if abs(change) >= _DRIFT:
            yield place, Drift(int(seconds.counts[place]), change)


def _blocks(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lengths of `BLOCKS` parts of lists, which differ by 1 at most, (lists, blocks)."""
    size, longer = np.divmod(counts, BLOCKS)
    return np.asarray(size[:, None] + (np.arange(BLOCKS) < longer[:, None]))


@cache
def _least_score() -> int:
    """Return the score of the blocks from which their order is not chance."""
    return next(score for score in range(len(_PAIRS[0]) + 2) if _chance_of_order(score) <= CHANCE)


@cache
def _chance_of_order(score: int) -> float:
    """Return Kendall's p of a score of the blocks."""
    sigma = math.sqrt(BLOCKS * (BLOCKS - 1) * (2 * BLOCKS + 5) / 18)
    return math.erfc(max(score - 1, 0) / sigma / math.sqrt(2))
