"""Find slow pairs of ranks and their common cause: a host's card or cable, a switch, or none.

Parts of the system are tested first: a host, or a switch, is named if all its pairs together are slower than the other
pairs (`pair_causes.parts`) in both of two measurements. Its effect is then removed from its pairs, and single pairs are
judged by the remainder.

The time of a pair is the median over its rounds. A pair is suspicious if the lower end of this median's interval
exceeds the middle pair's time by more than the scatter between pairs explains, and by at least `LEAST`. The scatter is
the median absolute deviation, with normal tails and all pairs at once. With the lower end, a pair that met too seldom
is not blamed. With few hosts, one bad host accounts for half of the pairs. Therefore the middle and the scatter exclude
a host without which the middle pair is faster by `LEAST`. A pair is bad if it is suspicious in a second measurement
too, because a disturbance may pass. Pairs on one host and pairs between hosts take different paths and are judged
separately.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.benchmarks.mpi.all_pairs import NOBODY, partners
from labkit.errors import DataError
from labkit.judge.pair_causes import Part, causes, parts
from labkit.store.samples import Samples
from labkit.store.samples.facts import RANK_HOSTS

SIMULATED = (
    "A simulated measurement divides every pair's times by their median and draws them anew in blocks. What differs "
    "from start to start is not in it."
)
BENCHMARK = "mpi.all_pairs"
ALPHA = 0.01  # chance that any pair of a healthy system is suspicious once, with normal scatter between pairs
LEAST = 0.1  # of the middle pair's time by which a bad pair exceeds it
_DRAWS, _FEWEST, _DRAWN = 400, 8, 60_000_000  # simulated measurements; times drawn in all of them
_MAD = 1.4826  # to the standard deviation of a normal distribution


@dataclass(frozen=True)
class Twice:
    """Common findings of two measurements of all pairs.

    Parameters
    ----------
    seconds : median one-way time, (ranks, ranks): measured by the row's rank with the column's rank; NaN on the
        diagonal.
    parts : hosts and switches that are slow as a whole.
    of_parts : pairs of ranks of these parts, and the first part of each pair.
    table : a row for each bad pair that is slower than its parts explain: rank, other, host, other_host, latency_us,
        excess (over the middle pair, without the effects of parts), cause.
    passing : pairs that were suspicious in one measurement only.
    unjudged : pairs that met less than six times in a measurement.
    """

    seconds: NDArray[np.float64]
    parts: tuple[Part, ...]
    of_parts: Mapping[tuple[int, int], str]
    table: pd.DataFrame
    passing: int
    unjudged: int

    @property
    def pairs(self) -> int:
        """How many pairs were measured."""
        return int(np.triu(~np.isnan(self.seconds), 1).sum())


@dataclass(frozen=True)
class FalseAlarms:
    """How often healthy systems would be suspected.

    Parameters
    ----------
    draws : simulated measurements.
    once : measurements with a suspicious pair.
    named : pairs of measurements in which the same host was named in both.
    sentence : what this says.
    """

    draws: int
    once: int
    named: int
    sentence: str


def matrix(samples: Samples, *, low: bool = False) -> NDArray[np.float64]:
    """Median one-way time of every pair, (ranks, ranks), s; NaN if they never met.

    Parameters
    ----------
    low : the lower end of the median's 95 % rank interval instead; NaN if they met less than six times.

    Raises
    ------
    DataError
        If the samples are of another benchmark.
    """
    times, schedule = _rounds(samples)
    by_turn = [_of_rounds(times[:, turn :: len(schedule)], low) / 2 for turn in range(len(schedule))]
    return _by_partner(np.array(by_turn), schedule)


def _by_partner(values: NDArray[np.float64], schedule: NDArray[np.int32]) -> NDArray[np.float64]:
    """Values of (rounds, ranks) at the place of each rank and its partner, (ranks, ranks); NaN on the diagonal."""
    by_pair = np.full((schedule.shape[1],) * 2, np.nan)
    turns, ranks = np.nonzero(schedule != NOBODY)
    by_pair[ranks, schedule[turns, ranks]] = values[turns, ranks]
    return by_pair


def _of_rounds(times: NDArray[np.float64], low: bool) -> NDArray[np.float64]:
    """Median over the last axis, or the lower end of its interval."""
    count = times.shape[-1]
    ends = stats.ranks(count) if low else None
    if not count or (low and ends is None):
        return np.full(times.shape[:-1], np.nan)
    return np.asarray(np.sort(times)[..., ends[0] - 1] if ends else np.median(times, axis=-1), np.float64)


def _rounds(samples: Samples) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Round trips, (ranks, iterations), s, and who met whom, (rounds, ranks), which are gone through in turn.

    Raises
    ------
    DataError
        If the samples are of another benchmark.
    """
    ranks = samples.spec.ranks
    if samples.spec.benchmark != BENCHMARK or samples.time_ns.shape[0] != ranks:
        raise DataError(f"'{samples.spec}' with {samples.time_ns.shape[0]} rows has no pairs. Measure mpi.all_pairs.")
    return samples.seconds, partners(ranks)


