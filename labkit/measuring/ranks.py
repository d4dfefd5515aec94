"""Points of kernels: one start of the ranks measures many of them, and samples are written as they come."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from labkit import benchmarks, host, launch, staging, supervise, testbeds
from labkit.benchmarks import StartBenchmark
from labkit.campaign import Campaign
from labkit.errors import AbsentError, KernelError, LabkitError, LaunchError, of_point
from labkit.host import allocation
from labkit.measuring import paths
from labkit.measuring.point import Failure, Point
from labkit.measuring.progress import Counter
from labkit.notes import Note, badge, note
from labkit.samples import Samples
from labkit.samples.facts import CHUNKS, LOAD_END, RANK_HOSTS, STAGED, TIMING, WARMUP, complete, noted
from labkit.spec import Effort
from labkit.stats import over_ranks
from labkit.stats.over_ranks import OverRanks
from labkit.testbeds import Testbed
from labkit.units import KiB
from labkit.worker import ABSENT, Frame, Plan, Reader, links, reported_failure

WORD = 100_000  # bytes of one command-line word that every kernel takes (MAX_ARG_STRLEN is 131072)

STARTING = 10.0  # s; ranks on a busy machine may take that long to meet, however short the time limit is
CONNECTING = 10.0  # s; ssh itself tries for minutes to reach a host that is down
ENDING = 10.0  # s for MPI_Finalize; MPICH 4.0 over UCX may hang in it on TCP, when all samples are there
GRACE = 5.0  # s; mpirun takes a second or two to end its ranks


def run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Measure points with one start of the ranks; if a point fails, start them again for the remaining points."""
    remaining = list(points)
    while remaining:
        start = Start(remaining[: _fitting(remaining, effort)], effort, campaign, testbed, counter)
        yield from start.run()
        remaining = [point for point in remaining if point not in start.ended]


def _fitting(points: Sequence[Point], effort: Effort) -> int:
    """Return how many points fit into one command line."""
    count = len(points)
    while count > 1 and len(_plan(points[:count], effort).encode()) > WORD:
        count //= 2
    return count


def _plan(points: Sequence[Point], effort: Effort) -> Plan:
    """The plan that the ranks get on their command line."""
    mpi = benchmarks.get(points[0].spec.benchmark).mpi
    return Plan(tuple((i, point.spec) for i, point in enumerate(points)), effort, mpi)


def line(points: Sequence[Point], effort: Effort) -> tuple[list[str], dict[str, str], launch.Placement | None]:
    """Command line of one start, the variables that it adds to the environment, and the placement of its ranks."""
    plan, spec = _plan(points, effort), points[0].spec
    rank = [sys.executable, "-m", "labkit.worker", plan.encode()]
    if not plan.mpi:
        return rank, dict(spec.environment), None
    launcher = launch.get(spec.launcher)
    placement = launch.Placement.of(spec, launcher, testbeds.outline(spec.testbed))
    placement = dataclasses.replace(placement, patience=int(max(1, min(CONNECTING, effort.time_limit / 2))))
    if spec.testbed == "local" or placement.remote_shell:  # else the ranks see other folders than this process
        rank = staging.command(rank, placement, launcher)
    return launcher.command(placement, rank), launcher.environment(placement), placement


def shell(points: Sequence[Point], effort: Effort) -> list[str]:
    """Command lines of a group's starts with their plans; the ranks send their samples to standard output."""
    lines, remaining = [], list(points)
    while remaining:
        group = remaining[: _fitting(remaining, effort)]
        command, environment, _ = line(group, effort)
        lines.append(shlex.join(_with(environment, command)))
        remaining = remaining[len(group) :]
    return lines


