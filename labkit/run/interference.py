"""Points of two jobs: the ranks of the victim, timed alone and beside an aggressor that started before them."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit import benchmarks, testbeds, tools
from labkit.benchmarks import InterferenceBenchmark
from labkit.errors import LaunchError, SpecError
from labkit.io import scratch, supervise
from labkit.point import notes
from labkit.point.spec import Effort, Keep, Spec
from labkit.point.units import plural
from labkit.run import bounds, lines, programs, ranks
from labkit.run.point import Failure, Point
from labkit.run.progress import Counter
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import ELAPSED, EVIDENCE, START, VERIFIED, complete, noted
from labkit.testbeds import Testbed
from labkit.tools import Place

LONGEST = 600.0  # s that an aggressor goes on at most, whatever becomes of who started it
_ON = Effort(iterations=10**9, launches=1, warmup=0)
_LOOK_S = 0.1


def launched(spec: Spec, effort: Effort) -> tuple[Spec, str]:
    """Return a spec with its launcher's name, and the MPI library of the victim's ranks."""
    return lines.launched(spec, split(spec, testbeds.outline(spec.testbed))[0])


def run(
    points: Sequence[Point], effort: Effort, campaign: Campaign, testbed: Testbed, counter: Counter
) -> Iterator[Failure]:
    """Measure both phases of every point, with one start of the victim each, and keep them in one samples file."""
    return programs.each(points, counter, lambda point: _keep(point, effort, campaign, testbed))


def split(spec: Spec, testbed: Testbed) -> tuple[Spec, tuple[str, ...]]:
    """Spec of the victim, and the hosts of the aggressor: hosts go to the two alternately.

    Raises
    ------
    SpecError
        If there are too few hosts, or those of the aggressor cannot be reached without MPI.
    """
    pair, hosts = pair_of(spec), spec.hosts or testbed.hosts
    if 0 < len(hosts) < 4:
        raise SpecError(
            f"{spec.benchmark}: {plural(len(hosts), 'host')}, but each of the two jobs needs two. Name at least 4, or "
            "none."
        )
    if spec.hosts and not testbed.hosts and pair.aggressor(spec, ()) is None:
        raise SpecError(
            f"{spec.benchmark}: floods and connections are started on this machine or on a virtual cluster, not on "
            "other hosts. Set aggressor=halo3d26, or leave hosts out."
        )
    return benchmarks.resolve(pair.victim(spec, hosts[0::2])), tuple(hosts[1::2])


def pair_of(spec: Spec) -> InterferenceBenchmark:
    """The benchmark of a spec, which defines the two jobs."""
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, InterferenceBenchmark)
    return benchmark


def _keep(point: Point, effort: Effort, campaign: Campaign, testbed: Testbed) -> None:
    """Run both phases of one point and write its samples file."""
    victim, others = split(point.spec, testbed)
    benchmark = pair_of(point.spec)
    kept = effort.keep
    effort = replace(
        effort,
        iterations=effort.iterations or benchmark.most,
        warmup=benchmark.warmup if effort.warmup is None else effort.warmup,
        keep="all",  # both phases are compared by each time of each rank
    )
    order = ("alone", "beside") if point.launch % 2 == 0 else ("beside", "alone")
    phases: dict[str, Samples] = {}
    seconds = bound(point.spec, effort)
    with scratch.folder("labkit-interference-") as folder:
        for phase in order:
            with ExitStack() as stack:
                trees = stack.enter_context(_aggressor(point, others, seconds, testbed)) if phase == "beside" else []
                phases[phase] = _phase(replace(point, spec=victim), effort, folder / phase, testbed)
                _alive(trees, seconds)
    campaign.save(_together(point, order, phases["alone"], phases["beside"], kept), point.fingerprint)


def bound(spec: Spec, effort: Effort) -> int:
    """Time after which an aggressor ends, s: the longest time of a victim, at most `LONGEST`."""
    needs = pair_of(spec).lead(spec) + max(ranks.STARTING, effort.time_limit) + effort.time_cap + effort.time_limit
    return math.ceil(min(needs + ranks.ENDING, LONGEST))


def _phase(point: Point, effort: Effort, folder: Path, testbed: Testbed) -> Samples:
    """Samples of one start of the victim."""
    inner = Campaign(folder)
    for failure in ranks.run([point], effort, inner, testbed, Counter(1, None)):
        raise failure.error
    (samples,) = inner.samples()
    return samples


@contextmanager
def _aggressor(point: Point, hosts: Sequence[str], seconds: int, testbed: Testbed) -> Iterator[list[supervise.Tree]]:
    """Run the aggressor until the context ends; after its lead, yield the processes that must stay alive."""
    pair = pair_of(point.spec)
    with ExitStack() as stack:
        spec = pair.aggressor(point.spec, hosts)
        trees: list[supervise.Tree] = []
        if spec is not None:
            trees.append(stack.enter_context(_ranks(replace(point, spec=benchmarks.resolve(spec)), seconds, testbed)))
        for invocation, client, server in pair.flows(point.spec, max(len(hosts), 1), seconds):
            trees.append(stack.enter_context(tools.background(invocation, _place(hosts, client, server, testbed))))
        end = time.monotonic() + pair.lead(point.spec)
        while (remaining := end - time.monotonic()) > 0:
            time.sleep(min(remaining, _LOOK_S))
            _alive(trees, seconds)
        yield trees


def _ranks(point: Point, seconds: int, testbed: Testbed) -> supervise.Tree:
    """Start ranks that run until they are stopped, for at most this many s."""
    line = lines.line_for([point], _ON)
    words = ["timeout", f"--kill-after={ranks.GRACE:g}", str(seconds), *testbed.wrap(line.command)]
    shared = {"SLURM_OVERLAP": "1"}  # else the victim's step waits in a job for the processors that this one holds
    environment = os.environ | line.environment | shared
    return supervise.start(words, env=environment, stdout=supervise.DEVNULL, grace=ranks.GRACE)


def _place(hosts: Sequence[str], client: int, server: int, testbed: Testbed) -> Place:
    """Where the two ends of a flow run."""
    if not hosts:
        return Place()
    return Place(
        address=hosts[server], client=tuple(testbed.on(hosts[client], [])), server=tuple(testbed.on(hosts[server], []))
    )


def _alive(trees: Sequence[supervise.Tree], seconds: int) -> None:
    """Raise an error if the aggressor has ended by itself."""
    for tree in trees:
        if (status := tree.poll()) is not None:
            raise LaunchError(
                f"The aggressor ended before the victim, after {seconds} s. If the victim needs longer, "
                f"set fewer iterations, or a longer time_limit ({LONGEST:g} s in all at most).",
                command=tree.argv[:-1],
                exit_status=status,
                stderr=tree.stderr_text(),
            )


def _together(point: Point, order: Sequence[str], alone: Samples, beside: Samples, keep: Keep) -> Samples:
    """Both phases in one samples file: the times beside the aggressor, and the times alone as an extra column."""
    metas: list[dict[str, Any]] = [dict(alone.meta), dict(beside.meta)]
    phases = (alone, beside)
    both = noted(notes.once(samples.badges for samples in phases), notes.once(samples.warnings for samples in phases))
    meta = {
        **metas[1],
        **both,
        "fingerprint": point.fingerprint,
        "order": list(order),
        "verified": all(VERIFIED.of(meta) for meta in metas),
        "start": min(START.of(meta) for meta in metas),
        "elapsed": sum(ELAPSED.of(meta) for meta in metas),
        "evidence_alone": EVIDENCE.of(metas[0]),
        "elapsed_alone": ELAPSED.of(metas[0]),
        "elapsed_beside": ELAPSED.of(metas[1]),
    }
    return replace(
        beside,
        spec=point.spec,
        effort=replace(beside.effort, keep=keep),
        launch=point.launch,
        meta=complete(meta | bounds.of_point(meta, beside.start.meta if beside.start else ()), "measured"),
        extras={"alone_ns": alone.time_ns},
    )


def shell(points: Sequence[Point], effort: Effort) -> list[str]:
    """The starts of the victims, as a shell takes them."""
    victims = (replace(point, spec=split(point.spec, testbeds.outline(point.spec.testbed))[0]) for point in points)
    return [line for victim in victims for line in lines.shell([victim], effort)]
