"""Points of kernels: one start of the ranks measures many of them, and samples are written as they come."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, host
from labkit.benchmarks import StartBenchmark
from labkit.errors import AbsentError, KernelError, LabkitError, LaunchError, known_failures, of_point
from labkit.host import allocation
from labkit.io import supervise
from labkit.options.ranks import Timing
from labkit.point import conditions, storage
from labkit.point.notes import Note, badge, note
from labkit.point.spec import Effort, Spec, has
from labkit.point.units import KiB
from labkit.run import bounds, counted, launch, lines, paths, staging
from labkit.run.point import Failure, Point
from labkit.run.progress import Counter
from labkit.stats import across_ranks
from labkit.stats.across_ranks import OverRanks
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import CHUNKS, COUNTERS, RANK_HOSTS, STAGED, TIMING, WARMUP, complete, noted
from labkit.store.samples.start import Start as Record
from labkit.testbeds import Testbed
from labkit.worker import ABSENT, LACKING, PIECE, Frame, Reader, counters, links, reported_failure

STARTING = 10.0  # s; ranks on a busy machine may take that long to meet, however short the time limit is
ENDING = 10.0  # s for MPI_Finalize; MPICH 4.0 over UCX may hang in it on TCP, when all samples are there
LONGEST = 4  # times that an iteration may take of what it takes at least
GRACE = 5.0  # s; mpirun takes a second or two to end its ranks
_OF_LOOP = ("engine", "timer_overhead_ns", "clock_ns")  # stay in the metadata of each point: records need them
_OF_POINTS = ("size", "library", *_OF_LOOP)


def launched(spec: Spec, effort: Effort) -> tuple[Spec, str]:
    """Return a spec with its launcher's name, and its MPI library; ``none`` for a kernel in a single process."""
    return lines.launched(spec) if benchmarks.get(spec.benchmark).mpi else (spec.replace(launcher="none"), "none")


def shell(points: Sequence[Point], effort: Effort) -> list[str]:
    """Return command lines of a group's starts for a shell; the ranks send their samples to standard output."""
    return lines.shell(points, effort)


def run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Measure points with one start of the ranks; if a point fails, start them again for the remaining points."""
    for part in lines.parts(points, effort):
        remaining = part
        while remaining:
            start = Start(remaining, effort, campaign, testbed, counter)
            yield from start.run()
            remaining = start.remaining


def _placement_facts(placement: launch.Placement | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The batch job of a point, its hosts and their switches; empty outside of a job."""
    job = allocation.current()
    if job is None:
        return {}
    hosts = list(dict.fromkeys(RANK_HOSTS.of(facts)))
    planned = [name for name, _ in placement.shares] if placement else []
    chosen = {"asked": planned, "interface": placement.interface if placement else ""}
    return {"allocation": job.facts(), "placement": job.placement(hosts) | chosen}


def brief(hosts: Sequence[str]) -> str:
    """Names of hosts for a message; of many the first ones.

    Examples
    --------
    >>> brief(["a", "b"]), brief([f"n{i}" for i in range(100)])
    ('a, b', 'n0, n1, n2, n3 and 96 more')
    """
    shown = ", ".join(hosts[:4] if len(hosts) > 8 else hosts)
    return f"{shown} and {len(hosts) - 4} more" if len(hosts) > 8 else shown


def patience(spec: Spec, effort: Effort) -> float:
    """How long ranks may be silent at a point, s; longer where one iteration takes long by its definition."""
    benchmark = benchmarks.get(spec.benchmark)
    least = benchmark.least(spec) if isinstance(benchmark, benchmarks.KernelBenchmark) else 0.0
    return effort.time_limit + LONGEST * least


