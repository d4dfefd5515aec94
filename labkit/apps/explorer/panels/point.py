"""The samples of one point, and of others pinned beside it: iterations, ranks, host, warnings and command."""

from __future__ import annotations

import html
import math
import shlex
import textwrap
from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from labkit import benchmarks, figures, stats
from labkit.apps.explorer import drawing, leading, live, offers, reading, store
from labkit.apps.explorer.live import Long
from labkit.apps.explorer.offers import Offer, OfferButton
from labkit.apps.explorer.selection import Selection
from labkit.apps.explorer.session import Chosen, Session
from labkit.apps.explorer.view import View
from labkit.errors import LabkitError
from labkit.figures import axes, iterations, looks, style
from labkit.point import notes
from labkit.point.columns import METRICS, SHOWN
from labkit.point.notes import joined, note
from labkit.point.units import format_number, plural
from labkit.read import records
from labkit.read.records import per_rank
from labkit.store.samples import Samples
from labkit.store.samples.facts import COMMAND, LIBRARY

TITLE, PLACE, ORDER = "Point", "beside", 1
HEIGHT = 300  # px
_ROW, _ROWS, _LETTERS = 22, 2, 42  # px of a row of the legend; rows in the usual height; letters of a row
_TICKS = {"nticks": 4, "tickfont": {"size": 11}}  # on a logarithmic axis to the right: the labels of more would overlap
_WIDE = 200  # px of the axis to the right, at least
_ALWAYS = ("p50", "p95", "p99")  # said also where there is none
_VIEWS = ("distribution", "tail", "histogram", "over iterations", "per rank")
_HINT = "Click a point in the plot, or go to one with the arrow keys and press Enter."


def build(session: Session) -> Any:
    """The panel."""
    return _Point(session).widget


