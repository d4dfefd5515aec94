"""What a campaign's numbers show beside their values, in sentences with evidence.

Switch points of protocols and algorithms, violated guidelines of collectives, warm-up that reaches into the timed part,
drift inside a launch, two modes, and the noise of the operating system with its period. Each rule is one function; a
rule says nothing where it lacks data.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.errors import DataError
from labkit.judge import guidelines, protocol
from labkit.models.bounds import quantity
from labkit.models.limits import METRICS_OF_LATENCY
from labkit.point.columns import METRICS, statistic_column
from labkit.point.units import format_chance, format_number, format_share, format_size, plural
from labkit.read import records
from labkit.read.columnar import Launches, Times
from labkit.read.records import has, headline_statistic, in_effect, per_rank, rerun
from labkit.read.records.factors import OF_SOURCES, OPEN, alike, differing, setting
from labkit.stats import periodic
from labkit.stats.binomial import at_least
from labkit.stats.lists import Lists
from labkit.stats.modes import Modes, two_modes
from labkit.store.samples import Samples
from labkit.store.samples.facts import INVOLUNTARY_SWITCHES

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["switch point", "curvature", "guideline", "warm-up", "drift", "two modes", "noise"]
_CHANCE = 1e-3  # of a false statement on one point and launch
_FIRST = 0.05  # of the iterations that a warm-up concerns
FEWEST = 200  # iterations of a launch that shows a warm-up, a drift or modes
_BLOCKS = 10  # of iterations, for a drift
_PAIRS = np.triu_indices(_BLOCKS, 1)  # of blocks
_SLOWER = 1.1  # times the rest that the first iterations take at least
_DRIFT = 0.02  # least change from the first block to the last, as a part
_WORST = 5  # violated guidelines that are named
_DETOUR = 0.005  # part of a quantum that a detour takes at least
_SCATTER = 6.0  # scatters of a quantum that a detour takes at least
_LONG_NS = 1_000_000  # a detour that no interrupt explains
_TICKS = (100, 250, 300, 1000)  # Hz: what Linux can be built with (CONFIG_HZ)
_NOISE = "micro.noise"
_PATHS = ("shared-memory", "loopback", "path-unknown")  # badges


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Something that the numbers show.

    Parameters
    ----------
    kind : of rule.
    subject : benchmark with its size, path, library, and what else tells its points apart.
    sentence : what it is, with numbers.
    evidence : what it rests on.
    command : that shows more, or changes it; empty for none.
    """

    kind: Kind
    subject: str
    sentence: str
    evidence: str
    command: str = ""


@dataclass(frozen=True)
class Detours:
    """Noise of one launch of micro.noise.

    Parameters
    ----------
    starts : (n,), s, of the quanta.
    excess_ns : (n,), ns beyond the median quantum.
    detour : (n,), whether a quantum holds one.
    quantum : s, median.
    """

    starts: NDArray[np.float64]
    excess_ns: NDArray[np.int64]
    detour: NDArray[np.bool_]
    quantum: float

    @property
    def spectrum(self) -> periodic.Spectrum | None:
        """Their periodogram; None for too few."""
        return periodic.spectrum(self.starts, self.detour, self.quantum)


def inspect(launches: Launches, summary: pd.DataFrame) -> list[Observation]:
    """Return what all rules observe, in the order of the rules.

    Parameters
    ----------
    launches : of the campaign; their times are read once.
    summary : of the same campaign, from `labkit.read.records.summary`.
    """
    seen = [one for times in launches.times() for one in of_times(times)]
    seen = sorted([*seen, *_of_noise(launches)], key=lambda one: one.row)
    return [*switch_points(summary), *violations(summary), *_agreeing(seen, launches, summary)]


@dataclass(frozen=True)
class _Seen:
    """What one launch shows.

    Parameters
    ----------
    row : of the records.
    kind : of rule.
    numbers : what the rule found.
    """

    row: int
    kind: Kind
    numbers: tuple[Any, ...]


