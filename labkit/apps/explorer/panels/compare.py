"""Points of the campaigns on show: one or two plots, each with its own metric, statistic and axes."""

from __future__ import annotations

import dataclasses
import html
from typing import Any

import ipywidgets as widgets
import pandas as pd

from labkit.apps.explorer import drawing, live, relation, view
from labkit.apps.explorer.folds import Folds
from labkit.apps.explorer.session import Chosen, Session
from labkit.apps.explorer.view import HEIGHT, SIZE, View
from labkit.errors import LabkitError
from labkit.figures.lines import HEADLINE
from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.units import OTHER_UNITS
from labkit.read.records.factors import level
from labkit.store import campaign

TITLE, PLACE, ORDER = "Plot", "main", 0
PUBLISHED = "published numbers of this benchmark and metric, against message size"
BOUNDS = "what the path of these points allows at most, against message size"
NO_BOUND = "no bound is known for these points: the panel Bounds says why"
_WIDTH = 660  # px of a figure until the page says how wide it is
_SCALES = {"automatic": None, "logarithmic": True, "linear": False}
_RELATIONS = [("values", ""), ("ratio to", "ratio"), ("difference from", "difference")]
_FOLDED = ("x_log", "y_log", "by")
_WORDS = {
    "x": "x axis",
    "x_log": "x scale",
    "y_log": "y scale",
    "by": "group by",
    "relation": "show",
    "base": "relative to",
}
_ABOUT = {
    "benchmark": "benchmark of the points that are drawn",
    "metric": "what was measured",
    "statistic": "statistic over the iterations of a point: the median, a percentile, the maximum",
    "unit": "unit of the y axis",
    "x": "parameter on the x axis",
    "x_log": "linear or logarithmic; automatic takes what suits the parameter",
    "y_log": "linear or logarithmic; automatic takes what suits the metric",
    "by": "setting that comes first in the names of the lines, and in their order",
    "relation": "draw the values, or each value divided by a reference, or minus a reference",
    "base": "reference of ratios and differences: a campaign, or a level of a setting such as transport=shm",
    "filter": "setting of which only some levels are drawn",
}


def build(session: Session) -> Any:
    """The panel."""
    second = widgets.Checkbox(description="second plot", indent=False, layout={"width": "auto"}).add_class("lab-second")
    lock = widgets.Checkbox(description="same scales", indent=False, disabled=True, layout={"width": "auto"}).add_class(
        "lab-lock"
    )
    plots = [_Plot(session, "A"), _Plot(session, "B")]
    plots[1].shown = False

    def both(change: Any) -> None:
        session.second = plots[1].shown = second.value
        lock.disabled = not second.value
        plots[1].refresh()
        session.remember()
        page.children = (*(plot.widget for plot in plots if plot.shown), below)

    def locked(change: Any = None) -> None:
        if lock.value and second.value:
            plots[1].follow(plots[0])
        elif change is not None and change.owner is lock:
            plots[1].refresh()

    def restored() -> None:
        second.value = session.second

    back = widgets.Button(description="Undo", tooltip="show what was shown before (Ctrl+Z)").add_class("lab-undo")
    again = widgets.Button(description="Redo", tooltip="take back the undo (Ctrl+Shift+Z)").add_class("lab-redo")

    def noted() -> None:
        undone, redone = session.steps
        back.disabled, again.disabled = not undone, not redone

    back.on_click(lambda button: session.undo())
    again.on_click(lambda button: session.redo())
    session.on("state", noted)
    second.observe(both, "value")
    lock.observe(locked, "value")
    session.on("view", locked)
    session.on("campaigns", restored)
    plots[0].figure.layout.on_change(lambda layout, *ends: locked(), "xaxis.range", "yaxis.range")
    below = widgets.HBox([back, again, second, lock], layout={"flex_flow": "row wrap"})
    page = widgets.VBox([plots[0].widget, below])  # a figure that is hidden when it is made stays empty
    return page


