"""Compare the levels of one factor at a common size: which costs more, by what factor, and how certain that is.

The best and the worst of several levels are chosen by their values, at the sizes of both ends. The family of the
decision (`labkit.judge.effects`) is therefore all pairs of levels at these sizes, for each quantity of the benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit import benchmarks
from labkit.judge import effects, stated
from labkit.judge.effects import Effect
from labkit.judge.finding import Value
from labkit.judge.view.points import Columns, Places, Row
from labkit.point import testbed_words
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import NO_SPEED
from labkit.point.units import format_size
from labkit.read.records import headline_statistic, quantities, sound, value_of
from labkit.read.records.factors import NONE, OPEN, alike, coded, differing, level, named, together

if TYPE_CHECKING:
    import pandas as pd

SHIFT = 2.0  # relative change of the difference between smallest and largest size from which it depends on the size
WIDE = 3.0  # times: from this ratio of what the medians and what the end of the interval say, the latter is given
_RATE = "message_rate_per_s"
_APART = ("origin", "campaign", "host", "cpu_model")  # never compared with one another unless someone asks for it
_METHOD = ("cadence", "timing", "option_cadence", "option_timing")  # how it was measured is not a setting that matters
_HELD = ("transport", "testbed", "library", "launcher")  # a claim about two levels names these
_LEVELS = {
    "shm": "shared memory",
    "tcp": "TCP",
    "c": "C",
    "buffers": "mpi4py with buffers",
    "pickle": "mpi4py with pickle",
    "osync": "O_SYNC",
}
_BARE = ("transport", "testbed", "library", "launcher", "engine", "device")  # whose levels say what they are
_OF_SYSTEM = {"option_socket_buffer"}  # options whose 0 leaves the value to the system
Levels = tuple[Places, Sequence[str]]  # of each row the place of its level, and the levels


@dataclass(frozen=True)
class End:
    """The two extreme levels at one size.

    Parameters
    ----------
    size : B.
    best, worst : level of the factor with the better and with the worse value.
    rows : their rows of the summary.
    metric, statistic : metric and statistic of their values.
    tests : size of the family: pairs of levels that the contrast chose from.
    """

    size: int
    best: str
    worst: str
    rows: tuple[Row, Row]
    metric: str
    statistic: str
    tests: int = 1

    @cached_property
    def values(self) -> tuple[Value, Value]:
        """The better and the worse value."""
        good, bad = (measured(row, self.metric, self.statistic) for row in self.rows)
        return good, bad

    @property
    def ratio(self) -> float:
        """The greater value divided by the smaller one."""
        less, more = sorted(one.value for one in self.values)
        return more / less

    @cached_property
    def effect(self) -> Effect:
        """The worse value compared with the better one."""
        good, bad = self.rows
        return effects.between(bad, good, self.metric, self.statistic, tests=self.tests)

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the interval of the ratio; NaN without a judged ratio, as for shares."""
        judged = self.effect.judgement
        return (
            (judged.ratio_low, judged.ratio_high) if judged.ratio > 1 else (1 / judged.ratio_high, 1 / judged.ratio_low)
        )

    @property
    def least(self) -> float:
        """The ratio, or the end of a wide interval nearer to 1."""
        return low if self.ratio > WIDE * (low := self.interval[0]) else self.ratio

    @property
    def difference(self) -> float:
        """Difference in time per message, in the unit of the cost or in µs; NaN if no time is known."""
        good, bad = (self._time(row, value.value) for row, value in zip(self.rows, self.values, strict=True))
        return abs(bad - good)

    def _time(self, row: Mapping[str, Any], value: float) -> float:
        """Return a cost, or the time of a message (µs) from the row's message rate; NaN if neither is known."""
        if METRICS[self.metric].kind == "cost":
            return value
        known = self.metric in (_RATE, "bandwidth_MBps")
        rate = value_of(row, _RATE, self.statistic).value if known else math.nan
        return 1e6 / rate if rate > 0 else math.nan


