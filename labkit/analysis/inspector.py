"""What a campaign's numbers show beside their values, in sentences with evidence.

Switch points of protocols and algorithms, violated guidelines of collectives, warm-up that reaches into the timed part,
drift inside a launch, two modes, and the noise of the operating system with its period. Each rule is one function; a
rule says nothing where it lacks data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, testbeds
from labkit.analysis import guidelines, protocol
from labkit.columns import statistic_column
from labkit.errors import DataError
from labkit.models.limits import METRICS_OF_LATENCY
from labkit.records import again, headline_statistic
from labkit.records.factors import differing, level, named
from labkit.samples import Samples
from labkit.samples.facts import INVOLUNTARY_SWITCHES
from labkit.spec import Spec
from labkit.stats import modes, periodic
from labkit.stats.binomial import at_least
from labkit.units import format_chance, format_number, format_share, format_size

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["switch point", "guideline", "warm-up", "drift", "two modes", "noise"]
_CHANCE = 1e-3  # of a false statement on one point and launch
_FIRST = 0.05  # of the iterations that a warm-up concerns
_FEWEST = 200  # iterations
_BLOCKS = 10  # of iterations, for a drift
_SLOWER = 1.1  # times the rest that the first iterations take at least
_DRIFT = 0.02  # least change from the first block to the last, as a part
_WORST = 5  # violated guidelines that are named
_DETOUR = 0.005  # part of a quantum that a detour takes at least
_SCATTER = 6.0  # scatters of a quantum that a detour takes at least
_LONG_NS = 1_000_000  # a detour that no interrupt explains
_TICKS = (100, 250, 300, 1000)  # Hz: what Linux can be built with (CONFIG_HZ)
_NOISE = "micro.noise"


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Something that the numbers show.

    Parameters
    ----------
    kind : of rule.
    subject : benchmark with its setting.
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


def inspect(samples: Iterable[Samples], summary: pd.DataFrame) -> list[Observation]:
    """Return what all rules observe, in the order of the rules.

    Parameters
    ----------
    samples : of the campaign; they are read once.
    summary : of the same campaign, from `labkit.records.summary`.
    """
    launches: dict[Spec, list[Observation]] = {}
    for one in samples:
        if observed := list(of_launch(one)):
            launches.setdefault(one.spec, []).extend(observed)
    counts = {} if summary.empty else summary.groupby("benchmark")["launches"].max().to_dict()
    single = [each for spec, some in launches.items() for each in _agreeing(some, int(counts.get(spec.benchmark, 1)))]
    return [*switch_points(summary), *violations(summary), *single]


def _agreeing(observed: Sequence[Observation], launches: int) -> Iterator[Observation]:
    """Of each kind the first launch's statement, if more than half of the launches show it."""
    by_kind: dict[Kind, list[Observation]] = {}
    for one in observed:
        by_kind.setdefault(one.kind, []).append(one)
    for kind, some in by_kind.items():
        if 2 * len(some) > launches or kind == "noise":
            word = f"; so in {len(some)} of {launches} launches" if launches > 1 else ""
            first = some[0]
            yield Observation(
                kind=kind,
                subject=first.subject,
                sentence=first.sentence,
                evidence=first.evidence + word,
                command=first.command,
            )


# ---- rules on tables -------------------------------------------------------------------------------------------------


def switch_points(summary: pd.DataFrame) -> Iterator[Observation]:
    """Yield where the time against size changes to another line: another protocol or algorithm."""
    for name in dict.fromkeys(summary["benchmark"]) if len(summary) else ():
        rows = summary[summary["benchmark"] == name]
        metric = next((one for one in METRICS_OF_LATENCY if _has(rows, one)), "")
        if not metric or rows["message_size_B"].nunique() < protocol.FEWEST:
            continue
        rows = rows[rows[statistic_column(metric, headline_statistic(rows, metric))].notna()]
        factors = differing(rows)
        groups = rows.groupby([rows[f].map(level) for f in factors], sort=False) if factors else [("", rows)]
        for _, group in groups:
            try:
                lines = protocol.of(group, metric)
            except DataError:  # too few sizes
                continue
            setting = ", ".join(f"{named(f)} {level(group[f].iloc[0])}" for f in factors)
            for change in lines.breaks:
                yield Observation(
                    kind="switch point",
                    subject=f"{name} ({setting})" if setting else str(name),
                    sentence=f"Between {format_size(change.after)} and {format_size(change.before)} the time changes "
                    f"to another line ({format_share(change.jump, sign=True)}): another protocol or algorithm.",
                    evidence=f"{len(group)} sizes, points scatter by {format_share(lines.scatter)}",
                    command=f"labkit describe {name}   # then measure sizes between, or set the library's limit",
                )