def _agreeing(seen: Sequence[_Seen], launches: Launches, summary: pd.DataFrame) -> Iterator[Observation]:
    """Yield for each point the first launch's statement of each kind, if more than half of the launches show it."""
    if not seen:
        return
    named = launches.records[["benchmark", "fingerprint", "launch"]].iloc[[one.row for one in seen]]
    names = [*named.itertuples(index=False, name=None)]
    by_kind: dict[str, dict[Kind, list[_Seen]]] = {}
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(name for name, *_ in names))}
    for place in sorted(range(len(seen)), key=lambda place: (ranks[names[place][0]], names[place])):
        kinds = by_kind.setdefault(str(names[place][1]), {})
        kinds.setdefault(seen[place].kind, []).append(seen[place])
    counts = dict(zip(summary["fingerprint"], summary["launches"].tolist(), strict=True))
    subjects = _subjects(summary[summary["fingerprint"].isin(by_kind)], summary)
    for point, kinds in by_kind.items():
        count = int(counts.get(point, 1))
        for kind, some in kinds.items():
            if 2 * len(some) > count or kind == "noise":
                word = f"; so in {len(some)} of {plural(count, 'launch')}" if count > 1 else ""
                row = some[0].row
                one = replace(launches.kinds[int(launches.kind[row])], spec=launches.spec(row))
                told = _TELL[kind](one, subjects.get(point) or benchmarks.label(one.spec), count, *some[0].numbers)
                yield replace(told, evidence=told.evidence + word)


def _subjects(points: pd.DataFrame, summary: pd.DataFrame) -> dict[str, str]:
    """Fingerprint → benchmark, size, path, library and whatever else tells points of the benchmark apart."""
    found: dict[str, str] = {}
    parts = records.by_benchmark(summary)
    for name, rows in points.groupby("benchmark") if len(points) else ():
        columns = _naming(parts[str(name)])
        needed = [*dict.fromkeys(["fingerprint", "message_size_B", "transport", "badges", *OF_SOURCES, *columns])]
        for row in rows[[column for column in needed if column in rows]].to_dict("records"):
            size = [format_size(int(row["message_size_B"]))] if benchmarks.get(str(name)).sized else []
            words = [*size, *filter(None, [_where(row, columns)])]
            found[str(row["fingerprint"])] = f"{name} ({', '.join(words)})" if words else str(name)
    return found


def _naming(rows: pd.DataFrame) -> list[str]:
    """Return the columns that name a curve: path, library, and in what else the points of a benchmark differ."""
    return [*dict.fromkeys(["transport", "library", *differing(rows, skip=["fingerprint"])])]


