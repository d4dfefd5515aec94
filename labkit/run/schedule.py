"""Decides which points share a start, the order of the starts, and which of them run side by side."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from labkit import benchmarks
from labkit.host import allocation
from labkit.point.spec import Effort, Spec
from labkit.run import nodes
from labkit.run.point import Failure, Point

BESIDE = "LABKIT_SIDE_BY_SIDE"  # set: independent starts share the hosts of a job
# a site's command that prints a line with a name and a number for each counter of its switches, between starts
COUNTERS = "LABKIT_COUNTERS"

Run = Callable[[Sequence[Point]], Iterator[Failure]]  # measures the points of a start, and yields those that failed


def starts(points: Sequence[Point], effort: Effort) -> list[list[Point]]:
    """Points of one launch by the starts that serve them, in an order that the seed fixes.

    Starts that do the same work in another setting (launcher, transport, binding, variables…) follow one another, in
    a random order, so a changing machine favours none of them.
    """
    chance = random.Random(f"{effort.seed}-{points[0].launch}")
    blocks: dict[frozenset[Spec], list[list[Point]]] = {}
    for group in _groups(points):
        work = frozenset(point.spec.work for point in group)
        chance.shuffle(group)
        blocks.setdefault(work, []).append(group)
    shuffled = list(blocks.values())
    chance.shuffle(shuffled)
    for block in shuffled:
        chance.shuffle(block)
    return [group for block in shuffled for group in block]


def _groups(points: Sequence[Point]) -> list[list[Point]]:
    """Points that one start can serve: same placement, same path; a tool starts again for each."""
    groups: dict[object, list[Point]] = {}
    for point in points:
        spec = point.spec
        own_start = benchmarks.get(spec.benchmark).own_start or os.environ.get(COUNTERS)
        alone = point.fingerprint if own_start else None
        threads = benchmarks.threads(spec)  # the thread level
        groups.setdefault((setting(spec), threads, alone), []).append(point)
    return list(groups.values())


def setting(spec: Spec) -> tuple[object, ...]:
    """What decides whether the ranks of a spec can start; for specs without ranks, the program that they need."""
    path = spec.launcher, spec.transport, spec.device, spec.bind, spec.environment
    return (benchmarks.get(spec.benchmark).start(spec), *path, spec.ranks, spec.ppn, spec.hosts, spec.testbed)


def concurrent(groups: Sequence[Sequence[Point]]) -> list[list[tuple[Sequence[Point], tuple[str, ...]]]]:
    """Groups in the order given, with the hosts of each, those together that fit on disjoint hosts of the job.

    They run one after the other if `BESIDE` is not set, or if a group names its hosts or needs no host of the job.
    """
    job = allocation.current()
    batches: list[list[tuple[Sequence[Point], tuple[str, ...]]]] = []
    free: list[str] = []
    for group in groups:
        need = len(nodes.hosts(group[0].spec)) if job is not None and os.environ.get(BESIDE) else 0
        plain = need and not group[0].spec.hosts
        if not plain or len(free) < need:
            batches.append([])
            free = list(job.hosts) if job is not None and plain else []
        batches[-1].append((group, tuple(free[:need]) if plain else ()))
        free = free[need:]
    return batches


def run_concurrently(batch: Sequence[tuple[Sequence[Point], tuple[str, ...]]], run: Run) -> Iterator[Failure]:
    """Measure groups at the same time, each on its own hosts."""

    def narrowed(group: Sequence[Point], hosts: tuple[str, ...]) -> list[Failure]:
        with allocation.narrowed(hosts):
            return list(run(group))

    if len(batch) == 1:
        yield from run(batch[0][0])
        return
    with ThreadPoolExecutor(len(batch)) as pool:
        for failures in [pool.submit(copy_context().run, narrowed, group, hosts) for group, hosts in batch]:
            yield from failures.result()
