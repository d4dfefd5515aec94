"""Benchmarks between MPI ranks: their common options and checks, and the bytes that ranks must receive."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit.options import frozen, ranks
from labkit.options.ranks import (
    Buffers,
    Cadence,
    Layout,
    Operation,
    Overlapping,
    Place,
    Root,
    Rotate,
    Separate,
    Source,
    Threads,
    Timing,
)
from labkit.point.spec import Spec, has

Values = NDArray[Any]


@frozen
class Timed(Threads, Timing, Buffers):
    """Options of every benchmark with a loop that may be timed as a whole."""


@frozen
class InFlight:
    """Options of messages that are in flight at once.

    Parameters
    ----------
    window : messages in flight.
    """

    window: int = 64


@frozen
class Binding(ranks.Binding):
    """Options of loops that mpi4py has too.

    Parameters
    ----------
    binding : what the loop is written in: `c`, mpi4py with `buffers`, mpi4py with `pickle`.
    """

    binding: Literal["c", "buffers", "pickle"] = "c"


@frozen
class TwoRanks(Layout, Timed):
    """Options of messages between two ranks."""


@frozen
class FromAny(Source, TwoRanks):
    """Options of messages between two ranks; the receiver may not name the sender."""


@frozen
class Window(Separate, InFlight, TwoRanks):
    """Options of windows of messages."""


@frozen
class Collective(Cadence, Timed):
    """Options of every collective."""


@frozen
class Moving(Layout, Collective):
    """Options of a collective that moves messages without computing."""


@frozen
class InPlace(Place, Moving):
    """Options of a collective that can work in place."""


@frozen
class Rooted(Rotate, Root, Collective):
    """Options of a collective with a root."""


@frozen
class RootedMoving(Rooted, Moving):
    """Options of a collective that moves messages from or to a root."""


@frozen
class RootedInPlace(Rooted, InPlace):
    """Options of a collective with a root that may keep its data in place."""


@frozen
class Computing(Operation):
    """Options of calls that compute.

    Parameters
    ----------
    datatype : type of the elements; the default is OSU's -T mpi_float.
    """

    datatype: Literal["float32", "float64", "int32", "int64"] = "float32"


@frozen
class Reduction(Place, Computing, Collective):
    """Options of a collective that computes."""


@frozen
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


def combined(operation: str, send: Callable[[int], Values], first: int, last: int) -> Values:
    """The data of ranks first to last - 1 under an operation, (elements,)."""
    result = send(first)
    for rank in range(first + 1, last):
        result = OPERATIONS[operation](result, send(rank))
    return result


def pieces(spec: Spec, send: Callable[[int], Values], ranks: range | list[int], at: int) -> Values:
    """One message of each rank from offset `at` of its send buffer, one after the other."""
    return np.concatenate([send(r)[at : at + spec.size].copy() for r in ranks])


def allowed(spec: Spec) -> str:
    """Return which options do not fit together or have wrong values; empty if all are right."""
    options = spec.options
    if has(options, Root) and not 0 <= options.root < spec.ranks:
        return f"root={options.root}, but there are ranks 0 to {spec.ranks - 1}. Set root=0."
    if has(options, Threads) and not 1 <= options.threads <= 64:
        return f"threads={options.threads}, but it must be 1 to 64. Set threads=1."
    if has(options, InFlight) and not 1 <= options.window <= 65536:
        return f"window={options.window}, but it must be 1 to 65536. Set window=64."
    in_place = has(options, Place) and options.in_place
    if has(options, Rotate) and options.rotate and in_place:
        return "rotate=True and in_place=True conflict: in-place data belong to one root. Set one of them to False."
    if has(options, Computing) and options.operation[0] == "b" and options.datatype.startswith("float"):
        return f"operation={options.operation} needs whole numbers. Set datatype=int32."
    if has(options, Layout) and options.layout != "contiguous":
        if options.block < 1 or spec.size % options.block:
            return f"size={spec.size} B is not a whole number of blocks of {options.block} B. Set a multiple of block."
        if has(options, Binding) and options.binding != "c":
            return "layout needs binding=c. Set binding=c, or layout=contiguous."
    apart = not has(options, Timed) or (options.timing == "each" and options.threads == 1)
    if has(options, Cadence) and options.cadence == "synchronised" and not apart:
        return "cadence=synchronised needs one thread and timing=each. Set cadence=isolated."
    if has(options, Overlapping) and options.overlap and not apart:
        return "overlap needs timing=each and one thread. Set overlap=False."
    return ""


def paired(spec: Spec) -> str:
    """Say why ranks cannot be paired, or what is wrong with other options; empty if all is well."""
    if spec.ranks % 2:
        return f"ranks={spec.ranks}, but pairs need an even number. Set ranks={spec.ranks + 1}."
    return allowed(spec)


def first_half(spec: Spec, rank: int) -> bool:
    """Whether a rank is the active one of its pair: the first half talks to the second half, as in OSU."""
    return rank < spec.ranks // 2


def from_peer(spec: Spec, rank: int, send: Callable[[int], Values]) -> Values:
    """The message that a rank receives from its peer."""
    return send((rank + spec.ranks // 2) % spec.ranks)


def from_active(spec: Spec, rank: int, send: Callable[[int], Values]) -> Values | None:
    """The message that a rank receives from its peer if only the active rank sends."""
    return None if first_half(spec, rank) else from_peer(spec, rank, send)
