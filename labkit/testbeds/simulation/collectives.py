"""Algorithms of collectives that SimGrid simulates, by the names of the literature, and the choice among them by size.

SimGrid contains the algorithms of Open MPI, MPICH and other libraries. Its own selectors are not used:
they exchange further messages in the first collective of a communicator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.point.spec import Spec
from labkit.point.units import KiB

# collective → algorithm → its name in SimGrid 3.32 (src/smpi/colls)
ALGORITHMS: Mapping[str, Mapping[str, str]] = {
    "barrier": {"recursive-doubling": "ompi_recursivedoubling", "dissemination": "ompi_bruck", "tree": "ompi_tree"},
    "bcast": {"binomial": "binomial_tree", "scatter-allgather": "scatter_LR_allgather", "linear": "flattree"},
    "reduce": {"binomial": "binomial", "linear": "ompi_basic_linear"},
    "allreduce": {"recursive-doubling": "rdb", "ring": "lr", "reduce-bcast": "redbcast"},
    "allgather": {"ring": "ring", "bruck": "bruck"},
    "alltoall": {"pairwise": "ring", "bruck": "bruck", "linear": "basic_linear"},
    "gather": {"binomial": "ompi_binomial", "linear": "ompi_basic_linear"},
    "scatter": {"binomial": "ompi_binomial", "linear": "ompi_basic_linear"},
}
_MANY = 12  # ranks, of Open MPI's rule for all to all


def algorithm(spec: Spec, wanted: str = "auto") -> str:
    """Return the name of the algorithm for the collective of a spec.

    Parameters
    ----------
    wanted : name of an algorithm; ``auto`` for the choice by size.

    Raises
    ------
    SpecError
        If the collective has no such algorithm.
    """
    name = _name(spec)
    if wanted == "auto":
        return _by_size(name, spec.size, spec.ranks)
    if wanted not in ALGORITHMS[name]:
        raise SpecError(
            f"algorithm={wanted!r}, but the simulated {name} has {', '.join(ALGORITHMS[name])}. Set algorithm=auto."
        )
    if (name, wanted) == ("allreduce", "ring") and spec.size < spec.ranks:
        raise SpecError(
            f"algorithm=ring, but {spec.size} B cannot be cut into {spec.ranks} blocks, and SimGrid then takes another "
            "algorithm. Set algorithm=recursive-doubling."
        )
    return wanted


def setting(spec: Spec, name: str) -> str:
    """Return SimGrid's setting for an algorithm of the collective of a spec."""
    return f"smpi/{_name(spec)}:{ALGORITHMS[_name(spec)][name]}"


def _name(spec: Spec) -> str:
    """Return SimGrid's name of the collective of a spec."""
    simulation = benchmarks.get(spec.benchmark).simulation
    return simulation.collective if simulation else ""


Step = tuple[int | None, int, int | None, int]  # target and B, source and B; None for no rank


def steps(spec: Spec, number: int, wanted: str = "auto") -> Iterator[Step]:
    """Yield what one rank of an allreduce sends and receives, step after step, as SimGrid's algorithms do.

    Parameters
    ----------
    number : number of the rank.
    wanted : name of the algorithm, as in `algorithm`.

    Raises
    ------
    SpecError
        If it is another collective, or another algorithm than recursive doubling and ring.
    """
    chosen = algorithm(spec, wanted)
    patterns = {"recursive-doubling": _doubling, "ring": _ring}
    if _name(spec) != "allreduce" or chosen not in patterns:
        raise SpecError(
            f"{spec.benchmark} by {chosen} cannot be simulated on a part of the ranks; an allreduce can, by "
            f"{' or '.join(patterns)}. Set algorithm=auto."
        )
    return patterns[chosen](spec.ranks, number, spec.size)


def _doubling(ranks: int, number: int, size: int) -> Iterator[Step]:
    """Exchange whole vectors at distances 1, 2, 4 and so on.

    Of the first 2·rest ranks, each even one gives its vector to the next and takes the result from it.
    """
    power = 1 << (ranks.bit_length() - 1)
    rest = ranks - power
    folded = number < 2 * rest
    if folded and number % 2 == 0:
        yield number + 1, size, None, 0
        yield None, 0, number + 1, size
        return
    if folded:
        yield None, 0, number - 1, size
    member = number // 2 if folded else number - rest
    for distance in (1 << k for k in range(power.bit_length() - 1)):
        partner = member ^ distance
        peer = 2 * partner + 1 if partner < rest else partner + rest
        yield peer, size, peer, size
    if folded:
        yield number - 1, size, None, 0


def _ring(ranks: int, number: int, size: int) -> Iterator[Step]:
    """Blocks go round once to be added up, and once more to be known."""
    blocks = [size // ranks + (block < size % ranks) for block in range(ranks)]
    for step in range(2 * (ranks - 1)):
        sent, received = blocks[(number - step) % ranks], blocks[(number - step - 1) % ranks]
        yield (number + 1) % ranks, sent, (number - 1) % ranks, received


def _by_size(name: str, size: int, ranks: int) -> str:
    """Return the algorithm of a size: the fixed rules of Open MPI 4.0 where SimGrid has their algorithms, else MPICH's.

    allreduce, alltoall: coll_tuned_decision_fixed.c of Open MPI 4.0.4. bcast: the limit for short messages of MPICH
    (MPIR_CVAR_BCAST_SHORT_MSG_SIZE, 12 KiB). The others have one rule each.
    """
    if name == "allreduce":
        return "recursive-doubling" if size < 10_000 else "ring"
    if name == "bcast":
        return "binomial" if size < 12 * KiB or ranks < 8 else "scatter-allgather"
    if name == "alltoall":
        if size < 200 and ranks > _MANY:
            return "bruck"
        return "linear" if size < 3000 else "pairwise"
    if name == "allgather":
        return "bruck" if size * ranks < 50_000 else "ring"
    return next(iter(ALGORITHMS[name]))
