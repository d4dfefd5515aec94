"""Which points share a start, and in which order the starts come."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit import benchmarks
from labkit.benchmarks import InterferenceBenchmark, StartBenchmark, ToolBenchmark
from labkit.spec import Effort, Spec

if TYPE_CHECKING:
    from labkit.measuring import Point


def starts(points: Sequence[Point], effort: Effort) -> list[list[Point]]:
    """Points of one launch by the starts that serve them, in an order that the seed fixes.

    Starts that do the same work in another setting (launcher, transport, binding, variables…) follow one another, in
    a random order, so that a machine that changes in the meantime favours none of them.
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
    """Points that one start can serve: same placement, same path; a tool starts anew for each."""
    found: dict[object, list[Point]] = {}
    for point in points:
        spec = point.spec
        benchmark = benchmarks.get(spec.benchmark)
        alone = point.fingerprint if isinstance(benchmark, ToolBenchmark | StartBenchmark) else None
        threads = dict(spec.options).get("threads", 1)  # the thread level
        found.setdefault((setting(spec), threads, alone), []).append(point)
    return list(found.values())


def setting(spec: Spec) -> tuple[object, ...]:
    """What decides whether the ranks of a spec can start at all; for those that start no ranks, whose program it is."""
    benchmark = benchmarks.get(spec.benchmark)
    whose = "" if benchmark.mpi and not isinstance(benchmark, InterferenceBenchmark) else spec.benchmark
    path = spec.launcher, spec.transport, spec.device, spec.bind, spec.environment
    return (whose, *path, spec.ranks, spec.ppn, spec.hosts, spec.testbed)
