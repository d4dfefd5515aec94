"""The timed loops: C kernels if they were compiled, else mpi4py loops (`labkit.kernels.loops`).

One build of the C kernels serves every MPI. labkit looks up the functions that they call through mpi4py's extension
module, which depends on the MPI library in use, and passes them to the kernels in a table.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from labkit.errors import KernelError
from labkit.options import frozen

if TYPE_CHECKING:
    from mpi4py.MPI import Comm, Datatype, Op

SCRATCH = 64
LOOP_AT = 56  # offset in it at which a kernel writes the time of its loop, ns
TIMINGS = ("each", "total")
CUDA_CODES = 10000  # from here on, a negative code is one of the CUDA driver, as in device.h
HANDLES = ("comm", "datatype", "op", "byte", "win", "group", "info")


def rebuild() -> str:
    """Return the command that builds the compiled kernels."""
    from labkit.io import project  # only for an error: it loads what writes files, some 4 MB in every rank

    return project.rebuild()


def _fields(handle: type[Any]) -> list[tuple[str, type[Any]]]:
    """Fields of ``Arguments`` in kernel.h; `library` checks that the sizes agree."""
    pointer, i64, i32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
    kinds = (
        (pointer, "mpi shmem sync"),
        (handle, " ".join(HANDLES)),
        (
            pointer,
            "file requests statuses send recv extra scratch path types comms counts displs bytes far_bytes peers "
            "places own_path own_places",
        ),
        (pointer, "time_ns"),
        (i64, "iterations warmup stride offset slot_ns start_ns ahead_ns deadline_ns"),
        (i32, "count rank ranks peer source left right root window npeers nplaces active rotate timing isolated"),
        (i32, "turns lock seek_set amode mode overlap tests clock allocate wear_out drop rewrite"),
    )
    return [(name, kind) for kind, names in kinds for name in names.split()]


def library(*, int_handles: bool) -> ctypes.CDLL | None:
    """Load the compiled kernels for one kind of MPI handle; None if they were not compiled.

    Raises
    ------
    KernelError
        If the file does not fit this labkit (built from other sources).
    """
    name = f"{__package__}._kernels_{'int' if int_handles else 'ptr'}"
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return None
    loaded = ctypes.CDLL(spec.origin)

    class Arguments(ctypes.Structure):
        _fields_ = _fields(ctypes.c_int if int_handles else ctypes.c_void_p)

    try:
        size = ctypes.c_int64.in_dll(loaded, "labkit_arguments_size").value
    except ValueError:
        raise KernelError(f"{spec.origin} was built from older sources. Rebuild it: {rebuild()}") from None
    if size != ctypes.sizeof(Arguments):
        raise KernelError(
            f"{spec.origin} was built from other sources: its structure of arguments has {size} B, this "
            f"labkit's has {ctypes.sizeof(Arguments)} B. Rebuild it: {rebuild()}"
        )
    loaded.labkit_arguments = Arguments  # type: ignore[attr-defined]
    loaded.labkit_allocate.restype = ctypes.c_void_p
    loaded.labkit_allocate.argtypes = [ctypes.c_int64, ctypes.c_int]
    return loaded


def compiled() -> bool:
    """Whether the C kernels were compiled; loads nothing."""
    return importlib.util.find_spec(f"{__package__}._kernels_ptr") is not None


@frozen
class Work:
    """What a kernel does; everything in it is fixed before the loop.

    Parameters
    ----------
    comm : communicator of the ranks that take part; None without MPI.
    datatype, op : MPI objects; None without MPI.
    count : elements of one message.
    itemsize : B of one element.
    send, recv : message buffers, uint8; an address represents MPI_IN_PLACE.
    stride : B between the messages of a window; 0 when they share one buffer.
    rank, ranks, peer, root : this rank, the number of ranks, the partner, the root.
    window : messages in flight.
    requests : handles the kernel needs.
    phases : values it keeps of each iteration.
    timing : one of `TIMINGS`.
    isolated : barrier after each iteration, outside the timed part.
    more : further arguments of the kernel by name: numbers, arrays, MPI objects, lists of datatypes.
    """

    comm: Comm | None
    datatype: Datatype | None
    op: Op | None
    count: int
    itemsize: int
    send: NDArray[np.uint8] | int
    recv: NDArray[np.uint8] | int
    stride: int = 0
    rank: int = 0
    ranks: int = 1
    peer: int = 0
    root: int = 0
    window: int = 1
    requests: int = 1
    phases: int = 1
    timing: str = "each"
    isolated: bool = True
    more: Mapping[str, Any] = field(default_factory=dict)


class Loop(Protocol):
    """A prepared kernel."""

    def __call__(self, warmup: int, iterations: int, start_ns: int = 0, slot_ns: int = 0) -> NDArray[np.int64]:
        """Run it from a given time on in slots, or at once.

        Returns
        -------
        (phases, threads, iterations) ns; with timing ``total`` the first value is the total time.
        """


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
            raise KernelError(f"the C kernels are not compiled. Install a C compiler and run: {rebuild()}")
        self.library, self._mpi = loaded, mpi
        self._handle_type = np.uint32 if int_handles else np.uint64
        names = (ctypes.c_char_p * 512).in_dll(loaded, "labkit_mpi_functions")
        self._names = [word.decode() for word in itertools.takewhile(lambda word: word is not None, names)]
        self._table, self._status = self._functions(), 0 if mpi is None else mpi._sizeof(mpi.Status)

    def _functions(self) -> ctypes.Array[ctypes.c_void_p] | None:
        """Addresses of the MPI functions in the order of the library's own list; NULL for one this MPI lacks."""
        if self._mpi is None:
            return None
        symbols = ctypes.CDLL(self._mpi.__file__)
        table = (ctypes.c_void_p * len(self._names))()
        for place, name in enumerate(self._names):
            # before MPI 4 some libraries had the persistent collectives under the prefix of extensions
            functions = (getattr(symbols, n, None) for n in (name, name.replace("MPI_", "MPIX_", 1)))
            function = next((f for f in functions if f is not None), None)
            table[place] = ctypes.cast(function, ctypes.c_void_p) if function is not None else None
        return table

    def has(self, kernel: str) -> bool:
        """Whether a kernel of that name was compiled."""
        return hasattr(self.library, f"kernel_{kernel}")

    def allocate(self, size: int, *, huge: bool = False) -> NDArray[np.uint8]:
        """A page-aligned, prefaulted buffer of at least one page.

        Parameters
        ----------
        size : B
        huge : request huge pages; else they are refused.

        Returns
        -------
        (size,) uint8; it lives until the process ends.
        """
        address = self.library.labkit_allocate(max(size, 1), int(huge))
        if not address:
            raise KernelError(f"{size} B for a message buffer are not available. Set a smaller size or window.")
        buffer: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * max(size, 1)).from_address(address))
        return buffer

    def missing(self, functions: Sequence[str]) -> list[str]:
        """Those of the MPI functions that this MPI library lacks."""
        table = self._table or ()
        return [name for name in functions if name in self._names and not table[self._names.index(name)]]

    def prepare(self, kernel: str, *works: Work) -> Loop:
        """Prepare a kernel; with several works, one thread for each runs at the same time."""
        function = getattr(self.library, f"kernel_{kernel}")
        structure: Any = self.library.labkit_arguments
        threads, buffers = (structure * len(works))(), []
        for arguments, work in zip(threads, works, strict=True):
            buffers.append(self._fill(arguments, work))
        first = works[0]
        times = np.zeros(1, np.int64)

        def loop(warmup: int, iterations: int, start_ns: int = 0, slot_ns: int = 0) -> NDArray[np.int64]:
            nonlocal times
            needed = first.phases * iterations * len(threads)
            if len(times) < needed:
                times = np.zeros(needed, np.int64)
                times.fill(1)  # prefault
            for number, arguments in enumerate(threads):
                arguments.warmup, arguments.iterations = warmup, iterations
                arguments.start_ns, arguments.slot_ns = start_ns, slot_ns
                arguments.time_ns = times.ctypes.data + number * first.phases * iterations * 8
            if len(threads) == 1:
                code = function(ctypes.byref(threads[0]))
            else:
                code = self.library.labkit_run_threads(function, threads, len(threads))
            if code:
                raise KernelError(f"{kernel}: {self._text(code)} (rank {first.rank} of {first.ranks}).")
            return times[:needed].reshape(len(threads), first.phases, iterations).swapaxes(0, 1).copy()

        loop.buffers = buffers  # type: ignore[attr-defined]  # the arguments point into these, so they must stay
        loop.loop_ns = [arrays["scratch"][LOOP_AT:].view(np.int64) for arrays, _ in buffers]  # type: ignore[attr-defined]
        return loop

    def _fill(self, arguments: Any, work: Work) -> list[Any]:
        """Write the arguments of one thread; return the arrays and objects that they point into."""
        arrays: dict[str, Any] = {
            "requests": np.zeros(max(work.requests, 1), np.uint64),
            "statuses": np.zeros(max(work.requests * self._status, 1), np.uint8),
            "scratch": np.zeros(SCRATCH, np.uint8),
        }
        if self._table is not None:
            arguments.mpi = ctypes.addressof(self._table)
        values = {f.name: getattr(work, f.name) for f in fields(work)} | {"timing": TIMINGS.index(work.timing)}
        for name in ("itemsize", "requests", "phases", "more"):
            del values[name]
        for name, value in (values | arrays | dict(work.more)).items():
            if isinstance(value, list):
                value = arrays[name] = self._handles(value)
            if isinstance(value, bytes):
                value = arrays[name] = np.frombuffer(value + b"\0", np.uint8)
            if isinstance(value, np.ndarray):
                arrays[name] = value
                setattr(arguments, name, value.ctypes.data)
            elif name in (*HANDLES, "file"):
                setattr(arguments, name, 0 if value is None else self._handle(value))
            else:
                setattr(arguments, name, int(value))
        return [arrays, work]

    def _handle(self, value: Any) -> int:
        handle: int = self._mpi._handleof(value)  # type: ignore[union-attr]
        return handle & 0xFFFF_FFFF_FFFF_FFFF

    def _handles(self, values: list[Any]) -> NDArray[Any]:
        """An array of handles with the width of this MPI library's handles."""
        return np.array([self._handle(value) for value in values], np.uint64).astype(self._handle_type)

    def _text(self, code: int) -> str:
        """MPI's text for an error code. Without MPI, or if it is negative, the code is an errno or an error of CUDA."""
        if code <= -CUDA_CODES:
            return f"error {-code - CUDA_CODES} of the CUDA driver (cuda.h names it as a CUresult)"
        return self._mpi.Get_error_string(code) if self._mpi is not None and code > 0 else os.strerror(abs(code))
