"""Give every figure its look: one small template, one palette, one style for each origin of a number.

Plotly's own templates add 6.5 kB to every figure; this one is below 1 kB. Which colour and marker a series has is
decided in `labkit.figures.looks`.
"""

from __future__ import annotations

import copy
import html
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labkit.errors import DataError, unknown_name
from labkit.figures import axes, data, small_print
from labkit.figures.looks import COLOURS, Look, Part
from labkit.figures.plotly import go, raw
from labkit.figures.small_print import LINE
from labkit.point.notes import Note, joined, note
from labkit.point.units import format_count, format_exact, format_number, format_size
from labkit.read.records.aggregate import GIVEN
from labkit.read.records.factors import differing, level, named, text, texts

WIDTH, HEIGHT = 720, 280
CONFIG: Mapping[str, Any] = {"displaylogo": False, "responsive": True}
MIME = "application/vnd.plotly.v1+json"
NOTE = "[interactive figure: see the html report]"
_LETTER, _LEGEND, _SHORT = 6.4, 28, 16  # px of a letter and of a legend; characters
_UPWARD = 6.9  # px of a letter of the title of the upward axis, which is larger
_KEY, _ROW, _GAP = 45, 20, 10  # px of a line in a legend, of a further row of it, and between rows of groups
_PALER = (1.0, 0.55, 0.3)  # bars of campaigns
_LEAST, _MORE, _FEW = 120, 35, 4  # px of what is drawn, and more for more than a few places
HOVER = 76  # of hover text: all of it must be in the page
LINES = 4  # of one of its values: plotly shows nothing of a text that is higher than the figure
_TELLING = (
    "benchmark",
    "message_size_B",
    "transport",
    "ranks",
    "ppn",
    "engine",
    "library",
    "launcher",
    "testbed",
    "host",
    "campaign",
)


@dataclass(frozen=True)
class Origin:
    """How numbers of one origin are drawn.

    Parameters
    ----------
    marker : suffix of the shape's name: empty for a filled one.
    dash : dash of the line.
    pattern : pattern that fills a bar.
    markers : False for a bare line.
    """

    marker: str
    dash: str
    pattern: str
    markers: bool = True


# only here measured numbers are drawn differently from all others
ORIGINS: Mapping[str, Origin] = {
    "measured": Origin("", "solid", ""),
    "reported": Origin("-open", "solid", "/"),
    "imported": Origin("-open", "dash", "\\"),
    "published": Origin("-open-dot", "dot", "."),
    "simulated": Origin("-open", "dashdot", "x"),
    "modelled": Origin("", "longdash", "-", markers=False),
}

_AXIS = {
    "gridcolor": "#e4e8ee",
    "linecolor": "#555",
    "zeroline": False,
    "showline": True,
    "ticks": "outside",
    "automargin": True,
    "exponentformat": "none",
    "separatethousands": True,
    "tickformat": ",.6~r",  # else plotly writes 2 and 5 of a logarithmic axis alone, and smaller
}
TEMPLATE: Mapping[str, Any] = {
    "layout": {
        "font": {"family": "Liberation Sans, Arial, Helvetica, sans-serif", "size": 13, "color": "#222"},
        "colorway": list(COLOURS),
        "paper_bgcolor": "white",
        "plot_bgcolor": "white",
        "xaxis": _AXIS | {"title": {"standoff": 8, "font": {"size": 14}}},
        "yaxis": _AXIS | {"title": {"standoff": 12, "font": {"size": 14}}},
        "margin": {"l": 60, "r": 20, "t": 20, "b": 50},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"align": "left"},
        "modebar": {"remove": ["sendChartToCloud"]},
    }
}


def finish(
    figure: go.Figure,
    *notes: Note | str,
    width: int = WIDTH,
    height: int = HEIGHT,
    axis: str = "xaxis",
) -> go.Figure:
    """Give a figure its template, its size, its small print, and trace ids that do not change from run to run.

    Parameters
    ----------
    notes : small print; empty texts are left out.
    axis : below which the notes stand.
    """
    figure.update_layout(width=width, height=height)
    small_print.write(figure, notes, axis)
    traces, layout = raw(figure)
    layout["template"] = copy.deepcopy(_template())
    if sum(re.fullmatch(r"yaxis\d*", name) is not None for name in layout) <= 1:
        if lack := _lack(figure):
            figure.layout.height = height + lack
        _fold(figure)
    settle(traces, layout)
    for n, trace in enumerate(traces):
        trace["uid"] = f"t{n}"
    return figure


@cache
def _template() -> dict[str, Any]:
    """The template as plotly has checked it, once: this takes longer than all the rest of a figure."""
    return dict(go.layout.Template(TEMPLATE).to_plotly_json())