def hosts_of(samples: Samples) -> list[str]:
    """Host of every rank; the rank itself if its host is unknown."""
    return list(RANK_HOSTS.of(samples.meta) or [f"rank {rank}" for rank in range(samples.spec.ranks)])


def suspicious(
    seconds: NDArray[np.float64], hosts: Sequence[str], low: NDArray[np.float64] | None = None
) -> NDArray[np.bool_]:
    """Pairs that are slower than scatter explains, (ranks, ranks), the same for both directions.

    Parameters
    ----------
    seconds : from `matrix`.
    low : lower ends of its intervals (default: the medians themselves).
    """
    both = (seconds + seconds.T) / 2
    tested = both if low is None else (low + low.T) / 2
    names = np.asarray(hosts)
    near = names[:, None] == names[None, :]
    upper = np.triu(np.ones_like(near), 1) & ~np.isnan(both)
    slow = np.zeros_like(near)
    for kind in (near, ~near):
        chosen = upper & kind
        if chosen.sum() >= 3:
            slow[chosen] = tested[chosen] > _limit(both, chosen, names, int(upper.sum()))
    return np.asarray(slow | slow.T, np.bool_)


def limits(seconds: NDArray[np.float64], hosts: Sequence[str]) -> tuple[float, float]:
    """Time of the middle pair and the time above which a pair is suspicious, s; between hosts if there are several."""
    both, names = (seconds + seconds.T) / 2, np.asarray(hosts)
    upper = np.triu(np.ones(both.shape, np.bool_), 1) & ~np.isnan(both)
    apart = upper & (names[:, None] != names[None, :])
    chosen = apart if apart.any() else upper
    middle, _ = _middle(both, chosen, names)
    return middle, _limit(both, chosen, names, int(upper.sum())) if chosen.sum() >= 3 else float("nan")


def _limit(both: NDArray[np.float64], chosen: NDArray[np.bool_], names: NDArray[np.str_], pairs: int) -> float:
    """Time above which a pair is suspicious, s."""
    middle, scatter = _middle(both, chosen, names)
    return max(middle - NormalDist().inv_cdf(ALPHA / pairs) * scatter, middle * (1 + LEAST))


def _middle(both: NDArray[np.float64], chosen: NDArray[np.bool_], names: NDArray[np.str_]) -> tuple[float, float]:
    """Median of the chosen pairs and their scatter, s; without the one host that spoils them, if there is one."""
    times = both[chosen]
    middle = float(np.median(times))
    for host in _spoilers(both * (1 + LEAST) < middle, chosen, names):
        kept = names != host
        rest = both[chosen & kept[:, None] & kept[None, :]]
        if rest.size >= 3 and np.median(rest) * (1 + LEAST) < middle:
            times = min(times, rest, key=lambda group: float(np.median(group)))
    middle = float(np.median(times))
    return middle, _MAD * float(np.median(np.abs(times - middle)))


def _spoilers(fast: NDArray[np.bool_], chosen: NDArray[np.bool_], names: NDArray[np.str_]) -> list[str]:
    """Hosts without which at least half of the chosen pairs are fast: only without these can the median be."""
    hosts, host_of = np.unique(names, return_inverse=True)
    one, other = (host_of[rank] for rank in np.nonzero(chosen))
    below = fast[chosen]

    def with_host(pairs: NDArray[np.bool_]) -> NDArray[np.int64]:
        ends = np.bincount(one[pairs], minlength=len(hosts)) + np.bincount(other[pairs], minlength=len(hosts))
        return ends - np.bincount(one[pairs & (one == other)], minlength=len(hosts))

    left = len(below) - with_host(np.ones(len(below), np.bool_))
    left_below = int(below.sum()) - with_host(below)
    spoilers = set(hosts[2 * left_below >= left].tolist())
    return [host for host in dict.fromkeys(names.tolist()) if host in spoilers]


def slow_parts(
    matrices: Sequence[NDArray[np.float64]], hosts: Sequence[str], switches: Mapping[str, str] | None = None
) -> list[Part]:
    """Return the hosts and switches that are slow as a whole in each of several measurements.

    Parameters
    ----------
    matrices : from `matrix`, one per measurement; effects come from their geometric mean.
    hosts : hosts of every rank.
    switches : host → its leaf switch, if known.
    """
    tables = [_between_hosts(one, hosts) for one in matrices]
    names, known = np.unique(np.asarray(hosts)).tolist(), switches or {}
    found = parts(np.exp(np.mean(np.log(tables), axis=0)), names, known)
    if len(tables) > 1 and found:
        everywhere = set.intersection(*({part.name for part in parts(one, names, known)} for one in tables))
        found = [part for part in found if part.name in everywhere]
    return found


