"""Find the rank of a collective that delayed the others, from the times of all ranks in every iteration.

Clocks of ranks are never compared, so only durations are known. A late rank has a short time: it finds the others'
messages waiting and leaves at once, while they wait for it. The effect of a slow rank on the times depends on who waits
for whom:

=================================  =======================================================
rank k enters late                 long for all that wait for it, but not for itself
rank k is slow before it sends     long for itself and all that wait for it
rank k is slow after it has sent   long for itself alone
=================================  =======================================================

A slow iteration counts against a rank only if that rank alone explains which ranks took long. All other slow iterations
are undecided: if all ranks wait for one another and take equally long, the times cannot show the cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import DataError
from labkit.options.ranks import Root, Rotate, Timing
from labkit.point.spec import Spec, has
from labkit.point.units import format_number, format_share, plural
from labkit.stats import across_ranks
from labkit.stats.shift import holm
from labkit.store.samples import Samples

ALPHA = 0.01  # chance that any rank of a healthy job is named
SHARE = 0.02  # of the iterations a rank must spoil to be named
_SMALL = 1024  # B up to which a sender need not wait for the receiver
_LEVELS = 16  # of the size of a slow iteration in the test
_EVERY = 10  # "too few" means: a rank slow in each tenth iteration could be missed

Runs = tuple[int, int, int, int]  # a set of ranks: start and end of one run of them, and of another
Waits = Callable[[int, int, int], list[tuple[int, int]]]  # rank, root, ranks: those that wait for the rank, as runs


def _everybody(rank: int, root: int, ranks: int) -> list[tuple[int, int]]:
    return [(0, rank), (rank + 1, ranks)]


def _from_root(rank: int, root: int, ranks: int) -> list[tuple[int, int]]:
    return _everybody(rank, root, ranks) if rank == root else []


def _to_root(rank: int, root: int, ranks: int) -> list[tuple[int, int]]:
    return [(root, root + 1)] if rank != root else []


def _later(rank: int, root: int, ranks: int) -> list[tuple[int, int]]:
    return [(rank + 1, ranks)]


# by MPI's definition: whose result needs the rank's data; with larger messages everybody may wait for everybody
WAITS: dict[str, Waits] = {
    **dict.fromkeys(("barrier", "allreduce", "reduce_scatter", "reduce_scatter_block"), _everybody),
    **dict.fromkeys(("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"), _everybody),
    **dict.fromkeys(("bcast", "scatter", "scatterv"), _from_root),
    **dict.fromkeys(("reduce", "gather", "gatherv"), _to_root),
    **dict.fromkeys(("scan", "exscan"), _later),
}


@dataclass(frozen=True)
class SlowRanks:
    """The verdict on the ranks of one launch.

    Parameters
    ----------
    table : a row per rank: rank, slow_iterations (it was slow in), share (of all iterations), excess_us_p50 (median of
        what such an iteration took longer), confidence (that this is not chance, after correction for all ranks), slow
        (named: confident, in enough iterations, and for at least half of the time lost, or twice its fair share).
    iterations : number of examined iterations.
    undecided : slow iterations that no single rank explains.
    enough : whether a rank slow in every tenth iteration would have been found.
    sentence : the result in words.
    """

    table: pd.DataFrame
    iterations: int
    undecided: int
    enough: bool
    sentence: str


def collective(benchmark: str) -> str:
    """Blocking name of a collective in any of its forms: ``mpi.iallreduce`` is ``allreduce``."""
    name = benchmark.removeprefix("mpi.").removesuffix("_persistent")
    return name if name in WAITS else name.removeprefix("i")


def slow_ranks(samples: Samples) -> SlowRanks:
    """Find the ranks that were slow in some iterations, from the times of all ranks.

    Parameters
    ----------
    samples : samples of one launch of a collective: a time of every rank in every iteration, or statistics over all
        ranks.

    Raises
    ------
    DataError
        If the benchmark is not a collective whose ranks wait as MPI defines, or the times of some rank are missing.
    """
    _check(samples)
    columns, ranks = _columns(samples), samples.spec.ranks
    iterations = len(columns["slowest"])
    owner = _owners(columns, _explanations(samples.spec))
    table = _table(owner, columns["excess"], holm(_p_values(owner, columns["excess"], ranks)))
    enough = iterations >= _EVERY * _needed(ranks)
    undecided = int((owner == -1).sum())
    sentence = _sentence(table, iterations, undecided, enough, ranks)
    return SlowRanks(table, iterations, undecided, enough, sentence)


def _check(samples: Samples) -> None:
    """Refuse what cannot be read this way."""
    spec, given = samples.spec, samples.spec.options
    whole = has(given, Timing) and given.timing == "total"
    rotates = has(given, Rotate) and given.rotate
    wrong = ""
    if collective(spec.benchmark) not in WAITS:
        wrong = f"is not a collective in which ranks wait for one another in a known way ({', '.join(WAITS)})"
    elif (len(samples.over.ranks) if samples.over else len(samples.time_ns)) != max(spec.ranks, 2) or not samples.n:
        wrong = f"has times of shape {samples.time_ns.shape}, but it needs those of {max(spec.ranks, 2)} ranks"
    elif whole or benchmarks.threads(spec) > 1 or rotates:
        wrong = "was measured with timing=total, threads or rotate, but each time must be of one rank, iteration, root"
    if wrong:
        raise DataError(f"'{spec}' {wrong}. Measure a collective with its defaults, such as mpi.allreduce.")


def _columns(samples: Samples) -> Mapping[str, NDArray[np.int64]]:
    """Statistics of each iteration over ranks: those that were kept, or worked out from every time."""
    if samples.over:
        return samples.over.of_iteration
    typical = np.median(samples.time_ns, axis=1).astype(np.int64)
    return across_ranks.columns(samples.time_ns, typical)


def _explanations(spec: Spec) -> list[dict[Runs, int]]:
    """Map each set of ranks that took long to the rank that alone explains it; the likelier kinds of cause first.

    A set that several ranks explain equally well has -1.
    """
    root = spec.options.root if has(spec.options, Root) else 0
    kinds = {WAITS[collective(spec.benchmark)], *([_everybody] if spec.size > _SMALL else [])}
    likely: dict[Runs, int] = {}
    alone: dict[Runs, int] = {}
    for rank in range(spec.ranks):
        itself = (rank, rank + 1)
        sets = {
            _runs(runs)
            for waits in kinds
            for others in [waits(rank, root, spec.ranks)]
            for runs in (others, [*others, itself])
        }
        for runs in sets:
            likely[runs] = -1 if runs in likely else rank
        alone[_runs([itself])] = rank
    return [likely, alone]


def _runs(parts: list[tuple[int, int]]) -> Runs:
    """A set of ranks as two runs at most, from parts that do not overlap; the form of `over_ranks.runs`."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(part for part in parts if part[0] < part[1]):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    first, second = [*joined, (0, 0), (0, 0)][:2]
    return (*first, *second)


