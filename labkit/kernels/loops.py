"""The same patterns as mpi4py loops, for machines without a compiler. They are slower, and every record names them.

At 8 B a loop takes about twice the time of the C kernel; at 128 KiB and above they agree.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labkit.errors import KernelError
from labkit.kernels import native
from labkit.kernels.native import Loop, Work, rebuild

Step = Callable[[], object]


def _nothing() -> None:
    """Do nothing after an iteration."""


def latency(work: Work) -> tuple[Step, bool]:
    """Ping-pong; see latency.c."""
    comm, send, recv, peer = _ends(work)

    def ping() -> None:
        comm.Send(send, peer, 1)
        comm.Recv(recv, peer, 1)

    def pong() -> None:
        comm.Recv(recv, peer, 1)
        comm.Send(send, peer, 1)

    return (ping, True) if work.more["active"] else (pong, False)


def bandwidth(work: Work) -> tuple[Step, bool]:
    """Window of messages and one answer; see bandwidth.c."""
    from mpi4py import MPI  # initialises MPI

    comm, _, _, peer = _ends(work)
    size, answer = work.count * work.itemsize, np.zeros(4, np.uint8)
    assert not isinstance(work.send, int)
    assert not isinstance(work.recv, int)
    places = [j * work.stride for j in range(work.window)]
    sends = [[work.send[p : p + size], work.count, work.datatype] for p in places]
    recvs = [[work.recv[p : p + size], work.count, work.datatype] for p in places]

    def source() -> None:
        MPI.Request.Waitall([comm.Isend(message, peer, 100) for message in sends])
        comm.Recv(answer, peer, 101)

    def sink() -> None:
        MPI.Request.Waitall([comm.Irecv(message, peer, 100) for message in recvs])
        comm.Send(answer, peer, 101)

    return (source, True) if work.more["active"] else (sink, False)


def allreduce(work: Work) -> tuple[Step, bool]:
    """MPI_Allreduce; see collectives.c."""
    comm, send, recv, _ = _ends(work)
    return lambda: comm.Allreduce(send, recv, work.op), True


def bcast(work: Work) -> tuple[Step, bool]:
    """MPI_Bcast; see collectives.c."""
    comm, send, recv, _ = _ends(work)
    message = send if work.rank == work.root else recv
    return lambda: comm.Bcast(message, work.root), True


def latency_pickle(work: Work) -> tuple[Step, bool]:
    """Ping-pong of a bytes object, pickled on each way."""
    comm, message, peer, received = work.comm, _object(work).tobytes(), work.peer, _received(work)

    def ping() -> None:
        comm.send(message, peer, 1)  # type: ignore[union-attr]
        received[0] = comm.recv(None, peer, 1)  # type: ignore[union-attr]

    def pong() -> None:
        received[0] = comm.recv(None, peer, 1)  # type: ignore[union-attr]
        comm.send(message, peer, 1)  # type: ignore[union-attr]

    return (ping, True) if work.more["active"] else (pong, False)


def bandwidth_pickle(work: Work) -> tuple[Step, bool]:
    """Window of pickled bytes objects and one answer."""
    comm, peer, received, size = work.comm, work.peer, _received(work), work.count * work.itemsize
    assert not isinstance(work.send, int)
    messages = [work.send[j * work.stride : j * work.stride + size].tobytes() for j in range(work.window)]

    def source() -> None:
        for request in [comm.isend(message, peer, 100) for message in messages]:  # type: ignore[union-attr]
            request.wait()
        comm.recv(None, peer, 101)  # type: ignore[union-attr]

    def sink() -> None:
        received[0] = [comm.recv(None, peer, 100) for _ in messages]  # type: ignore[union-attr]
        comm.send(b"", peer, 101)  # type: ignore[union-attr]

    return (source, True) if work.more["active"] else (sink, False)


def allreduce_pickle(work: Work) -> tuple[Step, bool]:
    """Reduction of pickled arrays with Python's own +."""
    comm, message, received = work.comm, _object(work), _received(work)

    def reduce() -> None:
        received[0] = comm.allreduce(message, work.op)  # type: ignore[union-attr, arg-type]

    return reduce, True


