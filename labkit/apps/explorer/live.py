"""Figures in a page: they survive a reload, change in place, and downsample long series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import traitlets
from numpy.typing import NDArray
from plotly.basedatatypes import Undefined

from labkit.figures import style
from labkit.figures.iterations import thin
from labkit.figures.plotly import raw
from labkit.io import extras

_AXES = ("xaxis", "yaxis")
POINTS = 3000  # of a line; a page is at most 1920 px wide
# at the upper end, placed by the page and not by the axes: plotly forgets those when the page gets wider
_LEGEND = {"yref": "container", "y": 1, "yanchor": "top"}
_BUTTONS = {"orientation": "v"}  # in the right margin: in a row, they would need room above the legend


@cache
def _program() -> bytes:
    """Plotly's program for a page, 5 MB."""
    return str(go.FigureWidget._esm).encode()


def _plotly() -> Any:
    """Plotly's own figure for a page, which loads nbformat and with it jsonschema."""
    with extras.quick():
        return go.FigureWidget


class LiveFigure(_plotly()):  # type: ignore[misc]
    """A FigureWidget that sends a reloaded page its present state; plotly's FigureWidget sends its first state.

    ``live.js`` loads plotly's program once for each page. Plotly's figures load it once each, and give up after two
    seconds.
    """

    _esm = Path(__file__).with_name("live.js")
    _requests = traitlets.Int(0).tag(sync=True)  # number of times that a page requested the state

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._drawn: dict[str, Any] = {}  # ranges of the axes as the figure has them
        self._pressed: Callable[[int, int], None] | None = None
        self._said: Callable[[int, int], str] | None = None
        self._sized: Callable[[int, bool], None] | None = None
        self._brushed: Callable[[list[tuple[int, int]]], None] | None = None
        self.on_msg(self._answer)

    @staticmethod
    def _remove_overlapping_props(input_data: Any, delta_data: Any, prop_path: tuple[Any, ...] = ()) -> list[Any]:
        """Keep every property that labkit set.

        The page reports back how it drew a figure. Plotly removes the reported properties from the figure in Python.
        After a partial update, the page also reports values of unchanged traces. Without this, they would be lost, and
        a reloaded page would draw those traces without them.
        """
        return []

    def zoom(self, name: str) -> Any:
        """Range of an axis that the reader chose; None if figure or plotly chose it: that changes with the data."""
        axis = self.layout[name].to_plotly_json()
        ends, drawn = axis.get("range"), self._drawn.get(name)
        same = ends is None or (drawn is not None and list(ends) == list(drawn))
        return None if same or axis.get("autorange") else ends

    def change(self, traces: Mapping[int, Mapping[str, Any]], layout: Mapping[str, Any]) -> None:
        """Change properties here and, by one message, in the page; plotly's own assignments check each one for 0.1 ms.

        Parameters
        ----------
        traces : number of a trace → properties; None removes one.
        layout : properties of the layout by plotly's paths, of which those that are as they were do nothing.
        """
        for number, properties in traces.items():
            _put(self._data[number], properties)
        found = {path: value for path, value in layout.items() if not _same(_at(self._layout, path), value)}
        for path, value in found.items():
            first, _, last = path.partition(".")
            _put(self._layout.setdefault(first, {}) if last else self._layout, {last or first: value})
        names = dict.fromkeys(name for properties in traces.values() for name in properties)
        styles = {name: [properties.get(name, Undefined) for properties in traces.values()] for name in names}
        if styles or found:
            self._send_update_msg(styles, found, list(traces))
        if found:
            self._dispatch_layout_change_callbacks(found)

    def on_press(self, listener: Callable[[int, int], None]) -> None:
        """Call a function with trace and point whenever Enter is pressed at a point."""
        self._pressed = listener

    def on_say(self, speaker: Callable[[int, int], str]) -> None:
        """Set the function that returns the text beside a point, from trace and point."""
        self._said = speaker

    def on_size(self, listener: Callable[[int, bool], None]) -> None:
        """Call a function with the figure's width in px, and whether the page is narrow, whenever they change."""
        self._sized = listener

    def on_brush(self, listener: Callable[[list[tuple[int, int]]], None]) -> None:
        """Call a function with the trace and point of each point inside a drawn box; none if the box is removed."""
        self._brushed = listener

    def _answer(self, widget: Any, content: Any, buffers: Any) -> None:
        """Answer a request of the page."""
        question = content.get("ask") if isinstance(content, dict) else None
        if question == "program":
            self.send({}, [_program()])
        elif question == "state":
            self._trait_values["_requests"] = self._requests + 1  # no separate message: the state carries it
            self.send_state()
        elif question == "press" and self._pressed is not None:
            self._pressed(int(content["curve"]), int(content["point"]))
        elif question == "size" and self._sized is not None:
            self._sized(int(content["width"]), bool(content["narrow"]))
        elif question == "brush" and self._brushed is not None:
            self._brushed([(int(curve), int(point)) for curve, point in content["points"]])
        elif question == "say":
            place = int(content["curve"]), int(content["point"])
            text = self._said(*place) if self._said is not None and place[0] < len(self.data) else ""
            self.send({"said": text, "curve": place[0], "point": place[1]})

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> Any:
        """State for the page; brought up to date if all of it is requested."""
        if key is None and getattr(self, "_data", None) is not None and "_widget_data" in self._trait_values:
            values = self._trait_values
            values["_widget_data"] = [dict(trace) for trace in self._data]
            values["_widget_layout"] = dict(self._layout_obj._props)
            for name in self.traits():
                if name.startswith(("_py2js_", "_js2py_")):
                    values[name] = None
        return super().get_state(key, drop_defaults)


