"""Right before fast: one iteration on patterns in poisoned buffers, untimed, before anything is timed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from labkit import kernels
from labkit.benchmarks import KernelBenchmark, OneSidedBenchmark
from labkit.spec import Spec
from labkit.units import KiB, MiB
from labkit.worker.group import Alone, Together
from labkit.worker.setting import Setting, packed

PIECE = 256 * KiB  # B that are compared at once
VERIFY_ROOM = 2 * MiB  # B of a window that are verified; a rank must stay small


class Prepares(Protocol):
    """A rank that can prepare the loop of a point."""

    ranks: Alone | Together

    def prepared(
        self, spec: Spec, benchmark: KernelBenchmark, **changes: Any
    ) -> AbstractContextManager[tuple[kernels.Loop, Setting]]:
        """The loop and its buffers, for as long as the context lasts."""


def verify(worker: Prepares, spec: Spec, benchmark: KernelBenchmark) -> tuple[str, bool]:
    """Run untimed iterations on patterns; what was wrong on this rank, empty when nothing, and whether it looked."""
    if not benchmark.mpi or spec.size == 0:
        return "", False
    spec = spec.replace(options={**dict(spec.options), **({"timing": "each"} if spec.has("timing") else {})})
    if dict(spec.options).get("rotate"):
        roots = sorted({0, spec.ranks - 1})
        cases = [spec.replace(options={**dict(spec.options), "rotate": False, "root": root}) for root in roots]
    else:
        cases = [spec, spec]
    rounds = [_round(worker, case, benchmark, iteration) for iteration, case in enumerate(cases)]
    return next((found for found, _ in rounds if found), ""), any(looked for _, looked in rounds)


def _round(worker: Prepares, spec: Spec, benchmark: KernelBenchmark, iteration: int) -> tuple[str, bool]:
    """One iteration on a pattern, in poisoned buffers; what was wrong here, and whether it looked."""
    rank, options = worker.ranks.rank, spec.values
    largest = max(*benchmark.buffers(spec), spec.size, 1)
    window = max(1, min(benchmark.window(spec), VERIFY_ROOM // largest))
    stride = spec.size if benchmark.window(spec) > 1 or benchmark.apart else 0
    complaint, looked = "", False
    changes = {"overlap": 0} if options.get("in_place") else {}  # a second call would start from the first one's result
    with worker.prepared(spec, benchmark, window=window, stride=stride, isolated=1, **changes) as (loop, setting):
        rooms = setting.gaps * (window if stride else 1)
        sent, received = (size * rooms for size in benchmark.buffers(spec))

        def whole(other: int, thread: int) -> NDArray[Any]:
            return pattern_of(other + 17 * thread, iteration, sent // setting.dtype.itemsize, setting.dtype)

        for thread, (send, recv) in enumerate(zip(setting.sends, setting.recvs, strict=True)):
            send[:sent] = whole(rank, thread).view(np.uint8)
            recv[:received] = 0xEE
            at = setting.placed
            if at is not None:
                own = send[: min(sent, received)]
                recv[at * setting.gaps : at * setting.gaps + len(own)] = own
        setting.before(whole(rank, 0), whole((rank + spec.ranks // 2) % spec.ranks, 0))
        worker.ranks.barrier()
        loop(0, 1)
        worker.ranks.barrier()
        for thread, recv in enumerate(setting.recvs):

            def pattern(other: int, thread: int = thread) -> NDArray[Any]:
                return packed(whole(other, thread), setting.gaps, options.get("block", 1))

            got = packed(setting.after(recv[:received], pattern(rank)), setting.gaps, options.get("block", 1))
            pairs = [(got, benchmark.expected(spec, rank, pattern))]
            if isinstance(benchmark, OneSidedBenchmark) and setting.exposed is not None:
                pairs.append((setting.exposed, benchmark.exposed(spec, rank, pattern)))
            for found, expected in pairs:
                looked = looked or expected is not None
                complaint = complaint or compare(found, expected, setting.dtype, mixed=setting.exposed is not None)
    where = f"wrong bytes on rank {rank}: {complaint}; verification round {iteration}). Nothing was timed."
    return complaint and where, looked


def pattern_of(rank: int, iteration: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values that tell rank, iteration and offset apart; whole numbers below 251, so that sums are exact."""
    period = ((np.arange(251) * 7 + 13 * rank + 31 * iteration) % 251).astype(dtype)
    values = np.empty(count, dtype)
    whole = count // 251 * 251
    values[:whole].reshape(-1, 251)[:] = period
    values[whole:] = period[: count - whole]
    return values


def compare(recv: NDArray[np.uint8], expected: Any, dtype: np.dtype[Any], *, mixed: bool = False) -> str:
    """Where the received bytes first differ from what they must be; empty when they do not.

    Of an expectation with two dimensions any row will do.

    Parameters
    ----------
    mixed : so will a mixture of rows: what several one-sided calls write at once to one place may come out as any of
        them, byte by byte.
    """
    if expected is None:
        return ""
    wanted = np.ascontiguousarray(np.asarray(expected, dtype))
    if wanted.ndim == 2:
        rows = wanted.view(np.uint8).reshape(len(wanted), -1)
        pieces = (slice(at, at + PIECE) for at in range(0, rows.shape[1], PIECE))
        if mixed and all((rows[:, piece] == recv[: rows.shape[1]][piece]).any(axis=0).all() for piece in pieces):
            return ""
        return min((compare(recv, row, dtype) for row in wanted), key=len)
    wanted = wanted.view(np.uint8).ravel()
    pieces = (slice(at, at + PIECE) for at in range(0, len(wanted), PIECE))  # a rank must stay small
    if all(np.array_equal(recv[: len(wanted)][piece], wanted[piece]) for piece in pieces):
        return ""
    wrong = np.flatnonzero(recv[: len(wanted)] != wanted)
    at = int(wrong[0])
    found, must = int(recv[at]), int(wanted[at])
    return f"{wrong.size} of {len(wanted)} B differ, first at offset {at} (found {found}, must be {must}"
