"""The ranks of one start, and how they communicate outside the timed loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpi4py import MPI


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


class Together:
    """The ranks of a communicator."""

    def __init__(self, comm: MPI.Intracomm) -> None:
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
