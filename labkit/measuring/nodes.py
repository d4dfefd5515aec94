"""Hosts of a batch job: what a point depends on of them, and what becomes of those that fail."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from labkit import benchmarks, host, launch, testbeds
from labkit.campaign import Campaign
from labkit.errors import AbsentError, LabkitError, LaunchError, SpecError
from labkit.host import allocation
from labkit.measuring.order import setting
from labkit.spec import Spec

if TYPE_CHECKING:
    from labkit.measuring import Failure, Point

    Run = Callable[[Sequence[Point]], Iterator[Failure]]
    Again = Callable[[Failure], Point]

BESIDE = "LABKIT_SIDE_BY_SIDE"  # set: independent starts share the hosts of a job
PROBE = 20.0  # s; srun tries for ten to reach a node whose slurmd is dead


def fingerprint(spec: Spec, library: str) -> str:
    """Name of a resolved spec's work here; the number of hosts is part of it where a batch job gives several."""
    return benchmarks.identity(spec).fingerprint(facts(spec, library))


def facts(spec: Spec, library: str) -> dict[str, str]:
    """What a fingerprint here holds beside the spec; no matter of its size."""
    return host.identity(library) | _spread(spec)


def _spread(spec: Spec) -> dict[str, str]:
    """Over how many hosts of the batch job the ranks go, and which ranks leave the host that has slots for them all."""
    hosts = _hosts(spec)
    found = {"nodes": str(len(hosts))} if len(hosts) > 1 else {}
    named = not hosts and spec.hosts and spec.hosts[0] not in allocation.WORDS and benchmarks.get(spec.benchmark).mpi
    apart = launch.spread(spec.hosts, spec.ranks, spec.ppn) if named else ""
    return found | ({"spread": apart} if apart else {})


def _hosts(spec: Spec) -> tuple[str, ...]:
    """Hosts that the batch job gives the ranks of a spec; empty outside of one, and where the spec names them."""
    job = allocation.current()
    benchmark = benchmarks.get(spec.benchmark)
    if job is None or not benchmark.mpi or testbeds.outline(spec.testbed).hosts:
        return ()
    hosts = launch.given(spec, job)
    return () if hosts == spec.hosts else hosts


def served(points: Sequence[Point], run: Run, held: Campaign, again: Again) -> Iterator[Failure]:
    """Measure points; those that fail once more by a fresh start, on other hosts where one of theirs is bad.

    Parameters
    ----------
    run : measures points, and tells what failed.
    again : makes of a failure the point to be measured once more.
    """
    from labkit.measuring import Failure

    fitting = [point for point in points if _fits(point)]
    for point in points:
        if point not in fitting:
            yield Failure(point, LaunchError(f"too few hosts are left: {_told()}. Submit again with other nodes."))
    failures = list(run(fitting)) if fitting else []
    died = [one.point.spec for one in failures if isinstance(one.error, LaunchError)]
    left_out(dict.fromkeys(name for spec in died for name in _hosts(spec)), held)
    second = {one.point: one for one in failures if not final(one.error) and _fits(one.point)}
    yield from (one for one in failures if one.point not in second)
    if second:
        yield from run([again(one) for one in second.values()])


def final(error: LabkitError) -> bool:
    """Whether a second start would fail alike; in a batch job it may have other hosts."""
    lasting = isinstance(error, LaunchError) and error.lasting and allocation.current() is None
    return lasting or isinstance(error, AbsentError)


class Barred:
    """Settings whose ranks cannot start: the other points and launches of these fail at once, for the same reason."""

    def __init__(self) -> None:
        self._held: dict[tuple[object, ...], LabkitError] = {}

    def watched(self, run: Run, failed: Callable[[Failure], None]) -> Run:
        """The same, which starts nothing that failed for good before.

        Parameters
        ----------
        failed : told of every point that was not tried.
        """
        from labkit.measuring import Failure

        def serve(points: Sequence[Point]) -> Iterator[Failure]:
            key = setting(points[0].spec)
            if key in self._held:
                for point in points:
                    failure = Failure(point, self._held[key])
                    failed(failure)
                    yield failure
                return
            for failure in run(points):
                if isinstance(failure.error, LaunchError) and final(failure.error):
                    self._held[key] = failure.error
                yield failure

        return serve