def _where(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return path, library and further levels of a point in words; the path that was taken, if the library chose."""
    chosen = row["transport"] in OPEN
    taken = [note.text for note in row["badges"] if note.code in _PATHS] if chosen else []
    asked = setting(row, [name for name in columns if not (chosen and name == "transport")])
    return ", ".join([*taken, *filter(None, [asked])])


# ---- rules on tables -------------------------------------------------------------------------------------------------


def switch_points(summary: pd.DataFrame) -> Iterator[Observation]:
    """Yield where the time against size jumps, which is another protocol or algorithm, or only bends."""
    for name in dict.fromkeys(summary["benchmark"]) if len(summary) else ():
        rows = summary[summary["benchmark"] == name]
        metric = next((one for one in METRICS_OF_LATENCY if has(rows, one)), "")
        if not metric or rows["message_size_B"].nunique() < protocol.MIN_SIZES:
            continue
        column = statistic_column(metric, headline_statistic(rows, metric))
        rows = rows[rows[column].notna()]
        groups = alike(rows, differing(rows))
        sizes, times = rows["message_size_B"].to_numpy(np.float64), rows[column].to_numpy(np.float64)
        ordered = [group[np.argsort(sizes[group], kind="stable")] for group in groups]
        naming: list[str] = []
        series = protocol.every([(sizes[group], times[group]) for group in ordered])
        for group, lines in zip(groups, series, strict=True):
            if lines is None or not lines.breaks:  # None: too few sizes
                continue
            naming = naming or _naming(rows)
            where = _where(rows.iloc[group[0]].to_dict(), naming)
            for change in lines.breaks:
                places = f"Between {format_size(change.after)} and {format_size(change.before)} the time"
                jump = format_share(change.jump, sign=True)
                yield Observation(
                    kind="switch point" if change.abrupt else "curvature",
                    subject=f"{name} ({where})" if where else str(name),
                    sentence=f"{places} jumps ({jump}): another protocol or algorithm."
                    if change.abrupt
                    else f"{places} bends to another line ({jump}), without a clear jump.",
                    evidence=f"{plural(len(group), 'size')}, points scatter by {format_share(lines.scatter)}",
                    command=f"labkit describe {name}   # then measure sizes between, or set the library's limit",
                )


def violations(summary: pd.DataFrame) -> Iterator[Observation]:
    """Yield collectives that are slower than others that do their work."""
    try:
        result = guidelines.check(summary)
    except DataError:  # no collectives
        return
    certain = result.table[result.table["certain"]]
    for row in certain.head(_WORST).to_dict("records"):
        yield Observation(
            kind="guideline",
            subject=f"{row['guideline']} ({row['setting']}, {row['ranks']} ranks)",
            sentence=f"At {format_size(int(row['message_size_B']))}, {format_number(row['left_us'], 'µs')} against "
            f"{format_number(row['right_us'], 'µs')} of {row['right']}: {format_number(row['ratio'], digits=3)} times. "
            "The library has a better algorithm than the one that it chose.",
            evidence=f"the launches show it; {len(certain)} of {plural(result.checked, 'comparison')}",
        )


# ---- rules on the samples of one launch ------------------------------------------------------------------------------


def of_times(times: Times) -> Iterator[_Seen]:
    """Yield what launches of a benchmark show."""
    benchmark = times.batch.kind.spec.benchmark
    which = np.flatnonzero(times.batch.counts >= FEWEST)
    if not len(which) or benchmark == _NOISE:
        return
    seconds = times.seconds.chosen(which)
    warm = dict(warm_up(seconds))
    drift = ((place, numbers) for place, numbers in _drift(seconds) if place not in warm)
    shown: dict[Kind, Iterable[tuple[int, tuple[Any, ...]]]] = {
        "warm-up": warm.items(),
        "drift": drift,
        "two modes": _two_modes(records.values_of(times.batch, _metric(benchmark)).chosen(which)),
    }
    for kind, some in shown.items():
        yield from (_Seen(int(times.rows[which[place]]), kind, numbers) for place, numbers in some)


def _of_noise(launches: Launches) -> Iterator[_Seen]:
    """Yield what launches of micro.noise show."""
    if not (launches.records["benchmark"] == _NOISE).any():
        return
    switches = launches.fact(INVOLUNTARY_SWITCHES, _NOISE)  # a batch has those of one of its launches
    for times in launches.times(_NOISE):
        for row, one in zip(times.rows.tolist(), times.batch.each(), strict=True):
            own = replace(one, meta={**one.meta, INVOLUNTARY_SWITCHES.name: switches[row]})
            yield from (_Seen(row, "noise", (told,)) for told in noise(own))


def warm_up(seconds: Lists) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the launches whose first iterations are slower than the rest: place and numbers.

    The numbers are how many are first and how many are the rest, how many of the first lie above the median of the
    rest (binomial test), and the ratio of the medians.
    """
    counts = np.maximum(20, (seconds.counts * _FIRST).astype(np.intp))
    ordered = seconds.cut(np.column_stack([counts, _blocks(seconds.counts - counts)])).sorted()
    start = ordered.medians().reshape(len(seconds), -1)[:, 0]
    # at least half of all values are above the least of the blocks' medians, which is found faster than that of all
    least = ordered.at((ordered.counts - 1) // 2).reshape(len(seconds), -1)[:, 1:].min(axis=1)
    for place in np.flatnonzero(start >= _SLOWER * (1 - 1e-9) * least).tolist():
        count = int(counts[place])
        first, rest = np.split(seconds[place], [count])
        early, late = float(start[place]), float(np.median(rest))
        above = int((first > late).sum())
        if above >= _least_above(count) and late > 0 and early / late >= _SLOWER:
            yield place, (count, len(rest), above, early / late)


@cache
def _least_above(count: int) -> int:
    """Return how many of some first iterations must lie above a median, so that it is no chance."""
    return bisect.bisect_left(range(count + 2), True, key=lambda above: at_least(above, count, 0.5) <= _CHANCE)


def _tell_warm_up(
    one: Samples, subject: str, launches: int, count: int, others: int, above: int, ratio: float
) -> Observation:
    chance = at_least(above, count, 0.5)
    return Observation(
        kind="warm-up",
        subject=subject,
        sentence=f"The first {count} iterations take {format_number(ratio, digits=3)} times the rest (medians): "
        "the warm-up was too short.",
        evidence=f"{above} of {count} lie above the median of the other {others:,}, p {format_chance(chance)}",
        command=rerun.command(one.spec, "-x", str(10 * max(count, in_effect.warmup(one)))),
    )


def _drift(seconds: Lists) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The medians of successive blocks rise or fall (Kendall's test against order)."""
    medians = seconds.cut(_blocks(seconds.counts)).sorted().medians().reshape(len(seconds), _BLOCKS)
    earlier, later = _PAIRS
    scores = np.abs(np.sign(medians[:, later] - medians[:, earlier]).sum(axis=1).astype(np.intp))
    for place in np.flatnonzero(scores >= _least_score()).tolist():
        change = float(medians[place, -1] / medians[place, 0] - 1)
        if abs(change) >= _DRIFT:
            yield place, (int(seconds.counts[place]), _chance_of_order(int(scores[place])), change)


def _blocks(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lengths of `_BLOCKS` parts of lists, which differ by 1 at most, (lists, blocks)."""
    size, longer = np.divmod(counts, _BLOCKS)
    return np.asarray(size[:, None] + (np.arange(_BLOCKS) < longer[:, None]))


@cache
def _least_score() -> int:
    """Return the score of the blocks from which their order is no chance."""
    return next(score for score in range(len(_PAIRS[0]) + 2) if _chance_of_order(score) <= _CHANCE)


@cache
def _chance_of_order(score: int) -> float:
    """Return Kendall's p of a score of the blocks."""
    sigma = math.sqrt(_BLOCKS * (_BLOCKS - 1) * (2 * _BLOCKS + 5) / 18)
    return math.erfc(max(score - 1, 0) / sigma / math.sqrt(2))


def _tell_drift(one: Samples, subject: str, launches: int, count: int, chance: float, change: float) -> Observation:
    other = "other load" if in_effect.pinned_frequency(one.host) else "governor, frequency, other load"
    return Observation(
        kind="drift",
        subject=subject,
        sentence=f"From the first tenth of the iterations to the last, the median time changes by "
        f"{format_share(change, sign=True)}, steadily: frequency, temperature or memory drifted.",
        evidence=f"{_BLOCKS} blocks of {plural(count, 'iteration')}, Kendall's p {format_chance(chance)}",
        command=f"labkit doctor   # {other}",
    )


def _two_modes(values: Lists) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The values of the iterations lie around two places with a valley between them."""
    endless = Lists(~np.isfinite(values.values), values.starts).any()
    known = Lists(np.where(np.repeat(endless, values.counts), 0, values.values), values.starts)
    for place, modes in two_modes(known).items():
        yield place, (modes, int(values.counts[place]))


def _metric(benchmark: str) -> str:
    return next(iter(benchmarks.get(benchmark).metrics))


def _tell_two_modes(one: Samples, subject: str, launches: int, two: Modes, count: int) -> Observation:
    metric = _metric(one.spec.benchmark)
    low, high = (format_number(value, METRICS[metric].unit) for value in (two.low, two.high))
    return Observation(
        kind="two modes",
        subject=subject,
        sentence=f"The {quantity(one.spec.benchmark, metric)} of the iterations lies around two values, {low} and "
        f"{high}: no single number describes it.",
        evidence=f"{format_share(two.share)} of {plural(count, 'iteration')} in the upper mode, a valley between",
        command=_apart(one, launches),
    )


def _apart(one: Samples, launches: int) -> str:
    """Return the command that tells modes of cores or paths from others; empty where all that it changes was in effect.

    It binds ranks that were free and can have a core each. Else it makes more launches, if there are few.
    """
    spec = one.spec
    free = spec.bind in ("auto", "none") and not in_effect.bound(one) and in_effect.enough_cores(one)
    shared = per_rank.emulated_hosts(one)  # they share cores, so ranks are bound to none
    if benchmarks.get(spec.benchmark).mpi and free and not shared:
        return f"{rerun.command(spec.replace(bind='core'))}   # the second mode may be another core or path"
    if launches >= stats.LAUNCHES:
        return ""
    more = rerun.command(spec, "--launches", str(stats.LAUNCHES))
    return f"{more}   # launches with one mode each: placement or path decides"


_TELL: Mapping[Kind, Callable[..., Observation]] = {
    "warm-up": _tell_warm_up,
    "drift": _tell_drift,
    "two modes": _tell_two_modes,
    "noise": lambda one, subject, launches, told: told,
}


# ---- noise -----------------------------------------------------------------------------------------------------------


def detours(one: Samples) -> Detours:
    """The detours of a launch of micro.noise.

    A quantum holds a detour if it takes longer than the median by six scatters, and by 0.5 %.
    """
    times = one.phases["time_ns"][0].astype(np.int64)
    gaps = one.phases["gap_ns"][0].astype(np.int64)
    starts = np.cumsum(gaps + np.concatenate([[0], times[:-1]])) * 1e-9
    middle = float(np.median(times))
    excess = times - int(middle)
    scatter = float(np.median(np.abs(excess))) / 0.6745
    return Detours(starts, excess, excess > max(_SCATTER * scatter, _DETOUR * middle), middle * 1e-9)


def noise(one: Samples) -> Iterator[Observation]:
    """Yield what interrupts a fixed amount of work: how much, whether it is periodic, and what ran instead."""
    if one.n < FEWEST or "gap_ns" not in one.phases:
        return
    seen = detours(one)
    count, total = int(seen.detour.sum()), float(seen.excess_ns[seen.detour].sum())
    spent = float(np.asarray(one.time_ns).sum())
    if not count:
        text = f"None of {one.n:,} quanta of {format_number(seen.quantum * 1e6, 'µs')} was interrupted."
        yield Observation(kind="noise", subject=_NOISE, sentence=text, evidence=f"{one.n:,} quanta")
        return
    tick = periodic.period(seen.starts, seen.detour, seen.quantum)
    middle = format_number(float(np.median(seen.excess_ns[seen.detour])) * 1e-3, "µs")
    text = f"Detours take {format_share(total / spent)} of the time, {middle} each (median)"
    if tick:
        cause = next((f"the timer tick of a kernel with HZ={hz}" for hz in _TICKS if _near(tick, hz)), "")
        cause = cause or "no rate of a Linux tick, so a turn of the scheduler, a daemon or another guest"
        text += f". They come {format_number(tick.frequency, digits=4)} times a second: {cause}"
        power = format_number(tick.power, digits=2)
        sure = f"; {format_share(tick.share)} of them in a tenth of the period, power {power}"
    else:
        text, sure = f"{text}, at no fixed rate", ""
    text += f". {_long(one, seen)}" if (seen.excess_ns > _LONG_NS).any() else "."
    yield Observation(
        kind="noise",
        subject=_NOISE,
        sentence=text,
        evidence=f"{count:,} of {one.n:,} quanta of {format_number(seen.quantum * 1e6, 'µs')} hold a detour{sure}",
        command="labkit measure micro.noise -i 10000   # on a quiet machine, and on one with isolated cores",
    )


def _near(tick: periodic.Period, rate: float) -> bool:
    """Whether a period is that of a tick, within the resolution."""
    return abs(tick.frequency - rate) <= max(tick.resolution / 2, 0.01 * rate)


def _long(one: Samples, seen: Detours) -> str:
    """What ran during the long detours, by the switches that Linux counted."""
    long = seen.excess_ns[seen.excess_ns > _LONG_NS]
    switches = INVOLUNTARY_SWITCHES.of(one.meta)
    spent = format_number(float(long.sum()) * 1e-6, "ms")
    head = f"{len(long)} of more than 1 ms take {spent} together" if len(long) > 1 else f"One takes {spent}"
    if 2 * switches >= len(long):
        return f"{head}: Linux gave the core to other programs ({switches:,} switches)."
    virtual = str(one.host.get("virtualisation") or "none") != "none"
    who = "the hypervisor ran another guest" if virtual else "firmware or an interrupt held the core"
    return f"{head}, but Linux switched {switches:,} times only: {who}."
