"""What one point needs of MPI besides its buffers (communicators, datatypes, windows, files), made before the loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.benchmarks import (
    CollectiveBenchmark,
    FileBenchmark,
    KernelBenchmark,
    OneSidedBenchmark,
    ParallelFileBenchmark,
    SymmetricBenchmark,
)
from labkit.errors import KernelError
from labkit.kernels import native
from labkit.options.ranks import (
    Access,
    Exposed,
    Folder,
    Forked,
    Layout,
    Operation,
    Overlapping,
    Place,
    Root,
    Rotate,
    Source,
    Targets,
    Timing,
    Topology,
)
from labkit.point.spec import Spec, has

Allocate = Callable[[str, int], NDArray[np.uint8]]


class Mirrored(Protocol):
    """Buffers in device memory, which the host reads and writes through its own arrays."""

    def upload(self) -> None:
        """Bring what the host wrote into device memory."""

    def download(self) -> None:
        """Bring what a kernel received back to the host."""


class Setting:
    """Everything that a kernel gets for one point. All ranks must call `close` to free it.

    Parameters
    ----------
    mpi : the ``mpi4py.MPI`` module, None without MPI.
    rank : rank of this process.
    allocate : from a buffer's name and size in B to the buffer.
    window, stride : messages in flight, and B between their buffers.
    changes : fields of the work that the caller sets itself.
    """

    def __init__(
        self,
        mpi: Any,
        spec: Spec,
        benchmark: KernelBenchmark,
        rank: int,
        allocate: Allocate,
        *,
        window: int,
        stride: int,
        **changes: Any,
    ) -> None:
        self._mpi, self._spec, self._benchmark, self._rank = mpi, spec, benchmark, rank
        self._allocate = allocate
        self._free: list[Callable[[], object]] = []
        self.dtype = np.dtype(benchmark.dtype(spec))
        options = spec.options
        self.gaps = 2 if has(options, Layout) and options.layout != "contiguous" else 1
        sent, received = (size * self.gaps for size in benchmark.buffers(spec))
        buffers, self.window, self.stride = (window if stride else 1), window, stride * self.gaps
        self.sends: list[NDArray[np.uint8]] = []
        self.recvs: list[NDArray[np.uint8]] = []
        self.works: list[native.Work] = []
        self._mpi_window: Any = None
        self._compared: NDArray[np.uint8] | None = None  # what MPI_Compare_and_swap compares with
        self.exposed: NDArray[np.uint8] | None = None
        self.path, self.offset, self.folder = "", 0, ""
        self.mirrored: Mirrored | None = None  # what copies the buffers to and from device memory
        self.gpu: object = None  # what the kernel needs of it, which must live as long as the setting
        self._fork(options.forked if has(options, Forked) else 0)
        for thread in range(benchmarks.threads(spec)):
            suffix = f"-{thread}" if thread else ""
            self.sends.append(allocate(f"send{suffix}", max(sent * buffers, 1)))
            self.recvs.append(allocate(f"recv{suffix}", max(received * buffers, 1)))
            self.works.append(self._work(thread, changes))

    def _fork(self, children: int) -> None:
        """Fork children that sleep until the setting is closed or their parent ends."""
        for _ in range(children):
            read_end, write_end = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(write_end)
                os.read(read_end, 1)  # ends when the other side closes
                os._exit(0)
            os.close(read_end)
            self._free.append(lambda child=child: os.waitpid(child, 0))  # type: ignore[misc]
            self._free.append(lambda write_end=write_end: os.close(write_end))  # type: ignore[misc]

    def _work(self, thread: int, changes: dict[str, Any]) -> native.Work:
        """The work of one thread."""
        spec, benchmark, options = self._spec, self._benchmark, self._spec.options
        computes = not has(options, Overlapping) or options.overlap
        phases = 1 + (len(benchmark.phases) if computes else 0)
        common: dict[str, Any] = {
            "count": spec.size // self.dtype.itemsize,
            "itemsize": self.dtype.itemsize,
            "send": self.sends[thread],
            "recv": self.recvs[thread],
            "window": self.window,
            "stride": self.stride,
            "requests": (benchmark.requests or benchmark.window)(spec),
            "phases": phases,
            "rank": self._rank,
            "ranks": spec.ranks,
            "timing": options.timing if has(options, Timing) else "each",
            "isolated": benchmarks.cadence(spec) == "isolated",
        }
        if self._mpi is None:
            return native.Work(comm=None, datatype=None, op=None, **common | changes, more=dict(benchmark.work(spec)))
        comm = self._comm(thread)
        active, peer = benchmark.active(spec, self._rank), benchmark.peer(spec, self._rank)
        datatype, count = self._datatype(common["count"])
        any_source = has(options, Source) and options.source == "any"
        files = isinstance(benchmark, FileBenchmark)  # the operation of these is none of MPI's
        more: dict[str, Any] = {
            "info": self._mpi.INFO_NULL,
            "byte": self._mpi.BYTE,
            "active": active,
            "source": self._mpi.ANY_SOURCE if any_source else peer,
            "right": (self._rank + 1) % spec.ranks,
            "left": (self._rank - 1) % spec.ranks,
            "rotate": has(options, Rotate) and options.rotate,
            "overlap": phases > 1,
            "tests": options.tests if has(options, Overlapping) else 0,
            **self._pieces(count, datatype, comm),
            **dict(benchmark.work(spec)),
        }
        if splits := benchmark.splits(spec, self._rank):
            more["comms"] = [self._freed(comm.Split(colour, key)) for colour, key in splits]
        if isinstance(benchmark, ParallelFileBenchmark):
            from labkit.worker import parallel  # inside the function: few points need files

            self.folder, fields = parallel.prepare(self._mpi, comm, spec, benchmark, self._rank, self._free.append)
            more |= fields
        elif files:
            more |= self._file(comm)
        if isinstance(benchmark, OneSidedBenchmark):
            more |= self._window(comm)
        if isinstance(benchmark, OneSidedBenchmark) and benchmark.compares:
            more["extra"] = self._compared = np.zeros(spec.size, np.uint8)
        if isinstance(benchmark, SymmetricBenchmark) and (size := benchmark.work_array(spec)):
            more |= {"extra": self._allocate("work", 2 * size), "turns": size}
        named = options.operation if has(options, Operation) else "sum"
        operation = None if files else getattr(self._mpi, named.upper())
        values = common | {"comm": comm, "datatype": datatype, "count": count, "op": operation, "peer": peer}
        values |= {"root": options.root if has(options, Root) else 0} | self._in_place()
        overrides = {name: changes[name] for name in changes if name in native.Work.__dataclass_fields__}
        more |= {name: changes[name] for name in changes if name not in overrides}
        return native.Work(**values | overrides, more=more)

    def _comm(self, thread: int) -> Any:
        """Communicator of the ranks: a topology if the benchmark has neighbours; a duplicate for further threads."""
        world, options = self._mpi.COMM_WORLD, self._spec.options
        if has(options, Topology):
            if options.topology == "cart":
                return self._freed(world.Create_cart([self._spec.ranks], periods=[True]))
            neighbours = list(self._benchmark.peers(self._spec, self._rank))
            return self._freed(world.Create_dist_graph_adjacent(neighbours, neighbours))
        return self._freed(world.Dup()) if thread else world

    def _freed(self, handle: Any) -> Any:
        """Return an MPI object after noting that `close` must free it."""
        self._free.append(handle.Free)
        return handle

    def _datatype(self, count: int) -> tuple[Any, int]:
        """Datatype and number of elements of one message."""
        mpi, options = self._mpi, self._spec.options
        types = {
            "uint8": mpi.CHAR,
            "float32": mpi.FLOAT,
            "float64": mpi.DOUBLE,
            "int32": mpi.INT32_T,
            "int64": mpi.INT64_T,
        }
        element = types[self.dtype.name]
        if not has(options, Layout) or self.gaps == 1:
            return element, count
        block, blocks = options.block, self._spec.size // options.block
        if options.layout == "vector":
            blocks_type = element.Create_vector(blocks, block, 2 * block)
        else:
            blocks_type = element.Create_indexed([block] * blocks, [2 * block * k for k in range(blocks)])
        resized = blocks_type.Create_resized(0, 2 * self._spec.size).Commit()
        blocks_type.Free()
        return self._freed(resized), 1

    def _pieces(self, count: int, datatype: Any, comm: Any) -> dict[str, Any]:
        """The peers, and the offset of each peer's message in the units of each form of call."""
        spec, benchmark = self._spec, self._benchmark
        peers = np.array(benchmark.peers(spec, self._rank), np.int32)
        parts = max(spec.ranks, len(peers))
        counts = np.full(parts, count, np.int32)
        if isinstance(benchmark, CollectiveBenchmark) and benchmark.counts is not None:
            counts = np.array(benchmark.counts(spec, self.dtype.itemsize), np.int32)
        displs = np.arange(parts) * count
        distance = spec.size * self.gaps
        layout = {"counts": counts, "displs": displs.astype(np.int32), "peers": peers, "npeers": len(peers)}
        layout |= {"bytes": (np.arange(parts) * distance).astype(np.int32), "far_bytes": np.arange(parts) * distance}
        return layout | {"types": [datatype] * parts}

    @property
    def placed(self) -> int | None:
        """Offset of this rank's data in the receive buffer, in B; None if the call does not work in place."""
        options = self._spec.options
        if isinstance(self._benchmark, CollectiveBenchmark) and has(options, Place) and options.in_place:
            return self._benchmark.placed(self._spec, self._rank)
        return None

    def _in_place(self) -> dict[str, Any]:
        """MPI_IN_PLACE as the buffer that an in-place call does not use."""
        if not isinstance(self._benchmark, CollectiveBenchmark) or self.placed is None:
            return {}
        return {self._benchmark.replaces: int(self._mpi.IN_PLACE) & (1 << 64) - 1}

    def _window(self, comm: Any) -> dict[str, Any]:
        """A window over its own memory, and the displacement of this rank's part in each target's window."""
        mpi, spec, options = self._mpi, self._spec, self._spec.options
        kind = options.memory if has(options, Exposed) else "allocate"
        buffers = self.window if self.stride else 1
        parts = spec.ranks if has(options, Targets) and options.targets == "all" else 1
        size = max(spec.size * buffers * parts, 8)
        if kind == "allocate":
            window = mpi.Win.Allocate(size, 1, mpi.INFO_NULL, comm)
            self.exposed = np.frombuffer(window.tomemory(), np.uint8)
        else:
            self.exposed = np.zeros(size, np.uint8)
            if kind == "create":
                window = mpi.Win.Create(self.exposed, 1, mpi.INFO_NULL, comm)
            else:
                window = mpi.Win.Create_dynamic(mpi.INFO_NULL, comm)
                window.Attach(self.exposed)
        window.Set_errhandler(mpi.ERRORS_RETURN)
        self.exposed[:] = 0
        base = np.zeros(spec.ranks, np.int64)
        if kind == "dynamic":
            comm.Allgather(np.array([mpi.Get_address(self.exposed)], np.int64), base)
        peers = list(self._benchmark.peers(spec, self._rank))
        displacement = spec.size * buffers * self._rank if parts > 1 else 0
        group = comm.Get_group()
        targets = self._freed(group.Incl(sorted(set(peers))))
        group.Free()
        exposed = self.exposed

        def free() -> None:
            if kind == "dynamic":
                window.Detach(exposed)
            window.Free()

        self._free.append(free)
        self._mpi_window = window
        return {
            "win": window,
            "group": targets,
            "lock": mpi.LOCK_SHARED,
            "far_bytes": base[peers] + displacement if peers else base,
        }

    def write_patterns(self, pattern: NDArray[Any], peer_pattern: NDArray[Any]) -> None:
        """Write patterns where a verified iteration reads them: in the window, the value to compare with, the file."""
        if self.mirrored is not None:
            self.mirrored.upload()
        if self.exposed is not None:
            self.exposed[:] = np.resize(pattern.view(np.uint8), len(self.exposed))
        if self._compared is not None:
            self._compared[:] = peer_pattern.view(np.uint8)[: len(self._compared)]
        if isinstance(self._benchmark, FileBenchmark) and self._benchmark.moves == "read":
            with open(self.path, "r+b") as file:  # noqa: PTH123
                file.seek(self.offset)
                file.write(pattern.view(np.uint8)[: self._spec.size].tobytes())

    def result(self, recv: NDArray[np.uint8], pattern: NDArray[Any]) -> NDArray[np.uint8]:
        """The result of a verified iteration: the receive buffer, or the contents of the file after a write."""
        if self.mirrored is not None:
            self.mirrored.download()
        if self.exposed is not None:
            self._mpi_window.Lock(self._rank)  # what others wrote becomes visible
            self._mpi_window.Unlock(self._rank)
        if not isinstance(self._benchmark, FileBenchmark) or self._benchmark.moves != "write":
            return recv
        with open(self.path, "rb") as file:  # noqa: PTH123
            blocks = np.frombuffer(file.read(), np.uint8).reshape(-1, self._spec.size)
        matches = [block for block in blocks if np.array_equal(block, pattern.view(np.uint8))]
        options = self._spec.options
        shared = has(options, Access) and options.pointer == "shared"  # any order will do
        return matches[0] if shared and matches else blocks[0 if shared else self.offset // self._spec.size]

    def _file(self, comm: Any) -> dict[str, Any]:
        """An open file: one for all, or one for each rank."""
        import glob  # inside the function: few points need files, and a rank should open few
        import socket

        from labkit.io.supervise.leftovers import RANKS
        from labkit.point import storage

        mpi, options, spec = self._mpi, self._spec.options, self._spec
        alone = has(options, Access) and (options.access == "single" or options.pointer == "private")
        folder = storage.folder(spec.of(Folder).options.directory)
        prefix = f"{RANKS}{socket.gethostname()}-"
        for leftover in glob.glob(os.path.join(folder, f"{prefix}*")):  # noqa: PTH118, PTH207
            if not os.path.exists(f"/proc/{leftover.rpartition('-')[2]}"):  # noqa: PTH110 (its rank was killed)
                with suppress(OSError):
                    os.unlink(leftover)  # noqa: PTH108
        name = f"{prefix}{os.getpid()}" if alone else comm.bcast(f"{prefix}{os.getpid()}")
        path = os.path.join(folder, name)  # noqa: PTH118 (bytes for C)
        group, amode = (mpi.COMM_SELF if alone else comm), mpi.MODE_CREATE | mpi.MODE_RDWR
        fields: dict[str, Any] = {"path": path.encode(), "amode": amode, "seek_set": mpi.SEEK_SET}
        self.path, self.offset = path, 0 if alone else spec.size * self._rank
        try:
            file = mpi.File.Open(group, path, amode)
        except mpi.Exception as error:
            raise KernelError(
                f"{path} cannot be opened: {error}. Set directory to a folder that every rank can write."
            ) from error
        file.Set_size(spec.size if alone else spec.size * spec.ranks)
        file.Set_errhandler(mpi.ERRORS_RETURN)

        def free() -> None:
            file.Close()
            comm.Barrier()
            if alone or self._rank == 0:
                os.unlink(path)  # noqa: PTH108

        self._free.append(free)
        file.Seek(self.offset)
        return fields | {"file": file, "offset": self.offset, "comm": group}

    def close(self) -> None:
        """Free everything that was made, in reverse order."""
        while self._free:
            self._free.pop()()
        self.works.clear()


def packed(values: NDArray[Any], gaps: int, block: int) -> NDArray[Any]:
    """The data of a buffer without its gaps."""
    return values if gaps == 1 else values.reshape(-1, gaps, block)[:, 0].ravel()
