"""Campaigns side by side: one or two plots, each with its own metric, statistic and axes."""

from __future__ import annotations

import dataclasses
import html
from typing import Any

import ipywidgets as widgets

from labkit.columns import METRICS
from labkit.errors import LabkitError
from labkit.explorer import live, store, view
from labkit.explorer.session import Chosen, Session
from labkit.explorer.view import HEIGHT, SIZE, View
from labkit.figures.lines import HEADLINE
from labkit.notes import joined

TITLE, PLACE, ORDER = "Compare", "main", 0
PUBLISHED = "published numbers of this benchmark and metric, against message size"
_SCALES = {"fitting": None, "logarithmic": True, "linear": False}


def build(session: Session) -> Any:
    """The panel."""
    chosen = widgets.VBox(layout={"max_height": "108px", "overflow": "auto", "width": "auto", "display": "block"})
    chosen.add_class("lab-campaigns")
    second = widgets.Checkbox(description="second plot", indent=False, layout={"width": "auto"}).add_class("lab-second")
    lock = widgets.Checkbox(description="same scales", indent=False, disabled=True, layout={"width": "auto"}).add_class(
        "lab-lock"
    )
    anew = widgets.Button(description="Look again", tooltip="read new campaigns", icon="refresh")
    note = widgets.HTML().add_class("lab-text")
    plots = [_Plot(session, "A"), _Plot(session, "B")]
    plots[1].shown = False

    def offered() -> None:
        names = list(dict.fromkeys([*session.campaigns, *store.names()]))
        shown = session.campaigns
        boxes = [
            widgets.Checkbox(value=name in shown, description=name, indent=False, layout={"width": "auto"})
            for name in names
        ]
        for box in boxes:
            box.observe(picked, "value")
        chosen.children = boxes
        note.value = "" if names else "There is no campaign yet. Measure one, or add one."
        session.tell("data")

    def picked(change: Any) -> None:
        session.campaigns = [box.description for box in chosen.children if box.value]
        session.tell("data")

    def both(change: Any) -> None:
        plots[1].shown = second.value
        lock.disabled = not second.value
        plots[1].refresh()
        page.children = (*top, *(plot.widget for plot in plots if plot.shown))

    def locked(change: Any = None) -> None:
        if lock.value and second.value:
            plots[1].follow(plots[0])
        elif change is not None and change.owner is lock:
            plots[1].refresh()

    anew.on_click(lambda button: session.tell("campaigns"))
    second.observe(both, "value")
    lock.observe(locked, "value")
    session.on("campaigns", offered)
    session.on("view", locked)
    plots[0].figure.layout.on_change(lambda layout, *ends: locked(), "xaxis.range", "yaxis.range")
    row = widgets.HBox(
        [
            widgets.VBox([chosen, _adder(session)], layout={"flex": "1 1 0%", "min_width": "200px"}),
            widgets.VBox([anew, second, lock]),
        ]
    )
    top = [widgets.Label("campaigns, newest first"), row, note]
    page = widgets.VBox([*top, plots[0].widget])  # a figure that is hidden when it is made stays empty
    return page


def _adder(session: Session) -> Any:
    """Make the fields that add a campaign from elsewhere, or results of other programs."""
    place = widgets.Text(placeholder="folder, archive, or output of OMB or IMB", layout={"width": "300px"})
    bring = widgets.Button(description="Add", tooltip="show a campaign, or results of OMB or IMB", icon="plus")
    why = widgets.HTML().add_class("lab-why")

    def brought(button: Any) -> None:
        why.value = ""
        try:
            session.add(store.brought(place.value.strip()))
            place.value = ""
        except LabkitError as error:
            why.value = html.escape(str(error))

    bring.on_click(brought)
    return widgets.VBox([widgets.HBox([place.add_class("lab-add-place"), bring.add_class("lab-add")]), why])


