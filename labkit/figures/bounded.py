"""Draw what a path allows into a figure of measured values: its own line, named after what binds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.errors import SpecError
from labkit.figures import axes, small_print, style
from labkit.figures.plotly import go
from labkit.models import bounds, limits
from labkit.models.costs import Costs
from labkit.models.inside import OWN_WORK
from labkit.models.limits import Limit
from labkit.point.columns import METRICS
from labkit.point.columns import title as column_title
from labkit.point.notes import note
from labkit.point.units import format_number, format_range, format_size
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT

if TYPE_CHECKING:
    import pandas as pd

_COLOUR = "#333"
_DASHES = ("dash", "dashdot", "longdashdot", "dot")
_ROW, _LETTERS = 30, 80  # px of a row of the legend, and letters of names that it has room for
_FAR = 2.5  # a linear axis reaches to a bound of at most so many times the highest value
_DECADES = 100.0  # a logarithmic axis likewise
_LOW = 0.02  # of the highest value: a floor below it lies on the linear axis itself
_WIDE = 46  # px of a line above a category
_AXES = ("sizes", "numbers", "categories")


def with_bounds(
    figure: go.Figure, rows: pd.DataFrame, samples: Iterable[Samples], costs: Callable[[], Mapping[str, Costs]]
) -> go.Figure:
    """Return a figure with the bounds of the points that it shows; as it is if none are known.

    Parameters
    ----------
    figure : from `labkit.figures.versus_size`, `versus` or `bars`; others have no bounds.
    rows : rows of the summary that it was drawn from.
    samples : among which those of the rows are.
    costs : makes what `labkit.models.bounds.of_bandwidth` takes, if it is needed.
    """
    about = figure.layout.meta
    if not isinstance(about, dict) or about.get("axis") not in _AXES or about["column"] not in rows:
        return figure
    if "fingerprint" not in rows:
        return figure
    bounded_by = bounds.directions_of if about["metric"] == "bandwidth_MBps" else bounds.crossings_of
    places = dict(zip(rows["fingerprint"], rows[about["column"]], strict=True))
    if about["axis"] == "categories":
        places = {name: style.word(about["column"], value) for name, value in places.items()}
    points = {
        name: one for one in samples if bounded_by(one.spec.benchmark) and (name := FINGERPRINT.of(one.meta)) in places
    }
    if not points:
        return figure
    curves = limits.limit_curves(
        points.values(), about["metric"], costs(), at=lambda one: places[FINGERPRINT.of(one.meta)]
    )
    return bounded(figure, curves)


def bounded(figure: go.Figure, curves: Sequence[Limit]) -> go.Figure:
    """Return a figure with the bounds of its points; the figure itself does not change.

    A line that lies so far from all values that these could no longer be read is named below the axis instead.

    Parameters
    ----------
    figure : from `labkit.figures.versus_size`, `versus` or `bars`.
    curves : from `labkit.models.limits.limit_curves`, at places of the figure's axis; those of another metric are left
        out.

    Raises
    ------
    SpecError
        If it is another kind of figure.
    """
    about = figure.layout.meta
    if not isinstance(about, dict) or about.get("axis") not in _AXES:
        raise SpecError(
            "Bounds go into figures against message size or a number, and into bars, which this figure is not. Take "
            "figures.versus_size, figures.versus or figures.bars."
        )
    drawn = go.Figure(figure)
    fitting = [one for one in curves if one.metric == about["metric"] and one.values]
    if not fitting:
        return drawn
    heights, log = _heights(figure), figure.layout.yaxis.type == "log"
    near = [one for one in fitting if _near(one, heights, log=log)]
    for number, one in enumerate(near):
        drawn.add_trace(_trace(one, _label(one, fitting), number, figure))
        drawn.data[-1].uid = f"t{len(drawn.data) - 1}"
    notes = [note("bound", _note(one, _label(one, fitting))) for one in fitting if one not in near]
    if any(one.measured for one in near):
        notes.append(note("measured-bound", "measured bounds are of the cores, caches and kernel that were measured"))
    small_print.add(drawn, *notes)
    rows = math.ceil(sum(len(_label(one, fitting)) for one in near) / _LETTERS)
    drawn.update_layout(showlegend=bool(near) or figure.layout.showlegend, height=drawn.layout.height + _ROW * rows)
    return drawn


def _heights(figure: go.Figure) -> np.ndarray[Any, np.dtype[np.float64]]:
    """All values of a figure that are numbers above 0."""
    values = [y for trace in figure.data if trace.y is not None for y in trace.y if y is not None]
    heights = np.array(values, np.float64)
    return heights[heights > 0]


def _near(limit: Limit, heights: np.ndarray[Any, np.dtype[np.float64]], *, log: bool) -> bool:
    """Whether a line leaves room for the values of the figure, and can be told from its axis."""
    if not heights.size:
        return True
    low, high = min(limit.values.values()), max(limit.values.values())
    if limit.kind == "bound":
        return high <= (_DECADES if log else _FAR) * float(heights.max())
    return low * _DECADES >= float(heights.min()) if log else high >= _LOW * float(heights.max())


def _label(limit: Limit, every: Sequence[Limit]) -> str:
    """Name of a line; with its benchmarks, sizes or values where another line would have the same name."""
    alike = [one for one in every if one.name == limit.name]
    whose = f" of {', '.join(limit.benchmarks)}" if len({one.benchmarks for one in alike}) > 1 else ""
    same = [one for one in alike if one.benchmarks == limit.benchmarks]
    if len({one.sizes for one in same}) > 1:
        whose += f", {', '.join(format_size(size) for size in limit.sizes)}"
    if len([one for one in same if one.sizes == limit.sizes]) > 1:
        whose += f", {_values(limit)}"
    kind = "reference" if limit.soft else limit.kind
    name = limit.name.replace(f", and {OWN_WORK}", "").replace(f" and {OWN_WORK}", "")  # the text says it
    return f"{kind}: {name}{whose}{' (measured)' if limit.measured else ''}"


def _trace(limit: Limit, label: str, number: int, figure: go.Figure) -> go.Scatter:
    """The line; a single point becomes a short line, and each category has a separate one."""
    about, unit = figure.layout.meta, METRICS[limit.metric].unit
    known = list(limit.values.items())
    x, y = _places(limit, figure), [value for _, value in known]
    what = "size" if about["axis"] == "sizes" else column_title(about["column"])
    words = [format_size(at) if about["axis"] == "sizes" else _word(at) for at, _ in known]
    fields = {what: words, "how": [limit.formulas[at] for at, _ in known]}
    hover = style.hover([f"<b>%{{value}} {unit}</b>"], fields, value=[format_number(value) for value in y])
    dash, line = _DASHES[number % len(_DASHES)], {"color": _COLOUR, "width": 1.5}
    how: dict[str, Any] = {"mode": "lines", "line": line | {"dash": dash}}
    if about["axis"] == "categories":
        how = {"mode": "markers", "marker": {"symbol": "line-ew-open", "size": _WIDE, "color": _COLOUR, "line": line}}
    elif len(x) == 1:
        x, y = _short(x[0], figure), y * 3
        hover["customdata"] = hover["customdata"] and list(hover["customdata"]) * 3
    return go.Scatter(
        x=x,
        y=y,
        name=style.plain(label),
        meta={"bound": limit.name, "overlay": True},
        legendgroup=label,
        showlegend=True,
        **how,
        **hover,
    )


def _places(limit: Limit, figure: go.Figure) -> list[Any]:
    """Places of a line on the axis to the right."""
    about = figure.layout.meta
    if about["axis"] == "categories":
        return list(limit.values)
    if about["axis"] == "sizes":
        smallest = min((size for size in about["sizes"] if size > 0), default=1)
        return [axes.place(size, smallest) for size in limit.values]
    axis = {"type": figure.layout.xaxis.type, "tickvals": figure.layout.xaxis.tickvals}
    return [axes.on(float(value), axis) for value in limit.values]


def _short(at: float, figure: go.Figure) -> list[float]:
    """A short line around a place."""
    if figure.layout.xaxis.type == "log":
        return [at / 1.4, at, at * 1.4]
    low, high = figure.layout.xaxis.range
    return [at - 0.05 * (high - low), at, at + 0.05 * (high - low)]


def _word(at: Any) -> str:
    """A place in words."""
    return at if isinstance(at, str) else format_number(float(at))


def _note(limit: Limit, label: str) -> str:
    """What stands below the axis instead of a line."""
    return f"{label} lies far {'above' if limit.kind == 'bound' else 'below'}: {_values(limit)}"


def _values(limit: Limit) -> str:
    """The value of a limit, or the least and the greatest, with the unit."""
    low, high = min(limit.values.values()), max(limit.values.values())
    return f"{format_number(low) if low == high else format_range(low, high)} {METRICS[limit.metric].unit}"
