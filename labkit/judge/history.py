"""Follow each point over several campaigns by date, with its changes and simultaneous changes of the system.

Each campaign contributes the median over its launches. `labkit.stats.changes` finds where these values move to another
level, for a time or for good. The chance of a false change holds for all series together (Holm). A change that is
significant only for its own series is *possible*, and a weaker one a *candidate*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd

from labkit import stats
from labkit.judge.matching_points import Past, compared, grouped, identifying, labelled, variables
from labkit.point import notes
from labkit.point.columns import METRICS, STATISTICS, statistic_column
from labkit.point.units import format_chance, format_number, format_share, plural
from labkit.read.records.factors import level, named
from labkit.stats import changes
from labkit.stats.shift import holm

CHANCE = 0.05  # of a false change, over all series
MIN_CAMPAIGNS = 2  # campaigns that make a history
# facts of a host that differ from moment to moment, or only say where it was read
_PASSING = ("load", "uptime_s", "memory_available_B", "shared_memory_free_B", "frequency_MHz", "others", "pressure",
            "hostname", "name", "cpu_affinity")  # fmt: skip
_LONGEST = 60  # characters of a value
_CAUSES = 6  # that a sentence names


@dataclass(frozen=True)
class Run:
    """A campaign as a moment of the history.

    Parameters
    ----------
    name : name of the campaign.
    created : when it was made, ISO 8601.
    records : its rows.
    host : description of the machine.
    """

    name: str
    created: str
    records: pd.DataFrame
    host: Mapping[str, Any]


@dataclass(frozen=True)
class Moment:
    """The value of a campaign in a series.

    Parameters
    ----------
    run : index of the campaign.
    name, created : its name and time of creation.
    value, low, high : median over launches and the ends of its interval or range.
    launches : number of launches.
    """

    run: int
    name: str
    created: str
    value: float
    low: float
    high: float
    launches: int


@dataclass(frozen=True)
class Change:
    """A place where a series moves to another level.

    Parameters
    ----------
    place : index of the first moment after it.
    back : index of the moment at which the earlier level returns; None if the new level stays.
    p : of the series alone.
    p_adjusted : by Holm's method over all series.
    before, after : medians of the campaigns on both sides, up to the next changes.
    system : differences of the system between the last campaign before and the first after.
    """

    place: int
    back: int | None
    p: float
    p_adjusted: float
    before: float
    after: float
    system: tuple[str, ...]

    @property
    def ratio(self) -> float:
        """Level after divided by level before."""
        return self.after / self.before if self.before else math.nan

    def degree(self, chance: float) -> Literal["change", "possible", "candidate"]:
        """Return whether the change is significant over all series, only in this one, or not at all."""
        if self.p > chance:
            return "candidate"
        return "change" if self.p_adjusted <= chance else "possible"


@dataclass(frozen=True)
class Series:
    """One statistic of a point over the campaigns.

    Parameters
    ----------
    benchmark, point : which; `point` is its size and settings.
    metric, statistic : as in `labkit.point.columns`.
    moments : values of the campaigns that have it, in the order of time.
    changes : in the order of time.
    candidates : weaker changes, if requested; they do not separate levels.
    """

    benchmark: str
    point: str
    metric: str
    statistic: str
    moments: tuple[Moment, ...]
    changes: tuple[Change, ...] = ()
    candidates: tuple[Change, ...] = ()

    @property
    def name(self) -> str:
        """Benchmark, point and statistic in words."""
        statistic = STATISTICS[self.statistic].label
        return ", ".join(filter(None, [self.benchmark, self.point, METRICS[self.metric].label, statistic]))

    @property
    def levels(self) -> list[tuple[int, int, float]]:
        """First and last moment and median of each part between changes."""
        ends = _ends([(one.place, one.back or len(self.moments)) for one in self.changes], len(self.moments))
        values = [one.value for one in self.moments]
        return [(a, b - 1, float(np.median(values[a:b]))) for a, b in pairwise(ends)]


@dataclass(frozen=True)
class History:
    """Every series of several campaigns.

    Parameters
    ----------
    runs : the campaigns in the order of time.
    series : sorted by the certainty of their changes.
    chance : chance of a false change, over all series.
    system : for each campaign but the first, the differences of its system from the one before.
    """

    runs: tuple[Run, ...]
    series: tuple[Series, ...]
    chance: float
    system: tuple[tuple[str, ...], ...]

    @property
    def changed(self) -> list[tuple[Series, Change]]:
        """Series with changes that are significant over all series."""
        return [(s, c) for s in self.series for c in s.changes if c.degree(self.chance) == "change"]

    @property
    def possible(self) -> list[tuple[Series, Change]]:
        """Series with possible changes."""
        return [(s, c) for s in self.series for c in s.changes if c.degree(self.chance) == "possible"]

    @property
    def candidates(self) -> list[tuple[Series, Change]]:
        """Series with requested candidates, the clearest first."""
        return sorted(((s, c) for s in self.series for c in s.candidates), key=lambda one: one[1].p)

    @property
    def sentence(self) -> str:
        """Sentence on the number of changed series, and the number expected by chance."""
        text = (
            f"{plural(len(self.changed), 'change')} in {len(self.series)} series over "
            f"{plural(len(self.runs), 'campaign')}; chance of any "
            f"false one {format_share(self.chance)} (Holm)."
        )
        if self.possible:
            expected = format_number(self.chance * len(self.series), digits=2)
            text += (
                f" {len(self.possible)} more are possible: each series alone would show them, and chance alone shows "
                f"about {expected} of them."
            )
        if self.candidates:
            text += f" {plural(len(self.candidates), 'weaker candidate')} may all be chance."
        if not self.series:
            return text
        needed = changes.needed(self.chance / len(self.series))
        if not needed:
            text += " So many series cannot show a sure change. Choose fewer benchmarks."
        elif len(self.runs) < needed:
            text += f" With so many series, a sure change needs {plural(needed, 'campaign')} at least."
        return text


def history(runs: Sequence[Run], *, chance: float = CHANCE, weaker: float = 0.0) -> History:
    """Follow each point over several campaigns.

    Parameters
    ----------
    runs : in any order; at least two with a point in common give a series.
    chance : chance of a false change over all series, if nothing changed.
    weaker : largest p of candidates in their own series; up to `chance` there are none.
    """
    ordered = tuple(sorted((one for one in runs if len(one.records)), key=lambda one: (one.created, one.name)))
    series = list(_series(ordered)) if len(ordered) >= MIN_CAMPAIGNS else []
    found = [changes.changes([m.value for m in one.moments], chance) for one in series]
    # the first cut of a series is its test; the others depend on it
    firsts = holm([min((cut.p for cut in cuts), default=1.0) for cuts in found])
    done = [
        replace(
            one,
            changes=tuple(_changes(one, cuts, cuts, first, ordered)),
            candidates=tuple(_changes(one, _weaker(one, cuts, weaker), cuts, 1.0, ordered)) if weaker > chance else (),
        )
        for one, cuts, first in zip(series, found, firsts, strict=True)
    ]
    done.sort(key=lambda one: min((c.p_adjusted for c in one.changes), default=math.inf))
    system = tuple(differences(a, b) for a, b in pairwise(ordered))
    return History(ordered, tuple(done), chance, system)


def _series(runs: Sequence[Run]) -> Iterator[Series]:
    """Yield the median and the tail of each point that two or more campaigns have."""
    past = Past(one.records.assign(run=place) for place, one in enumerate(runs))
    keys = identifying(runs[-1].records, past)
    every = grouped(past.joined(), keys)
    points = every.chosen(np.flatnonzero(every.different("run") >= MIN_CAMPAIGNS).tolist())
    run = points.frame["run"].to_numpy(np.intp)[points.rows]
    labels, names = labelled(points, keys), compared(points, points)
    moments = {}
    for metric, statistic in dict.fromkeys(one for each in names for one in each):
        column = statistic_column(metric, statistic)
        values, number = points.numbers(column)
        when = run[points.frame[column].notna().to_numpy()[points.rows]]
        order = np.lexsort((when, number))
        groups, begins = np.unique((number * len(runs) + when)[order], return_index=True)
        parts = np.split(values[order], begins[1:])
        found: list[list[Moment]] = [[] for _ in labels]
        for group, part in zip(groups.tolist(), parts, strict=False):
            place, moment = divmod(group, len(runs))
            found[place].append(_moment(moment, runs[moment], part))
        moments[metric, statistic] = found
    for place, (key, label) in enumerate(zip(points.keys, labels, strict=True)):
        for one in names[place]:
            if len(listed := moments[one][place]) >= MIN_CAMPAIGNS:
                yield Series(key[0], label, *one, tuple(listed))


def _moment(place: int, run: Run, values: Any) -> Moment:
    one = stats.headline(values)
    return Moment(place, run.name, run.created, one.centre, one.low, one.high, one.launches)


def _ends(cuts: Iterable[tuple[int, int]], length: int) -> list[int]:
    """Return where levels begin and end: at both ends of each part with another level."""
    return sorted({0, length, *(end for cut in cuts for end in cut)})


def _weaker(one: Series, cuts: Sequence[changes.Cut], chance: float) -> list[changes.Cut]:
    """Return cuts of each level of a series that are less sure."""
    values = [moment.value for moment in one.moments]
    ends = _ends([(cut.first, cut.end) for cut in cuts], len(values))
    return [cut.moved(begin) for begin, end in pairwise(ends) for cut in changes.changes(values[begin:end], chance)]


def _changes(
    one: Series, cuts: Sequence[changes.Cut], sure: Sequence[changes.Cut], first: float, runs: Sequence[Run]
) -> Iterator[Change]:
    """Yield cuts of a series with the levels on both sides, up to the next cuts, and what of the system changed."""
    values = [moment.value for moment in one.moments]
    ends = _ends([(cut.first, cut.end) for cut in (*cuts, *sure)], len(values))
    begins = {cut.first for cut in (*cuts, *sure)}
    least = min((cut.p for cut in cuts), default=1.0)
    for cut in cuts:
        place = ends.index(cut.first)
        before, after = values[ends[place - 1] : cut.first], values[cut.first : ends[place + 1]]
        adjusted = min(1.0, cut.p * first / least) if least else first
        yield Change(
            cut.first,
            cut.end if cut.end < len(values) and cut.end not in begins else None,
            cut.p,
            max(first, adjusted),
            float(np.median(before)),
            float(np.median(after)),
            differences(runs[one.moments[cut.first - 1].run], runs[one.moments[cut.first].run]),
        )


def differences(before: Run, after: Run) -> tuple[str, ...]:
    """Return the differences of the system between two campaigns: kernel, libraries, firmware, settings.

    A fact that only one system has counts as a difference.
    """
    old, new = _system(before), _system(after)
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    return tuple(f"{name}: {old.get(name) or 'none'} → {new.get(name) or 'none'}" for name in names)


def _system(run: Run) -> dict[str, str]:
    """Return the facts of a campaign's host and its libraries as texts."""
    facts = dict(_flat("", run.host))
    for column in ("library", "host", "testbed"):
        texts = sorted({level(value) for value in run.records[column]}) if column in run.records else []
        for text in texts:
            if column == "library" and text:
                name, _, version = text.rpartition(" ")
                facts[f"library {name or text}"] = version if name else text
        if column != "library":
            facts[column] = ", ".join(texts)[:_LONGEST]
    for column in variables(run.records):
        facts[named(column)] = ", ".join(sorted({level(one) for one in run.records[column].dropna()}))[:_LONGEST]
    return facts


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the plain values in nested facts with the path to each; things of a list are named by their names."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if str(name) not in _PASSING:
                yield from _flat(f"{prefix} {name}".strip(), inner)
    elif isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        for one in value:
            if one.get("physical") is not False:
                rest = {k: v for k, v in one.items() if k not in ("name", "state", "families")}
                yield from _flat(f"{prefix} {one.get('name', '')}".strip(), rest)
    elif value is not None:
        yield prefix, " ".join(str(value).split())[:_LONGEST]


