"""Split series into lines of one statistic each, and explain gaps and error bars."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit import stats
from labkit.figures import looks
from labkit.figures.looks import Look, Part
from labkit.figures.style import ORIGINS
from labkit.point.columns import METRICS, STATISTICS, end_column, statistic_column
from labkit.point.units import plural
from labkit.read.records import headline_statistic, statistics_of, why_not

HEADLINE = "headline"  # the median; if a source has none, its mean or value as a separate line that says so
FEW = 3  # points of a line that are not joined
_REASONS = 3  # that stand below a figure
_SOME, _OF_MANY = re.compile(r"only \d+ of \d+ launches"), "only some launches"  # of many points
_PLAIN = {"p50", "value"}  # statistics that go without saying
_FEW = re.compile(r"only \d+ of \d+ launches|it needs [\d,]+ samples")  # of a percentile


@dataclass(frozen=True)
class Line:
    """One line, or the bars of one colour.

    Parameters
    ----------
    name : in the legend; names the statistic if it differs from the figure's, or states that there is none.
    origin : origin of its numbers.
    rows : rows of the summary, one to a point.
    statistic : statistic that is drawn.
    look : colour and marker of its series.
    """

    name: str
    origin: str
    rows: pd.DataFrame
    statistic: str
    look: Look


def column(rows: pd.DataFrame, metric: str, statistic: str) -> NDArray[np.float64]:
    """Return values of a statistic, NaN if the table has none."""
    name = statistic_column(metric, statistic)
    return rows[name].to_numpy(np.float64) if name in rows else np.full(len(rows), np.nan)


def ends_of(rows: pd.DataFrame, metric: str, statistic: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both ends of a statistic's interval over launches; NaN if it has no interval."""
    ends = []
    for end in ("low", "high"):
        name = end_column(metric, statistic, end)
        if name in rows:
            ends.append(rows[name].to_numpy(np.float64))
        else:  # a table made by hand has only the headline's
            leads = statistics_of(rows, metric) == statistic
            ends.append(np.where(leads, column(rows, metric, end), np.nan))
    return ends[0], ends[1]


def make_lines(parts: Sequence[Part], metric: str, statistic: str) -> list[Line]:
    """Return the lines of a figure; a series has several where its points have different headline statistics.

    Parameters
    ----------
    parts : from `labkit.figures.style.split`.
    metric : as in `labkit.point.columns.METRICS`.
    statistic : as in `labkit.point.columns.STATISTICS`, or ``headline``.
    """
    usual = headline_statistic(pd.concat([part.rows for part in parts]), metric) if statistic == HEADLINE else statistic
    drawn: list[Line] = []
    for part, look in zip(parts, looks.make_looks(parts), strict=True):
        drawn += of_series(part, look, metric, statistic, usual)
    return drawn


def of_series(part: Part, look: Look, metric: str, statistic: str, usual: str) -> Iterator[Line]:
    """Lines of one series; `usual` is the headline statistic that needs no name."""
    name, origin, rows = part.name, part.origin, part.rows
    if statistic != HEADLINE:
        empty = np.isnan(column(rows, metric, statistic)).all()
        yield Line(f"{name}: no {STATISTICS[statistic].label}" if empty else name, origin, rows, statistic, look)
        return
    leads = statistics_of(rows, metric)
    leads = np.where(leads == "", usual, leads)
    for lead in dict.fromkeys(leads.tolist()):
        label = name if lead == usual else f"{name}, {STATISTICS[lead].label}"
        yield Line(label, origin, rows[leads == lead], lead, look)


def mode(origin: str, points: int) -> str:
    """Return how plotly draws a line: the markers of few points are not joined, since nothing is known between them."""
    if not ORIGINS[origin].markers:
        return "lines"
    return "markers" if points <= FEW else "lines+markers"


def title(lines: Sequence[Line], metric: str) -> str:
    """Return the title of the axis: with the statistic of all lines, or of those that name no other."""
    definition, statistics = METRICS[metric], list(dict.fromkeys(line.statistic for line in lines))
    usual, others = statistics[0], ""
    if len(statistics) > 1:
        usual, others = headline_statistic(pd.concat([line.rows for line in lines]), metric), " or as named"
    statistic = "" if usual == "value" and not others else f", {STATISTICS[usual].label}{others}"
    return f"{definition.label}{statistic} ({definition.unit})"


def gaps(rows: pd.DataFrame, metric: str, statistic: str) -> str:
    """Say why points have no such statistic; empty if all have it."""
    without = np.isnan(column(rows, metric, statistic))
    if not without.any():
        return ""
    lacking = rows[without]
    needed = stats.NEEDED.get(statistic, 0)
    few = f"a launch has under {needed:,} samples"
    found = (why_not(row, metric, statistic) for row in lacking.to_dict("records"))
    reasons = dict.fromkeys(few if needed and _FEW.match(one) else _SOME.sub(_OF_MANY, one) for one in found)
    rest = len(reasons) - _REASONS
    more = f"; {plural(rest, 'more reason')}" if rest > 0 else ""
    return f"no {STATISTICS[statistic].label} where {'; or '.join(list(reasons)[:_REASONS])}{more}"


def meaning(lines: Sequence[Line], metric: str) -> str:
    """Say what the error bars are, by the labels of their intervals."""
    drawn: dict[str, None] = {}
    statistics: dict[str, None] = {}
    single = False
    for line in lines:
        low, _ = ends_of(line.rows, metric, line.statistic)
        present = ~np.isnan(column(line.rows, metric, line.statistic))
        if "headline" not in line.rows:
            continue
        labels = line.rows["headline"]
        meanings = dict.fromkeys(filter(None, labels[present & ~np.isnan(low)].unique().tolist()))
        drawn |= meanings
        if meanings:
            statistics[line.statistic] = None
        single |= "1 launch" in labels[present].unique().tolist()
    if not drawn:
        return "1 launch each: no interval" if single else ""
    suffix = (
        ""
        if len(statistics) == 1 and set(statistics) <= _PLAIN
        else f" of the {' or '.join(STATISTICS[s].label for s in statistics)}"
    )
    return f"bars: {', '.join(drawn)}{suffix}{'; single launches have none' if single else ''}"
