"""Find slow parts of a system, and the common cause of slow pairs: a host's card or cable, or a switch.

A cause is a set of pairs of hosts. `parts` tests each cause as an effect that all its pairs share, in addition to the
scatter of single pairs. Median polish [1]_ fits all hosts at once; the rank sum of its pairs [2]_ tests an effect, with
one correction over all causes. `causes` groups single slow pairs. All counts are made once for all causes, because a
thousand hosts have a million pairs and more than a thousand causes.

References
----------
.. [1] J. W. Tukey, Exploratory Data Analysis, Addison-Wesley 1977 (median polish).
.. [2] M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical Methods, Wiley 2014, ch. 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.stats import shift

LEAST = 0.05  # by which the pairs of a part must be slower; an effect of many pairs is known better than one pair
CHANCE = 0.025  # of all tests of a measurement; the fit makes residuals smaller, so about twice as many err
FEWEST = 5  # hosts whose pairs are enough for a rank test
_ROUNDS, _SETTLED = 20, 1e-4  # of median polish: rounds, and the step that ends it
_COMPARED = 4000  # pairs that a part is compared with; of more, quantiles are
MOST = 0.8  # of the pairs of a host or a switch that are bad where it is to blame
ALONE = "this pair alone"


@dataclass(frozen=True)
class _Cause:
    """A part of the system that may be to blame.

    Parameters
    ----------
    name : in words.
    members : hosts of the part, (hosts,).
    inside : whether its pairs are those between members; else those of a member with another host.
    """

    name: str
    members: NDArray[np.bool_]
    inside: bool = False

    def count(self, between: NDArray[np.int64]) -> int:
        """Sum of a symmetric (hosts, hosts) matrix over its pairs, in both directions."""
        rows = between[self.members]
        within = rows[:, self.members]
        return int(within.sum() - np.trace(within)) if self.inside else 2 * int(rows.sum() - within.sum())

    def pairs(self, hosts: int) -> NDArray[np.bool_]:
        """Its pairs, (hosts, hosts)."""
        if self.inside:
            return np.outer(self.members, self.members) & ~np.eye(hosts, dtype=np.bool_)
        return np.asarray(self.members[:, None] != self.members[None, :])


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the system that is slow as a whole.

    Parameters
    ----------
    name : in words.
    members : its pairs, (hosts, hosts).
    pairs : number of pairs.
    excess, low, high : relative excess over other pairs of their kind, and the ends of its 95 % interval.
    """

    name: str
    members: NDArray[np.bool_]
    pairs: int
    excess: float
    low: float
    high: float