def _between_hosts(seconds: NDArray[np.float64], hosts: Sequence[str]) -> NDArray[np.float64]:
    """Return the median over the pairs of ranks on each two hosts, (hosts, hosts); NaN on the diagonal."""
    names, host_of = np.unique(np.asarray(hosts), return_inverse=True)
    both, count = (seconds + seconds.T) / 2, len(names)
    if count == len(hosts):
        table = both[np.ix_(order := np.argsort(host_of), order)]
        return np.where(table > 0, table, np.nan)
    groups = (host_of[:, None] * count + host_of[None, :]).ravel()
    table = stats.medians(both.ravel(), groups, count**2).reshape(count, count)
    return np.where((table > 0) & ~np.eye(count, dtype=np.bool_), table, np.nan)


def _factors(found: Sequence[Part], hosts: Sequence[str]) -> NDArray[np.float64]:
    """Return by how much the slow parts multiply the time of each pair, (ranks, ranks)."""
    _, host_of = np.unique(np.asarray(hosts), return_inverse=True)
    factors = np.ones((len(hosts), len(hosts)))
    for part in found:
        factors[part.members[np.ix_(host_of, host_of)]] *= 1 + part.excess
    return factors


def of_parts(found: Sequence[Part], hosts: Sequence[str]) -> dict[tuple[int, int], str]:
    """Return the pairs of ranks of slow parts, the lower rank first, and the first part that each belongs to."""
    _, host_of = np.unique(np.asarray(hosts), return_inverse=True)
    pairs: dict[tuple[int, int], str] = {}
    for part in found:
        for rank, other in np.argwhere(np.triu(part.members[np.ix_(host_of, host_of)])).tolist():
            pairs.setdefault((rank, other), part.name)
    return pairs


def judged_once(samples: Samples, switches: Mapping[str, str] | None = None) -> tuple[list[Part], NDArray[np.bool_]]:
    """Return the slow parts in one measurement, and the other suspicious pairs, (ranks, ranks)."""
    hosts, seconds = hosts_of(samples), matrix(samples)
    found = slow_parts([seconds], hosts, switches)
    factors = _factors(found, hosts)
    return found, suspicious(seconds / factors, hosts, matrix(samples, low=True) / factors)


def bad_pairs(first: Samples, again: Samples, switches: Mapping[str, str] | None = None) -> Twice:
    """Return the hosts, switches and pairs that were slow twice, and their common cause.

    Parameters
    ----------
    first, again : two launches of the same point of `mpi.all_pairs`.
    switches : host → its leaf switch, if known.

    Raises
    ------
    DataError
        If the two are not of the same point.
    """
    if first.spec != again.spec:
        raise DataError(f"'{first.spec}' and '{again.spec}' differ. Take two launches of the same point.")
    hosts = hosts_of(first)
    once, twice = matrix(first), matrix(again)
    found = slow_parts([once, twice], hosts, switches)
    factors, explained = _factors(found, hosts), of_parts(found, hosts)
    low = [matrix(one, low=True) for one in (first, again)]
    before = suspicious(once / factors, hosts, low[0] / factors)
    now = suspicious(twice / factors, hosts, low[1] / factors)
    bad = before & now
    seconds = (once + twice) / 2
    table = _table(bad, seconds, factors, hosts, causes(bad, hosts, switches or {}))
    passing = int(np.triu(before & ~now).sum())
    unjudged = int(np.triu(np.isnan(low[0] + low[1]), 1).sum())
    return Twice(seconds, tuple(found), explained, table, passing, unjudged)


def _table(
    bad: NDArray[np.bool_],
    seconds: NDArray[np.float64],
    factors: NDArray[np.float64],
    hosts: Sequence[str],
    cause_of: Mapping[tuple[int, int], str],
) -> pd.DataFrame:
    """`Twice.table` from the bad pairs, the times of all, `_factors`, and the cause of each bad pair."""
    names, measured = np.asarray(hosts), (seconds + seconds.T) / 2
    both = measured / factors
    near = names[:, None] == names[None, :]
    middles = {}
    for kind in {bool(near[pair]) for pair in map(tuple, np.argwhere(bad))}:
        middles[kind] = _middle(both, np.triu(near == kind, 1) & ~np.isnan(seconds), names)[0]
    rows = []
    for rank, other in np.argwhere(np.triu(bad)).tolist():
        excess = float(both[rank, other]) / middles[hosts[rank] == hosts[other]] - 1
        time_us = 1e6 * float(measured[rank, other])
        rows.append((rank, other, hosts[rank], hosts[other], time_us, excess, cause_of[rank, other]))
    return pd.DataFrame(rows, columns=["rank", "other", "host", "other_host", "latency_us", "excess", "cause"])


