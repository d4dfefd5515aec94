"""One rank: buffers, verification, timed chunks."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, kernels
from labkit.spec import Spec
from labkit.units import KiB, MiB
from labkit.worker import Frame, Plan
from labkit.worker.stop import CHUNK, Stop

if TYPE_CHECKING:
    from mpi4py import MPI

PIECE = 256 * KiB  # B that are compared at once
VERIFY_ROOM = 2 * MiB  # B of a window that are verified; a rank must stay small


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
    """Ranks of a communicator; what they tell one another outside the timed loops."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm, self.rank, self.size = comm, comm.rank, comm.size

    def barrier(self) -> None:
        """Wait for all."""
        self._comm.Barrier()

    def bcast(self, value: int) -> int:
        """Rank 0's value."""
        held = np.array([value], np.int64)
        self._comm.Bcast(held, 0)
        return int(held[0])

    def gather(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Every rank's values, (ranks, n), on rank 0."""
        held = np.empty((self.size, len(values)), np.int64)
        self._comm.Gather(values, held if self.rank == 0 else None, 0)
        return held


class Worker:
    """One rank with its buffers and its kernels."""

    def __init__(self, plan: Plan, out: int, mpi: Any | None) -> None:
        self._plan, self._out, self._mpi = plan, out, mpi
        self._ranks: Alone | Together = Together(mpi.COMM_WORLD) if mpi is not None else Alone()
        self._engine = kernels.engine(mpi)
        self._buffers: dict[tuple[str, bool], NDArray[np.uint8]] = {}

    def send(self, kind: str, values: NDArray[np.int64] | None = None, **header: Any) -> None:
        """A frame to the parent, from rank 0 only."""
        if self._ranks.rank == 0:
            frame = Frame({"kind": kind, **header}, np.empty(0, np.int64) if values is None else values.ravel())
            view = memoryview(frame.encode())
            while view:
                view = view[os.write(self._out, view) :]

    def run(self) -> None:
        """All points of the plan, and a last frame."""
        self.send("ready", **self._describe())
        for index, spec in self._plan.points:
            self.send("point", index=index)
            self._point(index, spec)
        self._ranks.barrier()
        self.send("done", peak_rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KiB)

    def _describe(self) -> dict[str, Any]:
        """Facts of this start that every samples file keeps."""
        facts: dict[str, Any] = {"engine": self._engine.engine, "size": self._ranks.size}
        facts["affinity"] = sorted(os.sched_getaffinity(0))
        facts["timer_overhead_ns"] = self._timer_overhead()
        if self._mpi is None:
            return facts
        hosts = self._mpi.COMM_WORLD.gather((self._mpi.Get_processor_name(), sorted(os.sched_getaffinity(0))))
        levels = {self._mpi.THREAD_SINGLE: "single", self._mpi.THREAD_FUNNELED: "funneled",
                  self._mpi.THREAD_SERIALIZED: "serialized", self._mpi.THREAD_MULTIPLE: "multiple"}  # fmt: skip
        facts["thread_level"] = levels[self._mpi.Query_thread()]
        facts["library"] = self._mpi.Get_library_version().strip("\0 \n").splitlines()[0]
        facts["mpi_standard"] = ".".join(map(str, self._mpi.Get_version()))
        facts["rank_hosts"] = [host for host, _ in hosts] if hosts else []
        facts["rank_affinity"] = [cpus for _, cpus in hosts] if hosts else []
        return facts

    def _timer_overhead(self) -> float | None:
        """Median cost of the pair of clock reads around an iteration, ns."""
        if not self._engine.has("clock"):
            return None
        nothing = np.zeros(1, np.uint8)
        work = kernels.Work(comm=None, datatype=None, op=None, count=0, itemsize=1, send=nothing, recv=nothing)
        return float(np.median(self._engine.prepare("clock", work)(1000, 10_001)))

    def _buffer(self, which: str, size: int, huge: bool) -> NDArray[np.uint8]:
        """A buffer at least as large as any point needed so far."""
        held = self._buffers.get((which, huge))
        if held is None or len(held) < size:
            held = self._buffers[which, huge] = self._engine.allocate(size, huge=huge)
        return held

    def _point(self, index: int, spec: Spec) -> None:
        """Verify, then time one point, and send what came out."""
        benchmark, began = benchmarks.get(spec.benchmark), perf_counter()
        if not self._engine.has(benchmark.kernel):
            self.send("failed", index=index, reason=f"{spec.benchmark} needs the compiled kernels. Run: make setup.")
            return
        wrong = self._verify(spec, benchmark)
        if wrong is not None:
            self.send("failed", index=index, reason=wrong)
            return
        before, usage = counters(), resource.getrusage(resource.RUSAGE_SELF)
        rows, facts = self._measure(index, spec, benchmark)
        after, now = counters(), resource.getrusage(resource.RUSAGE_SELF)
        facts["interface_B"] = {name: after[name] - before.get(name, 0) for name in after}
        facts["involuntary_switches"] = now.ru_nivcsw - usage.ru_nivcsw
        facts |= {"verified": bool(benchmark.mpi and spec.size), "elapsed": perf_counter() - began}
        self.send("samples", rows, index=index, shape=rows.shape, **facts)

    def _verify(self, spec: Spec, benchmark: benchmarks.Benchmark) -> str | None:
        """Run two untimed iterations on a pattern; on rank 0 what was wrong, else None."""
        if not benchmark.mpi or spec.size == 0:
            return None
        dtype = np.dtype(benchmark.dtype(spec))
        sent, received = benchmark.buffers(spec)
        window = max(1, min(benchmark.window(spec), VERIFY_ROOM // max(spec.size, 1)))
        send, recv = (self._buffer(n, max(s, 1) * window, False) for n, s in (("send", sent), ("recv", received)))
        loop = self._prepare(spec, benchmark, window=window, stride=spec.size, isolated=1, timing="each")
        complaint = ""
        for iteration in range(2):

            def pattern(rank: int, iteration: int = iteration) -> NDArray[Any]:
                return _pattern(rank, iteration, sent * window // dtype.itemsize, dtype)

            send[: sent * window] = pattern(self._ranks.rank).view(np.uint8)
            recv[: received * window] = 0xEE
            loop(0, 1)
            expected = benchmark.expected(spec, self._ranks.rank, pattern)
            if expected is not None and not complaint:
                complaint = _compare(recv, np.asarray(expected, dtype), self._ranks.rank, iteration)
        return self._first(complaint)

    def _first(self, complaint: str) -> str | None:
        """The first complaint of any rank, known to all; None when there is none."""
        if self._mpi is None:
            return complaint or None
        return next((c for c in self._mpi.COMM_WORLD.allgather(complaint) if c), None)

    def _prepare(self, spec: Spec, benchmark: benchmarks.Benchmark, **changes: Any) -> kernels.Loop:
        """The kernel with everything it needs, ready to be called with counts."""
        options, dtype = dict(spec.options), np.dtype(benchmark.dtype(spec))
        window = changes.pop("window", benchmark.window(spec))
        stride = changes.pop("stride", spec.size if options.get("buffers") == "multiple" else 0)
        room = window if stride else 1
        huge = bool(options.get("hugepages"))
        sent, received = benchmark.buffers(spec)
        values: dict[str, Any] = {
            "comm": None, "datatype": None, "op": None,
            "count": spec.size // dtype.itemsize, "itemsize": dtype.itemsize,
            "send": self._buffer("send", sent * room, huge), "recv": self._buffer("recv", received * room, huge),
            "window": window, "stride": stride,
            "rank": self._ranks.rank, "ranks": self._ranks.size, "peer": 1 - self._ranks.rank,
            "isolated": options.get("cadence", benchmark.cadence) == "isolated",
            "timing": options.get("timing", "each"),
        }  # fmt: skip
        if self._mpi is not None:
            types = {"uint8": self._mpi.CHAR, "float32": self._mpi.FLOAT, "float64": self._mpi.DOUBLE,
                     "int32": self._mpi.INT32_T}  # fmt: skip
            values |= {"comm": self._mpi.COMM_WORLD, "datatype": types[dtype.name], "op": self._mpi.SUM}
        return self._engine.prepare(benchmark.kernel, kernels.Work(**(values | dict(benchmark.work(spec)) | changes)))  # type: ignore[no-any-return]

    def _measure(
        self, index: int, spec: Spec, benchmark: benchmarks.Benchmark
    ) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Timed chunks until the effort is spent; on rank 0 (ranks, n) ns and how it ended."""
        effort, ranks = self._plan.effort, self._ranks
        loop = self._prepare(spec, benchmark)
        each = self._probe(loop)
        warmup = effort.warmup
        if warmup is None:
            warmup = max(1, min(benchmark.warmup[spec.size > 8 * KiB], int(CHUNK / each)))
        stop, chunks, counts, told_at = Stop(effort, benchmark.reduce), [], [], monotonic()
        count = stop.first(each)
        while count := ranks.bcast(count):
            ranks.barrier()
            began = perf_counter()
            times = loop(warmup, count)
            took = perf_counter() - began
            chunk = ranks.gather(np.resize(times, 1 if dict(spec.options).get("timing") == "total" else count))
            counts.append(count)
            if ranks.rank == 0:
                chunks.append(chunk)
                count = stop.after(chunk, count, took)
                if monotonic() - told_at > 0.1:
                    told_at = monotonic()
                    self.send("progress", index=index, n=stop.n, ci=stop.width)
        rows = np.concatenate(chunks, axis=1) if chunks else np.empty((ranks.size, 0), np.int64)
        if benchmark.reduce == "rank0":
            rows = rows[:1]
        facts = {"stopped_by": stop.reason, "warmup": warmup, "chunks": counts, "timed_s": stop.spent}
        return rows, facts

    def _probe(self, loop: kernels.Loop) -> float:
        """About how long an iteration takes, s, the same number on every rank; its samples are dropped."""
        self._ranks.barrier()
        began = perf_counter()
        loop(1, 1)
        return self._ranks.bcast(max(int((perf_counter() - began) / 2 * 1e9), 1)) * 1e-9


def _pattern(rank: int, iteration: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values that tell rank, iteration and offset apart; whole numbers below 251, so that sums are exact."""
    period = ((np.arange(251) * 7 + 13 * rank + 31 * iteration) % 251).astype(dtype)
    values = np.empty(count, dtype)
    whole = count // 251 * 251
    values[:whole].reshape(-1, 251)[:] = period
    values[whole:] = period[: count - whole]
    return values


def _compare(recv: NDArray[np.uint8], expected: NDArray[Any], rank: int, iteration: int) -> str:
    """Where the received bytes first differ from what they must be; empty when they do not."""
    wanted = np.ascontiguousarray(expected).view(np.uint8).ravel()
    pieces = (slice(at, at + PIECE) for at in range(0, len(wanted), PIECE))  # a rank must stay small
    if all(np.array_equal(recv[: len(wanted)][piece], wanted[piece]) for piece in pieces):
        return ""
    wrong = np.flatnonzero(recv[: len(wanted)] != wanted)
    at = int(wrong[0])
    return (
        f"wrong bytes on rank {rank}: {wrong.size} of {len(wanted)} B differ, first at offset {at} "
        f"(found {int(recv[at])}, must be {int(wanted[at])}; verification round {iteration}). Nothing was timed."
    )


def counters() -> dict[str, int]:
    """B received so far by every network interface of this host."""
    try:
        lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    except OSError:
        return {}
    return {name.strip(): int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
