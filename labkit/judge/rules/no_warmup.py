"""Points that were timed without a warm-up."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import benchmarks
from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.store.samples.facts import WARMUP


def _needed(benchmark: str) -> bool:
    """Whether iterations of a benchmark need others before them."""
    known = benchmarks.get(benchmark)
    return not isinstance(known, benchmarks.KernelBenchmark) or any(known.warmup)


def check(view: View) -> Iterator[Finding]:
    """Yield points without the warm-up iterations that they need."""
    none = view.of_kinds(
        lambda one: WARMUP.given(one.meta) and WARMUP.of(one.meta) == 0 and _needed(one.spec.benchmark)
    )
    for row in view.rows((view.column("n") > 0) & none):
        yield RULE.found(view.subject(row))


RULE = Rule(
    code="no-warmup",
    kind="violation",
    level="doubtful",
    must="a warm-up precedes timing",
    why="the first iterations fill caches and open connections",
    says="no warm-up iterations",
    remedy="Measure again without -x 0.",
    check=check,
)