class _Plot:
    """One plot and the fields that choose its content."""

    def __init__(self, session: Session, letter: str) -> None:
        self._session, self._letter, self._busy, self.shown = session, letter, False, True
        self._size = (_WIDTH, False)
        session.views[letter] = View()
        # what the reader chose, also while the benchmark lacks it
        self._chosen: dict[str, Any] = {"statistic": HEADLINE}
        names = ("benchmark", "metric", "statistic", "unit", "x", "x_log", "y_log", "by", "relation", "base")
        self._fields: dict[str, Any] = {name: _dropdown(name) for name in names}
        for name, about in (("published", PUBLISHED), ("bounds", BOUNDS)):
            box = widgets.Checkbox(description=name, tooltip=about, indent=False, layout={"width": "auto"})
            self._fields[name] = box
        for name in ("x_log", "y_log"):
            self._fields[name].options = list(_SCALES)
        self._fields["relation"].options = _RELATIONS
        for name, field in self._fields.items():
            field.add_class(f"lab-{name.replace('_', '-')}-{letter}")
            field.observe(self._picked, "value")
        self._fields["benchmark"].add_class("lab-wide")
        self.filter = _Filter(self._filtered)
        self.why, self.note = widgets.HTML().add_class("lab-why"), widgets.HTML().add_class("lab-note")
        self.figure = session.figures[letter] = live.blank(HEIGHT)
        more = [*(self._fields[name] for name in _FOLDED), self.filter.column]
        boxes = widgets.HBox([self._fields["published"], self._fields["bounds"]], layout={"flex_flow": "row wrap"})
        first = [field for name, field in self._fields.items() if name not in (*_FOLDED, "published", "bounds")]
        rows = [widgets.VBox(fields).add_class("lab-fields") for fields in ([*first, boxes], more)]
        folds = Folds([widgets.VBox([rows[1], self.filter.widget])], ["scales, groups and filter"])
        self.widget = widgets.VBox([rows[0], folds, self.why, self.figure, self.note])
        self.widget.add_class(f"lab-plot-{letter}")
        self.figure.on_press(self._pressed)
        self.figure.on_say(self._said)
        self.figure.on_size(self._sized)
        if letter == "A":  # the table shows plot A
            self.figure.on_brush(self._brushed)
        session.on("data", self.refresh)
        session.on("point", self._mark)

    def __getattr__(self, name: str) -> Any:
        """A field by its name."""
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(name)

    def _picked(self, change: Any) -> None:
        if not self._busy:
            name = next(name for name, field in self._fields.items() if field is change.owner)
            value = _SCALES[change.new] if name in ("x_log", "y_log") else change.new
            if name in ("metric", "statistic"):
                self._chosen[name] = value
            self._set(**{name: value})

    def _filtered(self, where: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        if not self._busy:
            self._set(where=where)

    def _set(self, **changed: Any) -> None:
        """Change the view, and draw it."""
        self._session.views[self._letter] = dataclasses.replace(self._view, **changed)
        self.refresh()
        self._session.remember()

    @property
    def _view(self) -> View:
        return self._session.views[self._letter]

    def _offer(self, name: str, options: list[tuple[str, str]], value: str) -> None:
        field = self._fields[name]
        if list(field.options) != options:
            field.options = options
        if options:
            field.value = value

    def refresh(self) -> None:
        """Read the campaigns, offer the choices that they allow, and draw."""
        if not self.shown:
            return
        session = self._session
        if session.restoring and self._view.metric:
            self._chosen = {"statistic": self._view.statistic, "metric": self._view.metric}
        before = dataclasses.replace(self._view, **self._chosen)
        present = session.benchmarks()
        wanted = before.benchmark
        if session.wanted in present:
            wanted, session.wanted = session.wanted, ""
        benchmark = wanted if wanted in present else (view.first(present))
        try:
            summary = session.store.summary(session.campaigns, benchmark) if benchmark else None
            if summary is None or summary.empty:
                raise LabkitError("Nothing to draw yet. Choose campaigns, or measure.")
            now = session.views[self._letter] = view.usual(session.campaigns, benchmark, summary, before)
            self._busy = True
            self._offer_all(present, summary, now)
            same = dataclasses.replace(before, campaigns=now.campaigns) == now
            drawn = drawing.marked(session.figure(now, summary, hover=False), self._places(summary, now))
            unbounded = now.bounds and now.bounded and not session.limits(now, summary)
            notes = [view.replaced(before, now), drawing.apart(drawn), *[NO_BOUND] * unbounded]
            drawing.fitted(drawn, self._size[0], narrow=self._size[1])
            self.note.value = html.escape(joined(filter(None, notes)))
            live.redraw(self.figure, drawing.brief(drawn), keep_zoom=same and session.running)
            for trace in self.figure.data:
                trace.on_click(self._clicked)
            texts = [*session.store.lost.values(), *session.store.unreadable.values()]
            self.why.value = joined(map(html.escape, texts))
        except LabkitError as error:
            self.figure.data, self.note.value = (), ""
            session.views[self._letter] = dataclasses.replace(self._view, metric="")  # it shows nothing
            self.why.value = joined(map(html.escape, [*session.store.lost.values(), str(error)]))
        finally:
            self._busy = False
        session.tell("view")

    def _offer_all(self, present: list[str], summary: pd.DataFrame, now: View) -> None:
        """Offer the choices that the data allow."""
        self._offer("benchmark", [(name, name) for name in present], now.benchmark)
        self._offer("metric", [(METRICS[m].title, m) for m in view.metrics_of(summary)], now.metric)
        names = view.statistics_offered(summary, now.metric, now.statistic)
        self._offer("statistic", names, now.statistic)
        unit = METRICS[now.metric].unit if now.metric else ""
        self._offer("unit", [(unit, ""), *((name, name) for name in OTHER_UNITS.get(unit, ()))], now.unit)
        self._offer("x", [(view.words(c), c) for c in view.axes_of(summary)], now.x)
        columns = view.differing_columns(summary)
        self._offer("by", [("nothing", ""), *((view.words(name), name) for name in columns)], now.by)
        bases = relation.bases(summary, columns)
        named = [(self._session.title(name) if name in now.campaigns else name, name) for name in bases]
        self._offer("base", named or [("nothing to compare", "")], now.base)
        self._fields["relation"].disabled = not bases
        self._fields["relation"].value = now.relation
        self._fields["base"].disabled = not now.relation
        for name in ("x_log", "y_log"):
            self._fields[name].value = next(word for word, log in _SCALES.items() if log is getattr(now, name))
        self._fields["unit"].disabled = now.relation == "ratio"
        self._fields["statistic"].disabled = bool(now.relation)  # a comparison is one of medians
        for name, possible in (("published", bool(now.beside(summary))), ("bounds", now.bounded)):
            field, about = self._fields[name], PUBLISHED if name == "published" else BOUNDS
            field.value, field.disabled = getattr(now, name), not possible
            field.tooltip = about if possible else f"{about}: there are none"
        self.filter.offer(summary, columns, now)

    def _places(self, summary: pd.DataFrame, now: View) -> list[tuple[float, float]]:
        """Places of the points that are looked into, as far as this plot has them."""
        return [place for one in self._session.marked if (place := now.place(summary, one.row))]

    def _summary(self) -> pd.DataFrame:
        """Table behind the plot."""
        return self._session.store.summary(self._session.campaigns, self._view.benchmark)

    def _mark(self) -> None:
        """Put the marks at the points that are looked into."""
        marks = [trace for trace in self.figure.data if trace.name == drawing.MARKS]
        if marks and self.shown and self._view.benchmark:
            marks[0].update(drawing.ring(self._places(self._summary(), self._view)))

    def _clicked(self, trace: Any, points: Any, state: Any) -> None:
        """Choose the point that was clicked."""
        if points.xs:
            self._choose(trace, float(points.xs[0]))

    def _pressed(self, curve: int, point: int) -> None:
        """Choose the point that the arrow keys reached."""
        trace = self.figure.data[curve]
        self._choose(trace, trace.x[point])

    def _row(self, trace: Any, place: float | None) -> Any:
        """Row of the summary at a place of the horizontal axis; None if nothing was measured."""
        now = self._view
        if place is None or pd.isna(place) or now.relation or (trace.meta or {}).get("overlay"):
            return None
        summary = self._summary()
        x = 0.0 if now.x == SIZE and place < summary[SIZE].min() else place
        return now.row(summary, trace.name, x)

    def _sized(self, width: int, narrow: bool) -> None:
        """Follow the size of the page."""
        before, self._size = self._size, (width, narrow)
        if before != self._size:
            self.refresh()

    def _brushed(self, points: list[tuple[int, int]]) -> None:
        """Show the points inside a box alone in the table."""
        there = [(self.figure.data[curve], point) for curve, point in points if curve < len(self.figure.data)]
        found = [self._row(trace, trace.x[point]) for trace, point in there]
        self._session.brush((str(row["campaign"]), str(row["fingerprint"])) for row in found if row is not None)

    def _said(self, curve: int, point: int) -> str:
        """The text beside a point; empty if the figure already has this text."""
        trace = self.figure.data[curve]
        row = self._row(trace, trace.x[point])
        return "" if row is None else drawing.said(self._view, trace.name, row.to_dict())

    def _choose(self, trace: Any, place: float | None) -> None:
        """Choose the point of a line at a place of the horizontal axis."""
        try:
            row = self._row(trace, place)
        except LabkitError as error:
            self.why.value = html.escape(str(error))
            return
        if row is not None:
            self._session.choose(Chosen(row.to_dict(), self._view.metric))

    def follow(self, other: _Plot) -> None:
        """Use the scales of another plot."""
        with self.figure.batch_update():
            for name in ("xaxis", "yaxis"):
                axis = other.figure.layout[name]
                self.figure.layout[name].update(type=axis.type, range=axis.range)


def _dropdown(name: str) -> Any:
    """A list of choices."""
    narrow = {"width": "auto", "flex": "1 1 150px"}
    words = _WORDS.get(name, name)
    return widgets.Dropdown(
        description=words, tooltip=_ABOUT.get(name, words), layout=narrow, style={"description_width": "initial"}
    )


class _Filter:
    """Which levels of which columns are on show.

    Parameters
    ----------
    changed : called with `View.where` after every change.
    """

    def __init__(self, changed: Any) -> None:
        self._changed, self._where, self._busy = changed, {}, False  # type: ignore[var-annotated]
        self._summary: pd.DataFrame | None = None
        self._titles: dict[str, str] = {}
        self.column = _dropdown("filter").add_class("lab-filter")
        self.levels = widgets.HBox(layout={"flex_flow": "row wrap"}).add_class("lab-levels")
        self.widget = widgets.VBox([self.levels])
        self.column.observe(lambda change: None if self._busy else self._show(), "value")

    def offer(self, summary: pd.DataFrame, columns: list[str], now: View) -> None:
        """Offer the columns in which the points of a view differ."""
        self._busy, self._where = True, {name: levels for name, levels in now.where if name in summary}
        self._titles = campaign.titles([*now.campaigns, *summary["campaign"].unique()])
        options = [("nothing", "")] + [
            (f"{view.words(name)}{' (filtered)' if name in self._where else ''}", name) for name in columns
        ]
        before = self.column.value if self.column.value in columns else next(iter(self._where), "")
        if list(self.column.options) != options:
            self.column.options = options
        self.column.value = before
        self._busy = False
        if summary is not self._summary or before:
            self._summary = summary
            self._show()

    def _show(self) -> None:
        """Show the levels of the chosen column as boxes."""
        name = self.column.value
        if not name or self._summary is None:
            self.levels.children = ()
            return
        present = list(dict.fromkeys(level(value) for value in self._summary[name]))
        on = self._where.get(name, tuple(present))
        if [box.level for box in self.levels.children] == present:
            boxes = list(self.levels.children)
        else:
            boxes = [self._box(one) for one in present]
        self._busy = True
        for box in boxes:
            box.value = box.level in on
            box.description = self._titles[box.level] if name == "campaign" else box.level
        self._busy = False
        self.levels.children = boxes

    def _box(self, level: str) -> Any:
        """A box that shows or hides a level."""
        box = widgets.Checkbox(indent=False, layout={"width": "auto", "margin": "0 12px 0 4px"})
        box.level = level
        box.observe(self._ticked, "value")
        return box

    def _ticked(self, change: Any) -> None:
        if self._busy:
            return
        boxes = self.levels.children
        chosen = tuple(box.level for box in boxes if box.value)
        where = dict(self._where) | {self.column.value: chosen}
        if len(chosen) == len(boxes):
            del where[self.column.value]
        self._changed(tuple(where.items()))
