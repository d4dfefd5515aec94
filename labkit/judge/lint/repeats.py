"""labkit's own rules for repetitions: launches of a point, and iterations of a launch, must say something new."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.judge.lint.evidence import Breach, Evidence, Rule
from labkit.judge.plausibility.view import Columns, Row
from labkit.point.units import format_number, format_share, plural
from labkit.stats import shift
from labkit.store.samples import Samples
from labkit.store.samples.facts import BROUGHT

Floats = NDArray[np.float64]
_TOGETHER = 10.0  # s between the first and the last launch: less is one moment of the machine
_DISTINCT = 6  # different times that a launch needs before equal ones are no coincidence
_FEWEST = 20  # iterations that it needs
_READ = 100  # pairs of launches whose times are compared
_CHANCE = 0.025  # of a trend where there is none: over all points, and over the averages of benchmarks
_RELEVANT = 0.02  # of the median from first to last launch


def copied(evidence: Evidence) -> Iterator[Breach]:
    """Yield launches whose times are exactly those of another launch."""
    records, launches = evidence.records, evidence.launches
    numbers = [str(name) for name in records if str(name).endswith(("_mean", "_max", "_min"))]
    random = ~np.isin(records["origin"].astype(str), ("simulated", "modelled"))
    timed = records.loc[random & (records["n"] >= _FEWEST).to_numpy(), ["benchmark", "n", *numbers]]
    alike = timed[timed.duplicated(keep=False)]
    if launches is None or alike.empty:
        return
    first = alike.groupby([*alike], sort=False, dropna=False).ngroup()
    pairs = [(rows[0], row) for rows in first.groupby(first, sort=False).groups.values() for row in rows[1:]][:_READ]
    whole = launches.samples(sorted({row for pair in pairs for row in pair}))
    columns = Columns(records)
    for one, other in pairs:
        if one in whole and other in whole and _same(whole[one], whole[other]):
            row, source = Row(columns, other), Row(columns, one)
            place = f"launch {source['launch']}"
            if source["fingerprint"] != row["fingerprint"]:
                place += f" of {evidence.label(str(source['fingerprint'])) or 'another point'}"
            yield evidence.breach(row, f"launch {row['launch']} has the same {row['n']} times as {place}")


def _same(one: Samples, other: Samples) -> bool:
    """Return whether two launches have equal times that chance does not make equal."""
    return np.array_equal(one.time_ns, other.time_ns) and len(np.unique(one.time_ns)) >= _DISTINCT


def dependent(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose iterations are worth few independent ones."""
    worth, n = evidence.column("n_eff"), evidence.column("n")
    for row in evidence.rows(evidence.random & (worth < stats.DEPENDENT * n)):
        count = plural(int(row["n"]), "iteration")
        yield evidence.breach(row, f"{count} are worth {format_number(row['n_eff'], digits=2)} independent ones")


def at_once(evidence: Evidence) -> Iterator[Breach]:
    """Yield points whose launches all started within seconds."""
    brought = np.isin(evidence.column("origin").astype(str), BROUGHT)
    span = np.full(len(evidence.summary), math.nan)
    starts = pd.to_datetime(evidence.records["start"], format="ISO8601", utc=True, errors="coerce").to_numpy()
    for points, rows in evidence.repeats:
        if rows.shape[1] > 1:
            span[points] = (starts[rows[:, -1]] - starts[rows[:, 0]]) / np.timedelta64(1, "s")
    for row in evidence.rows(evidence.random & ~brought & (span < _TOGETHER)):
        count = plural(int(row["launches"]), "launch", "launches")
        yield evidence.breach(row, f"{count} within {format_number(float(span[row.place]), digits=2)} s")


def drifting(evidence: Evidence) -> Iterator[Breach]:
    """Yield points, and benchmarks on average over their points, whose launches rise or fall in the order of time."""
    values, own = _medians(evidence), evidence.column("benchmark").astype(str)
    found: list[tuple[int, Floats, float]] = []
    series: list[tuple[str, Floats, int]] = []
    for points, rows in evidence.repeats:
        good = points[evidence.random[points]]
        medians = values[rows[evidence.random[points]]]
        known = (medians > 0).all(axis=1)
        good, medians = good[known], medians[known]
        if not len(good) or rows.shape[1] < stats.LAUNCHES:
            continue
        found += zip(good.tolist(), medians, shift.trends(medians)[1].tolist(), strict=True)
        logs = np.log(medians / np.median(medians, axis=1, keepdims=True))
        for name in dict.fromkeys(own[good].tolist()):
            of_benchmark = logs[own[good] == name]
            if len(of_benchmark) > 1:
                series.append((name, np.exp(of_benchmark.mean(axis=0)), len(of_benchmark)))
    named = set()
    chances = shift.holm([shift.trend(average)[1] for _, average, _ in series])
    for (name, average, count), p in zip(series, chances, strict=True):
        if p <= _CHANCE and abs(_rise(average)) >= _RELEVANT:
            named.add(name)
            yield Breach(name, "", f"{_told(average)}, on average over {plural(count, 'point')}")
    for (place, medians, _), p in zip(found, shift.holm([p for _, _, p in found]), strict=True):
        if p <= _CHANCE and abs(_rise(medians)) >= _RELEVANT and own[place] not in named:
            yield evidence.breach(Row(evidence.columns, place), _told(medians))


def _medians(evidence: Evidence) -> Floats:
    """Return for each launch the value of the first metric that it has a median of, else a mean; NaN without one."""
    values = np.full(len(evidence.records), math.nan)
    for wanted in ("p50", "mean"):
        for metric, statistic, _ in evidence.numbers:
            name = f"{metric.name}_{statistic}"
            if statistic == wanted and name in evidence.records:
                column = evidence.records[name].to_numpy(np.float64)
                values = np.where(np.isnan(values), column, values)
    return values


def _rise(values: Floats) -> float:
    """Return the change from the first to the last launch, by Theil and Sen's slope, as a part of the median."""
    one, other = np.triu_indices(len(values), 1)
    slope = float(np.median((values[other] - values[one]) / (other - one)))
    return slope * (len(values) - 1) / float(np.median(values))


def _told(values: Floats) -> str:
    """Return what a trend looks like."""
    change = _rise(values)
    count = plural(len(values), "launch")
    return f"{count} {'rise' if change > 0 else 'fall'} by {format_share(abs(change))} in order of time"


REPEATS = (
    Rule(
        "copied-launches",
        "error",
        0,
        "no two launches have exactly the same times",
        "Remove the copy and measure again: a copy repeats nothing, and makes intervals too narrow.",
        copied,
        "Remove the copy: a copy repeats nothing, and makes intervals too narrow.",
    ),
    Rule(
        "dependent-iterations",
        "note",
        0,
        f"iterations are worth at least {format_share(stats.DEPENDENT)} of as many independent ones",
        "Run more launches instead of more iterations; trust tails less than their number of samples suggests.",
        dependent,
        "Trust tails less than their number of samples suggests.",
    ),
    Rule(
        "launches-at-once",
        "note",
        0,
        f"launches of a point are spread over more than {_TOGETHER:.0f} s",
        "Run again later with more --launches; labkit adds those missing. Else say that all ran at one moment.",
        at_once,
    ),
    Rule(
        "drifting-launches",
        "warning",
        0,
        "launches of a point neither rise nor fall in order of time",
        "Look for what changed meanwhile (load, temperature, cache); measure again at another time.",
        drifting,
        "State the drift: the median over launches depends on when they ran.",
    ),
)
