"""Compares the levels of one factor at a common size: which costs more, how many times, and whether that is certain.

The best and the worst of several levels are chosen by their values, at the sizes of both ends. The family of the
decision (`labkit.judge.effects`) is therefore all pairs of levels at these sizes, for each quantity of the benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from labkit import benchmarks
from labkit.judge import effects, stated
from labkit.judge.effects import Effect
from labkit.point.columns import METRICS, statistic_column
from labkit.read.records import Value, headline_statistic, sound, value_of
from labkit.read.records.factors import NONE, OPEN, differing, level, named

if TYPE_CHECKING:
    import pandas as pd

SHIFT = 2.0  # relative change of the difference between smallest and largest size from which it depends on the size
RATE = "message_rate_per_s"
_APART = ("origin", "campaign", "host", "cpu_model")  # never compared with one another unless someone asks for it
_METHOD = ("cadence", "timing", "option_cadence", "option_timing")  # how it was measured is no setting that matters
_HELD = ("transport", "testbed", "library", "launcher")  # a statement on two levels names these


@dataclass(frozen=True)
class End:
    """The two extreme levels at one size.

    Parameters
    ----------
    size : B.
    best, worst : level of the factor with the better and with the worse value.
    good, bad : their values.
    rows : their summary rows.
    tests : pairs of levels that the contrast chose from: its family.
    """

    size: int
    best: str
    worst: str
    good: Value
    bad: Value
    rows: tuple[Mapping[str, Any], Mapping[str, Any]]
    tests: int = 1

    @property
    def ratio(self) -> float:
        """The greater value over the smaller one."""
        values = sorted((self.good.value, self.bad.value))
        return values[1] / values[0] if values[0] > 0 else math.nan

    @cached_property
    def effect(self) -> Effect:
        """The worse value against the better one."""
        good, bad = self.rows
        return effects.between(bad, good, self.good.metric, self.good.statistic, tests=self.tests)

    @property
    def difference(self) -> float:
        """Difference in time per message, in the unit of the cost or in µs; NaN if no time is known."""
        return abs(_time(self.rows[1], self.bad) - _time(self.rows[0], self.good))

    @property
    def launches(self) -> int:
        """The fewer launches of the two."""
        return min(int(row["launches"]) for row in self.rows)

    @property
    def n(self) -> int:
        """The fewer samples of the two; 0 where a tool reported the value."""
        return min(int(row["n"]) for row in self.rows)


@dataclass(frozen=True)
class Contrast:
    """Levels of one factor of a benchmark, all else equal.

    Parameters
    ----------
    benchmark, factor, metric : what is compared.
    main : at the size that the metric is usually stated for: the smallest for a cost, the largest for a rate.
    other : the same two levels at the other end of the sizes; None where there is one size.
    quantity : what was measured, as ``test=HPL``, if the benchmark measures several quantities.
    held : library, path and place of both levels, if there are others of them in the campaign.
    """

    benchmark: str
    factor: str
    metric: str
    main: End
    other: End | None
    quantity: str = ""
    held: str = ""

    @property
    def reversed(self) -> bool:
        """Whether the worse level at one end of the sizes is the better one at the other end."""
        return self.other is not None and self.other.worst != self.main.worst

    @property
    def growth(self) -> str:
        """How the difference in time changes with the size: ``constant``, ``growing``, ``shrinking``, or nothing.

        A ratio cannot show it: a constant and a growing difference both shrink beside a time that grows faster. Empty
        at one size, where the order is reversed, and for rates from which no time of a message follows.
        """
        if self.other is None or self.reversed:
            return ""
        first, last = (end.difference for end in sorted((self.main, self.other), key=lambda end: end.size))
        if math.isnan(first) or math.isnan(last):
            return ""
        return "growing" if last > SHIFT * first else "shrinking" if first > SHIFT * last else "constant"


def _time(row: Mapping[str, Any], value: Value) -> float:
    """Return a cost, or the time of a message (µs) from the row's message rate; NaN where neither is known."""
    if METRICS[value.metric].kind == "cost":
        return value.value
    rate = value_of(row, RATE, value.statistic).value if value.metric in (RATE, "bandwidth_MBps") else math.nan
    return 1e6 / rate if rate > 0 else math.nan


