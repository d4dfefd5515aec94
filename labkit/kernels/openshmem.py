"""OpenSHMEM in a rank: the library that belongs to the MPI in use, its functions, and memory that is symmetric.

Memory is symmetric if one address names the same object of every processing element. The heap is: the library shares it
between processes of a host if it can. Open MPI also accepts the memory of a process below the end of its program, where
a C program has its global variables. A rank's program is Python, so labkit maps a region there before the library
starts.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import KernelError
from labkit.point.units import MiB, format_size

SYNC_LONGS = 64  # of a synchronisation array; as in kernel.h
_ROOM = "SHMEM_SYMMETRIC_HEAP_SIZE", 256 * MiB  # variable of the heap's size, and Open MPI's default
_LOW, _HIGH = 1 << 16, 1 << 36  # where a region of global memory begins: below a fixed program, or a relocated one
_MAP_FIXED_NOREPLACE, _MAP_NORESERVE = 0x100000, 0x4000


def library(mpi: Any) -> str:
    """Path of the OpenSHMEM library beside the MPI library that is loaded; empty if there is none."""
    if mpi.get_vendor()[0] != "Open MPI":
        return ""
    with open("/proc/self/maps") as maps:  # noqa: PTH123 (a rank loads no pathlib)
        paths = [line.split()[-1] for line in maps if "/libmpi.so" in line]
    for folder in dict.fromkeys(map(os.path.dirname, paths)):
        for name in ("liboshmem.so.40", "liboshmem.so"):
            path = os.path.join(folder, name)  # noqa: PTH118
            if os.path.exists(path):  # noqa: PTH110
                return path
    return ""


class OpenShmem:
    """The library, started. All ranks must create it together, make the same allocations, and close it.

    Parameters
    ----------
    path : path of the library.
    names : functions of the kernels' table, in order.
    room : B of the largest point in the symmetric heap.
    reserved : B of global memory that points need.
    """

    def __init__(self, path: str, names: Sequence[str], *, room: int, reserved: int) -> None:
        variable, usual = _ROOM
        if 2 * room > usual:  # a buffer that grows is freed before, but leaves a gap
            os.environ.setdefault(variable, str(2 * room))
        self._global = _mapped(reserved) if reserved else 0
        self._end = self._global + reserved
        self._library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        self._library.shmem_malloc.restype = ctypes.c_void_p
        self._library.shmem_malloc.argtypes = [ctypes.c_size_t]
        self._library.shmem_free.argtypes = [ctypes.c_void_p]
        self._library.shmem_addr_accessible.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._library.shmem_init()
        self._names = names
        self._functions = (ctypes.c_void_p * len(names))()
        for place, name in enumerate(names):
            function = getattr(self._library, name, None)
            self._functions[place] = None if function is None else ctypes.cast(function, ctypes.c_void_p)
        self._buffers: dict[tuple[str, str], NDArray[np.uint8]] = {}
        self._allocated: dict[str, int] = {}  # name → what shmem_malloc returned
        sync = self._heap("sync", 2 * SYNC_LONGS * 8).view(np.int64)
        sync[:] = -1  # SHMEM_SYNC_VALUE
        self.fields = {"shmem": ctypes.addressof(self._functions), "sync": sync.ctypes.data}
        self._library.shmem_barrier_all()

    def missing(self) -> list[str]:
        """Functions of the table that the library lacks."""
        return [name for name, address in zip(self._names, self._functions, strict=True) if not address]

    def buffer(self, memory: str) -> Callable[[str, int], NDArray[np.uint8]]:
        """Return a function that gives buffers of one kind of memory, at least as large as any point has needed.

        Parameters
        ----------
        memory : ``heap`` or ``global``.

        Raises
        ------
        KernelError
            If there is too little of it.
        """
        allocate = self._heap if memory == "heap" else self._fixed

        def buffer(name: str, size: int) -> NDArray[np.uint8]:
            kept = self._buffers.get((memory, name))
            return allocate(name, size) if kept is None or len(kept) < size else kept

        return buffer

    def _heap(self, name: str, size: int) -> NDArray[np.uint8]:
        self._buffers.pop(("heap", name), None)
        if name in self._allocated:
            self._library.shmem_free(self._allocated.pop(name))
        size = _whole_pages(size)
        allocated = self._library.shmem_malloc(size + mmap.PAGESIZE)
        if not allocated:
            raise KernelError(
                f"the symmetric heap has no {format_size(size)} left for a buffer. Set a smaller size, or a larger "
                f"heap: --factor env.{_ROOM[0]}={4 * size}."
            )
        self._allocated[name] = allocated
        return self._kept("heap", name, _whole_pages(allocated), size)

    def _fixed(self, name: str, size: int) -> NDArray[np.uint8]:
        size = _whole_pages(size)
        if self._global + size > self._end:
            raise KernelError(f"no global memory is left for {format_size(size)}. Measure this point by itself.")
        address, self._global = self._global, self._global + size
        if not self._library.shmem_addr_accessible(address, 0):
            raise KernelError("this OpenSHMEM library does not share global memory of Python. Set memory=heap.")
        return self._kept("global", name, address, size)

    def _kept(self, memory: str, name: str, address: int, size: int) -> NDArray[np.uint8]:
        buffer: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
        buffer[:] = ord("a")  # prefault
        self._buffers[memory, name] = buffer
        return buffer

    def close(self) -> None:
        """End OpenSHMEM, and in Open MPI also MPI."""
        self._library.shmem_barrier_all()
        self._library.shmem_finalize()


def _whole_pages(size: int) -> int:
    return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE


def _mapped(size: int) -> int:
    """Address of new private memory below the end of the program, the same on all ranks.

    Raises
    ------
    KernelError
        If there is no room.
    """
    system = ctypes.CDLL(None, use_errno=True)
    system.mmap.restype = ctypes.c_void_p
    system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED_NOREPLACE | _MAP_NORESERVE
    with open("/proc/self/maps") as maps:  # noqa: PTH123
        program = int(maps.readline().partition("-")[0], 16)
    start = _HIGH if program > _HIGH else _LOW
    if start + size > program or system.mmap(start, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0) != start:
        raise KernelError(
            f"memory=global needs {format_size(size)} below the program, which begins at {program:#x}: there is too "
            "little room. Set memory=heap, a smaller size, or use a Python that is relocated (PIE)."
        )
    return start


def function_names(loaded: ctypes.CDLL) -> list[str]:
    """Names of the functions of the kernels' table, from the compiled kernels."""
    names = (ctypes.c_char_p * 256).in_dll(loaded, "labkit_shmem_functions")
    return [word.decode() for word in itertools.takewhile(lambda word: word is not None, names)]