class Start:
    """One start of the ranks.

    Parameters
    ----------
    points : points to be measured, in this order.
    """

    def __init__(
        self, points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
    ) -> None:
        self._points, self._effort, self._campaign = points, effort, campaign
        self._testbed, self._counter = testbed, counter
        self._ended, self._left, self._index = bytearray(len(points)), len(points), 0
        self._ready: Mapping[str, Any] = {}
        self._reader = Reader()
        self._saving = campaign.saving()
        self._began, self._load, self._watch = datetime.now(UTC), host.load_snapshot(), host.Watch()
        self._doubts: list[Note] = []
        self._finalized: int | None = None
        self._over: OverRanks | None = None
        line = lines.line_for(points, effort)
        self._line = dataclasses.replace(line, command=testbed.wrap(line.command))
        self._plan = memoryview(f"{line.plan}\n".encode())
        self._machine: Mapping[str, Any] = {}
        self._record: Record | None = None
        self._site = counted.of_site()  # then the start has one point

    @property
    def remaining(self) -> list[Point]:
        """Points that did not end, with samples or without."""
        return [point for point, ended in zip(self._points, self._ended, strict=True) if not ended]

    @property
    def _current(self) -> Point:
        """The point in flight."""
        return self._points[self._index]

    def run(self) -> Iterator[Failure]:
        """Start the ranks, read frames until they end, and yield the points that failed."""
        self._counter.tell(self._current)
        environment, began = os.environ | self._line.environment, time.perf_counter_ns()
        environment |= {links.LINKS: json.dumps(dict(self._testbed.links))} if self._testbed.links else {}
        environment |= {storage.SCRATCH: self._testbed.directory} if self._testbed.directory else {}
        environment |= {links.SWITCHES: str(self._testbed.switches)} if self._testbed.switches else {}
        fed = bool(self._line.plan)
        with supervise.start(self._line.command, env=environment, grace=GRACE, fed=fed) as tree, self._saving:
            self._feed(tree)
            failure: LabkitError | None = None
            try:
                for frame in self._frames(tree):
                    yield from self._take(frame, tree)
            except LabkitError as error:
                failure = of_point(error)
            if failure is None and self._left:
                failure = self._finish(tree, began)
        if failure is not None:
            failed = [index for index, ended in enumerate(self._ended) if not ended]
            if self._ready:  # else: ranks that did not connect will not connect for the other points either
                failed = failed[:1] if self._ended[self._index] else [self._index]
            for index in failed:
                self._end(index)
                yield Failure(self._points[index], failure)

    def _feed(self, tree: supervise.Tree) -> None:
        """Send the next piece of the plan to rank 0, which requests it after it has read the previous one."""
        if tree.stdin is None:
            return
        piece, self._plan = self._plan[:PIECE], self._plan[PIECE:]
        with suppress(BrokenPipeError):  # it ended: its output tells why
            tree.stdin.write(piece)
        if not self._plan:
            tree.stdin.close()

    def _frames(self, tree: supervise.Tree) -> Iterator[Frame]:
        """Yield frames as they come; raise an error if none comes for too long."""
        pipe = tree.stdout.fileno()
        while True:
            over = not self._left
            limit = ENDING if over else patience(self._current.spec, self._effort)
            limit = limit if self._ready else max(limit, STARTING)
            if not self._readable(tree, limit):
                tree.stop()
                if not self._ready:
                    raise self._unconnected(limit, tree.stderr_text())
                if over:
                    self._campaign.log("the ranks hung in MPI_Finalize, so labkit killed them. All samples had arrived")
                    return
                raise LaunchError(
                    f"no progress for {limit:g} s in {benchmarks.label(self._current.spec)}, so labkit killed "
                    "the ranks. If the point needs it, set a longer time limit (--time-limit; in a notebook "
                    "time_limit).",
                    command=self._line.shown,
                    stderr=tree.stderr_text(),
                )
            piece = os.read(pipe, 1 << 20)
            if not piece:
                return
            yield from self._reader.feed(piece)

    def _readable(self, tree: supervise.Tree, limit: float) -> bool:
        """Wait for output of the ranks; meanwhile acknowledge points that have waited long enough."""
        end = time.monotonic() + limit
        while True:
            left, due = end - time.monotonic(), self._saving.remaining
            if tree.readable(left if due is None else min(left, due)):
                return True
            if due is not None and due <= left:
                self._saving.flush()
            elif left <= 0:
                return False

    def _unconnected(self, limit: float, stderr: str) -> LaunchError:
        """Return the error for ranks that did not connect in time."""
        hosts = brief(self._points[0].spec.hosts)
        advice = f"Check that `ssh HOST true` works for each of {hosts}, or set" if hosts else "Set"
        return LaunchError(
            f"the ranks of {benchmarks.label(self._current.spec)} did not connect within {limit:g} s, so labkit "
            f"killed them. {advice} a longer time limit (--time-limit; in a notebook time_limit).",
            command=self._line.shown,
            stderr=stderr,
            lasting=bool(hosts),
        )

    def _take(self, frame: Frame, tree: supervise.Tree) -> Iterator[Failure]:
        """Process one frame from rank 0; yield the point if it failed."""
        header = frame.header
        kind = header.pop("kind")
        if kind == "more":
            self._feed(tree)
        elif kind == "ready":
            tree.note_leftovers()
            self._check(header)
            self._ready = header
            self._describe()
        elif kind == "point":
            self._index = header["index"]
            self._began, self._load = datetime.now(UTC), host.load_snapshot()
            self._watch.look()
            self._counter.tell(self._current)
        elif kind == "progress":
            self._counter.tell(self._current, n=header["n"], ci=header["ci"])
        elif kind == "failed":
            point = self._current
            self._end(self._index)
            self._saving.flush()  # so code that handles the failure finds earlier points
            kind = AbsentError if header["reason"].startswith((ABSENT, LACKING)) else KernelError
            yield Failure(point, kind(f"{benchmarks.label(point.spec)}: {header['reason']}"))
        elif kind == "over ranks":
            self._over = across_ranks.unpacked(frame.values, **header)
        elif kind == "samples":
            self._keep(frame.values.reshape(header.pop("shape")), header)
        elif kind == "finalized":
            self._finalized = header["ns"]
        elif kind == "done":
            self._campaign.log(f"ranks ended, {header['peak_rss'] // KiB} KiB at most in rank 0")

    def _finish(self, tree: supervise.Tree, began: int) -> LabkitError | None:
        """Keep the time of a start benchmark, known once the ranks have ended; return the error of other benchmarks."""
        benchmark = benchmarks.get(self._current.spec.benchmark)
        if not isinstance(benchmark, StartBenchmark) or self._finalized is None:
            return self._died(tree)
        if tree.wait(10):
            return self._died(tree)
        time_ns = self._finalized if benchmark.part == "finalize" else time.perf_counter_ns() - began
        facts: dict[str, Any] = {"stopped_by": "start", "warmup": 0, "chunks": [1], "elapsed": time_ns * 1e-9}
        self._keep(np.array([[[time_ns]]], np.int64), facts | {"verified": False, "rows": [0]})
        return None

    def _check(self, header: Mapping[str, Any]) -> None:
        """Check that all ranks are in one communicator, and that they loaded the launcher's library."""
        ranks = self._points[0].spec.ranks
        if header["size"] != ranks:
            raise LaunchError(
                f"{ranks} ranks started, but each found {header['size']}: the launcher and mpi4py use different "
                f"MPI libraries (mpi4py has {header.get('library', 'none')}). Set MPI4PY_MPIABI, or --launcher.",
                command=self._line.shown,
            )
        loaded, expected = launch.library(header.get("library", "")), self._points[0].library
        if loaded not in ("", expected) and expected != "none":
            text = f"the launcher belongs to {expected}, but the ranks loaded {loaded}"
            self._doubts = [note("other-library", text, launcher=expected, loaded=loaded)]
        self._doubts += staging.doubts(self._line.placement, STAGED.of(header))

    def _describe(self) -> None:
        """Find out what all points of this start share: the machine, the hosts, the command."""
        spec, ready = self._points[0].spec, self._ready
        self._machine = host.describe()
        shared = {name: value for name, value in ready.items() if name not in _OF_POINTS}
        shared |= {"command": lines.portable(self._line.shown), "mpi_library": ready.get("library", "")}
        shared |= {"testbed": dict(self._testbed.facts)} | _placement_facts(self._line.placement, ready)
        self._record = Record.of(self._machine, shared, spec.as_dict())

    def _keep(self, rows: np.ndarray[Any, np.dtype[np.int64]], facts: dict[str, Any]) -> None:
        """Write the samples of the point in flight."""
        if self._record is None:
            self._describe()
        assert self._record is not None
        point, spec, machine = self._current, self._current.spec, self._machine
        benchmark = benchmarks.get(spec.benchmark)
        chunks = CHUNKS.of(facts)
        load_end: conditions.Load = {**host.load_snapshot(), "others": self._watch.since(self._load["monotonic_s"])}
        facts |= {name: self._ready[name] for name in _OF_LOOP if name in self._ready}
        facts |= {
            "library": point.library,
            "timing": spec.options.timing if has(spec.options, Timing) else "each",
            "cadence": benchmarks.cadence(spec),
            "fingerprint": point.fingerprint,
            "start": self._began.isoformat(timespec="milliseconds"),
            "seed": self._effort.seed,
            "load_start": self._load,
            "load_end": load_end,
            **self._record.meta,
        }
        load = (self._load, load_end)
        warnings = conditions.warnings_for_run(machine, *load, ranks=self._local_ranks, guest=self._testbed.guest_cores)
        warnings += self._doubts + paths.doubts(spec, facts) + point.marks[1]
        facts |= point.marks[0]
        if more := counters.grown(self._site, counted.of_site() if self._site else {}):
            facts[COUNTERS.name] = {**COUNTERS.of(facts), **more}
        iterations = sum(chunks) + WARMUP.of(facts) * len(chunks)
        rdma = bool(machine.get("rdma_devices")) or bool(self._testbed.rdma)
        others = os.environ.keys() - self._line.environment.keys()
        path = paths.badges(spec, facts, iterations, self._line.placement, adapters=rdma, variables=others)
        badges = [*self._testbed.badges, *path]
        badges += storage.badges(facts)
        badges += [badge("side by side")] if allocation.shared() else []
        numbers, times = facts.pop("rows"), rows[0]
        facts.pop("index", None)
        facts |= noted([*badges, *conditions.badges(machine, *load)], warnings)
        facts |= bounds.of_point(facts, self._record.meta)
        extras: dict[str, NDArray[np.int64]] = dict(zip(benchmark.phases, rows[1:], strict=False))
        if TIMING.of(facts) == "total":
            extras["iterations"] = np.tile(np.asarray(chunks, np.int64), (len(times), 1))
        over, self._over = self._over, None
        samples = Samples(
            spec=spec,
            effort=self._effort,
            host=machine,
            launch=point.launch,
            time_ns=times,
            ranks=tuple(numbers),
            meta=complete(facts, "measured"),
            extras=extras,
            over=over,
            start=self._record,
        )
        self._saving.add(samples, point.fingerprint)
        self._end(self._index)

    @property
    def _local_ranks(self) -> int:
        """Number of ranks on this machine; all hosts of a virtual cluster are on it."""
        place, ranks = self._line.placement, self._points[0].spec.ranks
        return ranks if place is None or place.remote_shell or not place.shares else place.per_host

    def _end(self, index: int) -> None:
        """Count a point that ended, with or without samples."""
        self._left -= not self._ended[index]
        self._ended[index] = True
        self._counter.done += 1
        self._counter.tell(self._points[index])

    def _died(self, tree: supervise.Tree) -> LabkitError:
        """Return the error for ranks that ended early, with the reason that they reported, if any."""
        status = tree.wait(10)
        stderr = tree.stderr_text() + self._reader.noise
        failure = reported_failure(stderr)
        if failure is not None and failure["kind"] == "KernelError":
            rank = "" if failure["rank"] is None else f", rank {failure['rank']}"
            cause = known_failures.known(failure["text"])
            text = f"{failure['text'].rstrip('.')}. {cause.remedy}" if cause else failure["text"]
            return KernelError(f"{benchmarks.label(self._current.spec)}{rank}: {text}")
        when = "in the middle of" if self._ready else "before they had connected, for"
        text = failure["text"] if failure else f"the ranks ended {when} {benchmarks.label(self._current.spec)}."
        return LaunchError(
            text, command=self._line.shown, exit_status=status, rank=failure["rank"] if failure else None, stderr=stderr
        )