def contrast(rows: pd.DataFrame, metric: str, factors: Sequence[str] = ()) -> Contrast | None:
    """Return the contrast of the first factor that has two comparable levels; None where there is none.

    Points are comparable if they differ in nothing but the factor and the size.

    Parameters
    ----------
    rows : of one benchmark, from `labkit.read.records.summary`.
    metric : as in `labkit.point.columns.METRICS`.
    factors : columns to look at, in this order; those in which the rows differ when left out.
    """
    statistic = headline_statistic(rows, metric)
    column = statistic_column(metric, statistic)
    if column not in rows:
        return None
    rows = sound(rows[rows[column] > 0], metric)
    filled = rows.notna().to_numpy().any(axis=0)  # most columns are of other benchmarks
    kept = (f"{metric}_", f"{RATE}_")
    rows = rows.loc[:, [some or str(name).startswith(kept) for name, some in zip(rows, filled, strict=True)]]
    varied = [name for name in differing(rows) if name != "fingerprint"] if len(rows) else []
    never = (*_APART, *_METHOD, *quantities(rows))
    for factor in factors or [name for name in varied if name not in never]:
        if stated.by_definition(factor, metric):
            continue
        others = [name for name in varied if name != factor]
        best = [_widest(part, factor, others) for part in _parts(rows)] if factor in varied else []
        held = [name for name in others if name in _HELD]
        parts = [part for part in best if part is not None]
        if found := [_of_levels(part, factor, metric, statistic, held, len(parts)) for part in parts]:
            return max(found, key=lambda one: (one.main.effect.claimed, one.main.ratio))
    return None


def quantities(rows: pd.DataFrame) -> list[str]:
    """Return the columns of options that choose what a benchmark measures.

    Parameters
    ----------
    rows : of one benchmark, from `labkit.read.records.summary`.
    """
    known = benchmarks.every().get(str(rows["benchmark"].iloc[0])) if len(rows) else None
    columns = [f"option_{name}" for name in known.quantities] if known else []
    return [name for name in columns if name in rows]


def _parts(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of each quantity."""
    columns = quantities(rows)
    if not columns:
        return [rows]
    return [part for _, part in rows.groupby([rows[name].map(level) for name in columns], sort=False)]


def _widest(rows: pd.DataFrame, factor: str, others: Sequence[str]) -> pd.DataFrame | None:
    """Return the rows equal in all else, with the most levels, then the most points; at sizes that all levels have."""
    candidates: list[tuple[int, int, pd.DataFrame]] = []
    texts = rows.assign(level=rows[factor].map(level))
    groups = texts.groupby([texts[name].map(level) for name in others], sort=False) if others else [("", texts)]
    for _, group in groups:
        chosen = group[~group["level"].isin([*OPEN, NONE])]
        chosen = chosen if chosen["level"].nunique() > 1 else group
        at = chosen.groupby("message_size_B")["level"].nunique()
        if len(at) and (most := int(at.max())) > 1:
            chosen = chosen[chosen["message_size_B"].isin(at[at == most].index)]
            candidates.append((most, len(chosen), chosen))
    return max(candidates, key=lambda one: one[:2])[2] if candidates else None


def _of_levels(
    rows: pd.DataFrame, factor: str, metric: str, statistic: str, held: Sequence[str], parts: int
) -> Contrast:
    """Return the contrast at both ends of the sizes, which is one of so many parts."""
    sizes = sorted({int(size) for size in rows["message_size_B"]})
    positive = [size for size in sizes if size > 0] or sizes
    first, last = positive[0], positive[-1]
    rate = METRICS[metric].kind == "rate" and METRICS[metric].unit != "1/s"
    at, beyond = (last, first) if rate else (first, last)
    tests = effects.pairs(rows["level"].nunique()) * (1 if beyond == at else 2) * parts
    main = _end(rows, at, metric, statistic, tests)
    levels = {main.best, main.worst}
    other = _end(rows[rows["level"].isin(levels)], beyond, metric, statistic, tests) if beyond != at else None
    quantity = ", ".join(
        f"{named(name)}={text}" for name in quantities(rows) if (text := level(rows[name].iloc[0])) != NONE
    )
    alike = ", ".join(text for name in held if (text := level(rows[name].iloc[0])) not in (NONE, *OPEN, "local"))
    return Contrast(str(rows["benchmark"].iloc[0]), factor, metric, main, other, quantity, alike)


def _end(rows: pd.DataFrame, size: int, metric: str, statistic: str, tests: int) -> End:
    """Return the levels with the best and the worst value at a size."""
    present = rows[rows["message_size_B"] == size].drop_duplicates("level").to_dict("records")
    order = sorted(present, key=lambda row: value_of(row, metric, statistic).value)
    if METRICS[metric].kind in ("rate", "share"):
        order.reverse()
    good, bad = order[0], order[-1]
    values = value_of(good, metric, statistic), value_of(bad, metric, statistic)
    return End(size, str(good["level"]), str(bad["level"]), *values, rows=(good, bad), tests=tests)