def _owners(columns: Mapping[str, NDArray[np.int64]], explanations: list[dict[Runs, int]]) -> NDArray[np.int64]:
    """Rank that explains each iteration (-1: slow, undecided; -2: not slow), (iterations,).

    Slow is what exceeds the usual time by more than the mean iteration takes; long is more than half the excess.
    """
    owner = np.full(len(columns["excess"]), -2)
    slow = np.flatnonzero(columns["excess"] > columns["slowest"].mean())
    long = np.stack([columns[name][slow] for name in across_ranks.RUNS], axis=1)
    for i, runs in zip(slow.tolist(), map(tuple, long.tolist()), strict=True):
        owner[i] = next((rank_of[runs] for rank_of in explanations if runs in rank_of), -1)
    return owner


def _table(owner: NDArray[np.int64], excess: NDArray[np.int64], p_values: list[float]) -> pd.DataFrame:
    """`SlowRanks.table` from the rank and the excess of each iteration, ns, and the p value of each rank."""
    ranks, decided = len(p_values), owner >= 0
    groups = pd.Series(excess[decided]).groupby(owner[decided])
    everyone = range(ranks)
    number = groups.size().reindex(everyone, fill_value=0).to_numpy()
    caused = groups.sum().reindex(everyone, fill_value=0).to_numpy() >= min(0.5, 2 / ranks) * excess[decided].sum()
    share, p = number / len(owner), np.array(p_values)
    return pd.DataFrame(
        {
            "rank": everyone,
            "slow_iterations": number,
            "share": share,
            "excess_us_p50": groups.median().reindex(everyone).to_numpy(np.float64) / 1e3,
            "confidence": 1 - p,
            "slow": (p <= ALPHA) & (share >= SHARE) & caused,
        }
    )


