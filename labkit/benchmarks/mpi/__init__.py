"""Benchmarks between MPI ranks, and the options that collectives share."""

from dataclasses import dataclass
from typing import Literal

from labkit.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Options of every benchmark between ranks.

    Parameters
    ----------
    timing : `each` iteration by its own pair of clock reads, or `total` time around the loop.
    hugepages : ask for huge pages for the message buffers.
    """

    timing: Literal["each", "total"] = "each"
    hugepages: bool = False


@dataclass(frozen=True, kw_only=True)
class Collective(Timed):
    """Options of every collective.

    Parameters
    ----------
    cadence : `isolated` by a barrier after every iteration, or `streaming`.
    """

    cadence: Literal["isolated", "streaming"] = "isolated"


@dataclass(frozen=True, kw_only=True)
class Rooted(Collective):
    """Options of a collective with a root.

    Parameters
    ----------
    root : rank that sends to all, or receives from all.
    """

    root: int = 0


@dataclass(frozen=True, kw_only=True)
class Reduction(Collective):
    """Options of a collective that computes.

    Parameters
    ----------
    datatype : of the elements; the OSU benchmarks' -T mpi_float is the default here.
    """

    datatype: Literal["float32", "float64", "int32"] = "float32"


def root_exists(spec: Spec) -> str:
    """Complain of a root that is no rank; empty when it is one."""
    root = spec.option("root")
    return "" if 0 <= root < spec.ranks else f"root={root}, but there are ranks 0 to {spec.ranks - 1}. Set root=0."