def parts(times: NDArray[np.float64], names: Sequence[str], switches: Mapping[str, str]) -> list[Part]:
    """Return the parts of a system that are slow as a whole: switches first, then hosts.

    Parameters
    ----------
    times : (hosts, hosts), symmetric, s; NaN where two hosts never met.
    names : names of the hosts.
    switches : host → its leaf switch, if known.

    Notes
    -----
    Pairs on one switch and pairs across switches take different paths, so each pair is compared with its own kind. The
    pairs of a switch are the pairs of all its hosts. Each host must show the effect; otherwise a host is slow, not the
    switch. The shift and its interval are Hodges and Lehmann's, of logarithms.
    """
    if len(names) < FEWEST:
        return []
    leaves = np.asarray([switches.get(name, "") for name in names])
    near = (leaves[:, None] == leaves[None, :]) & (leaves[:, None] != "")
    left = np.log(times)
    upper = np.triu(~np.isnan(left), 1)
    candidates = _candidates(names, switches)
    found = []
    for cause in candidates:
        if cause.members.sum() > 1:
            members: NDArray[np.bool_] = cause.pairs(len(names)) & ~np.isnan(left)
            rest = upper & ~members & (near == cause.inside)
            moved = _tested(left[upper & members], left[rest], len(candidates))
            if moved and _in_each(left, members, cause.members, float(np.median(left[rest])) + moved[0] / 2):
                found.append(_part(cause.name, members, moved))
                left = np.where(members, left - moved[0], left)
    effects, residuals = _polished(left, near)
    every = np.sort(residuals[upper])
    common = every[:: -(-len(every) // _COMPARED)] if len(every) > _COMPARED else None
    for cause in candidates:
        if cause.members.sum() == 1 and effects[host := int(cause.members.argmax())] > np.log1p(LEAST) / 2:
            members = cause.pairs(len(names)) & ~np.isnan(left)
            own = (residuals + effects[host])[host][members[host]]
            moved = _tested(own, residuals[upper & ~members] if common is None else common, len(candidates))
            if moved:
                found.append(_part(cause.name, members, moved))
    return found


def _tested(own: NDArray[np.float64], rest: NDArray[np.float64], tests: int) -> tuple[float, float, float] | None:
    """Return the shift from the rest to the pairs of a part, and the ends of its interval; None if it is none."""
    if min(len(own), len(rest)) < FEWEST - 2:
        return None
    if len(rest) > _COMPARED:
        rest = np.sort(rest)[:: -(-len(rest) // _COMPARED)]
    moved = shift.shift(rest, own)
    if moved[0] <= np.log1p(LEAST) or tests * shift.rank_sum_p(rest, own) / 2 > CHANCE:
        return None
    return moved


def _in_each(left: NDArray[np.float64], members: NDArray[np.bool_], hosts: NDArray[np.bool_], limit: float) -> bool:
    """Return whether the pairs of each host of a part are slow; a host without pairs is no exception."""
    return all(np.median(left[host][members[host]]) > limit for host in np.flatnonzero(hosts) if members[host].any())


def _part(name: str, members: NDArray[np.bool_], moved: tuple[float, float, float]) -> Part:
    """Return a part from the shift of the logarithms of its pairs."""
    centre, low, high = np.expm1(moved).tolist()
    return Part(name, members, int(members.sum()) // 2, centre, low, high)


def _polished(values: NDArray[np.float64], near: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the effect of each host, which is in all its pairs, and the residuals of the pairs."""
    effects, known = np.zeros(len(values)), ~np.isnan(values)
    met = known.any(axis=1)
    for _ in range(_ROUNDS):
        left = values - effects[:, None] - effects[None, :]
        for kind in (near, ~near):
            chosen = np.triu(kind & known, 1)
            if chosen.any():
                left[kind] -= np.median(left[chosen])
        step = np.zeros(len(values))
        step[met] = np.nanmedian(left[met], axis=1)
        step[met] -= np.median(step[met])
        if np.abs(step).max() < _SETTLED:
            break
        effects += step
    return effects, left


def causes(bad: NDArray[np.bool_], hosts: Sequence[str], switches: Mapping[str, str]) -> dict[tuple[int, int], str]:
    """Cause of each bad pair: the largest part of the system with mostly bad pairs.

    Parameters
    ----------
    bad : (ranks, ranks), symmetric.
    hosts : hosts of every rank.
    switches : host → its leaf switch, if known.
    """
    names, host_of = np.unique(np.asarray(hosts), return_inverse=True)
    every = np.outer(sizes := np.bincount(host_of), sizes)
    bad_pairs = _between(bad, host_of, len(names))
    left, why = bad_pairs.copy(), np.full(bad_pairs.shape, -1)
    candidates = _candidates(names.tolist(), switches)
    untried = np.ones(len(candidates), np.bool_)
    counts = _counts(candidates, left)
    while (untried & (counts > 2)).any():  # both directions of a pair count
        at = int(np.where(untried, counts, -1).argmax())
        cause, untried[at] = candidates[at], False
        if cause.count(bad_pairs) >= MOST * cause.count(every):
            pairs = cause.pairs(len(names))
            why[pairs & (left > 0)] = at
            left[pairs] = 0
            counts = _counts(candidates, left)
    words = [*(cause.name for cause in candidates), ALONE]
    one, other = np.nonzero(bad)
    which = why[host_of[one], host_of[other]]
    places = zip(one.tolist(), other.tolist(), which.tolist(), strict=True)
    return {(rank, partner): words[at] for rank, partner, at in places}


def _candidates(names: Sequence[str], switches: Mapping[str, str]) -> list[_Cause]:
    """Uplink and inside of every switch with several hosts, then every host."""
    leaves = np.asarray([switches.get(name, "") for name in names])
    known = sorted(set(leaves[leaves != ""].tolist()))
    candidates = []
    for leaf in known:
        members = leaves == leaf
        if members.sum() > 1:
            candidates += [
                _Cause(f"the uplink of switch {leaf}", members),
                _Cause(f"switch {leaf}", members, inside=True),
            ]
    if len(known) == 2 and len(candidates) > 2:  # the pairs between two switches cross both uplinks
        candidates[0] = _Cause(f"an uplink of switch {known[0]} or {known[1]}", candidates[0].members)
    if len(names) > 2:
        candidates += [
            _Cause(f"the card or cable of {name}", np.arange(len(names)) == place) for place, name in enumerate(names)
        ]
    return candidates


def _counts(candidates: Sequence[_Cause], between: NDArray[np.int64]) -> NDArray[np.int64]:
    """`_Cause.count` of each."""
    of_host = 2 * (between.sum(axis=1) - between.diagonal())
    hosts = len(between) if len(between) > 2 else 0
    rest = [cause.count(between) for cause in candidates[: len(candidates) - hosts]]
    return np.concatenate([np.array(rest, np.int64), of_host[:hosts]])


def _between(pairs: NDArray[np.bool_], host_of: NDArray[np.intp], hosts: int) -> NDArray[np.int64]:
    """Number of pairs of ranks between each two hosts, (hosts, hosts)."""
    one, other = np.nonzero(pairs)
    return np.bincount(host_of[one] * hosts + host_of[other], minlength=hosts**2).reshape(hosts, hosts)
