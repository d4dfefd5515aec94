"""Window-based synchronisation: every iteration starts at an agreed time, on clocks that the ranks have compared.

The alternative to a barrier, because a barrier's imbalance delays some ranks (Hunold and Carpen-Amarie, "Reproducible
MPI benchmarking is still not as easy as you think", IEEE TPDS 2016). Clock offsets come from the ping-pong with the
shortest round trip; half of that round trip bounds their error.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.kernels import native
from labkit.worker.group import Alone, Together

PINGS = 200
MARGIN = 500_000  # ns from agreeing on a start to the first iteration
ROOM = 3  # windows are so many times as long as an iteration took


class Windows:
    """Windows of one point.

    Attributes
    ----------
    ns : length of a window.
    error_ns : most by which two clocks may disagree.
    """

    def __init__(self, mpi: Any, engine: Any, ranks: Alone | Together) -> None:
        self._mpi, self._engine, self._ranks = mpi, engine, ranks
        self.ns, self.error_ns = 0, 0

    def ahead(self) -> int:
        """How far this rank's clock is ahead of rank 0's, ns; all ranks must call."""
        comm, rank = self._mpi.COMM_WORLD, self._ranks.rank
        empty, clock_offsets, errors = np.zeros(1, np.uint8), [0], [0]
        for other in range(1, self._ranks.size):
            work = native.Work(
                comm=comm,
                datatype=self._mpi.BYTE,
                op=None,
                count=8,
                itemsize=1,
                send=empty,
                recv=empty,
                rank=rank,
                ranks=self._ranks.size,
                peer=-1 if rank not in (0, other) else other if rank == 0 else 0,
                phases=2,
                more={"active": rank == 0, "byte": self._mpi.BYTE},
            )
            offsets, round_trips = self._engine.prepare("clock_offset", work)(20, PINGS)[:, 0]
            best = int(np.argmin(round_trips))
            clock_offsets.append(int(offsets[best]))
            errors.append(int(round_trips[best]) // 2)
        self.error_ns = max(errors)
        offset = np.zeros(1, np.int64)
        comm.Scatter(np.array(clock_offsets, np.int64) if rank == 0 else None, offset, 0)
        return int(offset[0])

    def choose(self, loop: native.Loop, warmup: int) -> None:
        """Set the length of a window, the same on every rank, from a few iterations."""
        self._ranks.barrier()
        times = loop(warmup, 30)[0]
        slowest = int(np.quantile(times, 0.9)) * ROOM + 2000
        gathered = self._ranks.gather(np.array([slowest], np.int64))
        self.ns = self._ranks.bcast(int(gathered.max()) if self._ranks.rank == 0 else 0)

    def start(self) -> int:
        """Return the start of a chunk on rank 0's clock, ns."""
        return self._ranks.bcast(time.monotonic_ns() + MARGIN)

    def facts(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Facts for the record; after an iteration longer than its window, the next one starts late."""
        late = float((rows.max(axis=0) > self.ns).mean()) if rows.size else 0.0
        return {"slot_ns": self.ns, "clock_error_ns": self.error_ns, "late_share": late}
