"""The ranks of one start, and how they communicate outside the timed loops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from labkit.benchmarks import KernelBenchmark
from labkit.kernels import native
from labkit.point.spec import Spec

if TYPE_CHECKING:
    from mpi4py import MPI


class Buffers(Protocol):
    """What verification sees of a prepared point."""

    sends: list[NDArray[np.uint8]]
    recvs: list[NDArray[np.uint8]]
    folder: str


class Prepares(Protocol):
    """A rank that can prepare the loop of a point."""

    ranks: Alone | Together
    mpi: Any

    def prepared(
        self, spec: Spec, benchmark: KernelBenchmark, **changes: Any
    ) -> AbstractContextManager[tuple[native.Loop, Buffers]]:
        """The loop and its buffers, for as long as the context lasts."""


class Alone:
    """The one rank of a kernel that needs no MPI."""

    rank, size = 0, 1

    def barrier(self) -> None:
        """Nobody to wait for."""

    def bcast(self, value: int) -> int:
        """The value."""
        return value

    def gather(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The one row."""
        return values[None, :]

    def any(self, flags: Sequence[bool]) -> list[bool]:
        """The flags."""
        return list(flags)

    def texts(self, text: str) -> list[str]:
        """The one text."""
        return [text]

    def text(self, text: str) -> str:
        """The text."""
        return text

    def leaders(self, hosts: Sequence[str]) -> None:
        """Nobody: there is one host."""


class Together:
    """The ranks of a communicator."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm, self.rank, self.size = comm, comm.rank, comm.size

    def barrier(self) -> None:
        """Wait for all."""
        self._comm.Barrier()

    def bcast(self, value: int) -> int:
        """Rank 0's value."""
        buffer = np.array([value], np.int64)
        self._comm.Bcast(buffer, 0)
        return int(buffer[0])

    def gather(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Every rank's values, (ranks, n), on rank 0."""
        rows = np.empty((self.size, len(values)), np.int64)
        self._comm.Gather(values, rows if self.rank == 0 else None, 0)
        return rows

    def any(self, flags: Sequence[bool]) -> list[bool]:
        """For each flag whether it is set on any rank, on all ranks."""
        from mpi4py import MPI

        buffer = np.array(flags, np.int64)
        self._comm.Allreduce(MPI.IN_PLACE, buffer, MPI.MAX)
        return [bool(flag) for flag in buffer]

    def texts(self, text: str) -> list[str]:
        """The texts of all ranks, on rank 0; empty on the others."""
        joined, lengths = self._gathered(np.frombuffer(text.encode(), np.uint8))
        if self.rank:
            return []
        ends = np.cumsum(lengths)
        return [joined[end - length : end].tobytes().decode() for length, end in zip(lengths, ends, strict=True)]

    def text(self, text: str) -> str:
        """Rank 0's text, on all ranks."""
        encoded = np.frombuffer(bytearray(text.encode()), np.uint8)
        return self.spread(encoded, self.bcast(len(encoded))).tobytes().decode()

    def leaders(self, hosts: Sequence[str]) -> Together | None:
        """The first rank of each host, on these ranks; None on the others, and on all ranks of a single host.

        Parameters
        ----------
        hosts : hosts of all ranks, on rank 0.
        """
        from mpi4py import MPI

        first = {host: rank for rank, host in reversed(list(enumerate(hosts)))}
        if self.bcast(len(first)) < 2:
            return None
        leads, mine = np.zeros(self.size, np.int64), np.zeros(1, np.int64)
        leads[list(first.values())] = 1
        self._comm.Scatter(leads if self.rank == 0 else None, mine, 0)
        comm = self._comm.Split(0 if mine[0] else MPI.UNDEFINED, self.rank)
        return Together(comm) if mine[0] else None

    def total(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum over ranks of each value, on rank 0."""
        return self._reduce(values, "SUM")

    def greatest(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Maximum over ranks of each value, on rank 0."""
        return self._reduce(values, "MAX")

    def _reduce(self, values: NDArray[np.int64], operation: str) -> NDArray[np.int64]:
        from mpi4py import MPI

        reduced = np.empty(len(values) if self.rank == 0 else 0, np.int64)
        self._comm.Reduce(values, reduced if self.rank == 0 else None, getattr(MPI, operation), 0)
        return reduced

    def collect(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Values of all ranks, in the order of ranks, on rank 0; each rank may have another number of them."""
        return self._gathered(values)[0]

    def _gathered(self, values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Values of all ranks behind one another, and how many each rank has, on rank 0."""
        counts = self.gather(np.array([len(values)], np.int64))[:, 0]
        joined = np.empty(int(counts.sum()) if self.rank == 0 else 0, values.dtype)
        self._comm.Gatherv(np.ascontiguousarray(values), (joined, counts.tolist()) if self.rank == 0 else None, 0)
        return joined, counts

    def spread(self, values: NDArray[Any], count: int) -> NDArray[Any]:
        """Rank 0's values, so many of them, on all ranks."""
        shared = values if self.rank == 0 else np.empty(count, values.dtype)
        self._comm.Bcast(shared, 0)
        return shared

    def transpose(self, times: NDArray[np.int64], threads: int, timing: Sequence[int]) -> NDArray[np.int64]:
        """All ranks' times of a part of the iterations: each rank gets another part, one after the other.

        Parameters
        ----------
        times : (threads, iterations) of this rank; without rows on a rank that does not time.
        threads : rows of each rank that times.
        timing : these ranks, in order.

        Returns
        -------
        (ranks that time * threads, iterations of this rank's part).
        """
        iterations = times.shape[1]
        edges = [iterations * rank // self.size for rank in range(self.size + 1)]
        lengths = np.diff(edges)
        parts = [times[:, first:last].ravel() for first, last in pairwise(edges)]
        received = np.empty((len(timing) * threads, int(lengths[self.rank])), np.int64)
        expected = np.zeros(self.size, np.int64)
        expected[list(timing)] = threads * lengths[self.rank]
        sent = [len(part) for part in parts]
        self._comm.Alltoallv((np.concatenate(parts), sent), (received, expected.tolist()))
        return received