def told(series: Series, change: Change, chance: float) -> str:
    """Return a change as a sentence: date, size, certainty, and simultaneous changes of the system."""
    moment, last = series.moments[change.place], series.moments[change.place - 1]
    unit = METRICS[series.metric].unit
    before, after = (format_number(value, unit, digits=3) for value in (change.before, change.after))
    worse = (change.after > change.before) == (METRICS[series.metric].better == "lower")
    share = format_share(change.ratio - 1, sign=True)
    what = notes.joined(change.system[:_CAUSES]) or "nothing that labkit records"
    more = f" and {len(change.system) - _CAUSES} more" if len(change.system) > _CAUSES else ""
    back = "on" if change.back is None else f"until {series.moments[change.back - 1].name}"
    degree = change.degree(chance)
    p = change.p if degree == "candidate" else change.p_adjusted
    return (
        f"{series.name}: {before} until {last.name} ({last.created[:10]}), {after} from {moment.name} "
        f"({moment.created[:10]}) {back}: {share}, {'worse' if worse else 'better'}; {degree}, "
        f"p {format_chance(p)} {'in this series alone' if degree == 'candidate' else 'over all series'}. "
        f"What changed: {what}{more}."
    )


__all__ = ["CHANCE", "MIN_CAMPAIGNS", "Change", "History", "Moment", "Run", "Series", "differences", "history", "told"]