def _places(x: Any) -> Iterable[Any]:
    """Return the places of a trace along its axis to the right; categories in two rows are pairs."""
    if x is None or not len(x):
        return ()
    return zip(*x, strict=True) if np.ndim(x[0]) else x


def _lack(figure: go.Figure) -> int:
    """Return by how much a figure must grow so that its legend and small print leave room for what is drawn, px.

    One of the usual height shrinks if it has few places to the right.
    """
    traces, layout = raw(figure)
    margin = layout.get("margin", {})
    if margin.get("t") is not None or margin.get("b") is not None:
        return 0  # a figure that sets its own margins has set its height to fit them
    taken = sum(_around(traces, layout))
    # lines and bars of few places read as well in a low figure, which makes the report shorter; maps and boxes do not
    if layout["height"] == HEIGHT and all(trace["type"] in ("scatter", "bar") for trace in traces):
        places = {place for trace in traces for place in _places(trace.get("x"))}
        return _LEAST + (_MORE if len(places) > _FEW else 0) - (HEIGHT - taken)
    return max(0, _LEAST - int(layout["height"]) + taken)


def _around(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> tuple[int, int]:
    """Return how much of a figure lies above and below the axes: margins, legend and small print, px."""
    margin = layout.get("margin") or {}
    above = margin.get("t") or TEMPLATE["layout"]["margin"]["t"]
    above += _legend(traces, layout) if layout.get("showlegend") and margin.get("t") is None else 0
    below = margin.get("b") or TEMPLATE["layout"]["margin"]["b"]
    below += LINE * _title(layout, "xaxis").count("<br>") if margin.get("b") is None else 0
    return above, below


def _title(layout: Mapping[str, Any], axis: str) -> str:
    """Return the title of an axis; empty if it has none."""
    title = (layout.get(axis) or {}).get("title") or {}
    return str((title.get("text") if isinstance(title, Mapping) else title) or "")


def _legend(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> int:
    """Return the height of the legend, px."""
    named = any(trace.get("showlegend") is not False for trace in traces)
    return _LEGEND + further_rows(traces, layout.get("width") or WIDTH) if named else 0


def further_rows(traces: Sequence[Mapping[str, Any]], width: float) -> int:
    """Return by how much a legend is higher than one row, px: plotly fills its rows one after the other.

    Parameters
    ----------
    width : width of the figure, px.
    """
    margin = TEMPLATE["layout"]["margin"]
    across, rows, room = width - margin["l"] - margin["r"], 0, 0.0
    named = [trace for trace in traces if trace.get("showlegend") is not False]
    for trace in named:
        wide = _LETTER * len(trace.get("name") or "") + _KEY
        if wide > room:
            rows, room = rows + 1, float(across)
        room -= wide
    pitch = _ROW + _GAP * any(trace.get("legendgroup") for trace in named)
    return pitch * max(0, rows - 1)


def _fold(figure: go.Figure) -> None:
    """Break the title of the upward axis if it would be longer than the figure; title and axis have the same centre."""
    traces, layout = raw(figure)
    title, height = _title(layout, "yaxis"), layout["height"]
    above, below = _around(traces, layout)
    middle = above + (height - above - below) / 2
    room = int(2 * min(middle, height - middle) / _UPWARD)
    if len(title) > room and "<br>" not in title:
        figure.layout.yaxis.title.text = "<br>".join(textwrap.wrap(title, max(room, _SHORT)))


def settle(traces: Sequence[Mapping[str, Any]], layout: dict[str, Any]) -> None:
    """Give the logarithmic axes of a plotly figure steps with room for their labels at the figure's size.

    Plotly's own would overlap on short axes, and a figure may have become smaller, or got further lines.

    Parameters
    ----------
    layout : changed in place; axes with their own ticks do not change.
    """
    across, height = float(layout.get("width") or WIDTH), float(layout.get("height") or HEIGHT)
    margin = TEMPLATE["layout"]["margin"]
    room = {"x": across - margin["l"] - margin["r"], "y": height - sum(_around(traces, layout))}
    for name in [name for name in layout if re.fullmatch(r"[xy]axis\d*", name)]:
        axis = layout[name]
        if not isinstance(axis, dict) or axis.get("type") != "log" or axis.get("tickvals") is not None:
            continue
        fixed = axis.get("range") is not None
        alike = _matching(layout, name)
        reach = [ends(traces, one) for one in alike]
        low, high = (
            (10.0 ** float(end) for end in axis["range"])
            if fixed
            else (min((low for low, _ in reach if low), default=0.0), max(high for _, high in reach))
        )
        domain = axis.get("domain") or (0, 1)
        px = room[name[0]] * (domain[1] - domain[0])
        if (dtick := axes.step(low, high, px, upward=name[0] == "y", fixed=fixed)) is not None:
            axis["dtick"] = dtick
            if not isinstance(dtick, str):  # small ticks between decades that stand close are a grey bar
                axis.pop("minor", None)


def _matching(layout: Mapping[str, Any], name: str) -> list[str]:
    """Return the axes that have one range with an axis, itself among them."""
    letter = name[0]

    def leader(one: str) -> str:
        return str(layout[one].get("matches") or letter + one[5:])

    return [one for one in layout if re.fullmatch(rf"{letter}axis\d*", one) and leader(one) == leader(name)]


def ends(traces: Sequence[Mapping[str, Any]], name: str) -> tuple[float, float]:
    """Return the least and the greatest value above 0 along an axis, with the ends of error bars; 0 and 0 for none."""
    letter, number = name[0], name[5:]
    places = []
    for trace in traces:
        if str(trace.get(f"{letter}axis") or letter)[1:] != number:
            continue
        ends = [_numbers(trace.get(key)) for key in (letter, "lowerfence", "upperfence")[: 1 if letter == "x" else 3]]
        centre, error = ends[0], trace.get(f"error_{letter}") or {}
        for key, sign in (("array", 1), ("arrayminus", -1)):
            length = _numbers(error.get(key))
            ends += [centre + sign * length] if centre.size == length.size else []
        places += ends
    values = np.concatenate(places) if places else np.empty(0)
    values = values[np.isfinite(values) & (values > 0)]
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def _numbers(values: Any) -> NDArray[np.float64]:
    """Return values of a trace; nothing if they are not numbers."""
    try:
        plain_values = data.values(values) if isinstance(values, Mapping | list | tuple) else values
        return np.asarray([] if plain_values is None else plain_values, np.float64).ravel()
    except (TypeError, ValueError):
        return np.empty(0)


def varying(frame: pd.DataFrame, *, skip: Sequence[str] = ()) -> list[str]:
    """Return the fewest columns that distinguish the points of a table, beside their origin."""
    base = ["origin"] if "origin" in frame else []
    names = [name for name in (*_TELLING, *(c for c in frame if c.startswith(GIVEN))) if name in frame]
    chosen: list[str] = []
    # an option that a benchmark does not have, or a log does not state, is as one that is empty
    levels = pd.DataFrame({name: texts(frame, name) for name in (*base, *names)})
    groups = levels.groupby(base).ngroups if base else 1
    for name in names:
        if name not in skip and (more := levels.groupby([*base, *chosen, name]).ngroups) > groups:
            chosen, groups = [*chosen, name], more
    return chosen


def of_size(sizes: Iterable[float]) -> Note:
    """Return the one size of all that a figure shows, as small print; empty for several sizes, and for none."""
    size, *others = {int(size) for size in sizes} or {0}
    return note("size", f"size: {format_size(size)}" if size and not others else "")


def marker(origin: str, look: Look) -> dict[str, Any]:
    """Marker of a series: shape and colour by series, filled only if measured."""
    shape = look.shape + ORIGINS[origin].marker
    return {"color": look.colour, "symbol": shape, "size": 7, "line": {"color": look.colour, "width": 1.5}}


def dash(origin: str, look: Look) -> str:
    """Dashes of a line: of measured ones by campaign, else by origin."""
    return look.dash if origin == "measured" else ORIGINS[origin].dash


def bar(origin: str, look: Look) -> dict[str, Any]:
    """Filling of the bars of a series: colour by series, paler by campaign, hatched unless measured."""
    filled: dict[str, Any] = {"color": look.colour, "line": {"color": look.colour, "width": 1}}
    if look.variant:
        filled["opacity"] = _PALER[look.variant % len(_PALER)]
    if pattern := ORIGINS[origin].pattern:
        filled["pattern"] = {"shape": pattern, "fgcolor": look.colour, "bgcolor": "white", "size": 6}
    return filled


def split(frame: pd.DataFrame, series: Sequence[str]) -> list[Part]:
    """Rows of each series, with its name and origin; an origin or campaign is never mixed with another.

    Raises
    ------
    DataError
        If a column is not there, or there is no row.
    """
    missing = [name for name in series if name not in frame]
    if missing:
        raise unknown_name("column", missing[0], list(frame.columns), error=DataError)
    if frame.empty:
        raise DataError("There are no rows to draw. Measure first, or relax the filter.")
    if "campaign" in frame and "campaign" not in series and frame["campaign"].nunique() > 1:
        series = [*series, "campaign"]
    names = [*frame["campaign"].map(level).unique()] if "campaign" in series else []
    parts = []
    for _, rows in frame.groupby([texts(frame, name) for name in (*series, "origin")], sort=False):
        row, origin = rows.iloc[0], str(rows["origin"].iloc[0])
        words = {name: level_word(row, name) for name in series}
        settings = ", ".join(dict.fromkeys(word for name, word in words.items() if word and name != "campaign"))
        campaign = level(row["campaign"]) if names else ""
        name = ", ".join(dict.fromkeys(word for word in words.values() if word))  # an engine and its tool have one name
        suffix = "" if origin == "measured" else f" ({origin})"
        parts.append(Part(name + suffix if name else origin, origin, rows, settings, campaign))
    if len(names) < 2 or not any(part.series for part in parts):  # then the campaigns differ in colour
        parts = [one._replace(series=one.series or plain(one.campaign), campaign="") for one in parts]
    return _distinct_names(parts)


def _distinct_names(parts: list[Part]) -> list[Part]:
    """Give series with equal names distinct names, from the settings in which they differ."""
    count = Counter(part.name for part in parts)
    done = []
    for part in parts:
        name, origin, rows = part.name, part.origin, part.rows
        series = part.series
        if count[name] > 1:
            alike = [other.rows for other in parts if other.name == name]
            settings = [c for c in differing(pd.concat(alike), skip=["origin"]) if texts(rows, c).nunique() == 1]
            words = ", ".join(plain(f"{named(c)} {text(rows.iloc[0], c)}") for c in settings)
            suffix = "" if origin == "measured" else f" ({origin})"
            base = "" if name == origin else name.removesuffix(suffix)
            name = ", ".join(word for word in (base, words) if word) + suffix
            series = ", ".join(word for word in (series, words) if word)
        done.append(part._replace(name=name, series=series))
    return done


def level_word(row: Mapping[Any, Any], name: str) -> str:
    """Return the level of a series column as the legend shows it, with marks for assumed and missing values."""
    told, usual = text(row, name), level(row[name])
    if told == usual:
        return word(name, row[name])
    return plain(f"{named(name).replace('_', ' ')} {told}")


def word(name: str, value: Any) -> str:
    """Return a value of a series column as the legend shows it, with the name of the column for numbers."""
    if pd.isna(value) or value == "":
        return ""
    if name.startswith("env_"):
        return plain(f"{named(name)}={level(value)}")
    if isinstance(value, str):
        return plain(value)
    if name.endswith("_B"):
        return format_size(int(value))
    text = format_exact(value) if isinstance(value, float) else str(value)
    return plain(f"{name.removeprefix('option_').replace('_', ' ')} {text}")


def plain(text: str) -> str:
    """Escape a foreign text for a legend, a title or a label, where plotly would read markup."""
    return html.escape(text, quote=False)


def hover(
    first: Sequence[str], fields: Mapping[str, Sequence[Any]] | None = None, /, **texts: Sequence[str]
) -> dict[str, Any]:
    """Return the hover text of a trace: what is the same at every point in the template, the rest in customdata.

    Parameters
    ----------
    first : lines as plotly templates.
    fields : label → value at each point; empty values are left out.
    texts : name → text at each point, for ``%{name}`` in a line of `first`. Values are texts with the digits of
        `labkit.point.units`, because plotly's own formats know no interval.
    """
    lines = list(first)
    data: list[list[str]] = []
    for name, column in texts.items():
        same = len(set(column)) == 1
        shown = _text(column[0]) if same else f"%{{customdata[{len(data)}]}}"
        lines = [line.replace(f"%{{{name}}}", shown) for line in lines]
        if not same:
            data.append([_text(value) for value in column])
    for label, column in (fields or {}).items():
        cells = [_text(value) for value in column]
        if len(set(cells)) > 1:
            lines.append(f"{label}: %{{customdata[{len(data)}]}}")
            data.append(cells)
        elif cells and cells[0] != "–":
            lines.append(f"{label}: {cells[0]}")
    rows = [list(row) for row in zip(*data, strict=True)] if data else None
    return {"hovertemplate": "<br>".join(lines) + "<extra>%{fullData.name}</extra>", "customdata": rows}


def _text(value: Any) -> str:
    """Value for the hover text; a dash for none."""
    if isinstance(value, tuple):
        value = joined(value)
    if value is None or value == "" or pd.isna(value):
        return "–"
    if isinstance(value, float):
        return format_number(value)
    lines = textwrap.wrap(str(value), HOVER, max_lines=LINES, placeholder=" …")
    return "<br>    ".join(html.escape(line, quote=False).replace("%{", "% {") for line in lines)


def common(rows: pd.DataFrame) -> dict[str, Sequence[Any]]:
    """Fields that every hover text has, where the table has them."""
    names = {
        "n": "n",
        "launches": "launches",
        "host": "host",
        "engine": "engine",
        "library": "library",
        "badges": "badges",
        "warnings": "warnings",
        "campaign": "campaign",
    }
    if "basis" in rows:
        names["launches"] = "basis"
    fields = {label: rows[name].tolist() for label, name in names.items() if name in rows}
    if "n" in fields:
        fields["n"] = [format_count(n, none="") for n in fields["n"]]  # values that a tool stated have no samples
    return fields
