"""Rank intervals, percentiles and spread. Pure functions over plain arrays of seconds.

No function assumes a distribution: intervals come from ranks, and percentiles are observed samples. Times are averaged,
rates never. Iterations of one launch depend on each other, so the headline interval is over launch medians, or from six
sessions on over session medians. `docs/statistics.md` explains every term.

References
----------
.. [1] T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC15, doi 10.1145/2807591.2807644.
.. [2] J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, EPFL Press 2010, ch. 2.
.. [3] S. Hunold, A. Carpen-Amarie, MPI Benchmarking Revisited, arXiv 1505.07734.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.errors import DataError
from labkit.stats.lists import Lists, begins
from labkit.stats.rank_interval import DEPENDENT as DEPENDENT
from labkit.stats.rank_interval import LEVEL as LEVEL
from labkit.stats.rank_interval import effective, wider
from labkit.stats.rank_interval import ranks as ranks
from labkit.stats.sessions import MOMENT as MOMENT
from labkit.stats.sessions import basis as basis

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
BEYOND = 10  # samples that must lie beyond a percentile before it is relied on
NEEDED = {"p95": 20, "p99": 100, "p999": 10_000}  # fewest samples with which a percentile is given at all
LAUNCHES = 6  # fewest launches, or sessions, with a 95 % rank interval of their median
_ENOUGH_TIMES = 20  # times whose common divisor is no coincidence
_USUAL = 0.001  # of the times between clock reads: rarer ones come from interruptions
_LEAST_STEP = 4  # ns, above the rounding of two times
IQR_OF_NORMAL = 1.349  # 2 Φ⁻¹(3/4): quartiles of a normal distribution are so many standard deviations apart


@dataclass(frozen=True)
class Interval:
    """An interval of a quantile.

    Parameters
    ----------
    low, high : ends; NaN when there are too few samples for any interval.
    centre : estimate of the quantile.
    """

    low: float
    high: float
    centre: float

    @property
    def relative_width(self) -> float | None:
        """Width divided by the centre; None without an interval, or if the centre is 0."""
        return (self.high - self.low) / self.centre if self.centre and not math.isnan(self.low) else None


@dataclass(frozen=True)
class Headline:
    """The value of a point over its launches, with its interval and the kind of this interval.

    Parameters
    ----------
    centre : median over launches, or over the medians of six sessions or more.
    low, high : ends; NaN for a single launch.
    launches : number of launches.
    label : kind of the interval, see `launches_label`.
    """

    centre: float
    low: float
    high: float
    launches: int
    label: str


@dataclass(frozen=True)
class Summary:
    """Statistics of one launch.

    Parameters
    ----------
    n : samples.
    n_eff : equivalent number of independent samples, see `labkit.stats.rank_interval.effective`.
    p50, p95, p99, p999 : percentiles; NaN if there are too few samples, see `given`.
    within : 95 % rank interval of the median inside the launch.
    min, max, mean : min, max and mean of all samples; none is removed as an outlier.
    spread : distance of the quartiles relative to the median, see `relative_spread`.
    unreliable : percentiles with fewer than ten samples beyond them.
    """

    n: int
    n_eff: float
    p50: float
    p95: float
    p99: float
    p999: float
    within: Interval
    min: float
    max: float
    mean: float
    spread: float
    unreliable: tuple[str, ...]


def _samples(values: ArrayLike) -> NDArray[np.float64]:
    """Values as a flat array that has at least one number and no NaN."""
    array = np.asarray(values, np.float64).ravel()
    if not array.size:
        raise DataError("There are 0 samples, but a statistic needs at least 1. Measure again.")
    if np.isnan(array).any():
        raise DataError(f"{int(np.isnan(array).sum())} of {array.size} samples are NaN, but each must be a number.")
    return array


def _rank(n: int, q: float) -> int:
    """Nearest rank of a quantile, from 1. Rounded first: 100·0.95 must not become rank 96."""
    return max(1, math.ceil(round(n * q, 9)))


def _order_statistics(array: NDArray[np.float64], numbers: list[int]) -> dict[int, float]:
    """Order statistics by rank (from 1), by partition: linear in n."""
    places = sorted({rank - 1 for rank in numbers})
    partitioned = np.partition(array, places)
    return {place + 1: float(partitioned[place]) for place in places}


def _centre(n: int, q: float) -> tuple[int, int]:
    """Two ranks with the estimate as their mean: the same rank twice, except for the median of an even number."""
    return (n // 2, n // 2 + 1) if q == 0.5 and n % 2 == 0 else (_rank(n, q), _rank(n, q))


def quantile(values: ArrayLike, q: float) -> float:
    """Quantile by nearest rank, an observed value; the median of an even number of values is a midpoint.

    Examples
    --------
    >>> quantile([4.0, 1.0, 2.0, 3.0], 0.5), quantile([4.0, 1.0, 2.0, 3.0], 0.99)
    (2.5, 4.0)
    """
    array = _samples(values)
    low, high = _centre(array.size, q)
    ordered = _order_statistics(array, [low, high])
    return (ordered[low] + ordered[high]) / 2


def interval(values: ArrayLike, q: float = 0.5, level: float = LEVEL) -> Interval:
    """Rank interval of a quantile; its ends are NaN when there are too few values (see `ranks`)."""
    array = _samples(values)
    low, high = _centre(array.size, q)
    ends = ranks(array.size, q, level)
    ordered = _order_statistics(array, [low, high, *(ends or ())])
    centre = (ordered[low] + ordered[high]) / 2
    if ends is None:
        return Interval(math.nan, math.nan, centre)
    return Interval(ordered[ends[0]], ordered[ends[1]], centre)


def within(seconds: ArrayLike) -> Interval:
    """95 % rank interval of the median inside one launch: the stop rule asks for its width after every chunk.

    Parameters
    ----------
    seconds : (iterations,), s, in the order in which they ran: iterations depend on each other.
    """
    return summarize(seconds).within


def reliable(n: int, q: float) -> bool:
    """Whether at least ten of n samples lie beyond the quantile. p95 needs 200, p99 1000, p99.9 10 000 samples."""
    return round(n * min(q, 1 - q), 9) >= BEYOND


def given(name: str, n: int) -> bool:
    """Whether n samples have a percentile: 20 for p95, 100 for p99, 10 000 for p99.9.

    With fewer, the nearest rank of p95 and p99 is the largest sample.
    """
    return n >= NEEDED.get(name, 1)


def clock_step(time_ns: NDArray[np.int64]) -> int:
    """Step of the clock, from the times, ns: the largest power of ten up to 1000 that divides all of them.

    With fewer than 20 times it is 1.

    Examples
    --------
    >>> clock_step(np.arange(0, 500, 10)), clock_step(np.arange(7, 500))
    (10, 1)
    """
    return int(clock_steps(Lists.of([time_ns.ravel()]))[0])


def clock_steps(times: Lists) -> NDArray[np.int64]:
    """`clock_step` of each list, (lists,); the values may be (rows, values)."""
    steps, rows = np.ones(len(times), np.int64), times.values.reshape(-1, times.values.shape[-1])
    likely = np.flatnonzero(times.counts * len(rows) >= _ENOUGH_TIMES)
    for step in (10, 100, 1000):  # what a larger step divides, a smaller one divides as well
        likely = likely[~(rows[:, times.starts[likely]] % step).any(axis=0)]  # the first times rule out most lists
        likely = np.array([place for place in likely.tolist() if not (times[place] % step).any()], np.intp)
        steps[likely] = step
    for place in likely.tolist():
        if not times[place].any():  # anything divides 0
            steps[place] = 1
    return steps


def clock_resolution(between_ns: NDArray[np.int64]) -> float | None:
    """Step of a clock from the times between consecutive reads, ns; None if the clock stood still.

    If two reads in a row can be equal, the least difference is one step. Otherwise the usual differences lie on
    multiples of the step, up to the rounding to whole ns.

    Examples
    --------
    >>> clock_resolution(np.array([0, 0, 1000, 0])), clock_resolution(np.array([20, 21, 30, 31, 30, 40]))
    (1000.0, 10.0)
    >>> clock_resolution(np.array([24, 25, 26, 27]))
    1.0
    """
    moved = between_ns[between_ns > 0]
    if not moved.size:
        return None
    if moved.size < between_ns.size:
        return float(moved.min())
    values, counts = np.unique(moved, return_counts=True)
    usual = values[counts >= _USUAL * moved.size]
    centres = [float(group.mean()) for group in np.split(usual, np.flatnonzero(np.diff(usual) > 1) + 1)]
    step = round(min(np.diff(centres), default=0.0))
    if step >= _LEAST_STEP and all(abs(centre - step * round(centre / step)) <= 1 for centre in centres):
        return float(step)
    return float(np.gcd.reduce(moved))


def percent(part: float, whole: float) -> float:
    """Return a part of a whole in %; NaN if the whole is 0."""
    return 100 * float(part) / float(whole) if whole else math.nan


def relative_spread(values: ArrayLike) -> float:
    """Distance of the quartiles divided by 1.349 and by the median; NaN for fewer than two values.

    It reads like a relative standard deviation, but a few outliers do not move it.
    """
    return float(relative_spreads(_samples(values)[None])[0])


def relative_spreads(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """`relative_spread` of each row, (rows, values) → (rows,)."""
    return _spreads(Lists(rows.ravel(), begins([rows.shape[1]] * len(rows))).sorted())


def _spreads(ordered: Lists) -> NDArray[np.float64]:
    """`relative_spreads` of lists in ascending order."""
    some = np.flatnonzero(ordered.counts >= 2)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # infinity beyond the largest float
        low, centre, high = (_between(ordered.chosen(some), q) for q in (0.25, 0.5, 0.75))
        spreads = np.where(centre != 0, (high - low) / IQR_OF_NORMAL / np.abs(centre), math.nan)
    out = np.full(len(ordered), math.nan)
    out[some] = spreads
    return out


def _between(ordered: Lists, q: float) -> NDArray[np.float64]:
    """Quantile of each list by linear interpolation, as `numpy.percentile`, which sorts and is slow for short rows."""
    place = (ordered.counts - 1) * q
    below = np.floor(place).astype(np.intp)
    part = place - below
    first, second = ordered.at(below), ordered.at(np.minimum(below + 1, ordered.counts - 1))
    between = np.where(part < 0.5, first + (second - first) * part, second - (second - first) * (1 - part))
    return np.asarray(between)


def summarize(seconds: ArrayLike) -> Summary:
    """Percentiles, interval, extremes and spread of one launch.

    Parameters
    ----------
    seconds : (iterations,), in the order in which they ran, s or any unit; all results but `n`, `n_eff` and `spread`
        have the same unit.
    """
    array = _samples(seconds)
    s = {name: float(values[0]) for name, values in summaries(Lists.of([array])).items()}
    return Summary(
        n=array.size,
        **{name: s[name] for name in ("n_eff", "p50", "p95", "p99", "p999", "min", "max", "mean", "spread")},
        within=Interval(s["ci_low"], s["ci_high"], s["p50"]),
        unreliable=unreliable(array.size),
    )


def unreliable(n: int) -> tuple[str, ...]:
    """Percentiles with fewer than ten of n samples beyond them."""
    return tuple(name for name in ("p95", "p99") if not reliable(n, QUANTILES[name]))


def summaries(launches: Lists, ordered: Lists | None = None) -> dict[str, NDArray[np.float64]]:
    """Statistics of many launches.

    Parameters
    ----------
    launches : times of the iterations of each launch in the order in which they ran, s, without NaN.
    ordered : the same times, sorted within each launch (default: sorted here).

    Returns
    -------
    The statistics of `Summary` by name, each (launches,); the ends of `within` are ``ci_low`` and ``ci_high``.
    """
    ordered = launches.sorted() if ordered is None else ordered
    counts, of = np.unique(launches.counts, return_inverse=True)
    numbers, nothing = counts.tolist(), np.full(len(launches), math.nan)

    def at(ranks: Sequence[int]) -> NDArray[np.float64]:
        return np.asarray(ordered.at(np.array(ranks, np.intp)[of] - 1))

    low, high = (at([_centre(n, 0.5)[end] for n in numbers]) for end in range(2))
    columns = {"p50": (low + high) / 2}
    columns["n_eff"] = effective(launches, columns["p50"])
    for name, ends in zip(("ci_low", "ci_high"), wider(launches.counts, columns["n_eff"]), strict=True):
        columns[name] = np.where(ends > 0, ordered.at(np.maximum(ends, 1) - 1), nothing)
    for name in NEEDED:
        enough = np.array([given(name, n) for n in numbers])[of]
        columns[name] = np.where(enough, at([_rank(n, QUANTILES[name]) for n in numbers]), nothing)
    columns |= {"min": ordered.at(0 * of), "max": ordered.at(launches.counts - 1)}
    return columns | {"mean": launches.sums() / launches.counts, "spread": _spreads(ordered)}


def relative_widths(columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """`Interval.relative_width` of ``within`` of each launch, from `summaries`; NaN in place of None."""
    with np.errstate(divide="ignore", invalid="ignore"):
        widths = (columns["ci_high"] - columns["ci_low"]) / columns["p50"]
    return np.where(columns["p50"] != 0, widths, math.nan)


def headline(medians: ArrayLike, sessions: ArrayLike | None = None) -> Headline:
    """Median over launches with its interval: exact ranks with 6 launches or more, the plain range below.

    Parameters
    ----------
    medians : (launches,).
    sessions : (launches,), session of each launch; None if unknown. See `aggregate`.

    Examples
    --------
    >>> headline([3.0, 1.0, 2.0])
    Headline(centre=2.0, low=1.0, high=3.0, launches=3, label='range of 3 launches')
    >>> headline([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]).label
    '95 % interval of 6 sessions'
    """
    array, of = _samples(medians), None if sessions is None else np.asarray(sessions)
    centre, low, high = aggregate(array[:, None], of)
    label = launches_label(array.size, 0 if of is None else len(np.unique(of)))
    return Headline(float(centre[0]), float(low[0]), float(high[0]), array.size, label)


def aggregate(
    values: NDArray[np.float64], sessions: NDArray[Any] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Median over launches of several statistics at once, and the ends of their intervals.

    With six sessions or more, the medians of the sessions take the place of the launches. With two to five sessions,
    the interval also encloses the medians of the sessions, because launches of one session resemble each other and
    their own interval would be too narrow.

    Parameters
    ----------
    values : (…, launches, statistics).
    sessions : (launches,), session of each launch; None if unknown.

    Returns
    -------
    Centres, lower ends and upper ends, each (…, statistics).
    """
    if sessions is not None and len(np.unique(sessions)) > 1:
        each = of_sessions(values, sessions)
        if each.shape[-2] >= LAUNCHES:
            return aggregate(each)
        middle, lower, upper = aggregate(values)
        return middle, np.minimum(lower, each.min(axis=-2)), np.maximum(upper, each.max(axis=-2))
    n = values.shape[-2]
    ordered = np.moveaxis(np.sort(values, axis=-2), -2, 0)
    centre = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    if n == 1:
        return centre, np.full_like(centre, math.nan), np.full_like(centre, math.nan)
    low, high = ranks(n) or (1, n)
    return centre, ordered[low - 1], ordered[high - 1]


