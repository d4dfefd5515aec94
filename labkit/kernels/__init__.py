"""The timed loops: C kernels where they were compiled, mpi4py loops (`labkit.kernels.loops`) where not.

One build of the C kernels serves every MPI. The functions they call are looked up through mpi4py's own
extension module, whose dependencies are the MPI library in use, and handed over in a table.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import KernelError

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Datatype, Op

SCRATCH = 64
TIMINGS = ("each", "total")


class Job(ctypes.Structure):
    """Mirror of ``Job`` in kernel.h; `library` checks that the sizes agree. Handles are set by `Native`."""


def _fields(handle: type[Any]) -> list[tuple[str, type[Any]]]:
    pointer, i64, i32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
    return [
        ("mpi", pointer), ("comm", handle), ("datatype", handle), ("op", handle),
        ("requests", pointer), ("statuses", pointer), ("send", pointer), ("recv", pointer), ("scratch", pointer),
        ("time_ns", pointer), ("iterations", i64), ("warmup", i64), ("stride", i64),
        ("count", i32), ("rank", i32), ("ranks", i32), ("peer", i32), ("root", i32), ("window", i32),
        ("timing", i32), ("isolated", i32), ("clock", i32),
    ]  # fmt: skip


def library(*, int_handles: bool) -> ctypes.CDLL | None:
    """The compiled kernels for one kind of MPI handle, or None where they were not compiled.

    Raises
    ------
    KernelError
        If the file does not fit this labkit (built from other sources).
    """
    name = f"{__name__}._kernels_{'int' if int_handles else 'ptr'}"
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return None
    loaded = ctypes.CDLL(found.origin)

    class Layout(ctypes.Structure):
        _fields_ = _fields(ctypes.c_int if int_handles else ctypes.c_void_p)

    built = ctypes.c_int64.in_dll(loaded, "labkit_job_size").value
    if built != ctypes.sizeof(Layout):
        raise KernelError(
            f"{found.origin} was built from other sources: its job has {built} B, this labkit's has "
            f"{ctypes.sizeof(Layout)} B. Build it again: make setup."
        )
    loaded.labkit_layout = Layout  # type: ignore[attr-defined]
    loaded.labkit_allocate.restype = ctypes.c_void_p
    loaded.labkit_allocate.argtypes = [ctypes.c_int64, ctypes.c_int]
    return loaded


def compiled() -> bool:
    """Whether the C kernels are there; loads nothing."""
    return importlib.util.find_spec(f"{__name__}._kernels_ptr") is not None


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a kernel is asked to do; everything in it is fixed before the loop.

    Parameters
    ----------
    comm : communicator of the ranks that take part; None without MPI.
    datatype, op : MPI objects; None without MPI.
    count : elements of one message.
    itemsize : B of one element.
    send, recv : message buffers, uint8.
    stride : B between the messages of a window; 0 when they share one buffer.
    rank, ranks, peer, root : who is who.
    window : messages in flight.
    timing : one of `TIMINGS`.
    isolated : barrier after each iteration, outside the timed part.
    clock : id of the clock, for the clock's own kernel.
    """

    comm: Comm | None
    datatype: Datatype | None
    op: Op | None
    count: int
    itemsize: int
    send: NDArray[np.uint8]
    recv: NDArray[np.uint8]
    stride: int = 0
    rank: int = 0
    ranks: int = 1
    peer: int = 0
    root: int = 0
    window: int = 1
    timing: str = "each"
    isolated: bool = True
    clock: int = 1


Loop = Callable[[int, int], NDArray[np.int64]]


