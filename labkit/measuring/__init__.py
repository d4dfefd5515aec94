"""The orchestrator: from specs to samples files, measuring only what is not there yet."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from labkit import benchmarks, campaign, host, outside, testbeds
from labkit.benchmarks import InterferenceBenchmark, ToolBenchmark
from labkit.campaign import Campaign
from labkit.campaign.lease import HEARTBEAT
from labkit.errors import AbsentError, DataError, Failed, LabkitError
from labkit.measuring import nodes
from labkit.measuring.order import starts
from labkit.notes import Note, note
from labkit.spec import Effort, Spec

PROGRESS = "progress.json"  # in the campaign, while somebody measures


@dataclass(frozen=True)
class Point:
    """One spec and launch that is to be measured.

    Parameters
    ----------
    spec : resolved, with a launcher's name instead of ``auto``.
    launch : which fresh start, from 0.
    fingerprint : names the work on this system.
    library : MPI library of the launcher, or tool, with its version.
    retried : why the first start failed, for a point that is measured by a second one.
    """

    spec: Spec
    launch: int
    fingerprint: str
    library: str
    retried: str = ""

    @property
    def marks(self) -> tuple[dict[str, str], list[Note]]:
        """What the metadata and the warnings of a point say of a first start that failed."""
        said = f"measured in a second start, because the first failed: {self.retried}"
        return ({"retried": self.retried}, [note("retried", said, reason=self.retried)]) if self.retried else ({}, [])


@dataclass(frozen=True)
class Progress:
    """How far measuring has come.

    Parameters
    ----------
    done, total : points of this call; those that were there already are not counted.
    label : the point in flight or just ended.
    elapsed, remaining : s; the latter is NaN before the first point has ended.
    n, ci : samples so far of the point in flight, and width of its interval as a part of the median.
    """

    done: int
    total: int
    label: str
    elapsed: float
    remaining: float
    n: int = 0
    ci: float | None = None

    @classmethod
    def at(cls, held: Campaign) -> Progress | None:
        """What another process that measures into a campaign last told; None where none did."""
        try:
            found = cls(**outside.json_object(held.path / PROGRESS))
        except (DataError, TypeError):
            return None
        numbers = (found.done, found.total, found.elapsed, found.remaining, found.n)
        return found if all(isinstance(number, int | float) for number in numbers) else None


@dataclass(frozen=True)
class Failure:
    """A point that could not be measured, and why."""

    point: Point
    error: LabkitError


Report = Callable[[Progress], None]


def measure(
    specs: Iterable[Spec] | Spec,
    effort: Effort | None = None,
    *,
    into: Campaign | str | Path | None = None,
    progress: Report | None = None,
) -> Campaign:
    """Measure the missing points of some specs, and keep every sample.

    Parameters
    ----------
    specs : what to measure.
    effort : how long; `Effort()` when left out.
    into : campaign or its folder; a new one named after the time when left out.
    progress : called before and during every point.

    Returns
    -------
    The campaign.

    Raises
    ------
    SpecError
        If a spec is impossible; nothing was started.
    LaunchError, KernelError
        If points failed. All others were measured and kept; the error has those that failed as `failures`. Benchmarks
        whose calls the MPI library lacks are noted in the campaign under ``absent``, and only raise if there was
        nothing else.
    """
    effort = effort or Effort()
    wanted = [specs] if isinstance(specs, Spec) else list(specs)
    points = expand(wanted, effort)
    held = into if isinstance(into, Campaign) else Campaign(into or campaign.fresh("measure"))
    there = held.done()
    missing = [p for p in points if (p.spec.benchmark, p.fingerprint, p.launch) not in there]
    if not missing:
        return held
    with held.lease():
        held.update({"host": dict(host.describe())})
        held.tell("measuring", points=len(missing), total=len(points), seed=effort.seed)
        failures = list(_run(missing, effort, held, _published(held, progress)))
    _complain(failures, len(missing), held)
    return held


def _published(held: Campaign, listener: Report | None) -> Report:
    """The listener, and `PROGRESS` in the campaign for whoever follows from another process."""
    told = beat = 0.0

    def tell(state: Progress) -> None:
        nonlocal told, beat
        if listener is not None:
            listener(state)
        if time.monotonic() - beat > HEARTBEAT:
            beat = time.monotonic()
            held.tell("heartbeat", done=state.done, total=state.total, label=state.label)
        if time.monotonic() - told > 0.2 or state.done == state.total:
            told = time.monotonic()
            held.put(PROGRESS, json.dumps(dataclasses.asdict(state)))

    return tell


def expand(specs: Sequence[Spec], effort: Effort) -> list[Point]:
    """Every point of some specs, resolved and named; starts nothing but version queries.

    Raises
    ------
    SpecError
        If a spec is impossible.
    LaunchError
        If what a spec needs is not installed.
    """
    from labkit.measuring.naming import named

    return [
        Point(spec, number, fingerprint, library)
        for spec, library, fingerprint in named(specs, effort)
        for number in range(effort.launches)
    ]


class Counter:
    """Counts points and tells whoever listens."""

    def __init__(self, total: int, listener: Report | None) -> None:
        self._total, self._listener, self._began = total, listener, time.monotonic()
        self._lock = threading.Lock()
        self.done = 0

    def note(self, words: str) -> None:
        """What goes on beside the points."""
        if self._listener is not None:
            self._listener(
                Progress(min(self.done, self._total), self._total, words, time.monotonic() - self._began, float("nan"))
            )

    def tell(self, point: Point, *, n: int = 0, ci: float | None = None) -> None:
        """The state now."""
        if self._listener is not None:
            elapsed = time.monotonic() - self._began
            left = elapsed / self.done * (self._total - self.done) if self.done else float("nan")
            label = f"{benchmarks.label(point.spec)}, launch {point.launch + 1}"
            with self._lock:
                self._listener(Progress(min(self.done, self._total), self._total, label, elapsed, left, n, ci))


def _run(points: Sequence[Point], effort: Effort, held: Campaign, progress: Report | None) -> Iterator[Failure]:
    """Measure points launch by launch, groups and points in a random order that the seed fixes."""
    from labkit import staging
    from labkit.measuring import interference, programs, ranks

    counter = Counter(len(points), progress)

    def again(failure: Failure) -> Point:
        point = _again(failure)
        held.tell("retried", what=_where(point), **_known(failure))
        counter.done -= 1
        return point

    def untried(failure: Failure) -> None:
        counter.done += 1
        counter.tell(failure.point)

    barred = nodes.Barred()
    with ExitStack() as stack:
        opened = testbeds.Opened(stack, counter.note)
        stack.enter_context(staging.session(held.log))
        for number in sorted({point.launch for point in points}):
            own = [point for point in points if point.launch == number]
            for some in nodes.concurrent(starts(own, effort)):
                spec = some[0][0][0].spec
                runs = {ToolBenchmark: programs.run, InterferenceBenchmark: interference.run}
                run = runs.get(type(benchmarks.get(spec.benchmark)), ranks.run)
                testbed = opened.get(spec.testbed)
                serve = partial(run, effort=effort, held=held, testbed=testbed, counter=counter)
                for failure in nodes.run_concurrently(some, barred.watched(serve, untried), held, again):
                    held.tell("failed", what=_where(failure.point), **_known(failure))
                    held.log(f"in full: {failure.error}")
                    yield failure


def _known(failure: Failure) -> dict[str, Any]:
    """What an event tells of a failure: the point, and its error with command, exit status and standard error."""
    point = failure.point
    which = {"benchmark": point.spec.benchmark, "fingerprint": point.fingerprint, "launch": point.launch}
    return failure.error.facts() | which


def _where(point: Point) -> str:
    """A point and launch in the log."""
    return f"{benchmarks.label(point.spec)} launch {point.launch}"


def _again(failure: Failure) -> Point:
    """The point of a failure, marked with its reason."""
    return dataclasses.replace(failure.point, retried=failure.error.brief)


def commands(points: Sequence[Point], effort: Effort) -> list[str]:
    """Command lines of the first launch, in its order, as a shell takes them; starts nothing."""
    from labkit.measuring import interference, programs, ranks

    found: list[str] = []
    for group in starts([point for point in points if not point.launch], effort):
        benchmark = benchmarks.get(group[0].spec.benchmark)
        shells = {ToolBenchmark: programs.shell, InterferenceBenchmark: interference.shell}
        found += shells.get(type(benchmark), ranks.shell)(group, effort)
    return found


def _complain(failures: Sequence[Failure], total: int, held: Campaign) -> None:
    """Raise the first failure, counting the others; what the MPI library lacks is noted where anything was measured."""
    absent = {f.point.spec.benchmark: str(f.error) for f in failures if isinstance(f.error, AbsentError)}
    if absent and len(failures) < total:
        held.update({"absent": held.facts.get("absent", {}) | absent})
        failures = [f for f in failures if not isinstance(f.error, AbsentError)]
    if not failures:
        return
    first = failures[0]
    error = first.error.under(
        f"{len(failures)} of {total} points failed. All others are kept in {held.path}. First: "
        f"{benchmarks.label(first.point.spec)}, launch {first.point.launch}: {first.error.brief}"
    )
    error.failures = tuple(Failed(benchmarks.label(f.point.spec), f.point.launch, f.error) for f in failures)
    raise error from first.error
