"""The same patterns as mpi4py loops, for machines without a compiler. Slower, and every record says so.

At 8 B a loop takes about twice the time of the C kernel; from 128 KiB on they agree.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labkit.errors import KernelError
from labkit.kernels import Loop, Work

Step = Callable[[], object]


def _nothing() -> None:
    """For the side that does not time, and for what does not follow an iteration."""


def latency(work: Work) -> tuple[Step, bool]:
    """Ping-pong; see latency.c."""
    comm, send, recv, peer = _ends(work)

    def ping() -> None:
        comm.Send(send, peer, 1)
        comm.Recv(recv, peer, 1)

    def pong() -> None:
        comm.Recv(recv, peer, 1)
        comm.Send(send, peer, 1)

    return (ping, True) if work.rank == 0 else (pong, False)


def bandwidth(work: Work) -> tuple[Step, bool]:
    """Window of messages and one answer; see bandwidth.c."""
    from mpi4py import MPI

    comm, _, _, peer = _ends(work)
    size, answer = work.count * work.itemsize, np.zeros(4, np.uint8)
    places = [j * work.stride for j in range(work.window)]
    sends = [[work.send[p : p + size], work.count, work.datatype] for p in places]
    recvs = [[work.recv[p : p + size], work.count, work.datatype] for p in places]

    def source() -> None:
        MPI.Request.Waitall([comm.Isend(message, peer, 100) for message in sends])
        comm.Recv(answer, peer, 101)

    def sink() -> None:
        MPI.Request.Waitall([comm.Irecv(message, peer, 100) for message in recvs])
        comm.Send(answer, peer, 101)

    return (source, True) if work.rank == 0 else (sink, False)


def allreduce(work: Work) -> tuple[Step, bool]:
    """MPI_Allreduce; see allreduce.c."""
    comm, send, recv, _ = _ends(work)
    return lambda: comm.Allreduce(send, recv, work.op), True


def bcast(work: Work) -> tuple[Step, bool]:
    """MPI_Bcast; see bcast.c."""
    comm, send, recv, _ = _ends(work)
    message = send if work.rank == work.root else recv
    return lambda: comm.Bcast(message, work.root), True


def _ends(work: Work) -> tuple[Any, list[Any], list[Any], int]:
    """Communicator, send and receive message in mpi4py's form, peer."""
    size = work.count * work.itemsize
    send, recv = ([buffer[:size], work.count, work.datatype] for buffer in (work.send, work.recv))
    return work.comm, send, recv, work.peer


class Loops:
    """Stands in for `labkit.kernels.Native`, with the same methods."""

    engine = "mpi4py"
    _loops: ClassVar[dict[str, Callable[[Work], tuple[Step, bool]]]] = {
        "latency": latency,
        "bandwidth": bandwidth,
        "allreduce": allreduce,
        "bcast": bcast,
    }

    def __init__(self, mpi: Any | None) -> None:
        self._mpi = mpi

    def has(self, kernel: str) -> bool:
        """Whether there is a loop for that kernel."""
        return kernel in self._loops

    def allocate(self, size: int, *, huge: bool = False) -> NDArray[np.uint8]:
        """A buffer; page alignment and huge pages are left to numpy."""
        return np.full(max(size, 1), ord("a"), np.uint8)

    def prepare(self, kernel: str, work: Work) -> Loop:
        """A function (warmup, iterations) → times in ns."""
        if not self.has(kernel):
            raise KernelError(f"{kernel} needs the compiled kernels. Install a C compiler and run: make setup.")
        step, timed = self._loops[kernel](work)
        after: Step = work.comm.Barrier if work.isolated and kernel in ("allreduce", "bcast") else _nothing  # type: ignore[union-attr]

        def loop(warmup: int, iterations: int) -> NDArray[np.int64]:
            times = np.zeros(iterations, np.int64)
            for _ in range(warmup):
                step()
                after()
            gc.disable()
            try:
                start = perf_counter_ns()
                for i in range(iterations):
                    before = perf_counter_ns()
                    step()
                    times[i] = perf_counter_ns() - before
                    after()
                total = perf_counter_ns() - start
            finally:
                gc.enable()
            return times if work.timing == "each" or not timed else np.array([total], np.int64)

        return loop
