"""Benchmarks of OpenSHMEM: their common options and checks, and the bytes that processing elements must receive.

A rank is a processing element (PE). Pairs follow OSU's tests: PE r of the first half reaches into the memory of
PE r + ranks/2, which waits in a barrier. Buffers are in the symmetric heap, or in memory of the process outside of it,
where a C program has its global variables.
"""

from collections.abc import Callable
from typing import Any, Literal

from labkit.benchmarks import SymmetricBenchmark
from labkit.benchmarks.mpi import Values, first_half, from_active, from_peer
from labkit.options import frozen
from labkit.options.ranks import Binding, Symmetric, Timing
from labkit.point.spec import Spec, has
from labkit.point.units import KiB, MiB


@frozen
class Timed(Timing):
    """Options of every benchmark of OpenSHMEM.

    Parameters
    ----------
    timing : `each` iteration by its own pair of clock reads, or `total` time around the loop, as OSU's tests of pairs.
    """

    timing: Literal["each", "total"] = "each"


@frozen
class Pair(Symmetric, Timed):
    """Options of access to the memory of a peer."""


@frozen
class Transfer(Binding, Pair):
    """Options of one transfer at a time.

    Parameters
    ----------
    binding : what the loop is written in: `c`, or Python with `shmem4py`.
    """

    binding: Literal["c", "shmem4py"] = "c"


@frozen
class Rate(Pair):
    """Options of windows of messages.

    Parameters
    ----------
    window : messages in an iteration; at 8 KiB and above a tenth of them, as in OSU's tests (500 and 50).
    caches : `warm` from the window before, or `cold`: before each window every PE writes its buffers and then 200 MiB
        of other memory, untimed. OSU's tests write 200 MiB before their only window.
    """

    window: int = 500
    caches: Literal["warm", "cold"] = "warm"


@frozen
class Overlapped(Symmetric):
    """Options of a put with computation."""


def element(spec: Spec) -> str:
    """The integer type that has the size of the message."""
    return "int32" if spec.size == 4 else "int64"


def in_window(spec: Spec[Rate]) -> int:
    """Number of messages in an iteration."""
    window = spec.options.window
    return window if spec.size < 8 * KiB else max(1, window // 10)


def _windows(spec: Spec[Rate]) -> str:
    """Say why windows cannot be measured so; empty if they can."""
    if spec.options.caches == "cold" and spec.options.timing == "total":
        return "timing=total, but with caches=cold each window is timed by itself. Set timing=each."
    return paired(spec)


def paired(spec: Spec) -> str:
    """Say why ranks cannot be paired, or what is wrong with other options; empty if all is well."""
    if spec.ranks % 2:
        return f"ranks={spec.ranks}, but pairs need an even number. Set ranks={spec.ranks + 1}."
    return countable(spec.options.window) if has(spec.options, Rate) else ""


def countable(window: int) -> str:
    """Say why a window cannot have so many messages; empty if it can."""
    return "" if 1 <= window <= 65536 else f"window={window}, but it must be 1 to 65536. Set window=500."


def words(spec: Spec) -> str:
    """Say why a message is not a number of 32-bit words; empty if it is."""
    return "" if spec.size % 4 == 0 else f"size={spec.size} B, but the call counts words of 4 B. Set a multiple of 4."


def got(spec: Spec, rank: int, send: Callable[[int], Values]) -> Values | None:
    """The data that an active PE must have got from its peer."""
    return from_peer(spec, rank, send) if first_half(spec, rank) else None


def pair(**fields: Any) -> SymmetricBenchmark:
    """Make a benchmark of one transfer between two PEs, timed by the active one."""
    defaults: dict[str, Any] = {
        "options": Transfer,
        "ranks": (2, 2),
        "sizes": "1:1Mi",
        "max_size": 64 * MiB,
        "metrics": {"latency_us": lambda spec: 1},
        "active": first_half,
        "expected": from_active,
        "cadence": "streaming",
        "warmup": (1000, 0),
    }
    return SymmetricBenchmark(**(defaults | fields))


def rate(test: str, **fields: Any) -> SymmetricBenchmark:
    """Make a benchmark of windows of transfers between pairs of PEs, timed by the active ones.

    Parameters
    ----------
    test : OSU's.
    """
    defaults: dict[str, Any] = {
        "options": Rate,
        "check": _windows,
        "ranks": (2, None),
        "sizes": "1:4Mi",
        "max_size": 4 * MiB,
        "window": in_window,
        "apart": True,
        "requests": lambda spec: 1,
        "metrics": {
            "message_rate_per_s": lambda spec: spec.ranks // 2 * in_window(spec),
            "bandwidth_MBps": lambda spec: spec.ranks // 2 * in_window(spec) * spec.size,
        },
        "reduce": "mean",
        "cadence": "windowed",
        "warmup": (2, 1),
        "work": lambda spec: {"mode": int(spec.options.caches == "cold")},
        "equivalents": {test: {"caches": "cold"}},
    }
    return pair(**(defaults | fields))


def collective(**fields: Any) -> SymmetricBenchmark:
    """Make a benchmark of a collective over all PEs, timed by all."""
    defaults: dict[str, Any] = {
        "options": Timed,
        "check": words,
        "ranks": (2, None),
        "sizes": "4:256Ki",
        "max_size": 64 * MiB,
        "metrics": {"latency_us": lambda spec: 1},
        "warmup": (200, 10),
    }
    return SymmetricBenchmark(**(defaults | fields))
