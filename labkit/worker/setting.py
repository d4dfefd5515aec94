"""What one point needs of MPI beside its buffers: communicators, datatypes, windows, files; made before the loop."""

from __future__ import annotations

import glob
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import kernels
from labkit.benchmarks import CollectiveBenchmark, FileBenchmark, KernelBenchmark, OneSidedBenchmark
from labkit.errors import KernelError
from labkit.spec import Spec

Allocate = Callable[[str, int], NDArray[np.uint8]]
PAGE = 4096


class Setting:
    """Everything a kernel is given for one point; free it with `close`, which all ranks must call.

    Parameters
    ----------
    mpi : the ``mpi4py.MPI`` module, None without MPI.
    rank : of this process.
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
        self._options = spec.values
        self._free: list[Callable[[], object]] = []
        self.dtype = np.dtype(benchmark.dtype(spec))
        self.gaps = 2 if self._options.get("layout", "contiguous") != "contiguous" else 1
        sent, received = (size * self.gaps for size in benchmark.buffers(spec))
        rooms, self.window, self.stride = (window if stride else 1), window, stride * self.gaps
        self.sends, self.recvs, self.works, self.held = [], [], [], {}  # type: list[Any], list[Any], list[Any], dict[str, Any]
        self.exposed: NDArray[np.uint8] | None = None
        self.path, self.offset = "", 0
        self._fork(self._options.get("forked", 0))
        for thread in range(self._options.get("threads", 1)):
            own = f"-{thread}" if thread else ""
            self.sends.append(allocate(f"send{own}", max(sent * rooms, 1)))
            self.recvs.append(allocate(f"recv{own}", max(received * rooms, 1)))
            self.works.append(self._work(thread, changes))

    def _fork(self, children: int) -> None:
        """Children that sleep until the setting is closed, or until their parent is gone."""
        for _ in range(children):
            ours, theirs = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(theirs)
                os.read(ours, 1)  # ends when the other side closes
                os._exit(0)
            os.close(ours)
            self._free.append(lambda child=child: os.waitpid(child, 0))  # type: ignore[misc]
            self._free.append(lambda theirs=theirs: os.close(theirs))  # type: ignore[misc]

    def _work(self, thread: int, changes: dict[str, Any]) -> kernels.Work:
        """The work of one thread."""
        spec, benchmark, options = self._spec, self._benchmark, self._options
        phases = 1 + (len(benchmark.phases) if options.get("overlap", True) else 0)
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
            "timing": options.get("timing", "each"),
            "isolated": options.get("cadence", benchmark.cadence) == "isolated",
        }
        if self._mpi is None:
            return kernels.Work(comm=None, datatype=None, op=None, **common | changes, more=dict(benchmark.work(spec)))
        comm = self._comm(thread)
        active, peer = benchmark.active(spec, self._rank), benchmark.peer(spec, self._rank)
        datatype, count = self._datatype(common["count"])
        any_source = options.get("source") == "any"
        more: dict[str, Any] = {
            "info": self._mpi.INFO_NULL,
            "byte": self._mpi.BYTE,
            "active": active,
            "source": self._mpi.ANY_SOURCE if any_source else peer,
            "right": (self._rank + 1) % spec.ranks,
            "left": (self._rank - 1) % spec.ranks,
            "rotate": options.get("rotate", False),
            "overlap": phases > 1,
            "tests": options.get("tests", 0),
            **self._pieces(count, datatype, comm),
            **dict(benchmark.work(spec)),
        }
        if parts := benchmark.splits(spec, self._rank):
            more["comms"] = [self._freed(comm.Split(colour, key)) for colour, key in parts]
        more |= self._window(comm) if isinstance(benchmark, OneSidedBenchmark) else {}
        more |= self._file(comm) if isinstance(benchmark, FileBenchmark) else {}
        if isinstance(benchmark, OneSidedBenchmark) and benchmark.compares:
            more["extra"] = self.held["extra"] = np.zeros(spec.size, np.uint8)
        if "buffers_in_turn" in options:
            more["places"] = self._places()
            more["nplaces"] = len(more["places"])
        operation = getattr(self._mpi, options.get("operation", "sum").upper())
        values = common | {"comm": comm, "datatype": datatype, "count": count, "op": operation, "peer": peer}
        values |= {"root": options.get("root", 0)} | self._in_place()
        own = {name: changes[name] for name in changes if name in kernels.Work.__dataclass_fields__}
        more |= {name: changes[name] for name in changes if name not in own}
        return kernels.Work(**values | own, more=more)

    def _comm(self, thread: int) -> Any:
        """The ranks, as a topology where the benchmark has neighbours in one; a thread has its own."""
        world, topology = self._mpi.COMM_WORLD, self._options.get("topology")
        if topology == "cart":
            return self._freed(world.Create_cart([self._spec.ranks], periods=[True]))
        if topology == "graph":
            near = list(self._benchmark.peers(self._spec, self._rank))
            return self._freed(world.Create_dist_graph_adjacent(near, near))
        return self._freed(world.Dup()) if thread else world

    def _freed(self, made: Any) -> Any:
        """An MPI object that is freed with the setting."""
        self._free.append(made.Free)
        return made

    def _datatype(self, count: int) -> tuple[Any, int]:
        """Datatype and number of elements of one message."""
        mpi, options = self._mpi, self._options
        types = {
            "uint8": mpi.CHAR,
            "float32": mpi.FLOAT,
            "float64": mpi.DOUBLE,
            "int32": mpi.INT32_T,
            "int64": mpi.INT64_T,
        }
        plain = types[self.dtype.name]
        if self.gaps == 1:
            return plain, count
        block, blocks = options["block"], self._spec.size // options["block"]
        if options["layout"] == "vector":
            made = plain.Create_vector(blocks, block, 2 * block)
        else:
            made = plain.Create_indexed([block] * blocks, [2 * block * k for k in range(blocks)])
        whole = made.Create_resized(0, 2 * self._spec.size).Commit()
        made.Free()
        return self._freed(whole), 1

    def _pieces(self, count: int, datatype: Any, comm: Any) -> dict[str, Any]:
        """Where every rank's or neighbour's message lies, in the units of each form of call; and the neighbours."""
        spec, benchmark = self._spec, self._benchmark
        peers = np.array(benchmark.peers(spec, self._rank), np.int32)
        parts = max(spec.ranks, len(peers))
        counts = np.full(parts, count, np.int32)
        if isinstance(benchmark, CollectiveBenchmark) and benchmark.counts is not None:
            counts = np.array(benchmark.counts(spec, self.dtype.itemsize), np.int32)
        displs = np.arange(parts) * count
        apart = spec.size * self.gaps
        found = {"counts": counts, "displs": displs.astype(np.int32), "peers": peers, "npeers": len(peers)}
        found |= {"bytes": (np.arange(parts) * apart).astype(np.int32), "far_bytes": np.arange(parts) * apart}
        return found | {"types": [datatype] * parts}

    @property
    def placed(self) -> int | None:
        """Where in the receive buffer this rank's own data lie, B; None if it does not work in place."""
        if not isinstance(self._benchmark, CollectiveBenchmark) or not self._options.get("in_place"):
            return None
        return self._benchmark.placed(self._spec, self._rank)

    def _in_place(self) -> dict[str, Any]:
        """MPI_IN_PLACE instead of the buffer that holds nothing of its own."""
        if not isinstance(self._benchmark, CollectiveBenchmark) or self.placed is None:
            return {}
        return {self._benchmark.replaces: int(self._mpi.IN_PLACE) & (1 << 64) - 1}

    def _places(self) -> NDArray[np.int64]:
        """Offsets of the buffers of successive messages: some in turn, a part of them always the first."""
        turn, reuse = self._options["buffers_in_turn"], self._options["reuse"]
        apart = max(-(-self._spec.size // PAGE) * PAGE, PAGE)
        order = np.arange(turn) * apart
        if not reuse:
            return order
        chance = np.random.default_rng(1)  # both ranks must draw the same
        return np.where(chance.random(4 * turn) < reuse / 100, 0, order[chance.integers(0, turn, 4 * turn)])

    def _window(self, comm: Any) -> dict[str, Any]:
        """A window over memory of its own, and where each target's part begins in it."""
        mpi, spec, kind = self._mpi, self._spec, self._options.get("memory", "allocate")
        rooms = self.window if self.stride else 1
        parts = spec.ranks if self._options.get("targets") == "all" else 1
        size = max(spec.size * rooms * parts, 8)
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
        own = spec.size * rooms * self._rank if parts > 1 else 0
        group = comm.Get_group()
        near = self._freed(group.Incl(sorted(set(peers))))
        group.Free()
        held = self.exposed

        def free() -> None:
            if kind == "dynamic":
                window.Detach(held)
            window.Free()

        self._free.append(free)
        self.held["window"] = window
        return {
            "win": window,
            "group": near,
            "lock": mpi.LOCK_SHARED,
            "far_bytes": base[peers] + own if peers else base,
        }

    def before(self, own: NDArray[Any], peer: NDArray[Any]) -> None:
        """Put patterns where a verified iteration will read them: into the window, the comparison, the file."""
        if self.exposed is not None:
            self.exposed[:] = np.resize(own.view(np.uint8), len(self.exposed))
        if "extra" in self.held:
            self.held["extra"][:] = peer.view(np.uint8)[: len(self.held["extra"])]
        if isinstance(self._benchmark, FileBenchmark) and self._benchmark.moves == "read":
            with open(self.path, "r+b") as file:  # noqa: PTH123
                file.seek(self.offset)
                file.write(own.view(np.uint8)[: self._spec.size].tobytes())

    def after(self, recv: NDArray[np.uint8], own: NDArray[Any]) -> NDArray[np.uint8]:
        """What came of it: the receive buffer, or what stands in the file after a write."""
        if self.exposed is not None:
            self.held["window"].Lock(self._rank)  # what others wrote becomes visible
            self.held["window"].Unlock(self._rank)
        if not isinstance(self._benchmark, FileBenchmark) or self._benchmark.moves != "write":
            return recv
        with open(self.path, "rb") as file:  # noqa: PTH123
            blocks = np.frombuffer(file.read(), np.uint8).reshape(-1, self._spec.size)
        mine = [block for block in blocks if np.array_equal(block, own.view(np.uint8))]
        shared = self._options["pointer"] == "shared"  # any order will do
        return mine[0] if shared and mine else blocks[0 if shared else self.offset // self._spec.size]

    def _file(self, comm: Any) -> dict[str, Any]:
        """An open file: one for all, or one for each rank."""
        mpi, options, spec = self._mpi, self._options, self._spec
        alone = options.get("access") == "single" or options.get("pointer") == "private"
        folder, ours = options["directory"] or tempfile.gettempdir(), f"labkit-mpi-io-{socket.gethostname()}-"
        for left in glob.glob(os.path.join(folder, f"{ours}*")):  # noqa: PTH118, PTH207
            if not os.path.exists(f"/proc/{left.rpartition('-')[2]}"):  # noqa: PTH110 (its rank was killed)
                with suppress(OSError):
                    os.unlink(left)  # noqa: PTH108
        name = f"{ours}{os.getpid()}" if alone else comm.bcast(f"{ours}{os.getpid()}")
        path = os.path.join(folder, name)  # noqa: PTH118 (bytes for C)
        group, amode = (mpi.COMM_SELF if alone else comm), mpi.MODE_CREATE | mpi.MODE_RDWR
        found: dict[str, Any] = {"path": path.encode(), "amode": amode, "seek_set": mpi.SEEK_SET}
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
        return found | {"file": file, "offset": self.offset, "comm": group}

    def close(self) -> None:
        """Free what was made, the last first."""
        while self._free:
            self._free.pop()()
        self.works.clear()


def packed(values: NDArray[Any], gaps: int, block: int) -> NDArray[Any]:
    """The data of a buffer without its gaps."""
    return values if gaps == 1 else values.reshape(-1, gaps, block)[:, 0].ravel()
