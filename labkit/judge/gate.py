"""Judge a campaign by earlier ones: which points are worse than the launches of the past explain.

A factor common to the points of a night is removed before single points are judged, and judged itself. Nights enter
the reference later than they pass, and the last nights together are compared with the first reference, so that what one
night misses is not absorbed (`labkit.stats.nights`). The chance of a false alarm is chosen for the whole gate and
divided among its comparisons (Bonferroni). `labkit.stats.limits` makes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.errors import DataError
from labkit.judge.matching_points import TAIL, Key, Past, Points, compared, grouped, identifying, labelled, variables
from labkit.point import notes
from labkit.point.columns import METRICS, STATISTICS, Metric, statistic_column
from labkit.point.units import format_number, format_share, plural
from labkit.read.records.factors import NONE, distinct, level, named, noted
from labkit.read.records.resolution import MOST, STEPS, coarse_of, columns, sign, spans
from labkit.stats import limits, nights

Outcome = Literal["pass", "fail", "blind", "not enough history", "not measured"]
OUTCOMES: tuple[Outcome, ...] = ("fail", "blind", "pass", "not enough history", "not measured")
BLIND = 1.5  # times worse than usual; a comparison that would pass this is blind
_STEP = 1e-6  # of a step of the clock, for rounding
_FARTHEST = 10.0  # times worse than usual; limits beyond this are not printed
COMMON = Metric("common_factor", "cost", 1.0, "times", "common factor", "How much worse all points are than usual.")
_FOUND = ("library", "engine", "host", "cpu_model")  # may differ from the past; the verdict says so


@dataclass(frozen=True)
class Drift:
    """The last campaigns together, compared with the first reference.

    Parameters
    ----------
    campaigns : how many, with the new one.
    change, allowed : how much worse they are, as a fraction, and from what on they may fail.
    failed : whether they are worse than that, and most of their launches than the launches of the reference allow.
    """

    campaigns: int
    change: float
    allowed: float
    failed: bool

    @property
    def sentence(self) -> str:
        """Both numbers."""
        return (
            f"the last {plural(self.campaigns, 'campaign')} are together {format_share(self.change, sign=True)} worse "
            f"than the first reference, {format_share(self.allowed, sign=True)} fails"
        )


@dataclass(frozen=True)
class Verdict:
    """What the gate says about one statistic of a point.

    Parameters
    ----------
    benchmark, point : which; `point` is its size and settings.
    metric, statistic : as in `labkit.point.columns`.
    outcome : the verdict.
    value, launches : median over the new launches, and their number.
    usual : median over the launches of the past that are the reference.
    limit : what the past allows.
    beyond : new launches that are worse than the limit; `limit.beyond` of them fail.
    differs : conditions that differ from the past, such as the library.
    worse : practical rule: the point fails if most launches are worse than usual by this fraction; 0 for no such rule.
    over : new launches that are worse by that fraction.
    coarse : whether the new value, and the usual one, spans fewer than ten steps of the clock: then it is a bound.
    finest : smallest factor between the values that the clock resolves; 1 where it limits nothing.
    common : how many times worse than usual all points of its transport are; the limit allows for it. 1 if nothing is
        removed.
    drift : the last campaigns together; none with too few of them.
    campaigns : medians of the campaigns in the order of time, the new one last.
    """

    benchmark: str
    point: str
    metric: str
    statistic: str
    outcome: Outcome
    value: float
    launches: int
    usual: float
    limit: limits.Limit
    beyond: int
    differs: tuple[str, ...] = ()
    worse: float = 0.0
    over: int = 0
    coarse: tuple[bool, bool] = (False, False)
    finest: float = 1.0
    common: float = 1.0
    drift: Drift | None = None
    campaigns: tuple[float, ...] = ()

    @property
    def measure(self) -> Metric:
        """What was measured."""
        return COMMON if self.metric == COMMON.name else METRICS[self.metric]

    @property
    def measured(self) -> bool:
        """Whether it has launches: a common factor is one value of a night."""
        return self.measure is not COMMON

    @property
    def expected(self) -> float:
        """The usual value times the common factor."""
        return self.usual * self.common if self.measure.better == "lower" else self.usual / self.common

    @property
    def past(self) -> str:
        """Launches and campaigns of the past, in words; a common factor has campaigns only."""
        return self.limit.past if self.measured else plural(self.limit.campaigns, "campaign")

    @property
    def texts(self) -> tuple[str, str]:
        """The new and the usual value with their unit, with ``≥`` or ``≤`` where they are bounds."""
        unit = self.measure.unit
        new, usual = (
            (sign(unit) if bound else "") + format_number(value, unit, none="-")
            for value, bound in zip((self.value, self.usual), self.coarse, strict=True)
        )
        return new, usual

    @property
    def times(self) -> float:
        """Smallest factor by which a point must be worse than expected to fail; infinity if it never does."""
        by_past = times_worse(self.limit.value, self.expected, self.measure.better)
        return max(self.finest, min(by_past, (1 + self.worse) / self.common if self.worse else math.inf))

    @property
    def smallest(self) -> float:
        """Smallest change from the expected value that fails, negative for a rate; NaN if it is beyond 10 times."""
        if self.times > _FARTHEST:
            return math.nan
        return self.times - 1 if self.measure.better == "lower" else 1 / self.times - 1

    @property
    def allowed(self) -> float:
        """The limit; NaN if it is too far from the usual value to mean anything."""
        far = times_worse(self.limit.value, self.expected, self.measure.better) > _FARTHEST
        return math.nan if far else self.limit.value

    @property
    def change(self) -> float:
        """Relative change of the median; NaN where the past has none."""
        return (self.value - self.usual) / abs(self.usual) if self.usual else math.nan

    @property
    def name(self) -> str:
        """Point and statistic in words."""
        statistic = STATISTICS[self.statistic].label if self.statistic in STATISTICS else self.statistic
        return ", ".join(filter(None, [self.point, self.measure.label, statistic]))

    @property
    def sentence(self) -> str:
        """The verdict with its numbers, and what differs from the past."""
        unlike = f"; unlike the past: {notes.joined(self.differs)}" if self.differs else ""
        return f"{self._numbers}{unlike}"

    @property
    def _numbers(self) -> str:
        unit = self.measure.unit
        if self.outcome == "not measured":
            return f"the past has {self.limit.past}"
        if self.outcome == "not enough history":
            return (
                f"{self.limit.past}, but {self.launches} new ones need {plural(self.limit.needed, 'launch')} of the "
                f"past"
            )
        parts = [f"{self.texts[0]} ({format_share(self.change, sign=True)} from {self.texts[1]})"]
        if math.isfinite(self.allowed):
            limit = format_number(self.allowed, unit)
            parts[0] += f", limit {limit}"
        if math.isfinite(self.allowed) and self.measured:
            parts[0] += f": {self.beyond} of {plural(self.launches, 'launch')} beyond it, {self.limit.beyond} fail"
        if self.worse:
            parts.append(
                f"{self.over} of {plural(self.launches, 'launch')} worse by {format_share(self.worse)} or more"
            )
        fails = format_share(self.smallest, sign=True, none=f"a change of more than {_FARTHEST:g} times")
        if self.drift and self.drift.failed:
            parts.append(self.drift.sentence)
        if self.common != 1:
            parts.append(
                f"all points together: {format_share(self.common - 1, sign=True)} worse, which the limit allows"
            )
        return notes.joined([*parts, f"smallest change that fails: {fails}", self.past])


@dataclass(frozen=True)
class Common:
    """A factor common to the points of a transport, and whether it was removed from them.

    Parameters
    ----------
    name : the points in words.
    tail : whether of their tails.
    points : from which it is estimated.
    campaigns : of the past that have enough of these points.
    times : how many times worse than usual the points are; NaN with too few of them.
    """

    name: str
    tail: bool
    points: int
    campaigns: int
    times: float

    @property
    def removed(self) -> bool:
        """Whether it can be estimated and judged: else a night that is slow as a whole would pass unseen."""
        return self.campaigns >= limits.CAMPAIGNS and not math.isnan(self.times)

    @property
    def sentence(self) -> str:
        """What was removed, or why nothing was."""
        of = f"{self.name}{', tail' if self.tail else ''}"
        if self.removed:
            return (
                f"{of}: a common factor of {format_share(self.times - 1, sign=True)}, from "
                f"{plural(self.points, 'point')}, is removed from each of them"
            )
        if math.isnan(self.times):
            return f"{of}: no common factor is removed, because {self.points} of them are too few (of {nights.MEMBERS})"
        return (
            f"{of}: no common factor is removed, because {plural(self.campaigns, 'campaign')} of the past are too few "
            f"(of {limits.CAMPAIGNS})"
        )


@dataclass(frozen=True)
class Result:
    """What `gate` says about a campaign.

    Parameters
    ----------
    name : of the campaign.
    verdicts : failed ones first.
    chance : of a false alarm in the whole gate.
    comparisons : among which it is divided.
    history : names of the campaigns of the past.
    blind_allowed : whether blind comparisons leave the result conclusive.
    common : factors common to the points of each transport.
    rejected : campaigns of the past that do not enter the reference because they were worse, with the number of
        comparisons.
    waiting : campaigns of the past that do not yet enter it.
    """

    name: str
    verdicts: tuple[Verdict, ...]
    chance: float
    comparisons: int
    history: tuple[str, ...]
    blind_allowed: bool = False
    common: tuple[Common, ...] = ()
    rejected: tuple[tuple[str, int], ...] = ()
    waiting: tuple[str, ...] = ()

    def count(self, outcome: Outcome) -> int:
        """Return how many verdicts have an outcome."""
        return sum(one.outcome == outcome for one in self.verdicts)

    @property
    def failed(self) -> bool:
        """Whether any point is worse than the past explains."""
        return bool(self.count("fail"))

    @property
    def judged(self) -> bool:
        """Whether at least one comparison had enough launches."""
        return self.failed or bool(self.count("pass") or self.blind)

    @property
    def blind(self) -> int:
        """Number of comparisons that would pass a point that is 50 % worse."""
        return self.count("blind")

    @property
    def inconclusive(self) -> bool:
        """Whether nothing failed only because there was too little data."""
        return not self.failed and (not self.judged or bool(self.blind and not self.blind_allowed))

    @property
    def warnings(self) -> list[str]:
        """What limits the verdicts, and what to do."""
        texts = []
        if short := sum(
            one.limit.campaigns < limits.CAMPAIGNS for one in self.verdicts if one.outcome != "not measured"
        ):
            texts.append(
                f"fewer than {limits.CAMPAIGNS} earlier campaigns for {plural(short, 'comparison')}: differences "
                "between days look like slower points. Add campaigns to the history."
            )
        if self.blind:
            texts.append(
                f"blind, so that a point 50 % worse is not noticed: {self.blind} of "
                f"{plural(self.comparisons, 'comparison')}. Add campaigns to the history, judge fewer benchmarks, or "
                "add --worse 25%."
            )
        if absent := self.count("not measured"):
            texts.append(f"{self.name} lacks {plural(absent, 'point')} of the history, which cannot fail.")
        if not self.judged:
            texts.append("no point has enough history for a verdict. Add campaigns or launches.")
        return texts

    @property
    def outside(self) -> list[str]:
        """Which campaigns of the past are not in the reference, and why."""
        texts = []
        if self.rejected:
            names = ", ".join(f"{name} ({plural(count, 'comparison')})" for name, count in self.rejected)
            texts.append(
                f"not in the reference, because they were worse than the campaigns before: {names}. If one of them is "
                "the new normal, add --accept to its gate."
            )
        if self.waiting:
            texts.append(
                f"not yet in the reference: {', '.join(self.waiting)}. A campaign enters once {nights.WAIT} later ones "
                "passed."
            )
        return texts

    @property
    def sentence(self) -> str:
        """Counts, and the chance of a false alarm."""
        counts = ", ".join(f"{count} {outcome}" for outcome in OUTCOMES if (count := self.count(outcome)))
        return (
            f"{self.name}: {counts}. {plural(self.comparisons, 'comparison')} with "
            f"{plural(len(self.history), 'earlier campaign')}; chance of any false alarm {format_share(self.chance)} "
            "(Bonferroni)."
        )


def times_worse(value: float, usual: float, better: str) -> float:
    """Return how many times worse than usual a value is; below 1 if it is better, infinity if it cannot be known.

    Examples
    --------
    >>> times_worse(3.0, 2.0, "lower"), times_worse(4.0, 8.0, "higher"), times_worse(1.0, 0.0, "lower")
    (1.5, 2.0, inf)
    """
    if value == usual:
        return 1.0
    bad, good = (value, usual) if better == "lower" else (usual, value)
    return bad / good if min(bad, good) > 0 else math.inf


def gate(
    name: str,
    new: pd.DataFrame,
    history: Iterable[tuple[str, pd.DataFrame]],
    *,
    chance: float = 0.01,
    worse: float = 0.0,
    reference: str = "*",
    accepted: Collection[str] = (),
) -> Result:
    """Compare the launches of a campaign with those of earlier ones.

    Parameters
    ----------
    name, new : the campaign and its records.
    history : names and records of earlier campaigns, in the order of time; of records that are read as they are asked
        for, one table is in memory at a time.
    chance : of a false alarm in the whole gate, if nothing has changed.
    worse : also fail a point if most of its launches are worse than usual by this fraction; 0 for no such rule.
    reference : pattern of the benchmarks from whose points the common factor of a transport is estimated.
    accepted : names of earlier campaigns that are part of the reference, whatever they were found to be.

    Returns
    -------
    A verdict for the headline statistic and for the 99th percentile of each point.

    Raises
    ------
    DataError
        If the campaigns have no point in common.
    """
    labels: list[str] = []
    origins: dict[str, str] = {}

    def of_campaign(one: tuple[str, pd.DataFrame]) -> pd.DataFrame:
        labels.append(one[0])
        names = _labelled(one[0], one[1]["campaign"])
        origins.update(dict.fromkeys(map(str, names.unique()), one[0]))
        return one[1].assign(campaign=names)

    past = Past(map(of_campaign, history))
    keys, several = identifying(new, past), len(past)
    before, now = grouped(past.joined() if several else new[:0], keys), grouped(new, keys)
    places = {key: place for place, key in enumerate(before.keys)}
    shared = [place for place, key in enumerate(now.keys) if key in places]
    if not shared:
        names = ", ".join(labels) or "the history"
        raise DataError(
            f"{name} has no point in common with {names}. Name campaigns of the same benchmarks, sizes and settings."
        )
    now = now.chosen(shared)
    same = before.chosen([places[key] for key in now.keys])
    wanted = compared(now, same)
    made = _Verdicts(now, same, labelled(now, keys), wanted, chance, worse)
    common = made.common(keys.index("transport"), reference)
    rejected, waiting = made.replay({full for full, label in origins.items() if label in accepted})
    comparisons = made.comparisons
    verdicts = [*made.of_factors(), *made.of_points()]
    verdicts += _absent(before, {*now.keys}, keys, several)
    verdicts.sort(key=lambda one: OUTCOMES.index(one.outcome))
    return Result(
        name,
        tuple(verdicts),
        chance,
        comparisons,
        tuple(labels),
        common=common,
        rejected=tuple((origins[full], count) for full, count in rejected.items()),
        waiting=tuple(origins[full] for full in waiting),
    )


def _labelled(label: str, names: pd.Series) -> pd.Series:
    """Return the names of campaigns with a label before each."""
    if isinstance(names.dtype, pd.CategoricalDtype):
        return names.cat.rename_categories({name: f"{label}/{name}" for name in names.cat.categories})
    return f"{label}/" + names.astype(str)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """One statistic of a point.

    Parameters
    ----------
    place : of the point.
    metric, statistic : as in `labkit.point.columns`.
    values : of the new launches.
    past, night : values of the past launches, and the campaign of each.
    usual : median of `past`.
    coarse, finest : as in `Verdict`.
    """

    place: int
    metric: str
    statistic: str
    values: NDArray[np.float64]
    past: NDArray[np.float64]
    night: NDArray[np.intp]
    usual: float
    coarse: tuple[bool, bool]
    finest: float

    @property
    def higher(self) -> bool:
        """Whether higher values are worse."""
        return METRICS[self.metric].better == "lower"


class _Verdicts:
    """Verdicts on the statistics of points, and on what is common to these.

    Parameters
    ----------
    new, past : the same points, of the new campaign and of the past ones.
    labels : of the points.
    wanted : metrics and statistics of the comparisons of each point.
    chance : of a false alarm in the whole gate.
    worse : practical rule, as in `gate`.
    """

    def __init__(
        self,
        new: Points,
        past: Points,
        labels: Sequence[str],
        wanted: Sequence[Sequence[tuple[str, str]]],
        chance: float,
        worse: float,
    ) -> None:
        self._new, self._past, self._labels, self._chance, self._worse = new, past, labels, chance, worse
        self._differs = _differs(new, past)
        codes, names = pd.factorize(past.frame["campaign"])
        self._campaign, self._nights = codes[past.rows], [str(name) for name in names]
        parts = {names: self._compared(*names) for names in dict.fromkeys(one for each in wanted for one in each)}
        self._cases = [
            _Comparison(place, *one, *(part[place] for part in parts[one]))
            for place, names in enumerate(wanted)
            for one in names
        ]
        self._levels = self._by_night()
        self._groups: list[tuple[Common, list[int], NDArray[np.float64]]] = []  # with comparisons and factors of nights
        self._factors = np.zeros_like(self._levels)  # that are removed
        self._replays: list[nights.Replay] = []  # of the common factors, then of the points

    @property
    def comparisons(self) -> int:
        """Among which the chance of a false alarm is divided."""
        return len(self._cases) + len(self._groups)

    @property
    def _share(self) -> float:
        return self._chance / max(self.comparisons, 1)

    def _compared(self, metric: str, statistic: str) -> tuple[Sequence[Any], ...]:
        """Return what a comparison needs of each point, as in `_Comparison`."""
        column, count = statistic_column(metric, statistic), len(self._new)
        values, number = self._new.numbers(column)
        past, of_past = self._past.numbers(column)
        known = ~np.isnan(self._past.frame[column].to_numpy(np.float64)[self._past.rows])
        ends = np.cumsum(np.bincount(of_past, minlength=count))[:-1]
        return (
            np.split(values, np.cumsum(np.bincount(number, minlength=count))[:-1]),
            np.split(past, ends),
            np.split(self._campaign[known], ends),
            stats.medians(past, of_past, count).tolist(),
            *_resolved(self._new, self._past, metric, statistic),
        )

    def _by_night(self) -> NDArray[np.float64]:
        """Return the logarithm of the median of each night, the new one last, (nights, comparisons); more is worse.

        NaN where a night lacks a point, and for points that have values without a logarithm.
        """
        levels = np.full((len(self._nights) + 1, len(self._cases)), math.nan)
        for n, one in enumerate(self._cases):
            if min(one.past.min(), one.values.min()) > 0:
                night, places = np.unique(one.night, return_inverse=True)
                levels[night, n] = np.log(stats.medians(one.past, places.astype(np.intp), len(night)))
                levels[-1, n] = math.log(np.median(one.values))
                levels[:, n] *= 1 if one.higher else -1
        return levels

    def common(self, transport: int, reference: str) -> tuple[Common, ...]:
        """Remove what the points of a transport have in common, if it can be judged; return all such factors.

        Parameters
        ----------
        transport : its place in the keys of points.
        reference : as in `gate`.
        """
        known = ~np.isnan(self._levels[-1])
        groups: dict[tuple[str, bool], list[int]] = {}
        for n, one in enumerate(self._cases):
            if known[n]:
                key = self._new.keys[one.place]
                groups.setdefault((key[transport], one.statistic == TAIL), []).append(n)
        found = []
        for (name, tail), members in groups.items():
            own = [n for n in members if fnmatchcase(self._new.keys[self._cases[n].place][0], reference)]
            factors = nights.common_factor(self._levels[:, own])
            common = Common(
                f"all points of transport {name}" if name not in ("", NONE) else "all points without transport",
                tail,
                len(own),
                int(np.count_nonzero(~np.isnan(factors[:-1]))),
                math.exp(factors[-1]),
            )
            found.append(common)
            if common.removed:
                self._groups.append((common, own, factors))
                self._factors[:, members] = factors[:, None]
        return tuple(found)

    def replay(self, accepted: Collection[str]) -> tuple[dict[str, int], list[str]]:
        """Judge the campaigns of the past one after the other, so that it is known which are the reference.

        Parameters
        ----------
        accepted : names of those that count in any case.

        Returns
        -------
        Campaigns that were worse, with the number of comparisons, and those that wait.
        """
        chosen = np.array([*(name in accepted for name in self._nights), False])
        finest = np.log([one.finest for one in self._cases])
        for _, own, factors in self._groups:
            least = float(np.median(finest[own]))
            self._replays.append(
                nights.replay(
                    factors[:, None],
                    self._share,
                    lambda *_: True,
                    accepted=chosen,
                    least=least,
                    correlation=nights.CORRELATION,
                )
            )
        levels = self._levels - self._factors
        self._replays.append(nights.replay(levels, self._share, self._beyond, accepted=chosen, least=finest))
        outside = np.zeros(len(self._nights), np.intp)
        waits = np.zeros(len(self._nights), bool)
        for values, one in zip(
            [*(factors[:, None] for _, _, factors in self._groups), levels], self._replays, strict=True
        ):
            absent = ~np.isnan(values[:-1]) & ~np.isnan(values[-1]) & ~one.reference[:-1]
            outside += (absent & one.rejected[:-1]).sum(axis=1)
            waits |= (absent & ~one.rejected[:-1]).any(axis=1)
        return (
            {self._nights[n]: int(outside[n]) for n in np.flatnonzero(outside).tolist()},
            [self._nights[n] for n in np.flatnonzero(waits).tolist()],
        )

    def _beyond(self, night: nights.Flags, place: int, reference: nights.Flags, chance: float) -> bool:
        """Return whether the launches of some nights are beyond the limit from others."""
        one = self._cases[place]
        factors = self._factors[:, place] if one.higher else -self._factors[:, place]
        values = one.past / np.exp(factors[one.night])
        parts = [values[one.night == n] for n in np.flatnonzero(night[: len(self._nights)]).tolist()]
        if len(night) > len(self._nights) and night[-1]:
            parts.append(one.values / math.exp(factors[-1]))
        new = np.concatenate(parts)
        limit = self._limit(
            values, one.night, np.flatnonzero(reference), len(new), chance, higher=one.higher, several=len(parts) > 1
        )
        return bool(np.count_nonzero(new > limit.value if one.higher else new < limit.value) >= limit.beyond)

    def _limit(
        self,
        values: NDArray[np.float64],
        night: NDArray[np.intp],
        counted: NDArray[np.intp],
        new: int,
        chance: float,
        *,
        higher: bool,
        several: bool = False,
    ) -> limits.Limit:
        """Return the limit for so many launches, of one night or several, from values of the counted nights."""
        here = np.isin(night, counted)
        groups, places = np.unique(night[here], return_inverse=True)
        medians = stats.medians(values[here], places.astype(np.intp), len(groups))
        # the limit from campaigns is one for the next campaign; `nights.replay` has that for several
        medians = medians[:0] if several else medians
        return limits.limit_of(np.sort(values[here]), medians, new, chance, higher=higher)

    def of_factors(self) -> Iterator[Verdict]:
        """Yield the verdict on each common factor that is removed."""
        for (common, own, factors), replayed in zip(self._groups, self._replays, strict=False):
            past = factors[replayed.reference[:, 0]]
            finest = float(np.median([self._cases[n].finest for n in own]))
            value = math.exp(min(max(nights.upper(past, nights.ALONE * self._share), math.log(finest)), limits.LARGEST))
            limit = limits.Limit(value, 1, len(past), len(past), limits.CAMPAIGNS, by_campaigns=True)
            yield _judged(
                Verdict(
                    benchmark="all",
                    point=common.name,
                    metric=COMMON.name,
                    statistic="tail" if common.tail else "",
                    outcome="pass",
                    value=common.times,
                    launches=1,
                    usual=math.exp(np.median(past)),
                    limit=limit,
                    beyond=int(common.times > value),
                    finest=finest,
                    drift=_drift(replayed, 0),
                    campaigns=tuple(np.exp(factors[~np.isnan(factors)]).tolist()),
                )
            )

    def of_points(self) -> Iterator[Verdict]:
        """Yield the verdict on each statistic of each point."""
        for n, one in enumerate(self._cases):
            factors = self._factors[:, n] if one.higher else -self._factors[:, n]
            yield self._verdict(n, one, factors)

    def _verdict(self, place: int, one: _Comparison, factors: NDArray[np.float64]) -> Verdict:
        """Compare one statistic of a point.

        Parameters
        ----------
        place : of the comparison.
        factors : logarithms of what is removed from each night, the new one last; NaN where a night does not count.
        """
        higher, usual = one.higher, one.usual
        levels, replayed = self._levels[:, place], self._replays[-1]
        counted = np.flatnonzero(replayed.reference[:, place])
        if math.isnan(levels[-1]):  # without logarithms
            counted = np.arange(len(self._nights))
        if 0 < len(counted) < len(self._nights):
            usual = float(np.median(one.past[np.isin(one.night, counted)]))
        values = one.past / np.exp(factors[one.night])
        limit = self._limit(values, one.night, counted, len(one.values), nights.ALONE * self._share, higher=higher)
        if factors[-1]:
            limit = replace(limit, value=limit.value * math.exp(factors[-1]))
        if one.finest > 1:  # a time that is two steps longer is beyond the limit
            least = usual * one.finest * (1 - _STEP) if higher else usual / one.finest * (1 + _STEP)
            limit = replace(limit, value=max(limit.value, least) if higher else min(limit.value, least))
        over = 0
        if self._worse:
            less = max(1 + self._worse, one.finest * (1 - _STEP))
            over = sum(times_worse(v, usual, METRICS[one.metric].better) >= less for v in one.values.tolist())
        return _judged(
            Verdict(
                benchmark=self._new.keys[one.place][0],
                point=self._labels[one.place],
                metric=one.metric,
                statistic=one.statistic,
                outcome="pass",
                value=float(np.median(one.values)),
                launches=len(one.values),
                usual=usual,
                limit=limit,
                beyond=int(np.count_nonzero(one.values > limit.value if higher else one.values < limit.value)),
                differs=self._differs[one.place],
                worse=self._worse,
                over=over,
                coarse=one.coarse,
                finest=one.finest,
                common=math.exp(factors[-1] if higher else -factors[-1]),
                drift=_drift(replayed, place),
                campaigns=tuple(np.exp(levels[~np.isnan(levels)] * (1 if higher else -1)).tolist()),
            )
        )


def _drift(replayed: nights.Replay, place: int) -> Drift | None:
    """Return the last campaigns that are farthest from the first reference, by their limit."""
    found = [
        Drift(width, math.expm1(min(drift, limits.LARGEST)), math.expm1(min(allowed, limits.LARGEST)), failed)
        for width, drift, allowed, failed in zip(
            nights.WINDOWS,
            replayed.drifts[:, place].tolist(),
            replayed.allowed[:, place].tolist(),
            replayed.found[:, place].tolist(),
            strict=True,
        )
        if not math.isnan(drift)
    ]
    return max(found, key=lambda one: (one.failed, one.change - one.allowed), default=None)


def _judged(one: Verdict) -> Verdict:
    """Return a comparison with the outcome that follows from its numbers."""
    return replace(one, outcome=_outcome(one))


def _resolved(new: Points, past: Points, metric: str, statistic: str) -> tuple[list[tuple[bool, bool]], list[float]]:
    """Return whether the new and the usual value are bounds, and the smallest factor that the clock resolves."""
    bounds = []
    for points in (new, past):
        found = coarse_of(columns(points.frame, metric), metric, statistic)[points.rows]
        bounds.append((np.bincount(points.number, found, len(points)) >= MOST * points.counts).tolist())
    counts = spans(columns(past.frame, metric), metric, statistic)[past.rows]
    steps = np.where(bounds[1], np.maximum(stats.medians(counts, past.number, len(past)), 1), math.inf)
    return list(zip(*bounds, strict=True)), (1 + STEPS / steps).tolist()


def _outcome(one: Verdict) -> Outcome:
    """Return the outcome that follows from the numbers of a comparison."""
    has_limit = not math.isnan(one.limit.value)
    drifts = one.drift is not None and one.drift.failed
    if drifts or (has_limit and one.beyond >= one.limit.beyond) or one.over * 2 > one.launches:
        return "fail"
    if not has_limit and not one.worse:
        return "not enough history"
    return "blind" if one.times > BLIND else "pass"


def _differs(new: Points, past: Points) -> list[tuple[str, ...]]:
    """Return what of the new launches of each point no past launch had: libraries, hosts, variables, badges."""
    names = list(dict.fromkeys([*_FOUND, *variables(new.frame), *variables(past.frame)]))
    levels = [list(zip(_levels(new, name), _levels(past, name), strict=True)) for name in names]
    marks = list(zip(_badges(new), _badges(past), strict=True))
    known: dict[Any, tuple[str, ...]] = {}
    found = []
    for key in zip(*levels, marks, strict=True):
        if key not in known:
            known[key] = _unlike(names, key[:-1], *key[-1])
        found.append(known[key])
    return found


def _levels(points: Points, column: str) -> list[frozenset[str]]:
    """Return the levels of a factor at each point."""
    if column not in points.frame:
        return [frozenset({NONE})] * len(points)
    codes, values = distinct(points.frame[column])
    words = [level(value) for value in values]
    known: dict[tuple[int, ...], frozenset[str]] = {}
    return [known.setdefault(one, frozenset(words[code] for code in one)) for one in _sets(points, codes)]


def _sets(points: Points, codes: NDArray[np.intp]) -> list[tuple[int, ...]]:
    """Return the different codes of each point in the order they occur in; equal ones are one object."""
    own = codes[points.rows]
    low, high = (one.reduceat(own, points.starts) for one in (np.minimum, np.maximum))
    single: dict[int, tuple[int, ...]] = {code: (code,) for code in np.unique(low).tolist()}
    found = [single[code] for code in low.tolist()]
    for place in np.flatnonzero(low != high).tolist():
        begin = points.starts[place]
        found[place] = tuple(dict.fromkeys(own[begin : begin + points.counts[place]].tolist()))
    return found


def _badges(points: Points) -> list[tuple[tuple[notes.Note, ...], ...]]:
    """Return the different lists of badges of each point."""
    codes, cells = noted(points.frame["badges"])
    known: dict[tuple[int, ...], tuple[tuple[notes.Note, ...], ...]] = {}
    return [known.setdefault(one, tuple(cells[code] for code in one)) for one in _sets(points, codes)]


def _unlike(
    names: Sequence[str],
    levels: Sequence[tuple[frozenset[str], frozenset[str]]],
    new: Sequence[tuple[notes.Note, ...]],
    past: Sequence[tuple[notes.Note, ...]],
) -> tuple[str, ...]:
    """Return what of the levels and badges of a point no past launch had."""
    texts = []
    for column, (now, before) in zip(names, levels, strict=True):
        if fresh := sorted(now - before):
            earlier = ", ".join(sorted(before)[:2])
            texts.append(f"{named(column)} {', '.join(fresh[:2])} instead of {earlier}")
    badges = {one.code for cell in past for one in cell}
    return (*texts, *(one.text for one in notes.once(new) if one.code not in badges))


def _absent(past: Points, measured: Collection[Key], keys: Sequence[str], campaigns: int) -> Iterator[Verdict]:
    """Yield a verdict for each point that every earlier campaign has and the new one lacks."""
    if not len(past):
        return
    several = past.different("campaign")
    absent = [n for n, key in enumerate(past.keys) if key not in measured and several[n] >= campaigns]
    lacking, several = past.chosen(absent), several[absent]
    names = [names[:1] for names in compared(lacking, lacking)]
    usual = {}
    for metric, statistic in dict.fromkeys(one for each in names for one in each):
        values, number = lacking.numbers(statistic_column(metric, statistic))
        counts = np.bincount(number, minlength=len(lacking)).tolist()
        usual[metric, statistic] = list(zip(stats.medians(values, number, len(lacking)).tolist(), counts, strict=True))
    for place, label in enumerate(labelled(lacking, keys)):
        for one in names[place]:
            value, count = usual[one][place]
            limit = limits.Limit(math.nan, 0, count, int(several[place]), 0)
            yield Verdict(lacking.keys[place][0], label, *one, "not measured", math.nan, 0, value, limit, 0)