class _Plot:
    """One plot and the fields that choose its content."""

    def __init__(self, session: Session, letter: str) -> None:
        self._session, self._letter, self._busy, self.shown = session, letter, False, True
        session.views[letter] = View()
        self._chosen: dict[str, Any] = {
            "statistic": HEADLINE
        }  # what the reader chose, also while the benchmark lacks it
        narrow = {
            "layout": {"width": "auto", "flex": "1 1 170px", "max_width": "300px"},
            "style": {"description_width": "initial"},
        }
        self.benchmark = widgets.Dropdown(description="benchmark", **narrow)
        self.metric = widgets.Dropdown(description="metric", **narrow)
        self.statistic = widgets.Dropdown(description="statistic", **narrow)
        self.x = widgets.Dropdown(description="across", **narrow)
        self.x_log = widgets.Dropdown(description="→ scale", options=list(_SCALES), **narrow)
        self.y_log = widgets.Dropdown(description="↑ scale", options=list(_SCALES), **narrow)
        self.published = widgets.Checkbox(description="published", indent=False, layout={"width": "auto"})
        self.why = widgets.HTML().add_class("lab-why")
        self.figure = session.figures[letter] = live.blank(HEIGHT)
        self._fields = {
            "benchmark": self.benchmark,
            "metric": self.metric,
            "statistic": self.statistic,
            "x": self.x,
            "x_log": self.x_log,
            "y_log": self.y_log,
            "published": self.published,
        }
        for name, field in self._fields.items():
            field.add_class(f"lab-{name.replace('_', '-')}-{letter}")
            field.observe(self._picked, "value")
        row = widgets.HBox(list(self._fields.values()), layout={"flex_flow": "row wrap"})
        self.widget = widgets.VBox([row, self.why, self.figure]).add_class(f"lab-plot-{letter}")
        session.on("data", self.refresh)

    def _picked(self, change: Any) -> None:
        if not self._busy:
            name = next(name for name, field in self._fields.items() if field is change.owner)
            value = _SCALES[change.new] if name in ("x_log", "y_log") else change.new
            changed: dict[str, Any] = {name: value}
            if name in ("metric", "statistic"):
                self._chosen[name] = value
            self._session.views[self._letter] = dataclasses.replace(self._view, **changed)
            self.refresh()

    @property
    def _view(self) -> View:
        return self._session.views[self._letter]

    def _offer(self, field: Any, options: list[tuple[str, str]], value: str) -> None:
        if list(field.options) != options:
            field.options = options
        if options:
            field.value = value

    def refresh(self) -> None:
        """Read the campaigns, offer the choices that they allow, and draw."""
        if not self.shown:
            return
        session, before = self._session, dataclasses.replace(self._view, **self._chosen)
        present = session.benchmarks()
        wanted = before.benchmark
        if session.wanted in present:
            wanted, session.wanted = session.wanted, ""
        benchmark = wanted if wanted in present else (view.first(present))
        try:
            summary = session.store.summary(session.campaigns, benchmark) if benchmark else None
            if summary is None or summary.empty:
                raise LabkitError("Nothing to draw yet. Choose campaigns above, or measure.")
            now = session.views[self._letter] = view.usual(session.campaigns, benchmark, summary, before)
            self._busy = True
            self._offer(self.benchmark, [(name, name) for name in present], benchmark)
            self._offer(self.metric, [(METRICS[m].title, m) for m in view.metrics_of(summary)], now.metric)
            names = view.statistics_offered(summary, now.metric, now.statistic)
            self._offer(self.statistic, names, now.statistic)
            self._offer(self.x, [(view.words(c), c) for c in view.axes_of(summary)], now.x)
            self.published.disabled = not now.beside
            self.published.tooltip = PUBLISHED if now.beside else f"{PUBLISHED}: there are none"
            same = dataclasses.replace(before, campaigns=now.campaigns) == now
            live.redraw(self.figure, now.figure(summary), keep_zoom=same and session.running)
            for trace in self.figure.data:
                if not (trace.meta or {}).get("overlay"):  # nothing was measured there
                    trace.on_click(self._clicked)
            self.why.value = joined(map(html.escape, session.store.unreadable.values()))
        except LabkitError as error:
            self.figure.data = ()
            self.why.value = html.escape(str(error))
        finally:
            self._busy = False
        session.tell("view")

    def _clicked(self, trace: Any, points: Any, state: Any) -> None:
        """Choose the point that was clicked."""
        if not points.xs:
            return
        now = self._view
        summary = self._session.store.summary(self._session.campaigns, now.benchmark)
        x = 0.0 if now.x == SIZE and points.xs[0] < summary[SIZE].min() else float(points.xs[0])
        try:
            row = now.row(summary, trace.name, x)
        except LabkitError as error:
            self.why.value = html.escape(str(error))
            return
        self._session.chosen = Chosen(row.to_dict(), now.metric)
        self._session.tell("point")

    def follow(self, other: _Plot) -> None:
        """Use the scales of another plot."""
        with self.figure.batch_update():
            for name in ("xaxis", "yaxis"):
                axis = other.figure.layout[name]
                self.figure.layout[name].update(type=axis.type, range=axis.range)
