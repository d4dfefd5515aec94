"""Find which hosts and pairs of hosts a campaign measured, and which demanded ones are missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TypeVar

import numpy as np

from labkit.judge import all_pairs
from labkit.point import host_list
from labkit.point.units import plural
from labkit.read.records import per_rank
from labkit.store.samples import Samples
from labkit.store.samples.facts import ALLOCATION, FINGERPRINT, RANK_HOSTS

Pair = tuple[str, str]
T = TypeVar("T")
Points = dict[str, list["Reached"]]  # launches of each point, by its fingerprint
_NAMED = 20  # hosts or pairs that a sentence names
_LISTED = 10_000  # pairs that programs get


@dataclass(frozen=True)
class Reached:
    """Where one launch of a point ran.

    Parameters
    ----------
    hosts : hosts of its ranks.
    pairs : measured pairs of hosts: both hosts of a point on two hosts, and the pairs that met in `mpi.all_pairs`.
    known : hosts of its ranks, its testbed and its batch job.
    """

    hosts: frozenset[str]
    pairs: frozenset[Pair]
    known: frozenset[str]


@dataclass(frozen=True)
class Coverage:
    """How many of the demanded hosts or pairs were measured.

    Parameters
    ----------
    what : ``host`` or ``pair``.
    hosts : demanded hosts, or hosts of the demanded pairs.
    left : hosts or pairs that were not measured.
    lacking : unmeasured ones with known names; the first 10,000 pairs.
    settings : message sizes and levels at each of which they must be measured.
    """

    what: str
    hosts: int
    left: int
    lacking: tuple[str, ...] | tuple[Pair, ...]
    settings: int = 1

    @property
    def demanded(self) -> int:
        """How many hosts or pairs must be measured."""
        return self.hosts if self.what == "host" else self.hosts * (self.hosts - 1) // 2

    @property
    def whole(self) -> bool:
        """Whether everything was measured; False for pairs of fewer than two hosts."""
        return bool(self.demanded) and not self.left

    def __format__(self, how: str) -> str:
        """Return how much was measured, and what was not, by name; ``brief`` leaves names out, ``count`` is a cell."""
        if how == "count":
            return f"{self.demanded - self.left:,} of {plural(self.demanded, self.what)}"
        named = f" ({self._named()})" if self.left and self.lacking else ""
        return self._brief if how == "brief" else f"{'' if self.whole else 'not fulfilled: '}{self._brief}{named}"

    @property
    def _brief(self) -> str:
        if not self.demanded:
            return "no pair was measured, because the points have fewer than two hosts"
        each = " at each size and level" if self.settings > 1 else ""
        if self.whole:
            return f"{self:count} {'was' if self.demanded == 1 else 'were'} measured{each}"
        were = "was" if self.left == 1 else "were"
        return f"{self.left:,} of {plural(self.demanded, self.what)} {were} not measured{each}"

    def _named(self) -> str:
        """Name what is missing. A host without any measured pair is named once, in place of its pairs."""
        pairs = [one for one in self.lacking if isinstance(one, tuple)]
        counts = Counter(host for pair in pairs for host in pair)
        alone = sorted(host for host, count in counts.items() if 1 < count == self.hosts - 1)
        names = [one for one in self.lacking if isinstance(one, str)]
        names += [f"every pair of {host}" for host in alone]
        names += ["–".join(pair) for pair in pairs if not set(alone) & set(pair)]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        return ", ".join(names[:_NAMED]) + more


def points(samples: Iterable[Samples]) -> Points:
    """Return where the launches of each point ran."""
    found: Points = defaultdict(list)
    for one in samples:
        found[FINGERPRINT.of(one.meta)].append(reached(one))
    return found


def reached(samples: Samples) -> Reached:
    """Return where a launch of a point ran; the requested hosts if its ranks did not record it."""
    spec = samples.spec
    hosts = list(RANK_HOSTS.of(samples.meta)) or list(host_list.slots(spec.hosts))
    unique = sorted(set(hosts))
    pairs = {(unique[0], unique[1])} if len(unique) == 2 else set()
    if spec.benchmark == all_pairs.BENCHMARK and len(hosts) == len(samples.time_ns) == spec.ranks:
        met = np.argwhere(~np.isnan(all_pairs.matrix(samples))).tolist()
        pairs = {_pair(hosts[one], hosts[other]) for one, other in met if hosts[one] != hosts[other]}
    job = ALLOCATION.of(samples.meta).get("hosts", ())
    of_job = map(str, job) if isinstance(job, list | tuple) else ()
    return Reached(frozenset(hosts), frozenset(pairs), frozenset([*hosts, *of_job, *per_rank.emulated_hosts(samples)]))


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def of_hosts(groups: Sequence[Sequence[Reached]], demanded: Sequence[str] | int, launches: int) -> Coverage:
    """Return which hosts were measured.

    Parameters
    ----------
    groups : launches of the points of each setting, such as each message size; a host must be in all of them.
    demanded : names of the hosts, or the least number of different hosts.
    launches : number of launches in which each must be.
    """
    names = [] if isinstance(demanded, int) else list(demanded)
    called = _called(names)
    measured = _in_each(groups, lambda one: map(called, one.hosts), launches)
    known = set(names) or {called(host) for group in groups for one in group for host in one.known}
    total = demanded if isinstance(demanded, int) else len(names)
    left = max(0, total - len(measured & known))
    return Coverage("host", total, left, tuple(sorted(known - measured)) if left else (), len(groups))


def of_pairs(groups: Sequence[Sequence[Reached]], demanded: Sequence[str] | int, launches: int) -> Coverage:
    """Return which pairs of hosts were measured.

    Parameters
    ----------
    groups, launches : as in `of_hosts`.
    demanded : names of the hosts, or their least number. Then all hosts of the ranks, the testbed and the batch job
        count.
    """
    names = [] if isinstance(demanded, int) else list(demanded)
    called = _called(names)
    met = _in_each(groups, lambda one: (_pair(called(a), called(b)) for a, b in one.pairs), launches)
    known = sorted(set(names) or {called(host) for group in groups for one in group for host in one.known})
    hosts = max(len(known), demanded if isinstance(demanded, int) else 0)
    among = set(known)
    left = hosts * (hosts - 1) // 2 - sum(among.issuperset(pair) for pair in met)
    lacking = islice((pair for pair in combinations(known, 2) if pair not in met), _LISTED) if left else ()
    return Coverage("pair", hosts, left, tuple(lacking), len(groups))


def _called(names: Sequence[str]) -> Callable[[str], str]:
    """Return a function from a host to its name in a list: ``n1`` and ``n1.cluster.example`` are the same host."""
    short = {_short(name): name for name in names}
    return lambda host: host if host in names else short.get(_short(host), host)


def _short(host: str) -> str:
    """Return a host's name without its domain; an address stays."""
    return host if host[:1].isdigit() or ":" in host else host.partition(".")[0]


def _in_each(groups: Sequence[Sequence[Reached]], of: Callable[[Reached], Iterable[T]], launches: int) -> set[T]:
    """Return what enough launches of every group have."""
    found = [Counter(one for each in group for one in set(of(each))) for group in groups]
    often = [{one for one, count in counts.items() if count >= launches} for counts in found]
    return set.intersection(*often) if often else set()
