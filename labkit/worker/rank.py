"""One rank: buffers, verification, timed chunks."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import CLOCK_MONOTONIC, monotonic, perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.benchmarks import (
    DeviceBenchmark,
    FileBenchmark,
    KernelBenchmark,
    ParallelFileBenchmark,
    StartBenchmark,
    SymmetricBenchmark,
)
from labkit.io import control_groups
from labkit.kernels import native, openshmem
from labkit.kernels.loops import Loops, engine
from labkit.options.ranks import Binding, Buffers, Separate, Symmetric, Timing
from labkit.point.spec import Spec, has
from labkit.point.units import KiB
from labkit.stats import across_ranks, clock_resolution
from labkit.worker import ABSENT, LACKING, Frame, Plan, counters, links
from labkit.worker.group import Alone, Together
from labkit.worker.retention import WHOLE, Every, Extremes, Kept
from labkit.worker.setting import Setting
from labkit.worker.stop import CHUNK, Stop
from labkit.worker.verify import verify
from labkit.worker.windows import Windows

if TYPE_CHECKING:
    from labkit.worker.devices import Devices


class Worker:
    """One rank with its buffers and its kernels."""

    def __init__(self, plan: Plan, out: int, mpi: Any, init_ns: int = 0) -> None:
        self._plan, self._out, self.mpi, self._init_ns = plan, out, mpi, init_ns
        self.ranks: Alone | Together = Together(mpi.COMM_WORLD) if mpi is not None else Alone()
        self._engine, self._loops = engine(mpi), Loops(mpi)
        self._buffers: dict[tuple[str, bool], NDArray[np.uint8]] = {}
        self._openshmem: openshmem.OpenShmem | None = None  # from the first point on that needs it
        self._devices: Devices | None = None  # likewise
        self._leaders: Together | None = None  # one rank of each host, where there are several
        self._several = False  # hosts, whose clocks differ
        self._links: Mapping[str, list[str]] = json.loads(os.environ.get(links.LINKS, "{}"))
        self._host: counters.Host | None = None  # from the first point on, on a rank of each host
        self._queues: counters.Queues | None = None  # on rank 0, if a testbed has switches

    def send(self, kind: str, values: NDArray[np.int64] | None = None, **header: Any) -> None:
        """Send a frame to the parent; ranks other than 0 send nothing."""
        if self.ranks.rank == 0:
            frame = Frame({"kind": kind, **header}, np.empty(0, np.int64) if values is None else values.ravel())
            view = memoryview(frame.encode())
            while view:
                view = view[os.write(self._out, view) :]

    def run(self) -> None:
        """Run all points of the plan, then send a last frame."""
        self.send("ready", **self._describe())
        for index, spec in enumerate(self._plan.specs):
            self.send("point", index=index)
            self._point(index, spec)
        self.ranks.barrier()
        self.send("done", peak_rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KiB)

    def _describe(self) -> dict[str, Any]:
        """Facts of this start, which every samples file keeps."""
        facts: dict[str, Any] = {"engine": self._engine.engine, "size": self.ranks.size}
        facts["affinity"] = sorted(os.sched_getaffinity(0))
        facts |= self._clock()
        if self.mpi is None:
            return facts
        hosts = [json.loads(text) for text in self.ranks.texts(self._whereabouts())]
        self._leaders = self.ranks.leaders([host for host, _ in hosts])
        self._several = bool(self.ranks.any([self._leaders is not None])[0])
        levels = {
            self.mpi.THREAD_SINGLE: "single",
            self.mpi.THREAD_FUNNELED: "funneled",
            self.mpi.THREAD_SERIALIZED: "serialized",
            self.mpi.THREAD_MULTIPLE: "multiple",
        }
        facts["thread_level"] = levels[self.mpi.Query_thread()]
        facts["library"] = self.mpi.Get_library_version().strip("\0 \n").splitlines()[0]
        facts["mpi_standard"] = ".".join(map(str, self.mpi.Get_version()))
        facts["rank_hosts"] = [host for host, _ in hosts]
        facts["rank_affinity"] = [cpus for _, cpus in hosts]
        if "LABKIT_STAGED" in os.environ:  # then all ranks have it
            facts["staged"] = sorted(set(self.ranks.texts(os.environ["LABKIT_STAGED"])))
        return facts

    def _whereabouts(self) -> str:
        """Host and processors of this rank, as JSON."""
        return json.dumps([self.mpi.Get_processor_name(), sorted(os.sched_getaffinity(0))])

    def _clock(self) -> dict[str, float | None]:
        """Median cost of the pair of clock reads around an iteration, and the step of the clock, ns."""
        if not self._engine.has("clock"):
            reads = np.array([perf_counter_ns() for _ in range(10_001)], np.int64)
            return {"timer_overhead_ns": None, "clock_ns": clock_resolution(np.diff(reads))}
        empty = np.zeros(1, np.uint8)
        loops = {"clock": CLOCK_MONOTONIC}  # as now_ns of kernel.h
        work = native.Work(comm=None, datatype=None, op=None, count=0, itemsize=1, send=empty, recv=empty, more=loops)
        between = self._engine.prepare("clock", work)(1000, 10_001)
        return {"timer_overhead_ns": float(np.median(between)), "clock_ns": clock_resolution(between)}

    def _buffer(self, huge: bool) -> Callable[[str, int], NDArray[np.uint8]]:
        """Return a function that gives buffers at least as large as any point has needed so far."""

        def allocate(name: str, size: int) -> NDArray[np.uint8]:
            buffer = self._buffers.get((name, huge))
            if buffer is None or len(buffer) < size:
                buffer = self._buffers[name, huge] = self._engine.allocate(size, huge=huge)
            return buffer

        return allocate

    def close(self) -> None:
        """End what MPI_Finalize does not end."""
        if self._openshmem is not None:
            self._openshmem.close()
        if self._queues is not None:
            self._queues.close()

    def _point(self, index: int, spec: Spec) -> None:
        """Verify and time one point, and send its samples."""
        benchmark, began = benchmarks.get(spec.benchmark), perf_counter()
        if isinstance(benchmark, StartBenchmark):
            self._start(index, benchmark)
            return
        assert isinstance(benchmark, KernelBenchmark)
        reason, compared = self._impossible(spec, benchmark), False
        if not reason:
            reason, compared = self._agreed(*verify(self, spec, benchmark))
        if reason:
            self.send("failed", index=index, reason=reason)
            return
        carried, usage = self._counters(), resource.getrusage(resource.RUSAGE_SELF)
        congested = self._congestion()
        quotas, start = control_groups.quotas(), perf_counter()
        kept, facts = self._measure(index, spec, benchmark)
        if isinstance(benchmark, benchmarks.ApplicationBenchmark):
            from labkit.worker import solution  # inside the function: few points need it, and a rank should open few

            results = self._buffers["recv", _huge(spec)]
            reason, _ = self._agreed(solution.wrong(spec, benchmark, results), True)
            if reason:
                self.send("failed", index=index, reason=reason)
                return
            facts |= solution.facts(self.ranks, spec, results)
        usage_after, span = resource.getrusage(resource.RUSAGE_SELF), perf_counter() - start
        facts |= self._carried(*carried)
        facts |= self._grown(congested)
        facts["involuntary_switches"] = usage_after.ru_nivcsw - usage.ru_nivcsw
        facts |= self._idlest(usage_after.ru_utime + usage_after.ru_stime - usage.ru_utime - usage.ru_stime, span)
        facts |= self._throttled(quotas)
        facts |= {"verified": compared, "elapsed": perf_counter() - began}
        if isinstance(benchmark, benchmarks.FileBenchmark):
            from labkit.worker import files  # inside the function: few points need it, and a rank should open few

            facts |= files.facts(spec, benchmark)
        if self._devices is not None and isinstance(benchmark, DeviceBenchmark):
            facts |= self._devices.facts(spec)
        if kept.over:
            about = {"ranks": kept.over.ranks, "iterations": kept.over.iterations, "phases": [*kept.over.phases]}
            self.send("over ranks", across_ranks.packed(kept.over), **about)
        self.send("samples", kept.times, index=index, shape=kept.times.shape, **facts)

    def _counters(self) -> tuple[dict[str, tuple[int, int]], dict[str, int], int | None]:
        """What interfaces, the links of a testbed and own sockets have carried so far."""
        return links.interfaces(), links.read(self._links), links.own_sockets()

    def _carried(
        self, interfaces: dict[str, tuple[int, int]], crossed: dict[str, int], sockets: int | None
    ) -> dict[str, Any]:
        """What interfaces, the links of a testbed and own sockets have carried since some counters were read."""
        after, crossed_after, sockets_after = self._counters()
        carried = {name: (after[name][0] - one[0], after[name][1] - one[1]) for name, one in interfaces.items()}
        facts: dict[str, Any] = {
            "evidence": {name: value - crossed[name] for name, value in crossed_after.items()},
            "interface_B": {name: received for name, (received, _) in carried.items()},
            "host_B": self._by_host(carried),
        }
        if sockets is not None and sockets_after is not None and sockets_after >= sockets:  # else some were closed
            facts["socket_B"] = sockets_after - sockets
        return facts

    def _congestion(self) -> dict[str, int]:
        """Counters of loss, pause and congestion so far, on the first rank of each host; empty on the others."""
        if self._leaders is None and (self._several or self.ranks.rank):
            return {}
        if self._host is None:
            self._host = counters.Host()
            if self.ranks.rank == 0 and (process := os.environ.get(links.SWITCHES)):
                with suppress(OSError):  # a container may forbid to look into another network
                    self._queues = counters.Queues(int(process))
        name = self.mpi.Get_processor_name() if self.mpi is not None else os.uname().nodename
        counted = {f"{name}:{counter}": value for counter, value in self._host.read().items()}
        return counted | (self._queues.read() if self._queues is not None else {})

    def _grown(self, before: Mapping[str, int]) -> dict[str, dict[str, int]]:
        """By how much these counters grew since then, of all hosts, on rank 0; empty if none did."""
        more = counters.grown(before, self._congestion())
        if self._leaders is not None:
            texts = self._leaders.texts(json.dumps(more))
            more = {counter: by for text in texts for counter, by in json.loads(text).items()}
        return {"counters": more} if more else {}

    def _idlest(self, used: float, span: float) -> dict[str, float]:
        """The rank that had a processor for the shortest time, and this share of the time; on rank 0."""
        rows = self.ranks.gather(np.array([1e9 * used, 1e9 * span], np.int64))
        if self.ranks.rank:
            return {}
        shares = rows[:, 0] / np.maximum(rows[:, 1], 1)
        return {"idlest_rank": int(shares.argmin()), "idlest_share": float(shares.min())}

    def _throttled(self, before: Mapping[str, control_groups.Quota]) -> dict[str, float]:
        """The tightest quota of a rank, and how often a rank had to wait because of one; on rank 0, if there is one."""
        after = control_groups.quotas()
        own = control_groups.tightest(after) or 0.0, control_groups.throttled(before, after)
        rows = self.ranks.gather(np.rint(1e9 * np.array(own)).astype(np.int64))
        limited = rows[rows[:, 0] > 0] if self.ranks.rank == 0 else rows[:0]
        if not len(limited):
            return {}
        return {"processor_quota": int(limited[:, 0].min()) / 1e9, "throttled_share": int(rows[:, 1].max()) / 1e9}

    def _by_host(self, carried: dict[str, tuple[int, int]]) -> dict[str, dict[str, tuple[int, int]]]:
        """Host → interface → B received and sent, on rank 0; empty if all ranks are on one host."""
        if self._leaders is None:
            return {}
        counters = json.dumps([self.mpi.Get_processor_name(), carried])
        return dict(json.loads(text) for text in self._leaders.texts(counters))

    def _start(self, index: int, benchmark: StartBenchmark) -> None:
        """Send the time of MPI_Init; the parent measures and keeps the time of the end of a start."""
        if benchmark.part == "init":
            rows = self.ranks.gather(np.array([self._init_ns], np.int64))[None]
            facts = {"stopped_by": "start", "warmup": 0, "chunks": [1], "timed_s": 0.0, "elapsed": 0.0}
            facts |= {"verified": False, "rows": list(range(self.ranks.size)), "interface_B": {}}
            self.send("samples", rows, index=index, shape=rows.shape, **facts)

    def _impossible(self, spec: Spec, benchmark: KernelBenchmark) -> str:
        """Return why this engine, this MPI library or this machine cannot run a benchmark; empty if they can."""
        synchronised = benchmarks.cadence(spec) == "synchronised"
        if not self._engine.has(benchmark.kernel) or (synchronised and not self._engine.has("clock_offset")):
            what = f"{benchmark.name} with cadence=synchronised" if synchronised else benchmark.name
            return f"{LACKING}: {what} needs the compiled kernels. Install a C compiler and run: {native.rebuild()}"
        missing = self._engine.missing(benchmark.calls) if benchmark.calls else []
        if missing:
            library = self.mpi.Get_library_version().strip("\0 \n").splitlines()[0]
            return f"{ABSENT}: {library} has no {missing[0]}. Use a newer one, or leave this benchmark out."
        if _binding(spec) == "shmem4py":
            from labkit.kernels import shmem_loops  # inside the function: few points need it

            if complaint := shmem_loops.absent():
                return f"{benchmark.name}: {complaint}"
        if isinstance(benchmark, SymmetricBenchmark) and self._openshmem is None:
            return self._start_openshmem()
        if isinstance(benchmark, DeviceBenchmark):
            from labkit.worker import devices  # inside the function: few points need it, and a rank should open few

            self._devices = self._devices or devices.Devices(self._engine, self.mpi, self.ranks)
            return self._agreed(self._devices.impossible(spec, benchmark), False)[0]
        return ""

    def _start_openshmem(self) -> str:
        """Start OpenSHMEM on all ranks; return why this MPI library has none, empty if it has."""
        path = openshmem.library(self.mpi)
        if not path:
            library = " ".join(self.mpi.Get_library_version().strip("\0 \n").splitlines()[0].partition(",")[0].split())
            return (
                f"{ABSENT}: {library} has no OpenSHMEM library. Use an Open MPI that has liboshmem, such as Debian's "
                "openmpi-bin (--launcher openmpi@/usr/bin), or leave this benchmark out."
            )
        needed = {"heap": 0, "global": 0}
        for spec in self._plan.specs:
            benchmark = benchmarks.get(spec.benchmark)
            if isinstance(benchmark, SymmetricBenchmark):
                memory = _symmetric(spec)
                messages = sum(benchmark.buffers(spec)) * benchmark.window(spec) + 2 * benchmark.work_array(spec)
                needed[memory] = max(needed[memory], messages)
        names = openshmem.function_names(self._engine.library)
        # buffers of points that came before, and whole pages
        room = 2 * needed["global"] + 64 * KiB if needed["global"] else 0
        self._openshmem = openshmem.OpenShmem(path, names, room=needed["heap"], reserved=room)
        return ""

    def _agreed(self, complaint: str, compared: bool) -> tuple[str, bool]:
        """Return, on all ranks, the first complaint of any rank, and whether any rank compared bytes."""
        complaining, comparing = self.ranks.any([bool(complaint), compared])
        if not complaining:
            return "", comparing
        texts = self.ranks.texts(complaint)
        first = next((text for text in texts if text), "")
        return self.ranks.text(first), comparing

    @contextmanager
    def prepared(self, spec: Spec, benchmark: KernelBenchmark, **changes: Any) -> Iterator[tuple[native.Loop, Setting]]:
        """The kernel of a point and its setting; the kernel takes counts only."""
        apart = benchmark.apart or (has(spec.options, Separate) and spec.options.buffers == "multiple")
        values = {"window": benchmark.window(spec), "stride": spec.size if apart else 0} | changes
        allocate = self._buffer(_huge(spec))
        if isinstance(benchmark, SymmetricBenchmark):
            assert self._openshmem is not None
            allocate = self._openshmem.buffer(_symmetric(spec))
            values |= self._openshmem.fields
        buffers = None
        if isinstance(benchmark, DeviceBenchmark):
            assert self._devices is not None
            allocate = buffers = self._devices.allocator(spec, benchmark, allocate)
        try:
            setting = Setting(self.mpi, spec, benchmark, self.ranks.rank, allocate, **values)
            if self._devices is not None and buffers is not None and isinstance(benchmark, DeviceBenchmark):
                self._devices.dress(setting, buffers, spec, benchmark)
            engine, kernel, binding = self._engine, benchmark.kernel, _binding(spec)
            if binding == "shmem4py":
                from labkit.kernels import shmem_loops  # inside the function: few points need it

                engine = shmem_loops.Loops(self.mpi)
            elif binding != "c":
                engine = self._loops
                if binding == "pickle":
                    kernel = f"{kernel}_pickle"
            yield engine.prepare(kernel, *setting.works), setting
        except Exception as error:  # nothing is freed: that would wait for the other ranks, and this one ends
            if isinstance(benchmark, FileBenchmark):
                from labkit.worker import files  # inside the function: few points need it, and a rank should open few

                files.explain(spec, error)
            raise
        setting.close()
        if buffers is not None:
            buffers.device.unmap()

    def _measure(self, index: int, spec: Spec, benchmark: KernelBenchmark) -> tuple[Kept, dict[str, Any]]:
        """Run timed chunks until the stop rule ends the point; return what rank 0 keeps, and facts."""
        effort, ranks, options = self._plan.effort, self.ranks, spec.options
        windowed, windows = benchmarks.cadence(spec) == "synchronised", Windows(self.mpi, self._engine, ranks)
        common = windowed or (self._several and isinstance(benchmark, ParallelFileBenchmark))
        with self.prepared(spec, benchmark, **({"ahead_ns": windows.ahead()} if common else {})) as (loop, setting):
            each = benchmark.least(spec) or self._probe(loop, min(1, *benchmark.warmup))
            warmup = self._warmup(spec, benchmark, each)
            if windowed:
                windows.choose(loop, warmup)
                each = max(each, windows.ns * 1e-9)
            retention = self._retention(spec, benchmark, len(setting.sends))
            stop, counts, reported_at = Stop(effort), [], monotonic()
            loop_ns: list[NDArray[np.int64]] = getattr(loop, "loop_ns", []) if benchmark.loop else []
            gathered: list[NDArray[np.int64]] = []
            count = stop.first(each)
            single = has(options, Timing) and options.timing == "total"
            while count := ranks.bcast(count):
                start = windows.start() if windowed else 0
                ranks.barrier()
                began = perf_counter()
                times = loop(warmup, count, start, windows.ns)
                elapsed = perf_counter() - began
                timed = times[:, :, :1] if single else times
                reduced = retention.take(timed)
                counts.append(count)
                if loop_ns:
                    gathered.append(ranks.gather(np.concatenate(loop_ns)).reshape(ranks.size, -1))
                if ranks.rank == 0:
                    count = stop.after(reduced, count, elapsed)
                    if monotonic() - reported_at > 0.1:
                        reported_at = monotonic()
                        self.send("progress", index=index, n=stop.n, ci=stop.width)
            kept = retention.finish(["time_ns", *benchmark.phases][: len(times)], effort.seed)
        facts: dict[str, Any] = {"stopped_by": stop.reason, "warmup": warmup, "chunks": counts, "timed_s": stop.spent}
        facts["rows"] = list(kept.rows)
        if gathered and ranks.rank == 0:
            loops = np.array([np.ravel([times[row] for times in gathered]) for row in retention.rows])
            facts["loop_ns"] = (loops.mean(axis=0, keepdims=True).astype(np.int64) if kept.over else loops).tolist()
        if windowed and ranks.rank == 0:
            facts |= windows.facts(kept.over.of_iteration["slowest"][None] if kept.over else kept.times[0])
        return kept, facts

    def _warmup(self, spec: Spec, benchmark: KernelBenchmark, each: float) -> int:
        """Untimed iterations before each chunk, if an iteration takes about this many s."""
        if self._plan.effort.warmup is not None:
            return self._plan.effort.warmup
        wanted = benchmark.warmup[spec.size > 8 * KiB]
        return max(min(1, wanted), min(wanted, int(CHUNK / each)))

    def _retention(self, spec: Spec, benchmark: KernelBenchmark, threads: int) -> Every | Extremes:
        """What becomes of the times; row of a thread t of rank r is r * threads + t."""
        timing = [r for r in range(self.ranks.size) if benchmark.active(spec, r)]
        rows = [r * threads + t for r in timing for t in range(threads)]
        keep = self._plan.effort.keep
        reduces = keep == "extremes" or (keep == "auto" and len(rows) > WHOLE)
        if reduces and not benchmark.every_time and isinstance(self.ranks, Together):
            return Extremes(self.ranks, rows, timing, benchmark.reduce)
        return Every(self.ranks, rows, timing, benchmark.reduce)

    def _probe(self, loop: native.Loop, warmup: int) -> float:
        """Measure roughly how long an iteration takes, in s, the same number on every rank; keep no samples."""
        self.ranks.barrier()
        began = perf_counter()
        loop(warmup, 1)
        return self.ranks.bcast(max(int((perf_counter() - began) / (warmup + 1) * 1e9), 1)) * 1e-9


def _huge(spec: Spec) -> bool:
    """Whether a point asks for huge pages."""
    return has(spec.options, Buffers) and spec.options.hugepages


def _binding(spec: Spec) -> str:
    """What the loop of a point is written in."""
    return spec.options.binding if has(spec.options, Binding) else "c"


def _symmetric(spec: Spec) -> str:
    """Where OpenSHMEM has the buffers of a point."""
    return spec.options.memory if has(spec.options, Symmetric) else "heap"
