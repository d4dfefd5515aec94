"""Which pairs of ranks are slow, and what they have in common: a host's card or cable, a switch, or nothing.

The time of a pair is the median over its rounds. A pair is suspicious where its time lies above that of the middle
pair by more than the scatter between pairs explains (median absolute deviation, normal tails, all pairs at once), and
by at least `LEAST`. What is suspicious must be so again in a second measurement to be named: a disturbance that passes
is not a bad pair. Pairs of ranks on one host and pairs between hosts are judged apart, for their paths differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit.benchmarks.mpi.all_pairs import NOBODY, partners
from labkit.errors import DataError
from labkit.samples import Samples

ALPHA = 0.01  # chance that any pair of a healthy system is suspicious once, with normal scatter between pairs
LEAST = 0.1  # of the middle pair's time by which a bad pair exceeds it
MOST = 0.8  # of the pairs of a host or a switch that are bad where it is to blame
_MAD = 1.4826  # to the standard deviation of a normal distribution


@dataclass(frozen=True)
class Pairs:
    """The verdict on all pairs.

    Parameters
    ----------
    seconds : median one-way time, (ranks, ranks): measured by the row's rank, with the column's; NaN on the diagonal.
    table : a row for each bad pair: rank, other, host, other_host, latency_us, excess (of the middle pair), cause.
    passing : suspicious pairs that were not so again.
    sentence : what this says.
    """

    seconds: NDArray[np.float64]
    table: pd.DataFrame
    passing: int
    sentence: str


def matrix(samples: Samples) -> NDArray[np.float64]:
    """Median one-way time of every pair, (ranks, ranks), s; NaN where they never met.

    Raises
    ------
    DataError
        If the samples are of another benchmark, or do not tell which iteration was which round.
    """
    ranks, chunks = samples.spec.ranks, samples.meta.get("chunks")
    if samples.spec.benchmark != "mpi.all_pairs" or samples.time_ns.shape[0] != ranks:
        raise DataError(f"'{samples.spec}' with {samples.time_ns.shape[0]} rows has no pairs. Measure mpi.all_pairs.")
    if not chunks or sum(chunks) != samples.n:
        raise DataError(f"'{samples.spec}' has chunks {chunks}, but they must add up to {samples.n}. Measure it again.")
    schedule = partners(ranks)  # every chunk begins with the first round
    turns = np.concatenate([np.arange(count) for count in chunks]) % len(
        schedule
    )  # a chunk begins with the first round
    found = np.full((ranks, ranks), np.nan)
    for turn, row in enumerate(schedule):
        times = samples.seconds[:, turns == turn]
        for rank, other in enumerate(row):
            if other != NOBODY and times.shape[1]:
                found[rank, other] = np.median(times[rank]) / 2
    return found


def suspicious(seconds: NDArray[np.float64], hosts: Sequence[str]) -> NDArray[np.bool_]:
    """Pairs that are slower than scatter explains, (ranks, ranks), the same for both directions."""
    both = (seconds + seconds.T) / 2
    names = np.asarray(hosts)
    near = names[:, None] == names[None, :]
    upper = np.triu(np.ones_like(near), 1) & ~np.isnan(both)
    found = np.zeros_like(near)
    for kind in (near, ~near):
        chosen = upper & kind
        times = both[chosen]
        if times.size < 3:
            continue
        middle = float(np.median(times))
        scatter = _MAD * float(np.median(np.abs(times - middle)))
        limit = NormalDist().inv_cdf(1 - ALPHA / int(upper.sum()))
        found[chosen] = times > max(middle + limit * scatter, middle * (1 + LEAST))
    return np.asarray(found | found.T, np.bool_)


def bad_pairs(first: Samples, again: Samples, switches: Mapping[str, str] | None = None) -> Pairs:
    """Name the pairs that were slow twice, and whose fault it is.

    Parameters
    ----------
    first, again : two launches of the same point of `mpi.all_pairs`.
    switches : host → its leaf switch, where that is known.

    Raises
    ------
    DataError
        If the two are not of the same point.
    """
    if first.spec != again.spec:
        raise DataError(f"'{first.spec}' and '{again.spec}' differ. Take two launches of the same point.")
    hosts = list(first.meta.get("rank_hosts") or [f"rank {rank}" for rank in range(first.spec.ranks)])
    once, twice = matrix(first), matrix(again)
    before, now = suspicious(once, hosts), suspicious(twice, hosts)
    bad = before & now
    seconds = (once + twice) / 2
    causes = _causes(bad, hosts, switches or {})
    names, rows = np.asarray(hosts), []
    for rank, other in np.argwhere(np.triu(bad)):
        kind = (names[:, None] == names[None, :]) == (hosts[rank] == hosts[other])
        middle = float(np.nanmedian(seconds[kind]))
        time = float(np.nanmean([seconds[rank, other], seconds[other, rank]]))
        rows.append(
            (int(rank), int(other), hosts[rank], hosts[other], time * 1e6, time / middle - 1, causes[rank, other])
        )
    columns = ["rank", "other", "host", "other_host", "latency_us", "excess", "cause"]
    table = pd.DataFrame(rows, columns=columns)
    passing = int(np.triu(before & ~now).sum())
    return Pairs(seconds, table, passing, _sentence(table, passing, int(np.triu(~np.isnan(seconds), 1).sum())))


def _causes(bad: NDArray[np.bool_], hosts: Sequence[str], switches: Mapping[str, str]) -> dict[tuple[int, int], str]:
    """What explains each bad pair: the largest part of the system of whose pairs most are bad."""
    names = np.asarray(hosts)
    leaves = np.asarray([switches.get(host, "") for host in hosts])
    apart = names[:, None] != names[None, :]
    found: dict[tuple[int, int], str] = {}

    def blame(pairs: NDArray[np.bool_], cause: str) -> None:
        if pairs.any() and (bad & pairs).sum() >= MOST * pairs.sum():
            for rank, other in np.argwhere(bad & pairs):
                found.setdefault((int(rank), int(other)), cause)

    for leaf in sorted(set(leaves[leaves != ""].tolist())):
        own = leaves == leaf
        if len(set(names[own].tolist())) > 1:
            blame(own[:, None] != own[None, :], f"the uplink of switch {leaf}")
            blame((own[:, None] & own[None, :]) & apart, f"switch {leaf}")
    for host in sorted(set(hosts)) if len(set(hosts)) > 2 else []:
        own = names == host
        blame(own[:, None] != own[None, :], f"the card or cable of {host}")
    for rank, other in np.argwhere(bad):
        found.setdefault((int(rank), int(other)), "this pair alone")
    return found


def _sentence(table: pd.DataFrame, passing: int, pairs: int) -> str:
    """What a reader needs to know."""
    rest = f" {passing} more were slow the first time only." if passing else ""
    sure = (
        f" On a healthy system whose pairs scatter normally a pair is suspicious in one measurement of "
        f"about {1 / ALPHA:.0f}, and twice by chance in one of about {round(pairs / ALPHA**2):,}."
    )
    if table.empty:
        return f"None of {pairs} pairs was slow twice.{rest}{sure}"
    said = [
        f"{cause} explains {len(rows)} slow pairs, by {rows['excess'].median():.0%} (median)".replace("%", " %")
        if cause != "this pair alone"
        else f"{len(rows)} pairs are slow by themselves: "
        + ", ".join(f"{row.host} and {row.other_host}" for row in rows.itertuples())
        for cause, rows in table.groupby("cause", sort=False)
    ]
    return f"{len(table)} of {pairs} pairs were slow twice: {'; '.join(said)}.{rest}{sure}"
