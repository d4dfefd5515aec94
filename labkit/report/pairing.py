"""Put two small figures side by side in the PDF, each drawn for half the width of the text.

They are consecutive, or separated by a paragraph about the second one, which then comes first.
"""

from __future__ import annotations

import copy
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from labkit.figures import axes, parts, small_print, style
from labkit.figures.style import HEIGHT
from labkit.report import cleaning, figures, markdown
from labkit.report.options import options, written

HALF = "half"  # class of such a figure's cell
_WIDTH, _HEIGHT, _ROW, _LINE = 351, 200, 20, 18  # px: of a figure, of a row of its legend, of a line of its note
_TALL = 340  # px of a figure that needs its height
_FITS, _TITLE = 50, 24  # characters of a line of small print, and of the title of the upward axis
_MANY, _FEWER = 3, 42  # lines of that title, from which the plot is narrower and a line of small print has fewer
_LEGEND = 12  # px of its letters, 8 pt in the PDF
_INSIDE = 240  # px of the axis to the right, about
_NAME, _KEY, _LETTER = 34, 45, 6.5  # characters of a name in a legend; px of its line there, and of a letter
_ROWS, _LINES = 3, 4  # of a legend; and names in it
_BARS = 40  # of the names below bars
_PARAGRAPH = re.compile(r"(?![#>|:$<\-*+\d`])[^\n]+(?:\n(?![#>|:$<\-*+`])[^\n]+)*")


def pair(books: Sequence[Any]) -> dict[int, dict[str, Any]]:
    """Mark the cells of figures that share a row with the class `HALF`.

    Parameters
    ----------
    books : executed notebooks as they were read; they are changed.

    Returns
    -------
    Identity of a figure's bundle → the figure as plotly's plain data for half the width.
    """
    narrow: dict[int, dict[str, Any]] = {}
    for book in books:
        for cells in _pairs(book):
            forms = [_narrow(cell.outputs[0].data[figures.PLOTLY], _about(cell)) for cell in cells]
            height = max(form["layout"]["height"] for form in forms)
            for cell, form in zip(cells, forms, strict=True):
                chosen, code = options(cell.source)
                cell.source = written({**chosen, "classes": HALF}, code)
                form["layout"]["height"] = height
                style.settle(form["data"], form["layout"])
                narrow[id(cell.outputs[0].data)] = form
    return narrow


def _pairs(book: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the cells of two small figures with nothing but a paragraph between them; each is in one pair."""
    shown = [cell for cell in book.cells if cell.source.strip() and (cell.cell_type != "code" or cell.get("outputs"))]
    place = 0
    while place < len(shown) - 1:
        one, other = shown[place : place + 2]
        step = 2
        if other.cell_type == "markdown" and place + 2 < len(shown) and _introduces(other, shown[place + 2]):
            other, step = shown[place + 2], 3
        if _is_small(one) and _is_small(other):
            yield one, other
            place += step
        else:
            place += 1


def _introduces(text: Any, cell: Any) -> bool:
    """Return whether a cell holds one paragraph, which refers to the figure of another cell."""
    if cell.cell_type != "code" or not _PARAGRAPH.fullmatch(markdown.unmarked(text.source.strip())):
        return False
    label = str(options(cell.source)[0].get("label", ""))
    return bool(label) and re.search(rf"@{re.escape(label)}(?![\w-])", text.source) is not None


def _is_small(cell: Any) -> bool:
    """Return whether a cell shows nothing but a figure of few lines."""
    if cell.cell_type != "code" or len(cell.outputs) != 1 or figures.PLOTLY not in cell.outputs[0].get("data", {}):
        return False
    chosen, _ = options(cell.source)
    if not str(chosen.get("label", "")).startswith("fig-") or not chosen.get("fig-cap") or "classes" in chosen:
        return False
    try:
        return _fits(cell.outputs[0].data[figures.PLOTLY]) and _about(cell).instead is None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, MemoryError):
        return False  # not real arrays


def _fits(spec: Mapping[str, Any]) -> bool:
    layout, traces = spec["layout"], spec["data"]
    names = _names(spec)
    return (
        bool(traces)
        and all(trace.get("type", "scatter") in ("scatter", "bar") for trace in traces)
        and not any(layout.get(key) for key in ("annotations", "xaxis2", "yaxis2"))
        and max((len(" ".join(map(str, trace["x"]))) for trace in traces if trace.get("type") == "bar"), default=0)
        <= _BARS
        and float(layout.get("height") or HEIGHT) <= _TALL
        and not isinstance(layout.get("yaxis", {}).get("ticktext"), list)
        and len(names) <= _LINES
        and _rows(names) <= _ROWS
        and max(map(len, names), default=0) <= _NAME
    )


def _names(spec: Mapping[str, Any]) -> list[str]:
    return [str(trace.get("name") or "") for trace in spec["data"] if trace.get("showlegend") is not False]


def legend_px(names: Sequence[str], width: float = _WIDTH) -> int:
    """Return the height of a legend with rows filled one after the other, px.

    Parameters
    ----------
    names : of its lines.
    width : of the figure, px.
    """
    return _ROW * _rows(names, width)


def _rows(names: Sequence[str], width: float = _WIDTH) -> int:
    rows, room = 0, 0.0
    for name in names:
        wide = _LETTER * len(name) + _KEY
        if wide > room:
            rows, room = rows + 1, width - 80
        room -= wide
    return rows


def _about(cell: Any) -> parts.Described:
    """Return what the notebook says of the figure of a cell."""
    about = parts.read(cell.outputs[0].data[parts.MIME])
    assert isinstance(about, parts.Described)
    return about


def _narrow(spec: Mapping[str, Any], about: parts.Described) -> dict[str, Any]:
    """Return a figure for half the width, in letters of the same size."""
    layout = copy.deepcopy(dict(spec["layout"]))
    right, upward = dict(layout.get("xaxis", {})), dict(layout.get("yaxis", {}))
    flat = _text(upward).replace("<br>", " ")
    beside = textwrap.wrap(flat, _TITLE)
    if about.notes:
        fits = _FITS if len(beside) < _MANY else _FEWER
        right["title"] = {
            **_titled(right),
            "text": small_print.rendered(cleaning.label(about.title), about.notes, fits),
        }
    lines = _text(right).count("<br>")
    if isinstance(right.get("tickvals"), list) and isinstance(right.get("ticktext"), list):
        right |= axes.thinned(right, _INSIDE)
    upward["title"] = {**_titled(upward), "text": "<br>".join(beside)}
    rows = _rows(_names(spec)) if layout.get("showlegend") else 0
    legend = {**layout.get("legend", {}), "font": {"size": _LEGEND}}
    layout |= {"xaxis": right, "yaxis": upward, "legend": legend, "width": _WIDTH}
    return {"data": spec["data"], "layout": layout | {"height": _HEIGHT + _ROW * rows + _LINE * lines}}


def _titled(axis: Mapping[str, Any]) -> dict[str, Any]:
    title = axis.get("title") or {}
    return dict(title) if isinstance(title, Mapping) else {"text": str(title)}


def _text(axis: Mapping[str, Any]) -> str:
    return str(_titled(axis).get("text") or "")