def concurrent(groups: Sequence[Sequence[Point]]) -> list[list[tuple[Sequence[Point], tuple[str, ...]]]]:
    """Groups in the order given, with the hosts of each, those together that fit on disjoint hosts of the job.

    One after the other where `BESIDE` is not set, or a group names its hosts or needs none of the job's.
    """
    job = allocation.current()
    found: list[list[tuple[Sequence[Point], tuple[str, ...]]]] = []
    free: list[str] = []
    for group in groups:
        need = len(_hosts(group[0].spec)) if job is not None and os.environ.get(BESIDE) else 0
        plain = need and not group[0].spec.hosts
        if not plain or len(free) < need:
            found.append([])
            free = list(job.hosts) if job is not None and plain else []
        found[-1].append((group, tuple(free[:need]) if plain else ()))
        free = free[need:]
    return found


def run_concurrently(
    some: Sequence[tuple[Sequence[Point], tuple[str, ...]]], serve: Run, held: Campaign, again: Again
) -> Iterator[Failure]:
    """Measure groups at the same time, each on hosts of its own."""

    def one(group: Sequence[Point], hosts: tuple[str, ...]) -> list[Failure]:
        with allocation.narrowed(hosts):
            return list(served(group, serve, held, again))

    if len(some) == 1:
        yield from served(some[0][0], serve, held, again)
        return
    with ThreadPoolExecutor(len(some)) as pool:
        for failures in [pool.submit(one, group, hosts) for group, hosts in some]:
            yield from failures.result()


def _fits(point: Point) -> bool:
    """Whether a point is still the same work, now that hosts may be left out."""
    if allocation.current() is None:
        return True
    try:
        return fingerprint(point.spec, point.library) == point.fingerprint
    except SpecError:
        return False


def left_out(hosts: Iterable[str], held: Campaign) -> list[str]:
    """Those hosts of a failed start on which even a trivial step fails; they are used no more in this campaign."""
    job, path = allocation.current(), os.environ.get(allocation.LEFT_OUT)
    suspects = [name for name in hosts if name != os.uname().nodename]
    if job is None or job.system != "slurm" or not suspects:
        return []
    if not path:
        folder = held.path / "jobs"
        folder.mkdir(exist_ok=True)
        path = os.environ[allocation.LEFT_OUT] = str(folder / "left-out.txt")
    bad = probed(suspects)
    with open(path, "a") as file:  # noqa: PTH123 (one line in one write)
        for name, reason in bad.items():
            file.write(f"{name}\tranks and a trivial step failed there in job {job.name}: {reason}\n")
    for name, reason in bad.items():
        held.tell("left_out", host=name, reason=reason, job=job.name)
    return list(bad)


def probed(hosts: Sequence[str]) -> dict[str, str]:
    """Host → why a trivial step does not run there, of those where it does not."""
    words = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--mpi=none", "--immediate=10"]
    steps = {
        name: subprocess.Popen(
            [*words, f"--nodelist={name}", "true"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in hosts
    }
    found, end = {}, time.monotonic() + PROBE
    for name, step in steps.items():
        try:
            _, said = step.communicate(timeout=max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            step.kill()
            step.communicate()
            said = f"no answer in {PROBE:g} s"
        if step.returncode:
            found[name] = said.strip().splitlines()[0] if said.strip() else f"exit status {step.returncode}"
    return found


def _told() -> str:
    job = allocation.current()
    return f"job {job.name} has {', '.join(job.hosts)}" if job else ""
