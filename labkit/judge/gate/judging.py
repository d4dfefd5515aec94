"""Judge the statistics of points, and their common factors in a night."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.judge.finding import Finding
from labkit.judge.gate.conditions import differs
from labkit.judge.gate.verdicts import COMMON, PASTS, STEP, Common, Compared, Drift, judged, least_times, times_worse
from labkit.judge.matching_points import TAIL, Points
from labkit.point.columns import METRICS, statistic_column
from labkit.read.records.factors import NONE
from labkit.read.records.resolution import MOST, STEPS, coarse_of, columns, spans
from labkit.stats import limits, nights


@dataclass(frozen=True, eq=False)
class _Comparison:
    """One statistic of a point.

    Parameters
    ----------
    place : place of the point.
    metric, statistic : as in `labkit.point.columns`.
    values : values of the new launches.
    past, night : values of the past launches, and the campaign of each.
    medians : medians of the launches of each campaign, the new one last; NaN if it lacks the point.
    positive : whether all values have logarithms.
    usual : median of `past`.
    coarse, finest : as in `Compared`.
    """

    place: int
    metric: str
    statistic: str
    values: NDArray[np.float64]
    past: NDArray[np.float64]
    night: NDArray[np.intp]
    medians: NDArray[np.float64]
    positive: bool
    usual: float
    coarse: tuple[bool, bool]
    finest: float

    @property
    def higher(self) -> bool:
        """Whether higher values are worse."""
        return METRICS[self.metric].better == "lower"


class Verdicts:
    """Verdicts on the statistics of points, and on their common factors.

    Parameters
    ----------
    new, past : the same points, of the new campaign and of the past ones.
    labels : labels of the points.
    wanted : metrics and statistics of the comparisons of each point.
    chance : chance of a false alarm in the whole gate.
    worse : fixed limit, as in `gate`.
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
        self._differs = differs(new, past)
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
        """Number of comparisons that share the chance of a false alarm."""
        return len(self._cases) + len(self._groups)

    @property
    def _shares(self) -> tuple[float, list[float]]:
        tails = [common.tail for common, _, _ in self._groups]
        return nights.shared(self._chance, len(self._cases), tails, len(self._nights))

    def _compared(self, metric: str, statistic: str) -> tuple[Sequence[Any], ...]:
        """Return what a comparison needs of each point, as in `_Comparison`."""
        column, count, campaigns = statistic_column(metric, statistic), len(self._new), len(self._nights)
        values, number = self._new.numbers(column)
        past, of_past = self._past.numbers(column)
        known = ~np.isnan(self._past.frame[column].to_numpy(np.float64)[self._past.rows])
        night, ends = self._campaign[known], np.cumsum(np.bincount(of_past, minlength=count))[:-1]
        by_night = stats.medians(past, of_past * campaigns + night, count * campaigns).reshape(count, campaigns)
        least = np.full(count, math.inf)
        for each, place in ((values, number), (past, of_past)):
            np.minimum.at(least, place, each)
        return (
            np.split(values, np.cumsum(np.bincount(number, minlength=count))[:-1]),
            np.split(past, ends),
            np.split(night, ends),
            list(np.column_stack([by_night, stats.medians(values, number, count)])),
            (least > 0).tolist(),
            stats.medians(past, of_past, count).tolist(),
            *_resolved(self._new, self._past, metric, statistic),
        )

    def _by_night(self) -> NDArray[np.float64]:
        """Return the logarithm of the median of each night, the new one last, (nights, comparisons); more is worse.

        NaN if a night lacks a point, and for points that have values without a logarithm.
        """
        medians = np.array([one.medians if one.positive else one.medians * math.nan for one in self._cases]).T
        return np.asarray(np.log(medians) * [1 if one.higher else -1 for one in self._cases])

    def common(self, transport: int, reference: str) -> tuple[Common, ...]:
        """Remove the common factor of each transport, if it can be judged; return all common factors.

        Parameters
        ----------
        transport : position of the transport in the keys of points.
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
        """Judge the past campaigns one after the other, to find the reference.

        Parameters
        ----------
        accepted : names of campaigns that count in any case.

        Returns
        -------
        Campaigns that were worse, with the number of comparisons, and campaigns that wait.
        """
        chosen = np.array([*(name in accepted for name in self._nights), False])
        finest = np.log([one.finest for one in self._cases])
        of_point, of_factors = self._shares
        for (_, own, factors), of_factor in zip(self._groups, of_factors, strict=True):
            least = float(np.median(finest[own]))
            self._replays.append(
                nights.replay(
                    factors[:, None],
                    of_factor,
                    lambda *_: True,
                    accepted=chosen,
                    least=least,
                    shares=nights.SHARES_COMMON,
                    correlation=nights.CORRELATION,
                )
            )
        levels = self._levels - self._factors
        self._replays.append(nights.replay(levels, of_point, self._beyond, accepted=chosen, least=finest))
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
        removed = np.exp(self._factors[:, place] if one.higher else -self._factors[:, place])
        parts = [one.past[one.night == n] / removed[n] for n in np.flatnonzero(night[: len(self._nights)]).tolist()]
        if len(night) > len(self._nights) and night[-1]:
            parts.append(one.values / removed[-1])
        new = np.concatenate(parts)
        limit = self._limit(one, removed, np.flatnonzero(reference), len(new), chance, several=len(parts) > 1)
        return bool(np.count_nonzero(new > limit.value if one.higher else new < limit.value) >= limit.beyond)

    def _limit(
        self,
        one: _Comparison,
        removed: NDArray[np.float64],
        counted: NDArray[np.intp],
        new: int,
        chance: float,
        *,
        several: bool = False,
    ) -> limits.Limit:
        """Return the limit for this many launches, of one night or several, from the launches of the counted nights.

        Parameters
        ----------
        removed : by which the launches of each night are divided.
        """
        values, medians = one.past / removed[one.night], one.medians[counted] / removed[counted]
        if len(counted) < len(self._nights):
            values = values[self._of(counted)[one.night]]
        # the limit from campaigns is one for the next campaign; `nights.replay` has that for several
        medians = medians[:0] if several else medians[~np.isnan(medians)]
        return limits.limit_of(np.sort(values), medians, new, chance, higher=one.higher)

    def _of(self, counted: NDArray[np.intp]) -> nights.Flags:
        """Return whether each night of the past is one of those."""
        flags = np.zeros(len(self._nights), bool)
        flags[counted] = True
        return flags

    def of_factors(self) -> Iterator[Finding]:
        """Yield the verdict on each common factor that is removed."""
        for (common, own, factors), replayed in zip(self._groups, self._replays, strict=False):
            past = factors[replayed.reference[:, 0]]
            finest = float(np.median([self._cases[n].finest for n in own]))
            value = math.exp(min(max(float(replayed.limit[0]), math.log(finest)), limits.LARGEST))
            limit = limits.Limit(value, 1, len(past), len(past), limits.CAMPAIGNS, by_campaigns=True)
            yield judged(
                Compared(
                    benchmark="all",
                    point=common.name,
                    metric=COMMON.name,
                    statistic="tail" if common.tail else "",
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

    def of_points(self) -> Iterator[Finding]:
        """Yield the verdict on each statistic of each point."""
        signs, replayed = np.array([1 if one.higher else -1 for one in self._cases]), self._replays[-1]
        removed, campaigns = (np.exp(signs * each).T.copy() for each in (self._factors, self._levels))
        every, chances = np.arange(len(self._nights)), (replayed.share * self._shares[0]).tolist()
        for n, (one, reference) in enumerate(zip(self._cases, replayed.reference.T.copy(), strict=True)):
            counted = np.flatnonzero(reference) if one.positive else every
            yield self._verdict(n, one, counted, removed[n], campaigns[n], chances[n])

    def _verdict(
        self,
        place: int,
        one: _Comparison,
        counted: NDArray[np.intp],
        removed: NDArray[np.float64],
        campaigns: NDArray[np.float64],
        chance: float,
    ) -> Finding:
        """Compare one statistic of a point.

        Parameters
        ----------
        place : place of the comparison.
        counted : nights that are the reference.
        removed : by which the launches of each night are divided, the new one last; NaN if a night does not count.
        campaigns : median of each night.
        chance : chance of a false alarm.
        """
        higher, usual = one.higher, one.usual
        replayed = self._replays[-1]
        if 0 < len(counted) < len(self._nights):
            usual = float(np.median(one.past[self._of(counted)[one.night]]))
        limit = self._limit(one, removed, counted, len(one.values), chance)
        value = limit.value * float(removed[-1])
        if one.finest > 1:  # a time that is two steps longer is beyond the limit
            least = usual * one.finest * (1 - STEP) if higher else usual / one.finest * (1 + STEP)
            value = max(value, least) if higher else min(value, least)
        over = 0
        if self._worse:
            better, least = METRICS[one.metric].better, least_times(self._worse, one.finest)
            over = sum(times_worse(v, usual, better) >= least for v in one.values.tolist())
        return judged(
            Compared(
                benchmark=self._new.keys[one.place][0],
                point=self._labels[one.place],
                metric=one.metric,
                statistic=one.statistic,
                value=float(one.medians[-1]),
                launches=len(one.values),
                usual=usual,
                limit=replace(limit, value=value),
                beyond=int(np.count_nonzero(one.values > value if higher else one.values < value)),
                differs=self._differs[one.place],
                worse=self._worse,
                over=over,
                coarse=one.coarse,
                finest=one.finest,
                common=math.exp(self._factors[-1, place]),
                drift=_drift(replayed, place),
                campaigns=tuple(campaigns[~np.isnan(campaigns)].tolist()),
            )
        )


def _drift(replayed: nights.Replay, place: int) -> Drift | None:
    """Return how much worse the last campaigns are than the past that they exceed most, by its limit."""
    if not replayed.together[:, place].any():
        return None
    found = [
        Drift(campaigns, past, math.expm1(min(drift, limits.LARGEST)), math.expm1(min(allowed, limits.LARGEST)), failed)
        for past, campaigns, drift, allowed, failed in zip(
            PASTS * len(nights.WINDOWS),
            replayed.together[:, place].tolist(),
            replayed.drifts[:, place].tolist(),
            replayed.allowed[:, place].tolist(),
            replayed.found[:, place].tolist(),
            strict=True,
        )
        if not math.isnan(drift)
    ]
    return max(found, key=lambda one: (one.failed, one.change - one.allowed), default=None)


def _resolved(new: Points, past: Points, metric: str, statistic: str) -> tuple[list[tuple[bool, bool]], list[float]]:
    """Return whether the new and the usual value are bounds, and the smallest factor that the clock resolves."""
    bounds = []
    for points in (new, past):
        found = coarse_of(columns(points.frame, metric), metric, statistic)[points.rows]
        bounds.append((np.bincount(points.number, found, len(points)) >= MOST * points.counts).tolist())
    counts = spans(columns(past.frame, metric), metric, statistic)[past.rows]
    steps = np.where(bounds[1], np.maximum(stats.medians(counts, past.number, len(past)), 1), math.inf)
    return list(zip(*bounds, strict=True)), (1 + STEPS / steps).tolist()
