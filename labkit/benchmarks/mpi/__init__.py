"""Benchmarks between MPI ranks: the options they share, and what pairs and collectives have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit.spec import Spec

Values = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Buffers:
    """Options of every benchmark between ranks.

    Parameters
    ----------
    hugepages : ask for huge pages for the message buffers.
    """

    hugepages: bool = False


@dataclass(frozen=True, kw_only=True)
class Timed(Buffers):
    """Options of every benchmark whose loop may be timed as a whole.

    Parameters
    ----------
    timing : `each` iteration by its own pair of clock reads, or `total` time around the loop.
    threads : of each rank that do the same at once, each with a communicator of its own (MPI_THREAD_MULTIPLE).
    """

    timing: Literal["each", "total"] = "each"
    threads: int = 1


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Options of messages that need not be contiguous.

    Parameters
    ----------
    layout : `contiguous`, or blocks with gaps of the same length between them, described by MPI_Type_vector or
        MPI_Type_indexed.
    block : B of such a block.
    """

    layout: Literal["contiguous", "vector", "indexed"] = "contiguous"
    block: int = 8


@dataclass(frozen=True, kw_only=True)
class TwoRanks(Layout, Timed):
    """Options of messages between two ranks."""


@dataclass(frozen=True, kw_only=True)
class FromAny(TwoRanks):
    """Options of messages between two ranks whose receiver may not name the sender.

    Parameters
    ----------
    source : receive from the `specific` peer, or from `any` rank (MPI_ANY_SOURCE).
    """

    source: Literal["specific", "any"] = "specific"


@dataclass(frozen=True, kw_only=True)
class Window(TwoRanks):
    """Options of windows of messages.

    Parameters
    ----------
    window : messages in flight.
    buffers : one `single` buffer for all messages of a window, or `multiple`, as osu_bw -b.
    """

    window: int = 64
    buffers: Literal["single", "multiple"] = "single"


@dataclass(frozen=True, kw_only=True)
class Collective(Timed):
    """Options of every collective.

    Parameters
    ----------
    cadence : `isolated` by a barrier after every iteration, `streaming` back to back, or `synchronised`: every
        iteration starts at a moment agreed beforehand on synchronised clocks.
    """

    cadence: Literal["isolated", "streaming", "synchronised"] = "isolated"


@dataclass(frozen=True, kw_only=True)
class Moving(Layout, Collective):
    """Options of a collective that moves messages without computing."""


@dataclass(frozen=True, kw_only=True)
class InPlace(Moving):
    """Options of a collective that can work in place.

    Parameters
    ----------
    in_place : a rank's own data lie in its receive buffer already (MPI_IN_PLACE).
    """

    in_place: bool = False


@dataclass(frozen=True, kw_only=True)
class Rooted(Collective):
    """Options of a collective with a root.

    Parameters
    ----------
    root : rank that sends to all, or receives from all.
    rotate : every iteration has the next rank for its root.
    """

    root: int = 0
    rotate: bool = False


@dataclass(frozen=True, kw_only=True)
class RootedMoving(Rooted, Moving):
    """Options of a collective that moves messages from or to a root."""


@dataclass(frozen=True, kw_only=True)
class RootedInPlace(Rooted, InPlace):
    """Options of a collective with a root whose own data may lie in place."""


@dataclass(frozen=True, kw_only=True)
class Reduction(Collective):
    """Options of a collective that computes.

    Parameters
    ----------
    datatype : of the elements; the OSU benchmarks' -T mpi_float is the default here.
    operation : MPI_SUM and so on; the bitwise ones need whole numbers.
    in_place : a rank's own data lie in its receive buffer already (MPI_IN_PLACE).
    """

    datatype: Literal["float32", "float64", "int32", "int64"] = "float32"
    operation: Literal["sum", "prod", "max", "min", "band", "bor", "bxor"] = "sum"
    in_place: bool = False


@dataclass(frozen=True, kw_only=True)
class RootedReduction(Rooted, Reduction):
    """Options of a collective that computes for a root."""


OPERATIONS: dict[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}


def combined(spec: Spec, send: Callable[[int], Values], first: int, last: int) -> Values:
    """The data of ranks first to last - 1 under the operation of the spec, (elements,)."""
    operation, result = OPERATIONS[spec.option("operation")], send(first)
    for rank in range(first + 1, last):
        result = operation(result, send(rank))
    return result


def pieces(spec: Spec, send: Callable[[int], Values], ranks: range | list[int], at: int) -> Values:
    """What ranks had at some place of their send buffers, one message each, one after the other."""
    return np.concatenate([send(r)[at : at + spec.size].copy() for r in ranks])


def allowed(spec: Spec) -> str:
    """What is wrong with options that do not go together; empty when nothing is."""
    given = spec.values
    root, threads, block = given.get("root", 0), given.get("threads", 1), given.get("block", 8)
    window = given.get("window", 1)
    if not 0 <= root < spec.ranks:
        return f"root={root}, but there are ranks 0 to {spec.ranks - 1}. Set root=0."
    if not 1 <= threads <= 64:
        return f"threads={threads}, but it must be 1 to 64. Set threads=1."
    if not 1 <= window <= 65536:
        return f"window={window}, but it must be 1 to 65536. Set window=64."
    if given.get("rotate") and given.get("in_place"):
        return "rotate=True and in_place=True conflict: in-place data belong to one root. Set one of them to False."
    if given.get("operation", "sum")[0] == "b" and given["datatype"].startswith("float"):
        return f"operation={given['operation']} needs whole numbers. Set datatype=int32."
    if given.get("layout", "contiguous") != "contiguous":
        if block < 1 or spec.size % block:
            return f"size={spec.size} B is not a whole number of blocks of {block} B. Set a multiple of block."
        if given.get("binding", "c") != "c":
            return "layout needs binding=c. Set binding=c, or layout=contiguous."
    if given.get("cadence") == "synchronised" and (threads > 1 or given.get("timing") == "total"):
        return "cadence=synchronised needs one thread and timing=each. Set cadence=isolated."
    if given.get("overlap") and (given.get("timing") == "total" or threads > 1):
        return "overlap needs timing=each and one thread. Set overlap=False."
    return ""


def paired(spec: Spec) -> str:
    """Complain of ranks that cannot be paired, or of other options; empty when all is well."""
    if spec.ranks % 2:
        return f"ranks={spec.ranks}, but pairs need an even number. Set ranks={spec.ranks + 1}."
    return allowed(spec)


def first_half(spec: Spec, rank: int) -> bool:
    """Whether a rank is the active one of its pair: ranks of the first half talk to those of the other, as in OSU."""
    return rank < spec.ranks // 2


def from_peer(spec: Spec, rank: int, send: Callable[[int], Values]) -> Values:
    """What a rank received from its peer: all it sent."""
    return send((rank + spec.ranks // 2) % spec.ranks)


def from_active(spec: Spec, rank: int, send: Callable[[int], Values]) -> Values | None:
    """The same where only the active rank sends."""
    return None if first_half(spec, rank) else from_peer(spec, rank, send)
