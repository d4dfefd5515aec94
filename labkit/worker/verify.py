"""Verification: untimed iterations on patterns in poisoned buffers, before anything is timed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.benchmarks import POISON, KernelBenchmark, OneSidedBenchmark
from labkit.kernels import native
from labkit.options.ranks import Folder, Layout, Place, Rotate, Timing
from labkit.point.spec import Spec, has
from labkit.point.units import KiB, MiB
from labkit.worker import group
from labkit.worker.setting import Setting, packed

PIECE = 256 * KiB  # B that are compared at once
VERIFY_ROOM = 2 * MiB  # B of a window that are verified; a rank must stay small


class Prepares(group.Prepares, Protocol):
    """A rank that can prepare the loop of a point, with everything that the kernel gets."""

    def prepared(
        self, spec: Spec, benchmark: KernelBenchmark, **changes: Any
    ) -> AbstractContextManager[tuple[native.Loop, Setting]]:
        """The loop and its setting, for as long as the context lasts."""


def verify(worker: Prepares, spec: Spec, benchmark: KernelBenchmark) -> tuple[str, bool]:
    """Run untimed iterations on patterns and compare every byte; of a program, run it and compare its results.

    Returns
    -------
    What was wrong on this rank, empty if nothing; and whether it compared anything.
    """
    # inside the function: few points need these, and a rank should open few files
    if isinstance(benchmark, benchmarks.ApplicationBenchmark):
        from labkit.worker import solution

        return solution.verify(worker, spec, benchmark)
    if isinstance(benchmark, benchmarks.ParallelFileBenchmark):
        from labkit.worker import parallel

        return parallel.verify(worker, spec, benchmark)
    if spec.size == 0:
        return "", False
    if has(spec.options, Folder):
        from labkit.worker import files

        complaint = files.unfit(spec)
        if worker.ranks.any([bool(complaint)])[0]:
            return complaint, False
    if has(spec.options, Timing):
        spec = _with(spec, timing="each")
    if has(spec.options, Rotate) and spec.options.rotate:
        cases = [_with(spec, rotate=False, root=root) for root in sorted({0, spec.ranks - 1})]
    else:
        cases = [spec, spec]
    rounds = [_round(worker, case, benchmark, iteration) for iteration, case in enumerate(cases)]
    return next((complaint for complaint, _ in rounds if complaint), ""), any(compared for _, compared in rounds)


def _with(spec: Spec, **changes: object) -> Spec:
    """The spec with other values of some of its options."""
    return benchmarks.typed(spec.replace(options=spec.values | changes))


def _round(worker: Prepares, spec: Spec, benchmark: KernelBenchmark, iteration: int) -> tuple[str, bool]:
    """Run one iteration on a pattern in poisoned buffers; return what was wrong, and whether anything was compared."""
    rank, options = worker.ranks.rank, spec.options
    block = options.block if has(options, Layout) else 1
    largest = max(*benchmark.buffers(spec), spec.size, 1)
    window = max(1, min(benchmark.window(spec), VERIFY_ROOM // largest))
    stride = spec.size if benchmark.window(spec) > 1 or benchmark.apart else 0
    complaint, compared = "", False
    changes: dict[str, int] = {}
    if has(options, Place) and options.in_place:
        changes["overlap"] = 0  # a second call would start from the result of the first
    with worker.prepared(spec, benchmark, window=window, stride=stride, isolated=1, **changes) as (loop, setting):
        factor = setting.gaps * (window if stride else 1)
        sent, received = (size * factor for size in benchmark.buffers(spec))

        def full_pattern(other: int, thread: int) -> NDArray[Any]:
            return pattern_of(other + 17 * thread, iteration, sent // setting.dtype.itemsize, setting.dtype)

        for thread, (send, recv) in enumerate(zip(setting.sends, setting.recvs, strict=True)):
            send[:sent] = full_pattern(rank, thread).view(np.uint8)
            recv[:received] = POISON
            at = setting.placed
            if at is not None:
                data = send[: min(sent, received)]
                recv[at * setting.gaps : at * setting.gaps + len(data)] = data
        setting.write_patterns(full_pattern(rank, 0), full_pattern((rank + spec.ranks // 2) % spec.ranks, 0))
        worker.ranks.barrier()
        loop(0, 1)
        worker.ranks.barrier()
        for thread, recv in enumerate(setting.recvs):

            def pattern(other: int, thread: int = thread) -> NDArray[Any]:
                return packed(full_pattern(other, thread), setting.gaps, block)

            result = packed(setting.result(recv[:received], pattern(rank)), setting.gaps, block)
            pairs = [(result, benchmark.expected(spec, rank, pattern))]
            if isinstance(benchmark, OneSidedBenchmark) and setting.exposed is not None:
                pairs.append((setting.exposed, benchmark.exposed(spec, rank, pattern)))
            for buffer, expected in pairs:
                compared = compared or expected is not None
                complaint = complaint or compare(buffer, expected, setting.dtype, mixed=setting.exposed is not None)
    message = f"wrong bytes on rank {rank}: {complaint}; verification round {iteration}). Nothing was timed."
    return complaint and message, compared


def pattern_of(rank: int, iteration: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values that depend on rank, iteration and offset; integers below 251, so that sums are exact."""
    period = ((np.arange(251) * 7 + 13 * rank + 31 * iteration) % 251).astype(dtype)
    values = np.empty(count, dtype)
    whole = count // 251 * 251
    values[:whole].reshape(-1, 251)[:] = period
    values[whole:] = period[: count - whole]
    return values


def compare(recv: NDArray[np.uint8], expected: Any, dtype: np.dtype[Any], *, mixed: bool = False) -> str:
    """Return where the received bytes first differ from the expected ones; empty if they are equal.

    If the expectation has two dimensions, the bytes must equal one of its rows.

    Parameters
    ----------
    mixed : a mixture of rows is right too: if several one-sided calls write to one place at once, each byte may come
        from any of them.
    """
    if expected is None:
        return ""
    expected_bytes = np.ascontiguousarray(np.asarray(expected, dtype))
    if expected_bytes.ndim == 2:
        rows = expected_bytes.view(np.uint8).reshape(len(expected_bytes), -1)
        pieces = (slice(at, at + PIECE) for at in range(0, rows.shape[1], PIECE))
        if mixed and all((rows[:, piece] == recv[: rows.shape[1]][piece]).any(axis=0).all() for piece in pieces):
            return ""
        return min((compare(recv, row, dtype) for row in expected_bytes), key=len)
    expected_bytes = expected_bytes.view(np.uint8).ravel()
    pieces = (slice(at, at + PIECE) for at in range(0, len(expected_bytes), PIECE))  # a rank must stay small
    if all(np.array_equal(recv[: len(expected_bytes)][piece], expected_bytes[piece]) for piece in pieces):
        return ""
    differing = np.flatnonzero(recv[: len(expected_bytes)] != expected_bytes)
    at = int(differing[0])
    byte, expected_byte = int(recv[at]), int(expected_bytes[at])
    place = f"first at offset {at} (found {byte}, must be {expected_byte}"
    return f"{differing.size} of {len(expected_bytes)} B differ, {place}"
