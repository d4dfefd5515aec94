"""Judge a campaign by earlier ones: which points are worse than the launches of the past explain.

The chance of a false alarm is chosen for the whole gate and divided among its comparisons (Bonferroni), so that each
point has a limit that depends on no other point. `labkit.stats.limits` makes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.errors import DataError
from labkit.judge.matching_points import Key, Past, Points, compared, grouped, identifying, labelled, variables
from labkit.point import notes
from labkit.point.columns import METRICS, STATISTICS, statistic_column
from labkit.point.units import format_number, format_share, plural
from labkit.read.records.factors import NONE, distinct, level, named, noted
from labkit.read.records.resolution import MOST, STEPS, coarse_of, columns, sign, spans
from labkit.stats import limits

Outcome = Literal["pass", "fail", "blind", "not enough history", "not measured"]
OUTCOMES: tuple[Outcome, ...] = ("fail", "blind", "pass", "not enough history", "not measured")
BLIND = 1.5  # times worse than usual; a comparison that would pass this is blind
_STEP = 1e-6  # of a step of the clock, for rounding
_FARTHEST = 10.0  # times worse than usual; limits beyond this are not printed
_FOUND = ("library", "engine", "host", "cpu_model")  # may differ from the past; the verdict says so


@dataclass(frozen=True)
class Verdict:
    """What the gate says about one statistic of a point.

    Parameters
    ----------
    benchmark, point : which; `point` is its size and settings.
    metric, statistic : as in `labkit.point.columns`.
    outcome : the verdict.
    value, launches : median over the new launches, and their number.
    usual : median over the launches of the past.
    limit : what the past allows.
    beyond : new launches that are worse than the limit; `limit.beyond` of them fail.
    differs : conditions that differ from the past, such as the library.
    worse : practical rule: the point fails if most launches are worse than usual by this fraction; 0 for no such rule.
    over : new launches that are worse by that fraction.
    coarse : whether the new value, and the usual one, spans fewer than ten steps of the clock: then it is a bound.
    finest : smallest factor between the values that the clock resolves; 1 where it limits nothing.
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

    @property
    def texts(self) -> tuple[str, str]:
        """The new and the usual value with their unit, with ``≥`` or ``≤`` where they are bounds."""
        unit = METRICS[self.metric].unit
        new, usual = (
            (sign(unit) if bound else "") + format_number(value, unit, none="-")
            for value, bound in zip((self.value, self.usual), self.coarse, strict=True)
        )
        return new, usual

    @property
    def times(self) -> float:
        """Smallest factor by which a point must be worse than usual to fail; infinity if it never does."""
        by_past = times_worse(self.limit.value, self.usual, METRICS[self.metric].better)
        return max(self.finest, min(by_past, 1 + self.worse if self.worse else math.inf))

    @property
    def smallest(self) -> float:
        """Smallest relative change that fails, negative for a rate; NaN if it is beyond 10 times."""
        if self.times > _FARTHEST:
            return math.nan
        return self.times - 1 if METRICS[self.metric].better == "lower" else 1 / self.times - 1

    @property
    def allowed(self) -> float:
        """The limit; NaN if it is too far from the usual value to mean anything."""
        far = times_worse(self.limit.value, self.usual, METRICS[self.metric].better) > _FARTHEST
        return math.nan if far else self.limit.value

    @property
    def change(self) -> float:
        """Relative change of the median; NaN where the past has none."""
        return (self.value - self.usual) / abs(self.usual) if self.usual else math.nan

    @property
    def name(self) -> str:
        """Point and statistic in words."""
        statistic = STATISTICS[self.statistic].label if self.statistic in STATISTICS else self.statistic
        return ", ".join(filter(None, [self.point, METRICS[self.metric].label, statistic]))

    @property
    def sentence(self) -> str:
        """The verdict with its numbers, and what differs from the past."""
        unlike = f"; unlike the past: {notes.joined(self.differs)}" if self.differs else ""
        return f"{self._numbers}{unlike}"

    @property
    def _numbers(self) -> str:
        unit = METRICS[self.metric].unit
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
            parts[0] += (
                f", limit {limit}: {self.beyond} of {plural(self.launches, 'launch')} beyond it, {self.limit.beyond} "
                "fail"
            )
        if self.worse:
            parts.append(
                f"{self.over} of {plural(self.launches, 'launch')} worse by {format_share(self.worse)} or more"
            )
        fails = format_share(self.smallest, sign=True, none=f"a change of more than {_FARTHEST:g} times")
        return notes.joined([*parts, f"smallest change that fails: {fails}", self.limit.past])


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
    """

    name: str
    verdicts: tuple[Verdict, ...]
    chance: float
    comparisons: int
    history: tuple[str, ...]
    blind_allowed: bool = False

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
) -> Result:
    """Compare the launches of a campaign with those of earlier ones.

    Parameters
    ----------
    name, new : the campaign and its records.
    history : names and records of earlier campaigns; of records that are read as they are asked for, one table is in
        memory at a time.
    chance : of a false alarm in the whole gate, if nothing has changed.
    worse : also fail a point if most of its launches are worse than usual by this fraction; 0 for no such rule.

    Returns
    -------
    A verdict for the headline statistic and for the 99th percentile of each point.

    Raises
    ------
    DataError
        If the campaigns have no point in common.
    """
    labels: list[str] = []

    def of_campaign(one: tuple[str, pd.DataFrame]) -> pd.DataFrame:
        labels.append(one[0])
        return one[1].assign(campaign=_labelled(one[0], one[1]["campaign"]))

    past = Past(map(of_campaign, history))
    keys, several = identifying(new, past), len(past)
    before, now = grouped(past.joined() if several else new[:0], keys), grouped(new, keys)
    places = {key: place for place, key in enumerate(before.keys)}
    common = [place for place, key in enumerate(now.keys) if key in places]
    if not common:
        names = ", ".join(labels) or "the history"
        raise DataError(
            f"{name} has no point in common with {names}. Name campaigns of the same benchmarks, sizes and settings."
        )
    now = now.chosen(common)
    same = before.chosen([places[key] for key in now.keys])
    wanted = compared(now, same)
    comparisons = sum(map(len, wanted))
    made = _Verdicts(now, same, labelled(now, keys), chance / max(comparisons, 1), worse)
    verdicts = list(made.of(wanted))
    verdicts += _absent(before, {*now.keys}, keys, several)
    verdicts.sort(key=lambda one: OUTCOMES.index(one.outcome))
    return Result(name, tuple(verdicts), chance, comparisons, tuple(labels))


def _labelled(label: str, names: pd.Series) -> pd.Series:
    """Return the names of campaigns with a label before each."""
    if isinstance(names.dtype, pd.CategoricalDtype):
        return names.cat.rename_categories({name: f"{label}/{name}" for name in names.cat.categories})
    return f"{label}/" + names.astype(str)


class _Verdicts:
    """Verdicts on the statistics of points.

    Parameters
    ----------
    new, past : the same points, of the new campaign and of the past ones.
    labels : of the points.
    share : chance of a false alarm of a comparison.
    worse : practical rule, as in `gate`.
    """

    def __init__(self, new: Points, past: Points, labels: Sequence[str], share: float, worse: float) -> None:
        self._new, self._past, self._labels, self._share, self._worse = new, past, labels, share, worse
        self._differs = _differs(new, past)
        self._campaign = pd.factorize(past.frame["campaign"])[0][past.rows]

    def of(self, wanted: Sequence[Sequence[tuple[str, str]]]) -> Iterator[Verdict]:
        """Yield the verdict on each metric and statistic of each point."""
        compared = {names: self._compared(*names) for names in dict.fromkeys(one for each in wanted for one in each)}
        for place, names in enumerate(wanted):
            for one in names:
                yield self._verdict(place, *one, *(part[place] for part in compared[one]))

    def _compared(self, metric: str, statistic: str) -> tuple[Sequence[Any], ...]:
        """Return what a comparison needs of each point: values of both, medians of campaigns, and what is resolved."""
        column, count = statistic_column(metric, statistic), len(self._new)
        values, number = self._new.numbers(column)
        ends = np.cumsum(np.bincount(number, minlength=count))[:-1]
        past, of_past = self._past.numbers(column)
        known = ~np.isnan(self._past.frame[column].to_numpy(np.float64)[self._past.rows])
        several = int(self._campaign.max(initial=0)) + 1
        groups, places = np.unique(of_past * several + self._campaign[known], return_inverse=True)
        medians = stats.medians(past, places.astype(np.intp), len(groups))
        of_point = np.cumsum(np.bincount(groups // several, minlength=count))[:-1]
        ordered = past[np.lexsort((past, of_past))]
        return (
            np.split(values, ends),
            stats.medians(values, number, count).tolist(),
            np.split(ordered, np.cumsum(np.bincount(of_past, minlength=count))[:-1]),
            stats.medians(past, of_past, count).tolist(),
            np.split(medians, of_point),
            *_resolved(self._new, self._past, metric, statistic),
        )

    def _verdict(
        self,
        place: int,
        metric: str,
        statistic: str,
        values: NDArray[np.float64],
        value: float,
        past: NDArray[np.float64],
        usual: float,
        medians: NDArray[np.float64],
        bounds: tuple[bool, bool],
        finest: float,
    ) -> Verdict:
        """Compare one statistic of a point."""
        higher, worse = METRICS[metric].better == "lower", self._worse
        limit = limits.limit_of(past, medians, len(values), self._share, higher=higher)
        if finest > 1:  # a time that is two steps longer is beyond the limit
            least = usual * finest * (1 - _STEP) if higher else usual / finest * (1 + _STEP)
            limit = replace(limit, value=max(limit.value, least) if higher else min(limit.value, least))
        beyond = int(np.count_nonzero(values > limit.value if higher else values < limit.value))
        less = max(1 + worse, finest * (1 - _STEP))
        over = 0
        if worse:
            over = sum(times_worse(one, usual, METRICS[metric].better) >= less for one in values.tolist())
        one = Verdict(
            benchmark=self._new.keys[place][0],
            point=self._labels[place],
            metric=metric,
            statistic=statistic,
            outcome="pass",
            value=value,
            launches=len(values),
            usual=usual,
            limit=limit,
            beyond=beyond,
            differs=self._differs[place],
            worse=worse,
            over=over,
            coarse=bounds,
            finest=finest,
        )
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
    if (has_limit and one.beyond >= one.limit.beyond) or one.over * 2 > one.launches:
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
