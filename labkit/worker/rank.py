"""One rank: buffers, verification, timed chunks."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, kernels
from labkit.benchmarks import KernelBenchmark, StartBenchmark
from labkit.spec import Spec
from labkit.units import KiB
from labkit.worker import ABSENT, Frame, Plan, links
from labkit.worker.group import Alone, Together
from labkit.worker.setting import Setting
from labkit.worker.stop import CHUNK, Stop
from labkit.worker.verify import verify
from labkit.worker.windows import Windows


class Worker:
    """One rank with its buffers and its kernels."""

    def __init__(self, plan: Plan, out: int, mpi: Any, init_ns: int = 0) -> None:
        self._plan, self._out, self.mpi, self._init_ns = plan, out, mpi, init_ns
        self.ranks: Alone | Together = Together(mpi.COMM_WORLD) if mpi is not None else Alone()
        self._engine, self._loops = kernels.engine(mpi), kernels.python_loops(mpi)
        self._buffers: dict[tuple[str, bool], NDArray[np.uint8]] = {}
        self._links: Mapping[str, list[str]] = json.loads(os.environ.get(links.LINKS, "{}"))

    def send(self, kind: str, values: NDArray[np.int64] | None = None, **header: Any) -> None:
        """A frame to the parent, from rank 0 only."""
        if self.ranks.rank == 0:
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
        self.ranks.barrier()
        self.send("done", peak_rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KiB)

    def _describe(self) -> dict[str, Any]:
        """Facts of this start that every samples file keeps."""
        facts: dict[str, Any] = {"engine": self._engine.engine, "size": self.ranks.size}
        facts["affinity"] = sorted(os.sched_getaffinity(0))
        facts["timer_overhead_ns"] = self._timer_overhead()
        if self.mpi is None:
            return facts
        hosts = self.mpi.COMM_WORLD.gather((self.mpi.Get_processor_name(), sorted(os.sched_getaffinity(0))))
        levels = {
            self.mpi.THREAD_SINGLE: "single",
            self.mpi.THREAD_FUNNELED: "funneled",
            self.mpi.THREAD_SERIALIZED: "serialized",
            self.mpi.THREAD_MULTIPLE: "multiple",
        }
        facts["thread_level"] = levels[self.mpi.Query_thread()]
        facts["library"] = self.mpi.Get_library_version().strip("\0 \n").splitlines()[0]
        facts["mpi_standard"] = ".".join(map(str, self.mpi.Get_version()))
        facts["rank_hosts"] = [host for host, _ in hosts] if hosts else []
        facts["rank_affinity"] = [cpus for _, cpus in hosts] if hosts else []
        if "LABKIT_STAGED" in os.environ:  # then all ranks have it
            facts["staged"] = sorted(set(self.mpi.COMM_WORLD.gather(os.environ["LABKIT_STAGED"]) or []))
        return facts

    def _timer_overhead(self) -> float | None:
        """Median cost of the pair of clock reads around an iteration, ns."""
        if not self._engine.has("clock"):
            return None
        nothing = np.zeros(1, np.uint8)
        work = kernels.Work(comm=None, datatype=None, op=None, count=0, itemsize=1, send=nothing, recv=nothing)
        return float(np.median(self._engine.prepare("clock", work)(1000, 10_001)))

    def _buffer(self, huge: bool) -> Callable[[str, int], NDArray[np.uint8]]:
        """Gives buffers at least as large as any point needed so far."""

        def allocate(which: str, size: int) -> NDArray[np.uint8]:
            held = self._buffers.get((which, huge))
            if held is None or len(held) < size:
                held = self._buffers[which, huge] = self._engine.allocate(size, huge=huge)
            return held

        return allocate

    def _point(self, index: int, spec: Spec) -> None:
        """Verify, then time one point, and send what came out."""
        benchmark, began = benchmarks.get(spec.benchmark), perf_counter()
        if isinstance(benchmark, StartBenchmark):
            self._start(index, benchmark)
            return
        assert isinstance(benchmark, KernelBenchmark)
        wrong, looked = self._impossible(benchmark), False
        if not wrong:
            wrong, looked = self._together(*verify(self, spec, benchmark))
        if wrong:
            self.send("failed", index=index, reason=wrong)
            return
        carried, crossed, usage = links.interfaces(), links.read(self._links), resource.getrusage(resource.RUSAGE_SELF)
        rows, facts = self._measure(index, spec, benchmark)
        now = resource.getrusage(resource.RUSAGE_SELF)
        facts["evidence"] = {name: value - crossed[name] for name, value in links.read(self._links).items()}
        after = links.interfaces()
        carried = {
            name: (after[name][0] - received, after[name][1] - sent) for name, (received, sent) in carried.items()
        }
        facts["interface_B"] = {name: received for name, (received, _) in carried.items()}
        facts["host_B"] = self._by_host(carried)
        facts["involuntary_switches"] = now.ru_nivcsw - usage.ru_nivcsw
        facts |= {"verified": looked, "elapsed": perf_counter() - began}
        self.send("samples", rows, index=index, shape=rows.shape, **facts)

    def _by_host(self, carried: dict[str, tuple[int, int]]) -> dict[str, dict[str, tuple[int, int]]]:
        """Host → interface → B received and sent, on rank 0; empty where all ranks are on one host."""
        if self.mpi is None:
            return {}
        found = dict(self.mpi.COMM_WORLD.gather((self.mpi.Get_processor_name(), carried)) or ())
        return found if len(found) > 1 else {}

    def _start(self, index: int, benchmark: StartBenchmark) -> None:
        """The time of MPI_Init, once for a start; those of its end are the parent's to keep."""
        if benchmark.part == "init":
            rows = self.ranks.gather(np.array([self._init_ns], np.int64))[None]
            facts = {"stopped_by": "start", "warmup": 0, "chunks": [1], "timed_s": 0.0, "elapsed": 0.0}
            facts |= {"verified": False, "rows": list(range(self.ranks.size)), "interface_B": {}}
            self.send("samples", rows, index=index, shape=rows.shape, **facts)

    def _impossible(self, benchmark: KernelBenchmark) -> str:
        """Why this engine or this MPI library cannot run a benchmark; empty when they can."""
        if not self._engine.has(benchmark.kernel):
            return f"{benchmark.name} needs the compiled kernels. Run: make setup."
        missing = self._engine.missing(benchmark.calls) if benchmark.calls else []
        if missing:
            library = self.mpi.Get_library_version().strip("\0 \n").splitlines()[0]
            return f"{ABSENT}: {library} has no {missing[0]}. Use a newer one, or leave this benchmark out."
        return ""

    def _together(self, complaint: str, looked: bool) -> tuple[str, bool]:
        """The first complaint of any rank, and whether any looked, known to all."""
        if self.mpi is None:
            return complaint, looked
        found = self.mpi.COMM_WORLD.allgather((complaint, looked))
        return next((c for c, _ in found if c), ""), any(one for _, one in found)

    @contextmanager
    def prepared(
        self, spec: Spec, benchmark: KernelBenchmark, **changes: Any
    ) -> Iterator[tuple[kernels.Loop, Setting]]:
        """The kernel with everything it needs, ready to be called with counts."""
        options = spec.values
        values = {
            "window": benchmark.window(spec),
            "stride": spec.size if options.get("buffers") == "multiple" or benchmark.apart else 0,
        } | changes
        allocate = self._buffer(bool(options.get("hugepages")))
        setting = Setting(self.mpi, spec, benchmark, self.ranks.rank, allocate, **values)
        engine, kernel = self._engine, benchmark.kernel
        if options.get("binding", "c") != "c":
            engine, kernel = self._loops, f"{kernel}_pickle" if options["binding"] == "pickle" else kernel
        try:
            yield engine.prepare(kernel, *setting.works), setting
        finally:
            setting.close()

    def _measure(self, index: int, spec: Spec, benchmark: KernelBenchmark) -> tuple[NDArray[np.int64], dict[str, Any]]:
        """Timed chunks until the effort is spent; on rank 0 (phases, rows, n) ns and how it ended."""
        effort, ranks, options = self._plan.effort, self.ranks, spec.values
        windowed, windows = options.get("cadence") == "synchronised", Windows(self.mpi, self._engine, ranks)
        ahead = windows.ahead() if windowed else 0
        with self.prepared(spec, benchmark, **({"ahead_ns": ahead} if windowed else {})) as (loop, setting):
            each = self._probe(loop)
            warmup = effort.warmup
            if warmup is None:
                warmup = max(1, min(benchmark.warmup[spec.size > 8 * KiB], int(CHUNK / each)))
            if windowed:
                windows.choose(loop, warmup)
                each = max(each, windows.ns * 1e-9)
            stop, chunks, counts, told_at = Stop(effort, benchmark.reduce), [], [], monotonic()
            whole, wholes = getattr(loop, "whole", []) if benchmark.loop else [], []
            count = stop.first(each)
            single = options.get("timing") == "total"
            while count := ranks.bcast(count):
                start = windows.start() if windowed else 0
                ranks.barrier()
                began = perf_counter()
                times = loop(warmup, count, start, windows.ns)
                took = perf_counter() - began
                kept = times[:, :, :1] if single else times
                chunk = ranks.gather(kept.ravel()).reshape(ranks.size, *kept.shape)
                counts.append(count)
                if whole:
                    wholes.append(ranks.gather(np.concatenate(whole)).reshape(ranks.size, -1))
                if ranks.rank == 0:
                    chunks.append(self._active(spec, benchmark, chunk))
                    count = stop.after(chunks[-1][0], count, took)
                    if monotonic() - told_at > 0.1:
                        told_at = monotonic()
                        self.send("progress", index=index, n=stop.n, ci=stop.width)
        rows = np.concatenate(chunks, axis=2) if chunks else np.empty((1, 0, 0), np.int64)
        facts: dict[str, Any] = {"stopped_by": stop.reason, "warmup": warmup, "chunks": counts, "timed_s": stop.spent}
        facts["rows"] = rows_of = self._rows(spec, benchmark, len(setting.sends))
        if wholes and ranks.rank == 0:
            facts["loop_ns"] = [np.ravel([whole[row] for whole in wholes]).tolist() for row in rows_of]
        if windowed and ranks.rank == 0:
            facts |= windows.facts(rows[0])
        return rows, facts

    def _rows(self, spec: Spec, benchmark: KernelBenchmark, threads: int) -> list[int]:
        """Whom each row belongs to: rank r, or thread t of it as r * threads + t."""
        timing = [r for r in range(self.ranks.size) if benchmark.active(spec, r)]
        return [r * threads + t for r in timing for t in range(threads)]

    def _active(self, spec: Spec, benchmark: KernelBenchmark, chunk: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of those that time, (phases, rows, n), from (ranks, phases, threads, n)."""
        timing = [r for r in range(self.ranks.size) if benchmark.active(spec, r)]
        kept = chunk[timing].swapaxes(0, 1)
        return kept.reshape(kept.shape[0], -1, kept.shape[-1])

    def _probe(self, loop: kernels.Loop) -> float:
        """About how long an iteration takes, s, the same number on every rank; its samples are dropped."""
        self.ranks.barrier()
        began = perf_counter()
        loop(1, 1)
        return self.ranks.bcast(max(int((perf_counter() - began) / 2 * 1e9), 1)) * 1e-9