def effects(seconds: NDArray[np.float64], hosts: Sequence[str], switches: Mapping[str, str]) -> pd.DataFrame:
    """Excess of the parts of the matrix over the middle pair.

    A rank's row holds the times that it measured, its column those that its partners measured with it. A slow card or
    cable shows in row and column, a busy processor mainly in the row, and a slow switch as a block. Times of the lower
    and the higher rank of a pair are compared separately.

    Parameters
    ----------
    seconds : (ranks, ranks), s, as `matrix` gives them.
    switches : host → its leaf switch, if known.

    Returns
    -------
    A row for each part: effect (row, column, inside a switch, across an uplink), part, pairs, excess (median over the
    part, relative to the middle pair).
    """
    names, ranks = np.asarray(hosts), len(hosts)
    leaves = np.asarray([switches.get(host, "") for host in hosts])
    wanted = ~np.isnan(seconds) & ((names[:, None] != names[None, :]) | (len(set(hosts)) == 1))
    excess = np.full(seconds.shape, np.nan)
    for half in (np.triu(wanted), np.tril(wanted)):  # the lower rank goes first in a round, which may cost another time
        excess[half] = seconds[half] / _middle(seconds, half, names)[0] - 1
    excess = np.where(wanted, excess, np.nan)
    parts: list[tuple[str, str, NDArray[np.float64]]] = []
    for rank in range(ranks):
        name = f"rank {rank} on {hosts[rank]}"
        parts += [("row", name, excess[rank]), ("column", name, excess[:, rank])]
    for leaf in sorted(set(leaves[leaves != ""].tolist())):
        member = leaves == leaf
        across = [excess[member][:, ~member].ravel(), excess[~member][:, member].ravel()]
        parts += [
            ("inside a switch", leaf, excess[member][:, member].ravel()),
            ("across an uplink", leaf, np.concatenate(across)),
        ]
    known = [(effect, part, values[~np.isnan(values)]) for effect, part, values in parts]
    rows = [(effect, part, len(values), float(np.median(values))) for effect, part, values in known if len(values)]
    return pd.DataFrame(rows, columns=["effect", "part", "pairs", "excess"])


def false_alarms(samples: Samples, draws: int = 0) -> FalseAlarms:
    """Simulate healthy systems with the real scatter of a measurement, and count how often the rule finds something.

    The times of every pair are divided by their median, so that all pairs are equally fast, and resampled in blocks of
    neighbouring rounds. Differences between starts of the ranks are not included.

    Parameters
    ----------
    samples : one launch of `mpi.all_pairs`.
    draws : measurements to simulate, an even number. 0 means 400, or fewer if there are many pairs.

    Raises
    ------
    DataError
        If the samples are of another benchmark, a pair met less than six times, or its median time is zero.
    """
    times, schedule = _rounds(samples)
    hosts = hosts_of(samples)
    count = times.shape[1] // len(schedule)
    if count < 6:
        raise DataError(f"Each pair met {count} times, but the test needs at least 6. Measure longer: raise time_cap.")
    draws = draws or max(_FEWEST, min(_DRAWS, _DRAWN // times.size // 2 * 2))
    relative = times[:, : count * len(schedule)].reshape(len(times), count, len(schedule)).transpose(1, 2, 0)
    middles = np.median(relative, axis=0)
    if not (middles > 0).all():
        raise DataError("A pair has a median time of zero, so scatter cannot be judged. Use a longer message.")
    relative = np.ascontiguousarray(relative / middles)  # (meetings, rounds, ranks)
    low = (stats.ranks(count) or (1, 1))[0] - 1
    generator, length = np.random.default_rng(1), max(1, round(count ** (1 / 3)))
    alarms, named = [], []
    for _ in range(draws):
        starts = generator.integers(0, count, -(-count // length))
        at = ((starts[:, None] + np.arange(length)) % count).ravel()[:count]
        drawn = np.sort(relative[at], axis=0)
        middle = (drawn[(count - 1) // 2] + drawn[count // 2]) / 2
        seconds = _by_partner(middle, schedule)
        alarms.append(suspicious(seconds, hosts, _by_partner(drawn[low], schedule)))
        named.append({part.name for part in slow_parts([seconds], hosts)})
    once = sum(bool(one.any()) for one in alarms)
    twice = sum(bool((one & other).any()) for one, other in zip(alarms[::2], alarms[1::2], strict=True))
    hosts_twice = sum(bool(one & other) for one, other in zip(named[::2], named[1::2], strict=True))
    sentence = (
        f"In {draws} simulated measurements of a healthy system with the scatter of this one, a pair was suspicious in "
        f"{once}, the same pair twice in {twice} of {draws // 2}, and the same host in {hosts_twice}."
    )
    return FalseAlarms(draws, once, hosts_twice, sentence)
