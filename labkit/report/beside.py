"""Draw measured curves with the published values of the experiments that they repeat: one figure for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from labkit import figures
from labkit.figures import style, unit
from labkit.figures.overlay import fitting, overlay
from labkit.models import costs
from labkit.point.units import plural
from labkit.read.reference import Entry
from labkit.read.reference.comparing import measured, with_arguments
from labkit.report import literature
from labkit.report.campaigns import Member, members
from labkit.report.choosing import curves, left_out
from labkit.report.content import Beside
from labkit.report.figures import Picture
from labkit.report.literature import Experiment, Literature, matching
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.variables import title

PART = "papers.qmd"  # the chapter that shows them
_PATHS = 4  # lines of a figure
_HEIGHT = 260  # px


def drawn(sources: Sequence[Source]) -> list[Beside]:
    """Return a figure for each repeated experiment with values to draw, in the order of the papers.

    Each is of the first campaign that measured the benchmark.
    """
    every = [(source, member) for source in sources for member in members(source) if len(member.summary)]
    made: list[Beside] = []
    for paper in literature.papers():
        of_paper: list[Beside] = []
        for one in paper.experiments:
            figure = next((f for each in every if (f := _figure(one, paper, *each, len(every) > 1))), None)
            if figure:
                name = f"paper-{paper.paper.key}-{len(of_paper) + 1}"
                of_paper.append(Beside(paper.paper.key, one, Picture(name, f"fig-{name}", *figure)))
        made += of_paper
    return made


def _figure(
    one: Experiment, paper: Literature, source: Source, member: Member, several: bool
) -> tuple[str, dict[str, Any]] | None:
    """Return caption and figure of an experiment in a campaign; None if nothing of it can be drawn."""
    for benchmark in matching(sorted({str(name) for name in member.summary["benchmark"]}), one.labkit):
        rows = member.of(benchmark)
        entries = _entries(one, paper, rows)
        if not entries:
            continue
        number = entries[0].number
        table = _curves(with_arguments(rows, number.options), number.metric)
        if table["message_size_B"].nunique() < 2:  # the table says it
            continue
        series = ["transport", "testbed"]
        figure = figures.versus_size(table, number.metric, series=series, statistic=number.statistic, tail=None)
        figure = figures.with_bounds(figure, table, source.points, partial(costs.measured_costs, member.summary))
        if not (fits := fitting(figure, entries)):
            continue
        figure = overlay(figure, fits)
        figure.update_layout(height=max(_HEIGHT, int(figure.layout.height)))
        launches = sorted({int(number) for number in table["launches"]})
        few = f"{launches[0]} to " if len(launches) > 1 else ""
        count = few + plural(launches[-1], "launch")
        where = f" Campaign {escape(member.name)}." if several else ""
        missing = left_out(with_arguments(rows, number.options), number.metric, _PATHS)
        where += f" Not drawn: {escape(missing)}." if missing else ""
        caption = (
            f"{escape(one.title)} ({escape(one.figure)}): {escape(title(benchmark))} of this report, {count}, "
            f"and the values that the paper states [@{paper.paper.key}].{where}"
        )
        spec = figure.to_plotly_json()
        unit.readable(spec)
        style.settle(spec["data"], spec["layout"])
        return caption, spec
    return None


def _entries(one: Experiment, paper: Literature, rows: pd.DataFrame) -> list[Entry]:
    """Return the numbers of an experiment that rows of a benchmark may be compared with, all in one statistic."""
    fits = [number for number in paper.numbers_of(one) if len(measured(number, rows))]
    first = [(one.metric, one.statistic, one.options) for one in fits[:1]]
    same = [one for one in fits if (one.metric, one.statistic, one.options) in first]
    return [Entry(paper.numbers, paper.paper, number) for number in same]


def _curves(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the points of one setting on each of the first paths."""
    parts = [curve for _, curve in curves(rows, metric)][:_PATHS]
    return pd.concat(parts) if parts else rows[:0]
