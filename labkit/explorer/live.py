"""Figures in a page: they survive a reload, change in place, and thin long series to what can be seen."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import traitlets
from numpy.typing import NDArray

from labkit.figures import style
from labkit.figures.iterations import thin

POINTS = 3000  # of a line; a page is at most 1920 px wide


@cache
def _program() -> bytes:
    """Plotly's program for a page, 5 MB."""
    return str(go.FigureWidget._esm).encode()


def _plotly() -> Any:
    """Plotly's own figure for a page.

    It brings nbformat and jsonschema, and this a grammar of international addresses that takes more than a second to
    read and that nobody asks for here: left out, as where it is not installed.
    """
    grammar, modules = "rfc3987_syntax", sys.modules
    if grammar in modules:
        return go.FigureWidget
    modules[grammar] = None  # type: ignore[assignment]
    try:
        return go.FigureWidget
    finally:
        del modules[grammar]


class LiveFigure(_plotly()):  # type: ignore[misc]
    """A FigureWidget that tells a page that comes back what it shows now; plotly's own tells what it showed first.

    A page gets plotly's program once, by ``live.js``; plotly's own figures bring it once each, and give up after two
    seconds.
    """

    _esm = Path(__file__).with_name("live.js")
    _told = traitlets.Int(0).tag(sync=True)  # times that a page asked for the state

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._drawn: dict[str, Any] = {}  # ranges of the axes as the figure has them
        self.on_msg(self._asked)

    def zoom(self, name: str) -> Any:
        """Range of an axis that the reader chose; None for that of the figure or of plotly, which grow with points."""
        own = self.layout[name].to_plotly_json()
        ends, drawn = own.get("range"), self._drawn.get(name)
        same = ends is None or (drawn is not None and list(ends) == list(drawn))
        return None if same or own.get("autorange") else ends

    def _asked(self, widget: Any, content: Any, buffers: Any) -> None:
        """Answer a page."""
        question = content.get("ask") if isinstance(content, dict) else None
        if question == "program":
            self.send({}, [_program()])
        elif question == "state":
            self._trait_values["_told"] = self._told + 1  # no message of its own: the state carries it
            self.send_state()

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> Any:
        """State for the page; complete when all of it is asked for."""
        if key is None and getattr(self, "_data", None) is not None and "_widget_data" in self._trait_values:
            held = self._trait_values
            held["_widget_data"] = [dict(trace) for trace in self._data]
            held["_widget_layout"] = dict(self._layout_obj._props)
            for name in self.traits():
                if name.startswith(("_py2js_", "_js2py_")):
                    held[name] = None
        return super().get_state(key, drop_defaults)


def blank(height: int) -> LiveFigure:
    """A figure without points."""
    # below the buttons, and by the page and not by the axes: plotly forgets those when the page gets wider
    legend = {"yref": "container", "y": 1 - 30 / height, "yanchor": "top"}
    made = LiveFigure(
        layout={"template": go.layout.Template(style.TEMPLATE), "height": height, "autosize": True, "legend": legend}
    )
    made._config = {**style.CONFIG, "showSendToCloud": False}
    made.update_layout(xaxis={"visible": False}, yaxis={"visible": False})
    return made


def redraw(held: LiveFigure, figure: go.Figure, *, keep_zoom: bool = False) -> None:
    """Make a figure in the page show another one, changing no more than differs.

    Parameters
    ----------
    held : in the page.
    figure : to show.
    keep_zoom : leave the ranges of the axes as the reader set them.
    """
    same = [(t.name, t.type) for t in held.data] == [(t.name, t.type) for t in figure.data]
    if not same:
        held.data = ()  # first, so that the page does not draw these once more under other axes
    with held.batch_update():
        if same:
            for old, new in zip(held.data, figure.data, strict=True):
                before, after = old.to_plotly_json(), new.to_plotly_json()
                for name in before.keys() | after.keys():
                    if name != "uid" and not _same(before.get(name), after.get(name)):
                        old[name] = after.get(name)
        layout = figure.layout.to_plotly_json()
        layout.pop("template", None)
        zoom = {name: held.zoom(name) for name in ("xaxis", "yaxis")} if keep_zoom else {}
        for name in ("xaxis", "yaxis"):  # each at once: plotly refuses a part of what the same message replaces
            ends = {"range": zoom[name]} if zoom.get(name) is not None else {}
            axis = layout.pop(name, {})
            held._drawn[name] = axis.get("range")
            held.layout[name] = axis | {"visible": True} | ends
        for name in ("shapes", "annotations"):
            held.layout[name] = layout.pop(name, None)
        layout.pop("legend", None)
        held.update_layout(layout)
    if not same:
        held.add_traces([trace.to_plotly_json() for trace in figure.data])


def _same(one: Any, other: Any) -> bool:
    """Whether two properties of a trace are equal; plotly would look at every one of them more slowly."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)
    return bool(one == other)


class Long:
    """Long series of which a figure holds only what can be seen: least and greatest value of each stretch.

    Parameters
    ----------
    lines : name → values, in order.
    points : of each line.
    """

    def __init__(self, lines: dict[str, NDArray[np.float64]], points: int = POINTS) -> None:
        self.lines, self._points = lines, points

    def between(self, low: float, high: float) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Places and values of each line from low to high, with one more on either side; all of them once they fit."""
        found = {}
        for name, y in self.lines.items():
            first, last = max(0, int(np.floor(low)) - 1), min(len(y), int(np.ceil(high)) + 2)
            places, values = thin(y[first:last], self._points)
            found[name] = (places.astype(np.float64) + first, np.asarray(values))
        return found

    def show(self, held: LiveFigure, low: float, high: float) -> None:
        """Put what can be seen between two places into the figure's lines."""
        with held.batch_update():
            for trace, (x, y) in zip(held.data, self.between(low, high).values(), strict=True):
                trace.x, trace.y = x, y