def blank(height: int) -> LiveFigure:
    """A figure without points."""
    template = go.layout.Template(style.TEMPLATE)
    made = LiveFigure(
        layout={"template": template, "height": height, "autosize": True, "legend": _LEGEND, "modebar": _BUTTONS}
    )
    made._config = {**style.CONFIG, "showSendToCloud": False, "modeBarButtonsToAdd": ["select2d"]}
    made.update_layout(xaxis={"visible": False}, yaxis={"visible": False})
    return made


def redraw(target: LiveFigure, figure: go.Figure, *, keep_zoom: bool = False) -> None:
    """Make a figure in the page show another figure; change only what differs.

    Parameters
    ----------
    target : figure in the page.
    figure : figure to show.
    keep_zoom : leave the ranges of the axes as the reader set them.
    """
    shown, drawn = target._data, raw(figure)[0]
    same = [(t.get("name"), t["type"]) for t in shown] == [(t.get("name"), t["type"]) for t in drawn]
    if not same:
        target.data = ()  # first, so that the page does not draw them again with other axes
    layout, steps = _layout(target, figure, keep_zoom), {}
    if not same:  # steps of these data would be millions on an axis that still has the range of others
        steps = {f"{name}.dtick": layout[name].pop("dtick") for name in _AXES if "dtick" in layout[name]}
    target.change(_changes(shown, drawn) if same else {}, layout)
    if not same:
        target.add_traces([trace.to_plotly_json() for trace in figure.data])
        target.change({}, steps)


def _changes(shown: list[dict[str, Any]], drawn: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Number of a trace → its properties that differ; None for one that is no longer there."""
    found: dict[int, dict[str, Any]] = {}
    for number, (before, after) in enumerate(zip(shown, drawn, strict=True)):
        names = [name for name in before.keys() | after.keys() if name != "uid"]
        other = {name: after.get(name) for name in names if not _same(before.get(name), after.get(name))}
        if other:
            found[number] = other
    return found


def _layout(target: LiveFigure, figure: go.Figure, keep_zoom: bool) -> dict[str, Any]:
    """What a figure in the page takes over of another figure's layout, by plotly's paths."""
    layout: dict[str, Any] = figure.layout.to_plotly_json()
    layout.pop("template", None)
    layout.pop("legend", None)
    for name in _AXES:  # whole axes: plotly refuses a change of a part of what the same message replaces
        zoom = target.zoom(name) if keep_zoom else None
        axis = layout.pop(name, {})
        target._drawn[name] = axis.get("range")
        layout[name] = axis | {"visible": True} | ({} if zoom is None else {"range": zoom})
    empty = {"shapes": None, "annotations": None}
    return empty | layout


def _put(place: dict[str, Any], properties: Mapping[str, Any]) -> None:
    """Set properties; None removes one."""
    for name, value in properties.items():
        if value is None:
            place.pop(name, None)
        else:
            place[name] = value


def _at(layout: Mapping[str, Any], path: str) -> Any:
    """Value of a layout at a path of one or two names."""
    first, _, last = path.partition(".")
    return layout.get(first, {}).get(last) if last else layout.get(first)


def _same(before: Any, after: Any) -> bool:
    """Whether two properties of a trace are equal; plotly would look at every one of them more slowly."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(_same(before[key], after[key]) for key in before)
    if isinstance(before, np.ndarray) or isinstance(after, np.ndarray):
        return type(before) is type(after) and np.array_equal(before, after, equal_nan=before.dtype.kind == "f")
    return bool(before == after)


class Long:
    """Long series that a figure downsamples to the smallest and largest value of each interval.

    Parameters
    ----------
    lines : name → values, in order.
    points : points of each line.
    """

    def __init__(self, lines: dict[str, NDArray[np.float64]], points: int = POINTS) -> None:
        self.lines, self._points = lines, points

    def between(self, low: float, high: float) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Places and values of each line from low to high and one more on either side; all values if they fit."""
        stretches = {}
        for name, y in self.lines.items():
            first, last = max(0, int(np.floor(low)) - 1), min(len(y), int(np.ceil(high)) + 2)
            places, values = thin(y[first:last], self._points)
            stretches[name] = (places.astype(np.float64) + first, np.asarray(values))
        return stretches

    def show(self, figure: LiveFigure, low: float, high: float) -> None:
        """Set the figure's lines to the downsampled values between two places."""
        with figure.batch_update():
            for trace, (x, y) in zip(figure.data, self.between(low, high).values(), strict=True):
                trace.x, trace.y = x, y
