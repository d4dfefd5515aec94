"""GPCNeT's network tests (of the victims) and congestors: the ranks' roles, their peers, and the expected bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks.mpi import Values, combined, pieces
from labkit.options import frozen
from labkit.options.ranks import Buffers, Exposed
from labkit.point.spec import Spec, has

PATTERNS = (
    "latency",
    "bandwidth_sync",
    "allreduce",
    "alltoall",
    "get_latency",
    "put_bandwidth",
)  # as the kernel counts
CONGESTORS = ("alltoall", "incast", "put_incast", "get_broadcast")
RINGS = 30  # number of different rings, as in GPCNeT
MIN_RANKS = 2  # least number of victims, and of congestors
LARGEST = 2**26  # B of a congestor's message
_SUMMED = "float64"  # GPCNeT adds up doubles


@frozen
class Windows(Exposed, Buffers):
    """Options of the windows of one-sided calls.

    Parameters
    ----------
    memory : how to make windows: MPI_Win_allocate as GPCNeT does, or MPI_Win_create over the message buffers. Without
        one-sided calls it has no effect.
    """

    memory: Literal["allocate", "create"] = "allocate"


@frozen
class Victims(Windows):
    """Options of the victims.

    Parameters
    ----------
    pattern : `latency` and `bandwidth` of messages from and to both neighbours in a ring, `bandwidth_sync` with a
        barrier in every iteration, `get_latency` and `put_bandwidth` by one-sided calls, `allreduce`, `alltoall`.
    ring : a `random` one for every iteration, or the `natural` order of the ranks.
    window : messages in flight to each neighbour in the patterns of bandwidth.
    """

    pattern: Literal[
        "latency", "bandwidth", "bandwidth_sync", "allreduce", "alltoall", "get_latency", "put_bandwidth"
    ] = "latency"
    ring: Literal["random", "natural"] = "random"
    window: int = 8


@frozen
class Congestors:
    """Options of the congestors.

    Parameters
    ----------
    congestor : every group `alltoall` in pairs, `incast` by messages or `put_incast` to its first rank,
        `get_broadcast` from it, or `mixed`: one group of each as far as there are ranks.
    fan_in : ranks that send to one in every group; 0 for as few groups as possible.
    seed : seed of the draw of congestors and of their groups.
    """

    congestor: Literal["mixed", "alltoall", "incast", "put_incast", "get_broadcast"] = "mixed"
    fan_in: int = 0
    seed: int = 1


@frozen
class Loaded(Congestors, Victims):
    """Options of victims beside congestors.

    Parameters
    ----------
    share : % of the nodes that are congestors, rounded down; there are always two congestors and two victims.
    congestor_size : B of one message of the congestors.
    """

    share: float = 80.0
    congestor_size: int = 4096


@dataclass(frozen=True)
class Roles:
    """Roles of the ranks.

    Parameters
    ----------
    victims : rings, each the ranks of one communicator in order.
    congestors : groups, each with the rank that receives or is read first.
    patterns : pattern of each group.
    """

    victims: tuple[tuple[int, ...], ...]
    congestors: tuple[tuple[int, ...], ...] = ()
    patterns: tuple[str, ...] = ()

    def of(self, rank: int) -> tuple[bool, int, int]:
        """Whether a rank is a victim, the number of its ring or group, and its place there."""
        for victim, groups in ((True, self.victims), (False, self.congestors)):
            for index, members in enumerate(groups):
                if rank in members:
                    return victim, index, members.index(rank)
        raise ValueError(f"rank {rank} is in no group")


def _slices(units: list[list[int]]) -> list[list[int]]:
    """Group the first ranks of all nodes, the second ones, and so on, so that no rank talks to its own node."""
    most = max(map(len, units))
    return [[unit[k] for unit in units if k < len(unit)] for k in range(most)]


@lru_cache(maxsize=64)
def roles(spec: Spec) -> Roles:
    """Draw the roles. labkit draws whole nodes, or single ranks if there are too few nodes."""
    options, ranks = spec.options, spec.ranks
    ppn = spec.ppn or 1
    units = [list(range(first, min(first + ppn, ranks))) for first in range(0, ranks, ppn)]
    if not has(options, Congestors):
        return Roles(tuple(map(tuple, _slices(units))))
    if not has(options, Loaded):
        count = len(units)
    else:
        units = units if len(units) >= 2 * MIN_RANKS else [[rank] for rank in range(ranks)]
        count = min(max(int(options.share * len(units) // 100), MIN_RANKS), len(units) - MIN_RANKS)
    order = np.random.default_rng(options.seed).permutation(len(units)).tolist()
    groups = []
    for members in _slices([units[k] for k in order[:count]]):
        if options.fan_in:
            parts = len(members) // (options.fan_in + 1)
        elif options.congestor == "mixed":
            parts = min(len(CONGESTORS), len(members) // 2)
        else:
            parts = 1
        parts = max(parts, 1)
        groups += [tuple(members[k::parts]) for k in range(parts)]
    mixed = options.congestor == "mixed"
    patterns = tuple(CONGESTORS[k % len(CONGESTORS)] if mixed else options.congestor for k in range(len(groups)))
    rest = [units[k] for k in sorted(order[count:])]
    return Roles(tuple(map(tuple, _slices(rest))) if rest else (), tuple(groups), patterns)


@lru_cache(maxsize=64)
def rings(members: int, kind: str) -> Values:
    """Left and right neighbour of every place in every ring, (rings, members, 2)."""
    chance = np.random.default_rng(1)
    neighbours = np.empty((RINGS, members, 2), np.int32)
    for row in neighbours:
        order = chance.permutation(members) if kind == "random" else np.arange(members)
        row[order, 0], row[order, 1] = np.roll(order, 1), np.roll(order, -1)
    return neighbours


def leaving(spec: Spec, hosts: Sequence[str], iterations: NDArray[np.intp]) -> NDArray[np.int64]:
    """B that the victims of each host send to other hosts, (hosts, iterations); none of a host without victims.

    Parameters
    ----------
    hosts : of every rank.
    iterations : (n,) place of each iteration after the start of the victims' loop, its untimed iterations included.
    """
    bytes_each = window(spec.of(Victims)) * (spec.size or 0)
    names = sorted({hosts[rank] for ring in roles(spec).victims for rank in ring})
    sent = np.zeros((len(names), len(iterations)), np.int64)
    for members in roles(spec).victims:
        ring = rings(len(members), spec.of(Victims).options.ring)[iterations % RINGS]
        for place, rank in enumerate(members):
            away = [[hosts[members[other]] != hosts[rank] for other in pair] for pair in ring[:, place]]
            sent[names.index(hosts[rank])] += bytes_each * np.sum(away, axis=1)
    return sent


def load_size(spec: Spec) -> int:
    """B of one message of the congestors."""
    return spec.options.congestor_size if has(spec.options, Loaded) else spec.size


def _pattern(spec: Spec) -> str:
    """What the victims do; empty for congestors alone."""
    return spec.options.pattern if has(spec.options, Victims) else ""


def peers(spec: Spec, rank: int) -> list[int]:
    """The rings of a victim; for a congestor the pattern, the size, its place, and the size of its group."""
    assignment = roles(spec)
    victim, index, place = assignment.of(rank)
    if victim:
        ring = spec.of(Victims).options.ring
        neighbours: list[int] = rings(len(assignment.victims[index]), ring)[:, place].ravel().tolist()
        return neighbours
    return [CONGESTORS.index(assignment.patterns[index]), load_size(spec), place, len(assignment.congestors[index])]


def splits(spec: Spec, rank: int) -> list[tuple[int, int]]:
    """Colour and key for MPI_Comm_split: every ring and every group is a communicator."""
    victim, index, place = roles(spec).of(rank)
    return [(index if victim else spec.ranks + index, place)]


def is_victim(spec: Spec, rank: int) -> bool:
    """Whether a rank is a victim."""
    return roles(spec).of(rank)[0]


def window(spec: Spec[Victims]) -> int:
    """Messages in flight to each neighbour."""
    return _in_flight(spec.options)


def _in_flight(options: Victims) -> int:
    return options.window if "bandwidth" in options.pattern else 1


def moved(spec: Spec[Victims]) -> float:
    """B that a victim sends in one iteration; for an allreduce the size of the message."""
    pattern = spec.options.pattern
    if pattern in ("allreduce", "alltoall"):
        return spec.size * (len(roles(spec).victims[0]) - 1 if pattern == "alltoall" else 1)
    return 2 * window(spec) * spec.size


def waits(spec: Spec[Victims]) -> float:
    """The number that GPCNeT divides the time by: the two messages of a ring."""
    return 2.0 if "latency" in spec.options.pattern else 1.0


def buffers(spec: Spec) -> tuple[int, int]:
    """B for the messages of a victim, or of a congestor."""
    assignment = roles(spec)
    most = max(map(len, assignment.congestors), default=0)
    victim_bytes = 0
    if assignment.victims:
        alltoall = _pattern(spec) == "alltoall"
        victim_bytes = spec.size * (max(map(len, assignment.victims)) if alltoall else 2)
    return max(victim_bytes, load_size(spec) if most else 0), max(victim_bytes, load_size(spec) * most)


def requests(spec: Spec) -> int:
    """Number of request handles: for two messages each way, or for an incast."""
    options = spec.options
    in_ring = 4 * _in_flight(options) if has(options, Victims) else 1
    return max(in_ring, *map(len, roles(spec).congestors), 1)


def expected(spec: Spec, rank: int, send: Callable[[int], Values]) -> Values | None:
    """What a rank must have received in the last iteration, or the last round."""
    assignment = roles(spec)
    victim, index, place = assignment.of(rank)
    members = (assignment.victims if victim else assignment.congestors)[index]
    if not victim:
        pattern = assignment.patterns[index]
        received = _loaded(pattern, load_size(spec), members, place, lambda rank: send(rank).view(np.uint8))
        if received is None or _pattern(spec) != "allreduce":
            return received
        return received[: len(received) // 8 * 8].view(_SUMMED)
    pattern = _pattern(spec)
    if pattern == "alltoall":
        return pieces(spec, send, list(members), place * spec.size)
    if pattern == "allreduce":
        count = spec.size // 8
        return combined("sum", lambda k: send(members[k])[:count], 0, len(members))
    left, right = (members[k] for k in rings(len(members), spec.of(Victims).options.ring)[0, place])
    return np.concatenate([send(left)[spec.size : 2 * spec.size], send(right)[: spec.size]])


def _loaded(
    pattern: str, size: int, members: tuple[int, ...], place: int, send: Callable[[int], Values]
) -> Values | None:
    """What a congestor must have received."""
    if pattern == "alltoall":
        sources = [members[(place - k) % len(members)] for k in range(1, len(members))]
    elif pattern == "get_broadcast":
        sources = [members[0]] if place else []
    else:
        sources = [] if place else list(members[1:])
    return np.concatenate([send(rank)[:size] for rank in sources]) if sources else None


def dtype(spec: Spec[Victims]) -> str:
    """Type of the elements."""
    return _SUMMED if spec.options.pattern == "allreduce" else "uint8"


def formerly(spec: Spec[Windows]) -> dict[str, Any]:
    """Points whose windows were created have fingerprints without `memory`, and so have points without windows."""
    reaching = {"get_latency", "put_bandwidth", "put_incast", "get_broadcast"}
    if reaching & {_pattern(spec), *roles(spec).patterns}:
        return {"memory": "create"}
    return {"memory": spec.options.memory}


def allocated(spec: Spec[Windows]) -> dict[str, Any]:
    """Whether MPI allocates the memory of windows."""
    return {"allocate": spec.options.memory == "allocate"}


def work(spec: Spec[Victims]) -> dict[str, Any]:
    """The number of the pattern in the kernel, and room for the congestors' rounds."""
    pattern = spec.options.pattern
    mode = PATTERNS.index("latency" if pattern == "bandwidth" else pattern)
    return {"mode": mode, "turns": 1, "extra": np.zeros(spec.ranks, np.int64)} | allocated(spec)


def check(spec: Spec) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    options = spec.values
    limits = {
        "window": (1, 65536, 8),
        "fan_in": (0, spec.ranks - 1, 0),
        "seed": (0, 2**31, 1),
        "share": (0, 100, 80),
        "congestor_size": (1, LARGEST, 4096),
    }
    for name, (low, high, default) in limits.items():
        if name in options and not low <= options[name] <= high:
            return f"{name}={options[name]}, but it must be {low} to {high}. Set {name}={default}."
    return ""