def of_sessions(values: NDArray[np.float64], sessions: NDArray[Any]) -> NDArray[np.float64]:
    """Return the median of each session, (…, launches, statistics) → (…, sessions, statistics)."""
    parts = [aggregate(values[..., sessions == one, :])[0] for one in np.unique(sessions)]
    return np.stack(parts, axis=-2)


def launches_label(n: int, sessions: int = 0) -> str:
    """Name the kind of interval that `aggregate` returns for n launches; `sessions` is 0 if unknown.

    Examples
    --------
    >>> launches_label(3), launches_label(6), launches_label(18, 6)
    ('range of 3 launches', '95 % interval of 6 launches', '95 % interval of 6 sessions')
    >>> launches_label(18, 3)
    '95 % interval of 18 launches, extended to the range of 3 sessions'
    """
    if n < LAUNCHES:
        return "1 launch" if n == 1 else f"range of {n} launches"
    level = f"{LEVEL * 100:.0f} % interval of"
    if sessions >= LAUNCHES:
        return f"{level} {sessions} sessions"
    return f"{level} {n} launches" + (f", extended to the range of {sessions} sessions" if sessions > 1 else "")


def medians(values: NDArray[np.float64], groups: NDArray[np.intp], count: int) -> NDArray[np.float64]:
    """Return the median of the values of each group that are not NaN, (groups,); NaN without one."""
    known = ~np.isnan(values)
    values, groups = values[known], groups[known]
    if (groups[1:] < groups[:-1]).any():
        values = values[np.argsort(groups, kind="stable")]
    sizes = np.bincount(groups, minlength=count)
    starts, out = np.cumsum(sizes) - sizes, np.full(count, math.nan)
    for size in np.unique(sizes[sizes > 0]).tolist():  # a sort of all takes four times as long
        alike = np.flatnonzero(sizes == size)
        ordered = np.sort(values[starts[alike][:, None] + np.arange(size)], axis=1)
        out[alike] = (ordered[:, (size - 1) // 2] + ordered[:, size // 2]) / 2
    return out