def bcast_pickle(work: Work) -> tuple[Step, bool]:
    """Broadcast of a pickled bytes object."""
    comm, received = work.comm, _received(work)
    message = _object(work).tobytes() if work.rank == work.root else None

    def broadcast() -> None:
        received[0] = comm.bcast(message, work.root)  # type: ignore[union-attr]

    return broadcast, True


def _object(work: Work) -> NDArray[Any]:
    """The message as an array of its elements."""
    from mpi4py.util import dtlib  # as above

    assert not isinstance(work.send, int)
    return work.send[: work.count * work.itemsize].view(dtlib.to_numpy_dtype(work.datatype)).copy()  # type: ignore[arg-type]


def _received(work: Work) -> list[Any]:
    """A list for the object that a step receives; `Loops` copies it to the receive buffer after the loop."""
    received: list[Any] = [None]
    work.more["received"] = received  # type: ignore[index]
    return received


def _ends(work: Work) -> tuple[Any, list[Any], list[Any], int]:
    """Communicator, send and receive message in mpi4py's form, peer."""
    size = work.count * work.itemsize
    assert not isinstance(work.send, int)
    assert not isinstance(work.recv, int)
    send, recv = ([buffer[:size], work.count, work.datatype] for buffer in (work.send, work.recv))
    return work.comm, send, recv, work.peer


class Loops:
    """The mpi4py loops, with the methods of `labkit.kernels.native.Native`."""

    engine = "mpi4py"
    _loops: ClassVar[dict[str, Callable[[Work], tuple[Step, bool]]]] = {
        loop.__name__: loop
        for loop in (
            latency,
            bandwidth,
            allreduce,
            bcast,
            latency_pickle,
            bandwidth_pickle,
            allreduce_pickle,
            bcast_pickle,
        )
    }

    def __init__(self, mpi: Any | None) -> None:
        self._mpi = mpi

    def has(self, kernel: str) -> bool:
        """Whether there is a loop for that kernel."""
        return kernel in self._loops

    def missing(self, functions: Sequence[str]) -> list[str]:
        """Return none: every library has the functions that the loops call."""
        return []

    def allocate(self, size: int, *, huge: bool = False) -> NDArray[np.uint8]:
        """A buffer; numpy decides on page alignment and huge pages."""
        return np.full(max(size, 1), ord("a"), np.uint8)

    def prepare(self, kernel: str, *works: Work) -> Loop:
        """A function (warmup, iterations) → times in ns, with one phase and one thread."""
        if not self.has(kernel):
            raise KernelError(f"{kernel} needs the compiled kernels. Install a C compiler and run: {rebuild()}")
        work = works[0]
        collective = kernel.startswith(("allreduce", "bcast"))
        after: Step = work.comm.Barrier if work.isolated and collective else _nothing  # type: ignore[union-attr]

        def loop(warmup: int, iterations: int, start_ns: int = 0, slot_ns: int = 0) -> NDArray[np.int64]:
            step, timed = self._loops[kernel](work)
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
            _unpack(work)
            if work.timing == "total" and timed:
                times[0] = total
            return times[None, None]

        return loop


def _unpack(work: Work) -> None:
    """Copy the object received last into the receive buffer, as bytes."""
    last = work.more.get("received", [None])[0]
    if last is not None and not isinstance(work.recv, int):
        parts = last if isinstance(last, list) else [last]
        content = np.frombuffer(b"".join(parts[: len(parts) if work.stride else 1]), np.uint8)
        work.recv[: len(content)] = content


def engine(mpi: Any | None) -> Any:
    """The C kernels if they were compiled, else the mpi4py loops."""
    return native.Native(mpi) if native.compiled() else Loops(mpi)
