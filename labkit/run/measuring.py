"""The orchestrator: from specs to samples files, measuring only what is not there yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from labkit import benchmarks, host, testbeds
from labkit.errors import AbsentError, Failed
from labkit.point.spec import Effort, Spec
from labkit.point.units import plural
from labkit.run import runner, sample_volume, sessions, staging
from labkit.run.estimate import Estimate
from labkit.run.fingerprints import named
from labkit.run.point import Failure, Point
from labkit.run.progress import PROGRESS, Counter, Progress, Report, published
from labkit.run.retry import FailedHosts, retried
from labkit.run.schedule import concurrent, run_concurrently, starts
from labkit.store.campaign import Campaign, fresh

__all__ = ["PROGRESS", "Failure", "Point", "Progress", "Report", "commands", "expand", "measure"]


def measure(
    specs: Iterable[Spec] | Spec,
    effort: Effort | None = None,
    *,
    into: Campaign | str | Path | None = None,
    progress: Report | None = None,
    launches: Sequence[int] | None = None,
    session: str = "",
) -> Campaign:
    """Measure the missing points of some specs, and keep every sample.

    Parameters
    ----------
    specs : what to measure.
    effort : how long; `Effort()` when left out.
    into : campaign or its folder; a new one named after the time when left out.
    progress : called before and during every point.
    launches : numbers of the launches to measure (default: those of `effort`, counted from 0).
    session : start of the session that all launches belong to, if a schedule outside of this call has sessions.

    Returns
    -------
    The campaign.

    Raises
    ------
    SpecError
        If a spec is impossible; nothing was started.
    LaunchError, KernelError
        If points failed. All others were measured and kept; the error has those that failed as `failures`. Benchmarks
        that the MPI library cannot run are noted in the campaign under ``absent``, and raise only if there is no other
        benchmark.
    """
    effort = effort or Effort()
    points = expand([specs] if isinstance(specs, Spec) else list(specs), effort, launches)
    campaign = into if isinstance(into, Campaign) else Campaign(into or fresh("measure"))
    done = campaign.done()
    missing = [point for point in points if (point.spec.benchmark, point.fingerprint, point.launch) not in done]
    if not missing:
        return campaign
    wanted = sorted({point.launch for point in points})
    with campaign.lease():
        campaign.update({"host": dict(host.describe())})
        campaign.tell("measuring", points=len(missing), total=len(points), seed=effort.seed)
        counter = Counter(len(missing), published(campaign, progress), Estimate.of(missing, effort).most)
        there = {point.launch for point in points if (point.spec.benchmark, point.fingerprint, point.launch) in done}
        begun = sessions.begun(there, wanted, effort)
        schedule = sessions.Sessions(campaign, effort, counter.note, begun=begun)

        def begin(launch: int) -> str:
            return session or schedule.enter(sessions.place(launch, wanted, effort))

        failures = list(_run(missing, effort, campaign, counter, begin))
    _raise(failures, len(missing), campaign)
    return campaign


def expand(specs: Sequence[Spec], effort: Effort, launches: Sequence[int] | None = None) -> list[Point]:
    """Every point of some specs, resolved and named; starts nothing but version queries.

    Parameters
    ----------
    launches : numbers of the launches (default: those of `effort`, counted from 0).

    Raises
    ------
    SpecError
        If a spec is impossible, or its samples are so large that `Effort.keep` must be set.
    LaunchError
        If what a spec needs is not installed.
    """
    resolved = list(named(specs, effort))
    sample_volume.refuse([spec for spec, _, _ in resolved if not testbeds.outline(spec.testbed).network], effort)
    return [
        Point(spec, number, fingerprint, library)
        for spec, library, fingerprint in resolved
        for number in _repeated(spec, range(effort.launches) if launches is None else launches)
    ]


def _repeated(spec: Spec, launches: Sequence[int]) -> Sequence[int]:
    """Return which of some launches a spec has; a simulation may give the same numbers in each."""
    network = testbeds.outline(spec.testbed).network
    return network.repeats(launches, spec.hosts) if network else launches


def _run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, counter: Counter, begin: Callable[[int], str]
) -> Iterator[Failure]:
    """Measure points launch by launch, groups and points in a random order that the seed fixes.

    Parameters
    ----------
    begin : waits until a launch may begin, and returns its session.
    """

    def retry(failure: Failure) -> Point:
        point = failure.retry()
        campaign.tell("retried", what=point.title, **failure.facts())
        counter.done -= 1
        return point

    def untried(failure: Failure) -> None:
        counter.done += 1
        counter.tell(failure.point)

    barred = FailedHosts()
    with ExitStack() as stack:
        opened = testbeds.Opened(stack, counter.note)
        stack.enter_context(staging.session(campaign.log))
        launches: dict[int, list[Point]] = {}
        for point in points:
            launches.setdefault(point.launch, []).append(point)
        for number, of_launch in sorted(launches.items()):
            session = begin(number)
            groups = starts([replace(point, session=session) for point in of_launch], effort)
            for batch in concurrent(groups):
                spec = batch[0][0][0].spec
                run, testbed = runner.runner_of(spec).run, opened.get(spec.testbed)
                measured = partial(run, effort=effort, campaign=campaign, testbed=testbed, counter=counter)
                tried = partial(retried, run=barred.watched(measured, untried), campaign=campaign, retry=retry)
                for failure in run_concurrently(batch, tried):
                    campaign.tell("failed", what=failure.point.title, **failure.facts())
                    campaign.log(f"in full: {failure.error}")
                    yield failure


def commands(points: Sequence[Point], effort: Effort) -> list[str]:
    """Command lines of the first launch, in its order, as a shell takes them; starts nothing."""
    groups = starts([point for point in points if not point.launch], effort)
    return [line for group in groups for line in runner.runner_of(group[0].spec).shell(group, effort)]


def _raise(failures: Sequence[Failure], total: int, campaign: Campaign) -> None:
    """Raise the first failure, with the number of the others.

    If anything was measured, note what the MPI library lacks.
    """
    absent = {f.point.spec.benchmark: str(f.error) for f in failures if isinstance(f.error, AbsentError)}
    if absent and len(failures) < total:
        campaign.update({"absent": campaign.facts.get("absent", {}) | absent})
        failures = [f for f in failures if not isinstance(f.error, AbsentError)]
    if not failures:
        return
    first = failures[0]
    kept = f". All others are kept in {campaign.path}" if len(failures) < total else f" in {campaign.path}"
    error = first.error.under(
        f"{len(failures)} of {plural(total, 'point × launch')} failed{kept}. First: "
        f"{benchmarks.label(first.point.spec)}, launch {first.point.launch}: {first.error.brief}"
    )
    error.failures = tuple(Failed(benchmarks.label(f.point.spec), f.point.launch, f.error) for f in failures)
    raise error from first.error