@dataclass(frozen=True)
class Contrast:
    """Levels of one factor of a benchmark, all else equal.

    Parameters
    ----------
    factor, metric : compared factor and metric.
    main : contrast at the usual size of the metric: the smallest for a cost, the largest for a rate.
    other : the same two levels at the other end of the sizes; None with one size.
    setting : what both levels share, in words: quantity of the benchmark, size, and library, path and place if there
        are others of them in the campaign.
    """

    factor: str
    metric: str
    main: End
    other: End | None
    setting: str

    @property
    def reversed(self) -> bool:
        """Whether the worse level at one end of the sizes is the better one at the other end."""
        return self.other is not None and self.other.worst != self.main.worst

    @property
    def ends(self) -> list[End]:
        """Both ends by their size."""
        return sorted(filter(None, (self.main, self.other)), key=lambda end: end.size)

    @property
    def growth(self) -> str:
        """How the difference in time changes with the size: ``constant``, ``growing``, ``shrinking``, or nothing.

        Empty with one size, with a reversed order, and for rates without a time of a message. The ratio cannot show
        this: relative to a time that grows faster, a constant and a growing difference both shrink.
        """
        if self.other is None or self.reversed:
            return ""
        first, last = (end.difference for end in self.ends)
        if math.isnan(first) or math.isnan(last):
            return ""
        return "growing" if last > SHIFT * first else "shrinking" if first > SHIFT * last else "constant"


def measured(row: Mapping[str, Any], metric: str, statistic: str) -> Value:
    """Return a value of a row of the summary, for a finding."""
    one = value_of(row, metric, statistic)
    return Value(
        value=one.value,
        unit=one.unit,
        low=one.low,
        high=one.high,
        n=int(row["n"]),
        launches=int(row["launches"]),
        origin=str(row["origin"]),
        fingerprint=str(row["fingerprint"]),
        step=one.step,
        functional=any(note.code in NO_SPEED for note in row["badges"]),
    )


def placed(benchmark: str, size: int) -> str:
    """Return a size in words; empty for a benchmark without sizes."""
    known = benchmarks.look_up(benchmark)
    return format_size(size) if known is None or known.sized else ""


def in_words(factor: str, *some: str) -> list[str]:
    """Return levels in words; for testbeds only their differences.

    Examples
    --------
    >>> in_words("testbed", "virtual-cluster:4,rate=50mbit,loss=1", "virtual-cluster:4,rate=50mbit")
    ['1 % of loss', 'no loss']
    >>> in_words("option_window", "64", "-")
    ['window=64', 'no window']
    >>> in_words("option_socket_buffer", "0", "16384")
    ["the system's socket_buffer", 'socket_buffer=16384']
    >>> in_words("testbed", "virtual-cluster:4,rate=50mbit")
    ['virtual cluster of 4 hosts (links of 50 Mbit/s)']
    """
    if factor == "testbed":
        return testbed_words.differences(some) if len(some) > 1 else [testbed_words.in_words(text) for text in some]
    return [_LEVELS.get(text, text if factor in _BARE else _stated(factor, text)) for text in some]


def _stated(factor: str, text: str) -> str:
    if text == "0" and factor in _OF_SYSTEM:
        return f"the system's {named(factor)}"
    return f"no {named(factor)}" if text == NONE else f"{named(factor)}={text}"


def contrast(rows: pd.DataFrame, metric: str, factors: Sequence[str] = ()) -> Contrast | None:
    """Return the contrast of the first factor that has two comparable levels; None without one.

    Points are comparable if they differ in nothing but the factor and the size.

    Parameters
    ----------
    rows : rows of one benchmark, from `labkit.read.records.summary`.
    metric : as in `labkit.point.columns.METRICS`.
    factors : columns to compare, in this order (default: those in which the rows differ).
    """
    statistic = headline_statistic(rows, metric)
    column = statistic_column(metric, statistic)
    if column not in rows:
        return None
    rows = sound(rows[rows[column] > 0], metric)
    if not len(rows):
        return None
    varied, apart = differing(rows, skip=["fingerprint"]), quantities(rows)
    for factor in factors or varied:
        if factor not in varied or stated.by_definition(factor, metric):
            continue
        if not factors and factor in (*_APART, *_METHOD, *apart):
            continue
        others = [name for name in varied if name != factor]
        levels, texts = coded(rows[factor])
        names = [level(one) for one in texts]
        parts = [_widest(rows, part, (levels, names), others) for part in alike(rows, apart)]
        chosen = [part for part in parts if len(part)]
        if found := [
            _of_levels(rows, part, (levels, names), factor, (metric, statistic), others, len(chosen)) for part in chosen
        ]:
            return max(found, key=lambda one: (one.main.effect.claimed, one.main.ratio))
    return None


