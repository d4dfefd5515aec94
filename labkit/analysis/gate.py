"""Judge a campaign by earlier ones: which points are worse than the launches of the past explain.

The chance of a false alarm is chosen for the whole gate and divided among its comparisons (Bonferroni), so that each
point has a limit that depends on no other point. `labkit.stats.limits` makes the limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from labkit import notes
from labkit.analysis.alike import TAIL, Key, grouped, identifying, joined, labelled, statistics_of, variables
from labkit.columns import METRICS, STATISTICS, statistic_column
from labkit.errors import DataError
from labkit.records.factors import NONE, level, named
from labkit.records.resolution import MOST, STEPS, coarse_of, columns, sign, spans
from labkit.stats import limits
from labkit.units import format_number, format_share, plural

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
    metric, statistic : as in `labkit.columns`.
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
    history: Sequence[tuple[str, pd.DataFrame]],
    *,
    chance: float = 0.01,
    worse: float = 0.0,
) -> Result:
    """Compare the launches of a campaign with those of earlier ones.

    Parameters
    ----------
    name, new : the campaign and its records.
    history : names and records of earlier campaigns.
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
    past = [frame.assign(campaign=f"{label}/" + frame["campaign"].astype(str)) for label, frame in history]
    past = [frame for frame in past if len(frame)]
    keys = identifying(new, past)
    groups = grouped(joined(past), keys) if past else {}
    points = {key: rows for key, rows in grouped(new, keys).items() if key in groups}
    if not points:
        names = ", ".join(label for label, _ in history) or "the history"
        raise DataError(
            f"{name} has no point in common with {names}. Name campaigns of the same benchmarks, sizes and settings."
        )
    wanted = [(key, *which) for key, rows in points.items() for which in statistics_of(rows, groups[key])]
    labels = labelled(points, keys)
    share = chance / max(len(wanted), 1)
    verdicts = [
        _verdict(labels[key], points[key], groups[key], metric, statistic, share, worse)
        for key, metric, statistic in wanted
    ]
    verdicts += _absent(groups, points, keys, len(past))
    verdicts.sort(key=lambda one: OUTCOMES.index(one.outcome))
    return Result(name, tuple(verdicts), chance, len(wanted), tuple(label for label, _ in history))


def _verdict(
    label: str, new: pd.DataFrame, past: pd.DataFrame, metric: str, statistic: str, share: float, worse: float
) -> Verdict:
    """Compare one statistic of a point."""
    column, higher = statistic_column(metric, statistic), METRICS[metric].better == "lower"
    values = new[column].dropna().to_numpy(np.float64)
    campaigns = [rows[column].dropna().to_numpy(np.float64) for _, rows in past.groupby("campaign", sort=False)]
    usual = float(np.median(np.concatenate(campaigns)))
    bounds, finest = _resolved(new, past, metric, statistic)
    limit = limits.limit(campaigns, len(values), share, higher=higher)
    if finest > 1:  # a time that is two steps longer is beyond the limit
        least = usual * finest * (1 - _STEP) if higher else usual / finest * (1 + _STEP)
        limit = replace(limit, value=max(limit.value, least) if higher else min(limit.value, least))
    beyond = int(np.count_nonzero(values > limit.value if higher else values < limit.value))
    less = max(1 + worse, finest * (1 - _STEP))
    over = sum(times_worse(float(one), usual, METRICS[metric].better) >= less for one in values) if worse else 0
    one = Verdict(
        benchmark=str(new["benchmark"].iloc[0]),
        point=label,
        metric=metric,
        statistic=statistic,
        outcome="pass",
        value=float(np.median(values)),
        launches=len(values),
        usual=usual,
        limit=limit,
        beyond=beyond,
        differs=_differs(new, past),
        worse=worse,
        over=over,
        coarse=bounds,
        finest=finest,
    )
    return replace(one, outcome=_outcome(one))


def _resolved(new: pd.DataFrame, past: pd.DataFrame, metric: str, statistic: str) -> tuple[tuple[bool, bool], float]:
    """Return whether the new and the usual value are bounds, and the smallest factor that the clock resolves."""
    tables = [columns(frame, metric) for frame in (new, past)]
    bounds = [bool(one.sum() >= MOST * len(one)) for one in (coarse_of(each, metric, statistic) for each in tables)]
    steps = max(float(np.nanmedian(spans(tables[1], metric, statistic))), 1) if bounds[1] else math.inf
    return (bounds[0], bounds[1]), 1 + STEPS / steps


def _outcome(one: Verdict) -> Outcome:
    """Return the outcome that follows from the numbers of a comparison."""
    has_limit = not math.isnan(one.limit.value)
    if (has_limit and one.beyond >= one.limit.beyond) or one.over * 2 > one.launches:
        return "fail"
    if not has_limit and not one.worse:
        return "not enough history"
    return "blind" if one.times > BLIND else "pass"


def _differs(new: pd.DataFrame, past: pd.DataFrame) -> tuple[str, ...]:
    """Return conditions of the new launches that no past launch had: libraries, hosts, variables, badges."""
    texts = []
    for column in dict.fromkeys([*_FOUND, *variables(new), *variables(past)]):
        now, before = ({*frame[column].map(level)} if column in frame else {NONE} for frame in (new, past))
        if fresh := sorted(now - before):
            earlier = ", ".join(sorted(before)[:2])
            texts.append(f"{named(column)} {', '.join(fresh[:2])} instead of {earlier}")
    badges = {one.code for cell in past["badges"] for one in cell}
    texts += [one.text for one in notes.once(new["badges"]) if one.code not in badges]
    return tuple(texts)


def _absent(
    groups: Mapping[Key, pd.DataFrame], points: Mapping[Key, Any], keys: Sequence[str], campaigns: int
) -> Iterator[Verdict]:
    """Yield a verdict for each point that every earlier campaign has and the new one lacks."""
    absent = {k: g for k, g in groups.items() if k not in points and g["campaign"].nunique() >= campaigns}
    labels = labelled(absent, keys)
    for key, past in absent.items():
        for metric, statistic in statistics_of(past, past):
            if statistic == TAIL:
                continue
            values = past[statistic_column(metric, statistic)].dropna().to_numpy(np.float64)
            limit = limits.Limit(math.nan, 0, len(values), past["campaign"].nunique(), 0)
            usual = float(np.median(values))
            yield Verdict(key[0], labels[key], metric, statistic, "not measured", math.nan, 0, usual, limit, 0)