def _p_values(owner: NDArray[np.int64], size: NDArray[np.int64], ranks: int) -> list[float]:
    """P value of each rank: chance of its number and size of slow iterations if each falls on any rank alike.

    A signed-rank test: an iteration weighs as much as the square of its place among the excesses, in `_LEVELS` steps.
    Neighbouring iterations of the same rank count once, for disturbances last.
    """
    at = np.flatnonzero(owner >= 0)
    if not at.size:
        return [1.0] * ranks
    first = np.concatenate(([True], (np.diff(at) > 1) | (np.diff(owner[at]) != 0)))
    largest, owners = np.maximum.reduceat(size[at], np.flatnonzero(first)), owner[at][first]
    place = np.argsort(np.argsort(largest)) + 1
    weight = np.ceil(place * min(_LEVELS, len(place)) / len(place)).astype(np.int64) ** 2
    reached = np.bincount(owners, weights=weight, minlength=ranks).astype(np.int64)
    tail = _tail(weight, 1 / ranks)
    return [float(tail[weights]) for weights in reached]


def _tail(weight: NDArray[np.int64], each: float) -> NDArray[np.float64]:
    """P(sum of the weights drawn, each with probability `each`, is at least k), for every k.

    By the characteristic function of the sum, which is a product over the weights.
    """
    total = int(weight.sum()) + 1
    turn = -2j * np.pi * np.arange(total // 2 + 1) / total
    spectrum = np.ones(len(turn), np.complex128)
    for size, count in zip(*np.unique(weight, return_counts=True), strict=True):
        spectrum *= (1 - each + each * np.exp(turn * size)) ** count
    chance = np.fft.irfft(spectrum, total).clip(0)
    tail: NDArray[np.float64] = np.minimum(chance[::-1].cumsum()[::-1], 1.0)
    return tail


def _needed(ranks: int) -> int:
    """Slow iterations of one rank that suffice when no other rank has any."""
    return math.ceil(math.log(ALPHA / ranks) / math.log(1 / ranks))


def _sentence(table: pd.DataFrame, iterations: int, undecided: int, enough: bool, ranks: int) -> str:
    """What a reader needs to know."""
    rest = (
        f" In {plural(undecided, 'more slow iteration')} no rank, or more than one, fits the times."
        if undecided
        else ""
    )
    if named := [row for row in table.itertuples() if row.slow]:
        sentences = [
            f"Rank {row.rank} was slow in {row.slow_iterations} of {iterations} iterations "
            f"({format_share(row.share)}), by {format_number(row.excess_us_p50, 'µs')} (median), with "
            f"{format_share(min(row.confidence, 0.9999), digits=4)} confidence."
            for row in named
        ]
        return " ".join(sentences) + rest
    if not enough:
        return (
            f"From {plural(iterations, 'iteration')} it is not known which of {ranks} ranks is slow. To find one slow "
            "in "
            f"every tenth, {_EVERY * _needed(ranks)} are needed.{rest}"
        )
    return (
        f"No rank was slow more often than chance explains ({plural(iterations, 'iteration')}, {ranks} ranks)." + rest
    )