class _Point:
    """The samples of the point that was clicked, in one of five views; pinned ones are drawn into the distribution."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._samples: list[Samples] = []
        self._told: tuple[list[Samples], str, str, str] = ([], "", "", "")  # what the facts are about
        self._pinned: list[tuple[Chosen, Samples]] = []
        self._long: Long | None = None
        self.shown = widgets.ToggleButtons(options=_VIEWS, style={"button_width": "auto"}).add_class("lab-views")
        self.launch = widgets.Dropdown(description="launch", layout={"width": "130px"}).add_class("lab-launch")
        self.launch.style.description_width = "initial"
        self.pin = widgets.Button(description="Pin", icon="thumb-tack").add_class("lab-pin")
        self.pins = widgets.VBox().add_class("lab-pins")
        self.name = widgets.HTML().add_class("lab-text")
        self.facts = widgets.HTML(_HINT)
        self.facts.add_class("lab-facts").add_class("lab-text")
        self.meaning = widgets.HTML().add_class("lab-text").add_class("lab-meaning")
        self.at = widgets.HTML().add_class("lab-at").add_class("lab-text")
        self.why, self.note = widgets.HTML().add_class("lab-why"), widgets.HTML().add_class("lab-note")
        self.again = OfferButton(session, "Measure again", "again").add_class("lab-again")
        self.more = OfferButton(session, "Add launches", "more").add_class("lab-more-launches")
        self.figure = live.blank(HEIGHT)
        self.figure.layout.on_change(self._zoomed, "xaxis.range")
        row = widgets.HBox([self.pin, self.launch], layout={"flex_flow": "row wrap"})
        # a figure that is hidden when it is made stays empty, so it comes with the first point
        self._inside = widgets.VBox([row, self.pins, self.shown, self.meaning, self.why, self.figure, self.note])
        self.widget = widgets.VBox([self.facts]).add_class("lab-point-panel")
        self.shown.observe(lambda change: self._draw(), "value")
        self.launch.observe(lambda change: self._draw(), "value")
        self.pin.on_click(lambda button: session.pin(session.chosen) if session.chosen else None)
        session.on("point", self._other)
        session.on("view", self._row)
        session.on("data", self._followed)

    def _other(self) -> None:
        """Show the point that was clicked."""
        chosen = self._session.chosen
        if chosen is None:
            self._samples, self.facts.value, self.widget.children = [], _HINT, (self.facts,)
            return
        try:
            self._samples = _launches(chosen)
            others = [one for one in self._session.pinned if one != chosen]
            self._pinned = [(one, samples) for one in others for samples in _launches(one) if samples.n]
        except LabkitError as error:
            self.facts.value = html.escape(str(error))
            return
        if not self._samples:
            title = html.escape(self._session.title(chosen.key[0]))
            self.facts.value = f"Its samples are no longer in {title}. Press Refresh, under Campaigns."
            self.widget.children = (self.facts,)
            return
        self._row()
        self.pin.description = "Unpin" if chosen in self._session.pinned else "Pin"
        self.pin.tooltip = "keep this point beside those that you click later"
        self.pins.children = [self._pin(one) for one in self._session.pinned]
        numbers = [one.launch for one in self._samples if one.n]
        if numbers:
            self.launch.options = [(str(number), number) for number in numbers]
            self.launch.value = numbers[0]
            self._draw()
        self._offered(chosen)
        measure = (self.more, self.again)
        self.name.value = f"<b>{html.escape(self._title(chosen))}</b>"
        # the figure comes first: it is seen beside the plot without scrolling
        self.widget.children = (self.name, *measure, *((self._inside,) if numbers else ()), self.facts, self.at)

    def _offered(self, chosen: Chosen) -> None:
        """Offer to measure the point again, and the launches that its interval lacks."""
        name, count = str(chosen.row["campaign"]), len(self._samples)
        mine = self._samples[0].origin in ("measured", "reported")
        self.again.propose(offers.again(self._session, self._samples, name) if mine else Offer())
        few = mine and count < stats.LAUNCHES
        self.more.propose(offers.more(self._session, self._samples, name, stats.LAUNCHES) if few else Offer())

    def _followed(self) -> None:
        """Forget a point whose campaign is no longer on show, and read a point again that got launches."""
        session, chosen = self._session, self._session.chosen
        if chosen is None or (session.running and str(chosen.row["campaign"]) in session.campaigns):
            return
        there = str(chosen.row["campaign"]) in session.campaigns
        now = session.point(*chosen.name) if there else None
        if now is None or now.row.get("launches") != chosen.row.get("launches"):
            session.chosen, session.selected = now, ()
            if now is None and (view := session.views.get("A")) is not None and view.metric:
                self._begin(view)
            else:
                session.tell("point")

    def _row(self) -> None:
        """Describe the point in the unit of plot A, with the values of the other lines at the same place."""
        chosen, view = self._session.chosen, self._session.views.get("A")
        if chosen is None and view is not None and view.metric and not self._session.restoring:
            self._begin(view)
            return
        if chosen is None or not self._samples:
            return
        here = view is not None and (view.benchmark, view.metric) == (chosen.row["benchmark"], chosen.metric)
        unit = view.unit if view is not None and here else ""
        about = (self._samples, chosen.metric, unit, self._session.title(chosen.key[0]))
        if self._told[1:] != about[1:] or self._told[0] is not about[0]:  # another statistic of plot A changes nothing
            self._told = about
            self.facts.value = facts(self._samples, chosen.row | {"campaign": about[-1]}, chosen.metric, unit)
        self.at.value = ""
        if view is not None and here:
            summary = self._session.store.summary(self._session.campaigns, view.benchmark)
            self.at.value = reading.at(view, summary, chosen.row)

    def _begin(self, view: View) -> None:
        """Open the first point that the answer above the plot names."""
        summary = self._session.store.summary(self._session.campaigns, view.benchmark)
        first = next(iter(leading.rows(view, summary)), None)
        self._session.chosen = None if first is None else Chosen(first, view.metric)
        self._session.tell("point")

    def _title(self, one: Chosen) -> str:
        """A point in a few words."""
        return reading.title(one.row, self._session.title(one.key[0]))

    def _pin(self, one: Chosen) -> Any:
        """A pinned point, with a button that lets it go."""
        text = self._title(one)
        button = widgets.Button(description=f"× {text}", tooltip=f"unpin {text}", layout={"width": "auto"})
        button.on_click(lambda pressed: self._session.pin(one))
        return button.add_class("lab-pinned")

    def _draw(self) -> None:
        """Draw the chosen view and launch."""
        samples = next((s for s in self._samples if s.launch == self.launch.value), None)
        chosen = self._session.chosen
        if samples is None or chosen is None:
            return
        self._long, self.why.value = None, ""
        self.launch.disabled = self.shown.value in ("distribution", "tail", "per rank")
        metrics = benchmarks.get(samples.spec.benchmark).metrics
        metric = chosen.metric if chosen.metric in metrics else next(iter(metrics))
        whole = self.shown.value in ("over iterations", "per rank")
        self.meaning.value = html.escape(reading.meaning(samples.spec, "")) if whole else ""
        try:
            if self.shown.value == "distribution":
                drawn = self._distribution(chosen, metric)
            elif self.shown.value == "tail":
                drawn = figures.tail(self._samples, metric)
            elif self.shown.value == "per rank":
                drawn = figures.per_rank(self._samples)
            elif self.shown.value == "histogram":
                drawn = histogram(samples, metric)
            else:
                drawn, self._long = over_iterations(samples)
        except LabkitError as error:
            self.why.value, self.figure.data = html.escape(str(error)), ()
            return
        beyond = _body(drawn) if self.shown.value == "distribution" else ""
        self.note.value = html.escape(joined((drawing.apart(drawn), beyond)))
        drawn.update_layout(width=None, height=HEIGHT + _ROW * max(0, _rows(drawn) - _ROWS))
        if self.shown.value in ("distribution", "tail") and not self._pinned:
            drawn.update_layout(showlegend=False)  # the room is small, and the text at a line names its launch
        if drawn.layout.xaxis.type == "log":
            drawn.layout.xaxis.update(_TICKS)
        live.redraw(self.figure, drawing.brief(drawn, asks=False))

    def _distribution(self, chosen: Chosen, metric: str) -> go.Figure:
        """Draw the distribution of the point that was clicked, with those of the pinned ones."""
        every = [*((chosen, samples) for samples in self._samples), *self._pinned]
        names = [self._session.title(one.key[0]) for one, _ in every]
        drawn = figures.distribution([samples for _, samples in every], metric, of=names if len(set(names)) > 1 else ())
        return _by_point(drawn) if self._pinned else drawn

    def _zoomed(self, layout: Any, ends: Any) -> None:
        """Show the iterations in the zoomed range, as many as fit."""
        if self._long is not None and ends is not None and len(self.figure.data) == len(self._long.lines):
            self._long.show(self.figure, *ends)


def _body(figure: go.Figure) -> str:
    """Show the marked percentiles and twice as far; return where the rest is, if there is any."""
    values, marks = (
        [x for trace in figure.data if trace.mode == mode for x in trace.x if 0 < x < math.inf]  # on a logarithmic axis
        for mode in ("lines", "markers")
    )
    if not values or not marks:
        return ""
    low, high = max(min(values), min(marks) / 2), min(max(values), max(marks) * 2)
    if (low, high) == (min(values), max(values)):
        return ""
    low, high = low * 0.9, high * 1.1
    step = axes.step(low, high, _WIDE, upward=False, fixed=True)
    figure.update_xaxes(range=[math.log10(low), math.log10(high)], dtick=step)
    return "a few iterations lie beyond the axis: double-click the plot, or open the tail"


def _by_point(figure: go.Figure) -> go.Figure:
    """Draw all launches of a point in one colour, with one entry in the legend; the figure is changed."""
    launches: dict[str, list[go.Scatter]] = {}
    for trace in figure.data:
        launches.setdefault(trace.name.rpartition("launch ")[0].rstrip(", "), []).append(trace)
    for number, (name, traces) in enumerate(launches.items()):
        colour = looks.COLOURS[number % len(looks.COLOURS)]
        lines = [trace for trace in traces if trace.mode == "lines"]
        for trace in traces:
            trace.update(legendgroup=name, showlegend=trace is lines[0])
            if trace.mode == "lines":
                trace.line.color = colour
            else:
                trace.marker.update(color=colour, line_color=colour)
        words = f"{html.unescape(name)}: {plural(len(lines), 'launch')}"
        lines[0].name = "<br>".join(map(style.plain, textwrap.wrap(words, _LETTERS)))
    return figure


def _rows(figure: go.Figure) -> int:
    """Rows of a legend whose names are long enough for one or more rows each; 0 of a legend of short ones."""
    names = [trace.name for trace in figure.data if trace.showlegend and len(trace.name) > _LETTERS // 2]
    return sum(name.count("<br>") + 1 for name in names)


def _launches(point: Chosen) -> list[Samples]:
    """All launches of a point."""
    return store.launches(*(point.row[name] for name in ("campaign", "benchmark", "fingerprint")))


def facts(launches: list[Samples], row: dict[str, Any], metric: str, unit: str = "") -> str:
    """Table of a point, as HTML: each statistic of the metric with its interval, host, library, badges, warnings."""
    first, n = launches[0], sum(one.n for one in launches)
    cpu = str(first.host.get("cpu_model") or "")
    warnings = notes.once(one.warnings for one in launches)
    short = {
        "point": benchmarks.label(first.spec),
        "campaign": f"{row['campaign']} ({first.origin})",
        **_statistics(row, metric, unit),
        "samples": f"{f'n = {n:,} in ' if n else ''}{len(launches)} {'launch' if len(launches) == 1 else 'launches'}",
        "in brackets": str(row.get("headline") or ""),
        "based on": str(row.get("basis") or ""),
        "counts": reading.meaning(first.spec, metric, unit),
        "transport": row["transport"],
        "testbed": first.spec.testbed if first.spec.testbed != "local" else "",
        "badges": notes.joined(notes.once(one.badges for one in launches)) or "none",
    }
    more = {
        "warnings": notes.joined(warnings) or "none",
        "host": ", ".join(text for text in (str(row.get("host") or ""), cpu) if text),
        "library": str(LIBRARY.of(first.meta) or ""),
    }
    count = f"{plural(len(warnings), 'warning')}, host and command"
    return f"{_table(short)}<details><summary>{count}</summary>{_table(more)}{_command(first)}</details>"


def _table(lines: Mapping[str, str]) -> str:
    """Names and texts as a table, as HTML; without those that are empty."""
    cells = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
        for name, text in lines.items()
        if text
    )
    return f"<table>{cells}</table>"


def _statistics(row: dict[str, Any], metric: str, unit: str) -> dict[str, str]:
    """Statistics of a metric with the range of their interval, or the reason why a percentile is missing."""
    statistics = {}
    for name in SHOWN:
        value = records.value_of(row, metric, name).in_unit(unit)
        if not math.isnan(value.value):
            interval = "" if math.isnan(value.low) else f" ({value.range})"
            statistics[value.words] = f"{value.text} {unit or value.unit}{interval}"
        elif name in _ALWAYS:
            statistics[value.words] = f"none: {records.why_not(row, metric, name)}"
    return statistics


def _command(first: Samples) -> str:
    """Command that produced the point, as HTML."""
    if first.origin in ("measured", "reported"):
        text = f"labkit {shlex.join(Selection.of(first).words())}"
    else:
        text = (shlex.join(COMMAND.of(first.meta)) or first.source)[:2000]
    return f"<pre class='lab-command'>{html.escape(text)}</pre>" if text else ""


def histogram(samples: Samples, metric: str) -> go.Figure:
    """Draw how many iterations of a launch fall into each of at most 80 ranges up to the 99.5th percentile.

    Raises
    ------
    DataError
        If there are no samples, or no such metric.
    """
    values = records.values(samples, metric)
    low, high = float(values.min()), float(np.quantile(values, 0.995))
    edges = _edges(values, low, high, 80 if len(values) > 400 else 30)
    counts, _ = np.histogram(values, edges)
    beyond, column = int((values > edges[-1]).sum()), METRICS[metric]
    figure = go.Figure(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts,
            width=np.diff(edges),
            marker={"color": looks.COLOURS[0]},
            name=f"launch {samples.launch}",
            **style.hover(
                [f"%{{middle}} {column.unit}: %{{y:,}} iterations"],
                middle=[format_number(float(x)) for x in (edges[:-1] + edges[1:]) / 2],
            ),
        )
    )
    small = f"n={len(values):,}"
    more = f"{beyond} above {format_number(float(edges[-1]), column.unit)} are not shown"
    kept = per_rank.retention(samples, "the time of an iteration comes from all ranks and is exact")
    figure.update_layout(
        xaxis={"title": {"text": column.title}, "type": "linear"},
        yaxis={"title": {"text": "iterations"}, "rangemode": "tozero"},
        bargap=0,
        showlegend=False,
    )
    return style.finish(figure, note("n", small), note("beyond", more), note("kept", kept))


def _edges(values: NDArray[np.float64], low: float, high: float, most: int) -> NDArray[np.float64]:
    """Ends of equal ranges between two values; their width is a multiple of the clock's step, so that none is empty."""
    if not high > low:
        return np.linspace(low, low + max(abs(low), 1e-9) * 0.01, most + 1)
    steps = np.diff(np.unique(values[values <= high]))
    step = float(np.median(steps[steps > steps.max() * 1e-6]))
    if (high - low) / step > 50 * most:  # fine enough not to show
        return np.linspace(low, high, most + 1)
    width = step * np.ceil((high - low) / step / most)
    return np.asarray(low - step / 2 + width * np.arange(np.ceil((high - low + step) / width) + 1))


def over_iterations(samples: Samples) -> tuple[go.Figure, Long]:
    """Draw the time of each iteration, downsampled, and return the series that refine it on zoom.

    Raises
    ------
    DataError
        If there are no samples.
    """
    figure = figures.over_iterations(samples, points=live.POINTS)
    lines = iterations.ranks_or_envelope(samples)
    long = Long(lines, max(400, live.POINTS // len(lines)))
    for trace, (x, y) in zip(figure.data, long.between(0, samples.n).values(), strict=True):
        trace.x, trace.y = x, y
    return figure, long