def _has(rows: pd.DataFrame, metric: str) -> bool:
    """Whether the rows have a headline value of a metric."""
    column = statistic_column(metric, headline_statistic(rows, metric))
    return column in rows and bool(rows[column].notna().any())


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
            subject=f"{row['guideline']} on {row['ranks']} ranks",
            sentence=f"At {format_size(int(row['message_size_B']))}, {format_number(row['left_us'], 'µs')} against "
            f"{format_number(row['right_us'], 'µs')} of {row['right']}: {format_number(row['ratio'], digits=3)} times. "
            "The library has a better algorithm than the one that it chose.",
            evidence=f"intervals do not overlap ({row['basis']}); {len(certain)} of {result.checked} comparisons",
        )


# ---- rules on the samples of one launch ------------------------------------------------------------------------------


def of_launch(one: Samples) -> Iterator[Observation]:
    """Yield what one launch of a point shows."""
    if one.time_ns is None or not one.n:
        return
    if one.spec.benchmark == _NOISE:
        yield from noise(one)
        return
    times = np.asarray(one.time_ns, np.int64).max(axis=0)  # the slowest rank of each iteration
    if len(times) < _FEWEST:
        return
    warm = _warm_up(one, times)
    yield from warm
    yield from _drift(one, times) if not warm else ()
    yield from _two_modes(one, times)


def _warm_up(one: Samples, times: NDArray[np.int64]) -> list[Observation]:
    """The first iterations are slower than the rest: count those above the median of the rest (binomial)."""
    count = max(20, int(len(times) * _FIRST))
    first, rest = times[:count], times[count:]
    middle = float(np.median(rest))
    above = int((first > middle).sum())
    chance = at_least(above, count, 0.5)
    ratio = float(np.median(first)) / middle
    if chance > _CHANCE or ratio < _SLOWER:
        return []
    return [
        Observation(
            kind="warm-up",
            subject=benchmarks.label(one.spec),
            sentence=f"The first {count} iterations take {format_number(ratio, digits=3)} times the rest (medians): "
            "the warm-up was too short.",
            evidence=f"{above} of {count} lie above the median of the other {len(rest):,}, p {format_chance(chance)}",
            command=again.command(one.spec, "-x", str(10 * count)),
        )
    ]


def _drift(one: Samples, times: NDArray[np.int64]) -> Iterator[Observation]:
    """The medians of successive blocks rise or fall (Kendall's test against order)."""
    medians = np.array([np.median(block) for block in np.array_split(times, _BLOCKS)])
    score = int(np.sign(medians[None, :] - medians[:, None])[np.triu_indices(_BLOCKS, 1)].sum())
    sigma = math.sqrt(_BLOCKS * (_BLOCKS - 1) * (2 * _BLOCKS + 5) / 18)
    chance = math.erfc(max(abs(score) - 1, 0) / sigma / math.sqrt(2))
    change = float(medians[-1] / medians[0] - 1)
    if chance > _CHANCE or abs(change) < _DRIFT:
        return
    yield Observation(
        kind="drift",
        subject=benchmarks.label(one.spec),
        sentence=f"From the first tenth of the iterations to the last, the median changes by "
        f"{format_share(change, sign=True)}, steadily: frequency, temperature or memory drifted.",
        evidence=f"{_BLOCKS} blocks of {len(times):,} iterations, Kendall's p {format_chance(chance)}",
        command="labkit doctor   # governor, frequency, other load",
    )


def _two_modes(one: Samples, times: NDArray[np.int64]) -> Iterator[Observation]:
    """The iterations lie around two times with a valley between them."""
    two = modes.two_modes(times)
    if two is None:
        return
    low, high = (format_number(value * 1e-3, "µs") for value in (two.low, two.high))
    yield Observation(
        kind="two modes",
        subject=benchmarks.label(one.spec),
        sentence=f"The iterations lie around two times, {low} and {high}: no single number describes them.",
        evidence=f"{format_share(two.share)} of {len(times):,} iterations in the upper mode, with a valley between",
        command=_pinned(one.spec),
    )


def _pinned(spec: Spec) -> str:
    """Return the command that tells modes of cores or paths from others: bound ranks, or new launches."""
    shared = testbeds.outline(spec.testbed).remote_shell  # hosts that share cores bind no ranks
    if benchmarks.get(spec.benchmark).mpi and not shared and spec.bind in ("auto", "none"):
        return f"{again.command(spec.replace(bind='core'))}   # the second mode may be another core or path"
    return f"{again.command(spec, '--launches', '6')}   # launches with one mode each: placement or path decides"


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
    if one.n < _FEWEST or "gap_ns" not in one.phases:
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
