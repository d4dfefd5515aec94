"""What bad pairs have in common: a host's card or cable, the uplink or the inside of a switch, or nothing.

A cause is a set of pairs of hosts. Everything is counted between hosts, once for all causes: a thousand hosts have a
million pairs and more than a thousand causes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        """Sum over its pairs, both directions, of a symmetric (hosts, hosts)."""
        rows = between[self.members]
        within = rows[:, self.members]
        return int(within.sum() - np.trace(within)) if self.inside else 2 * int(rows.sum() - within.sum())

    def pairs(self, hosts: int) -> NDArray[np.bool_]:
        """Its pairs, (hosts, hosts)."""
        if self.inside:
            return np.outer(self.members, self.members) & ~np.eye(hosts, dtype=np.bool_)
        return np.asarray(self.members[:, None] != self.members[None, :])


def causes(bad: NDArray[np.bool_], hosts: Sequence[str], switches: Mapping[str, str]) -> dict[tuple[int, int], str]:
    """Cause of each bad pair: the largest part of the system most of whose pairs are bad.

    Parameters
    ----------
    bad : (ranks, ranks), symmetric.
    hosts : of every rank.
    switches : host → its leaf switch, where that is known.
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