def _with(environment: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """A command with the variables it runs with."""
    words = [f"{key}={value}" for key, value in sorted(environment.items())]
    return [*(["env", *words] if words else []), *command]


def _placement_facts(placement: launch.Placement | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The batch job of a point, its hosts and their switches; empty outside of a job."""
    job = allocation.current()
    if job is None:
        return {}
    hosts = list(dict.fromkeys(RANK_HOSTS.of(facts)))
    planned = [name for name, _ in placement.shares] if placement else []
    placed = {
        "hosts": hosts,
        "asked": planned,
        "leaves": {host: job.leaves.get(host, "") for host in hosts},
        "span": allocation.span(hosts, job.leaves),
        "interface": placement.interface if placement else "",
    }
    return {"allocation": job.facts(), "placement": placed}


class Start:
    """One start of the ranks.

    Parameters
    ----------
    points : to be measured, in this order.
    """

    def __init__(
        self, points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
    ) -> None:
        self._points, self._effort, self._campaign = points, effort, campaign
        self._testbed, self._counter = testbed, counter
        self.ended: list[Point] = []
        self._ready: Mapping[str, Any] = {}
        self._reader = Reader()
        self._current: Point = points[0]
        self._began, self._load, self._watch = datetime.now(UTC), host.load_snapshot(), host.Watch()
        self._doubts: list[Note] = []
        self._finalized: int | None = None
        self._over: OverRanks | None = None
        self._placement: launch.Placement | None = None
        self.command, self._environment = self._argv()

    def _argv(self) -> tuple[list[str], dict[str, str]]:
        """Command line, and the variables that it adds to the environment."""
        command, environment, self._placement = line(self._points, self._effort)
        return self._testbed.wrap(command), environment

    def run(self) -> Iterator[Failure]:
        """Start the ranks, read frames until they end, and yield the points that failed."""
        self._counter.tell(self._current)
        environment, began = os.environ | self._environment, time.perf_counter_ns()
        environment |= {links.LINKS: json.dumps(dict(self._testbed.links))} if self._testbed.links else {}
        with supervise.start(self.command, env=environment, grace=GRACE) as tree:
            failure: LabkitError | None = None
            try:
                for frame in self._frames(tree):
                    yield from self._take(frame, tree)
            except LabkitError as error:
                failure = of_point(error)
            if failure is None and len(self.ended) < len(self._points):
                failure = self._finish(tree, began)
        if failure is not None:
            failed = [self._current]
            if not self._ready:  # ranks that did not connect will not connect for the other points either
                failed = [point for point in self._points if point not in self.ended]
            for point in failed:
                self._end(point)
                yield Failure(point, failure)

    def _frames(self, tree: supervise.Tree) -> Iterator[Frame]:
        """Yield frames as they come; raise an error if none comes for too long."""
        pipe = tree.stdout.fileno()
        while True:
            over = len(self.ended) == len(self._points)
            limit = self._effort.time_limit if self._ready else max(self._effort.time_limit, STARTING)
            if not select.select([pipe], [], [], ENDING if over else limit)[0]:
                tree.stop()
                if not self._ready:
                    raise self._unconnected(limit, tree.stderr_text())
                if over:
                    self._campaign.log("the ranks hung in MPI_Finalize, so labkit killed them. All samples had arrived")
                    return
                raise LaunchError(
                    f"no progress for {limit:g} s in {benchmarks.label(self._current.spec)}, so labkit killed "
                    "the ranks. Set a longer --time-limit if the point needs it.",
                    command=self._shown(),
                    stderr=tree.stderr_text(),
                )
            piece = os.read(pipe, 1 << 20)
            if not piece:
                return
            yield from self._reader.feed(piece)

    def _unconnected(self, limit: float, stderr: str) -> LaunchError:
        """Return the error for ranks that did not connect in time."""
        hosts = ", ".join(self._points[0].spec.hosts)
        advice = f"Check that `ssh HOST true` works for each of {hosts}, or set" if hosts else "Set"
        return LaunchError(
            f"the ranks of {benchmarks.label(self._current.spec)} did not connect within {limit:g} s, so labkit "
            f"killed them. {advice} a longer --time-limit.",
            command=self._shown(),
            stderr=stderr,
            lasting=bool(hosts),
        )

    def _take(self, frame: Frame, tree: supervise.Tree) -> Iterator[Failure]:
        """Process one frame from rank 0; yield the point if it failed."""
        header = frame.header
        kind = header.pop("kind")
        if kind == "ready":
            tree.note_leftovers()
            self._check(header)
            self._ready = header
        elif kind == "point":
            self._current = self._points[header["index"]]
            self._began, self._load = datetime.now(UTC), host.load_snapshot()
            self._watch.look()
            self._counter.tell(self._current)
        elif kind == "progress":
            self._counter.tell(self._current, n=header["n"], ci=header["ci"])
        elif kind == "failed":
            self._end(self._current)
            kind = AbsentError if header["reason"].startswith(ABSENT) else KernelError
            yield Failure(self._current, kind(f"{benchmarks.label(self._current.spec)}: {header['reason']}"))
        elif kind == "over ranks":
            self._over = over_ranks.unpacked(frame.values, **header)
        elif kind == "samples":
            self._keep(frame.values.reshape(header.pop("shape")), header)
        elif kind == "finalized":
            self._finalized = header["ns"]
        elif kind == "done":
            self._campaign.log(f"ranks ended, {header['peak_rss'] // KiB} KiB at most in rank 0")

    def _finish(self, tree: supervise.Tree, began: int) -> LabkitError | None:
        """Keep the time of a start benchmark, which is known when the ranks have ended; return the error of others."""
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
                command=self._shown(),
            )
        loaded, expected = launch.library(header.get("library", "")), self._points[0].library
        if loaded not in ("", expected) and expected != "none":
            text = f"the launcher belongs to {expected}, but the ranks loaded {loaded}"
            self._doubts = [note("other-library", text, launcher=expected, loaded=loaded)]
        self._doubts += staging.doubts(self._placement, STAGED.of(header))

    def _keep(self, rows: np.ndarray[Any, np.dtype[np.int64]], facts: dict[str, Any]) -> None:
        """Write the samples of the point in flight."""
        point, spec = self._current, self._current.spec
        benchmark, options = benchmarks.get(spec.benchmark), dict(spec.options)
        chunks = CHUNKS.of(facts)
        facts |= {
            "timing": options.get("timing", "each"),
            "cadence": options.get("cadence", benchmark.cadence),
            "fingerprint": point.fingerprint,
            "start": self._began.isoformat(timespec="milliseconds"),
            "command": self._shown(),
            "seed": self._effort.seed,
            "load_start": self._load,
            "load_end": host.load_snapshot() | {"others": self._watch.since(self._load["monotonic_s"])},
        }
        machine, load = host.describe(), (self._load, LOAD_END.of(facts))
        facts = {k: v for k, v in self._ready.items() if k != "size"} | {"library": point.library} | facts
        facts["mpi_library"] = self._ready.get("library", "")
        warnings = host.warnings_for_run(machine, *load, ranks=self._local_ranks)
        warnings += self._doubts + paths.doubts(spec, facts) + point.marks[1]
        facts |= _placement_facts(self._placement, facts) | point.marks[0]
        facts["testbed"], iterations = dict(self._testbed.facts), sum(chunks) + WARMUP.of(facts) * len(chunks)
        badges = [*self._testbed.badges, *paths.badges(spec, facts, iterations, self._placement)]
        badges += [badge("side by side")] if allocation.shared() else []
        facts |= noted([*badges, *host.badges(machine, *load)], warnings)
        numbers, times = facts.pop("rows"), rows[0]
        extras: dict[str, Any] = dict(zip(benchmark.phases, rows[1:], strict=False))
        if TIMING.of(facts) == "total":
            extras["iterations"] = np.tile(np.asarray(chunks, np.int64), (len(times), 1))
        facts.pop("index", None)
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
        )
        self._campaign.save(samples, point.fingerprint)
        self._end(point)

    @property
    def _local_ranks(self) -> int:
        """Number of ranks on this machine; all hosts of a virtual cluster are on it."""
        place, ranks = self._placement, self._points[0].spec.ranks
        return ranks if place is None or place.remote_shell or not place.shares else place.per_host

    def _end(self, point: Point) -> None:
        """Count a point that ended, with or without samples."""
        self.ended.append(point)
        self._counter.done += 1
        self._counter.tell(point)

    def _died(self, tree: supervise.Tree) -> LabkitError:
        """Return the error for ranks that ended early, with the reason that they reported, if any."""
        status = tree.wait(10)
        stderr = tree.stderr_text() + self._reader.noise
        failure = reported_failure(stderr)
        if failure is not None and failure["kind"] == "KernelError":
            return KernelError(f"{benchmarks.label(self._current.spec)}, rank {failure['rank']}: {failure['text']}")
        when = "in the middle of" if self._ready else "before they had connected, for"
        text = failure["text"] if failure else f"the ranks ended {when} {benchmarks.label(self._current.spec)}."
        return LaunchError(
            text, command=self._shown(), exit_status=status, rank=failure["rank"] if failure else None, stderr=stderr
        )

    def _shown(self) -> list[str]:
        """The command line without the plan, which nobody can read, and with the variables that matter."""
        return [*_with(self._environment, self.command[:-1]), "PLAN"]