def _widest(rows: pd.DataFrame, part: Places, levels: Levels, others: Sequence[str]) -> Places:
    """Return the places that are equal otherwise, most levels first, then most points, at sizes common to all levels.

    Levels that leave the path open are compared only if no two others name one.
    """
    some = rows[[*others, "message_size_B"]].iloc[part]
    group = together(np.zeros(len(part), np.intp), *(coded(some[name])[0] for name in others))
    size, at = coded(some["message_size_B"])[0], levels[0][part]
    named_one = np.array([name not in (*OPEN, NONE) for name in levels[1]])[at]
    two = _distinct(group[named_one], at[named_one], int(group.max()) + 1) > 1
    kept = named_one | ~two[group]
    part, group, size, at = part[kept], group[kept], size[kept], at[kept]
    place = together(group, size)
    count = _distinct(place, at, int(place.max()) + 1)[place]  # levels at the size of each
    most = np.zeros(int(group.max()) + 1, np.intp)
    np.maximum.at(most, group, count)
    whole = count == most[group]
    points = np.bincount(group[whole], minlength=len(most))
    best = max(range(len(most)), key=lambda one: (most[one], points[one]))
    return part[whole & (group == best)] if most[best] > 1 else part[:0]


def _distinct(groups: Places, levels: Places, count: int) -> Places:
    """Return the number of levels in each of this many groups."""
    each = int(levels.max(initial=0)) + 1
    return np.bincount(np.unique(groups * each + levels) // each, minlength=count)


def _of_levels(
    rows: pd.DataFrame,
    part: Places,
    levels: Levels,
    factor: str,
    measure: tuple[str, str],
    others: Sequence[str],
    parts: int,
) -> Contrast:
    """Return the contrast at both ends of the sizes, as one of so many parts."""
    metric = METRICS[measure[0]]
    sizes = rows["message_size_B"].to_numpy()[part]
    positive = sizes[sizes > 0] if (sizes > 0).any() else sizes
    first, last = int(positive.min()), int(positive.max())
    at, beyond = (last, first) if metric.kind == "rate" and metric.unit != "1/s" else (first, last)
    tests = effects.pairs(len({*levels[0][part].tolist()})) * (1 if beyond == at else 2) * parts
    main = _end(rows, part[sizes == at], levels, at, measure, tests)
    extreme = [
        place for place in part[sizes == beyond].tolist() if levels[1][levels[0][place]] in (main.best, main.worst)
    ]
    both = beyond != at and len({levels[0][place] for place in extreme}) > 1  # the levels were measured there too
    other = _end(rows, np.array(extreme), levels, beyond, measure, tests) if both else None
    row = main.rows[0]
    apart = quantities(rows)
    words = [*_words(row, apart), placed(str(row["benchmark"]), at)]
    words += [text for name in others if name in _HELD and (text := level(row[name])) not in (NONE, *OPEN, "local")]
    options = [name for name in others if name.startswith("option_") and name not in apart]
    words += _words(row, [name for name in options if _parallel(rows, main, name, factor)])
    return Contrast(factor, measure[0], main, other, ", ".join(filter(None, words)))


def _parallel(rows: pd.DataFrame, main: End, name: str, factor: str) -> bool:
    """Whether both levels were also measured, at the same size, with other levels of an option.

    For an option whose levels are words, such as a pattern, it is enough that one of them was.
    """
    same = rows[rows["message_size_B"] == main.size]
    sides = (same[same[factor].map(level) == one] for one in (main.best, main.worst))
    several = [side[name].map(level).nunique() > 1 for side in sides]
    text = level(main.rows[0][name])
    word = text[:1].isalpha() and text not in ("true", "false") and name not in _METHOD
    return any(several) if word else all(several)


def _words(row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[str]:
    return (f"{named(name)}={text}" for name in columns if (text := level(row[name])) != NONE)


def _end(rows: pd.DataFrame, part: Places, levels: Levels, size: int, measure: tuple[str, str], tests: int) -> End:
    """Return the levels with the best and the worst value at a size."""
    places = part[np.sort(np.unique(levels[0][part], return_index=True)[1])]  # the first of each level
    order = places[np.argsort(rows[statistic_column(*measure)].to_numpy(np.float64)[places], kind="stable")].tolist()
    if METRICS[measure[0]].kind in ("rate", "share"):
        order.reverse()
    columns = Columns(rows)
    good, bad = Row(columns, order[0]), Row(columns, order[-1])
    best, worst = (levels[1][levels[0][place]] for place in (order[0], order[-1]))
    return End(size, best, worst, (good, bad), *measure, tests=tests)
