"""Shared by the collectives of torch.distributed: options, the check of a spec, and the factors of nccl-tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from labkit.options import frozen
from labkit.options.learning import Call
from labkit.point.spec import Spec, has

ITEM_B = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int32": 4, "int64": 8, "uint8": 1}
SIZES = "1Ki:4Mi:*16"
MOST_IN_FLIGHT = 1024


@frozen
class Data(Call):
    """Options of a call that moves data.

    Parameters
    ----------
    dtype : type of the elements.
    in_flight : calls that are started before the first one is waited for, each with its own buffers.
    """

    dtype: Literal["float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8"] = "float32"
    in_flight: int = 1


@frozen
class Placed(Data):
    """Options of a call that may work in place.

    Parameters
    ----------
    in_place : whether input and output are of one buffer.
    """

    in_place: bool = False


@frozen
class Reducing(Placed):
    """Options of a call that reduces.

    Parameters
    ----------
    operation : operation of the reduction.
    """

    operation: Literal["sum", "max", "min"] = "sum"


@frozen
class Rooted(Data):
    """Options of a call with a root.

    Parameters
    ----------
    root : its rank.
    """

    root: int = 0


def check(spec: Spec[Data]) -> str:
    """Return what is wrong with a spec of whole elements; empty if nothing is."""
    return _whole(spec, 1)


def check_parts(spec: Spec[Data]) -> str:
    """The same for calls whose size is split among the ranks."""
    return _whole(spec, spec.ranks)


def _whole(spec: Spec[Data], parts: int) -> str:
    unit = ITEM_B[spec.options.dtype] * parts
    if not spec.size or spec.size % unit:
        of = f"{spec.options.dtype}" + (f" on each of {parts} ranks" if parts > 1 else "")
        return (
            f"size={spec.size} B, but it must be whole elements of {of}. "
            f"Set size={max(unit, spec.size // unit * unit)}, or another multiple of {unit}."
        )
    if not 1 <= _calls(spec) <= MOST_IN_FLIGHT:
        return f"in_flight={_calls(spec)}, but it must be 1 to {MOST_IN_FLIGHT}. Set in_flight=1."
    if has(spec.options, Rooted) and not 0 <= spec.options.root < spec.ranks:
        return f"root={spec.options.root}, but ranks are 0 to {spec.ranks - 1}. Set root=0."
    return ""


def metrics(factor: Callable[[int], float]) -> Mapping[str, Callable[[Spec[Data]], float]]:
    """Metrics of a collective.

    Parameters
    ----------
    factor : bus bandwidth over algorithm bandwidth, from the number of ranks (nccl-tests, doc/PERFORMANCE.md).
    """
    return {
        "busbw_GBps": lambda spec: factor(spec.ranks) * spec.size * _calls(spec),
        "algbw_GBps": lambda spec: spec.size * _calls(spec),
        "latency_us": _calls,
    }


def _calls(spec: Spec[Data]) -> int:
    """Calls of an iteration."""
    return spec.options.in_flight
