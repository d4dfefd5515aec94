"""How many bytes the samples of a point take: an estimate before anything starts, and the question if they are many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.options.ranks import Timing
from labkit.point.spec import Effort, Spec, has
from labkit.point.units import MB, format_number
from labkit.stats.across_ranks import OF_ITERATION, OF_RANK, PHASE
from labkit.worker.retention import SAMPLED, SUSPECTS, WHOLE
from labkit.worker.stop import MOST

ASKED = 50 * MB  # of one point, from which on labkit asks what to keep
WRONG = 4  # times as much at most: a time is stored in 8 B before it is compressed
_EACH = 2.0  # B of a time, or of a bucket of a histogram, in a file; 1.6 in the example campaigns
_BUCKETS = 150  # of a rank's histogram, as long as its iterations do not differ by more than an order of magnitude
_CHUNKS = 100  # samples of a point whose chunks are timed as a whole


@dataclass(frozen=True)
class Volume:
    """Estimated bytes of a point's file.

    Parameters
    ----------
    every : with every time of every rank.
    extremes : with extremes over ranks; 0 if the benchmark needs every time.
    kept : the effort's setting.
    """

    every: int
    extremes: int
    kept: int


def volume(spec: Spec, effort: Effort) -> Volume:
    """Return the estimated bytes of one launch of a point; zeros if a tool measures it, which reports few values.

    Without an exact number of iterations the stop rule decides, so the estimate is an upper bound.
    """
    benchmark, rows = benchmarks.get(spec.benchmark), _rows(spec.replace(size=0))
    if not rows:
        return Volume(0, 0, 0)
    iterations, phases = effort.iterations or benchmark.most or MOST, 1 + len(benchmark.phases)
    if has(spec.options, Timing) and spec.options.timing == "total":
        iterations = min(iterations, _CHUNKS)
    every = round(_EACH * rows * iterations * phases)
    if benchmark.every_time:
        return Volume(every, 0, every)
    of_iteration = len(OF_ITERATION) + len(PHASE) * (phases - 1) + (SAMPLED + SUSPECTS) * phases
    of_rank = len(OF_RANK) + phases + min(iterations, _BUCKETS)
    extremes = round(_EACH * (iterations * of_iteration + rows * of_rank))
    reduces = effort.keep == "extremes" or (effort.keep == "auto" and rows > WHOLE)
    return Volume(every, extremes, extremes if reduces else every)


@lru_cache(maxsize=1024)
def _rows(spec: Spec) -> int:
    """Times that an iteration leaves, which do not depend on the size."""
    return benchmarks.get(spec.benchmark).rows(spec)


def refuse(specs: Iterable[Spec], effort: Effort) -> None:
    """Ask what to keep of a large point, unless the user has set `keep`.

    Raises
    ------
    SpecError
        If a point would exceed `ASKED` and `keep` is ``auto``; names the largest.
    """
    if effort.keep != "auto":
        return
    sizes = {spec: volume(spec, effort) for spec in specs}
    largest = max(sizes, key=lambda spec: sizes[spec].kept, default=None)
    if largest is None or sizes[largest].kept <= ASKED:
        return
    estimate = sizes[largest]
    few = f"keep=extremes (about {size(estimate.extremes)}) or " if estimate.extremes else ""
    raise SpecError(
        f"keep=auto, but one launch of {benchmarks.label(largest)} would take about "
        f"{size(estimate.kept)} (an estimate, at most {WRONG} times as much). Set {few}"
        f"keep=all (about {size(estimate.every)}), or fewer iterations."
    )


def told(count: float) -> str:
    """Estimated bytes in words, with how wrong they may be."""
    return (
        f"about {size(count)} on disk, an estimate: 2 B for a time and as many iterations as a point may have; it may "
        f"be far less, at most {WRONG} times as much"
    )


def size(count: float) -> str:
    """Bytes for people, from 1 kB on in two digits.

    Examples
    --------
    >>> size(123), size(51_200_000), size(3.2e9)
    ('123 B', '51 MB', '3.2 GB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return format_number(count / scale, unit, digits=2)
    return format_number(count, "B", digits=2)