class Native:
    """The C kernels, bound to the MPI library that mpi4py uses (or to none).

    Parameters
    ----------
    mpi : the ``mpi4py.MPI`` module; None for kernels that need no MPI.
    """

    engine = "c"

    def __init__(self, mpi: Any | None) -> None:
        int_handles = mpi is not None and mpi._sizeof(mpi.Comm) == ctypes.sizeof(ctypes.c_int)
        loaded = library(int_handles=int_handles)
        if loaded is None:
            raise KernelError("the C kernels are not compiled. Install a C compiler and run: make setup.")
        self._library, self._mpi = loaded, mpi
        self._table, self._status = self._functions(), 0 if mpi is None else mpi._sizeof(mpi.Status)

    def _functions(self) -> ctypes.Array[ctypes.c_void_p] | None:
        """Addresses of the MPI functions in the order of the library's own list; NULL for one this MPI lacks."""
        if self._mpi is None:
            return None
        listed = (ctypes.c_char_p * 256).in_dll(self._library, "labkit_mpi_functions")
        names = [word.decode() for word in itertools.takewhile(lambda word: word is not None, listed)]
        symbols = ctypes.CDLL(self._mpi.__file__)
        table = (ctypes.c_void_p * len(names))()
        for place, name in enumerate(names):
            function = getattr(symbols, name, None)
            table[place] = ctypes.cast(function, ctypes.c_void_p) if function is not None else None
        return table

    def has(self, kernel: str) -> bool:
        """Whether a kernel of that name was compiled."""
        return hasattr(self._library, f"kernel_{kernel}")

    def allocate(self, size: int, *, huge: bool = False) -> NDArray[np.uint8]:
        """A page-aligned, prefaulted buffer of at least one page.

        Parameters
        ----------
        size : B
        huge : ask for huge pages; else they are refused.

        Returns
        -------
        (size,) uint8; it lives until the process ends.
        """
        address = self._library.labkit_allocate(max(size, 1), int(huge))
        if not address:
            raise KernelError(f"{size} B for a message buffer could not be had. Set a smaller size or window.")
        buffer: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * max(size, 1)).from_address(address))
        return buffer

    def prepare(self, kernel: str, work: Work) -> Loop:
        """A function (warmup, iterations) → times in ns, that runs a kernel with nothing left to decide."""
        function = getattr(self._library, f"kernel_{kernel}")
        job = self._library.labkit_layout()
        scratch = np.zeros(SCRATCH, np.uint8)
        requests = np.zeros(work.window, np.uint64)
        statuses = np.zeros(max(work.window * self._status, 1), np.uint8)
        if self._table is not None:
            job.mpi = ctypes.addressof(self._table)
            for name in ("comm", "datatype", "op"):
                handle = getattr(work, name)
                setattr(job, name, self._mpi._handleof(handle) if handle is not None else 0)  # type: ignore[union-attr]
        for name in ("rank", "ranks", "peer", "root", "window", "stride", "count", "isolated", "clock"):
            setattr(job, name, int(getattr(work, name)))
        job.timing = TIMINGS.index(work.timing)
        held: dict[str, NDArray[Any]] = {
            "requests": requests,
            "statuses": statuses,
            "scratch": scratch,
            "send": work.send,
            "recv": work.recv,
        }
        for name, array in held.items():
            setattr(job, name, array.ctypes.data)
        times = np.zeros(1, np.int64)

        def loop(warmup: int, iterations: int) -> NDArray[np.int64]:
            nonlocal times
            if len(times) < iterations:
                times = np.zeros(iterations, np.int64)
                times.fill(1)  # prefault
            job.warmup, job.iterations, job.time_ns = warmup, iterations, times.ctypes.data
            code = function(ctypes.byref(job))
            if code:
                raise KernelError(f"{kernel}: {self._text(code)} (rank {work.rank} of {work.ranks}).")
            return times[: iterations if work.timing == "each" else 1].copy()

        loop.held = held  # type: ignore[attr-defined]  # the job points into these
        return loop

    def _text(self, code: int) -> str:
        """MPI's own words for an error code."""
        return self._mpi.Get_error_string(code) if self._mpi is not None else f"error {code}"


def engine(mpi: Any | None) -> Any:
    """The C kernels where they are compiled, else the mpi4py loops."""
    if compiled():
        return Native(mpi)
    from labkit.kernels.loops import Loops

    return Loops(mpi)
