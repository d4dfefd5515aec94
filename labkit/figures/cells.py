"""Draw heat maps over two sizes, such as iozone's file size × record size, or over two lists of names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from labkit.errors import DataError, unknown_name
from labkit.figures import style
from labkit.figures import unit as units
from labkit.figures.plotly import go, make_subplots, sample_colours
from labkit.point.columns import METRICS
from labkit.point.notes import Note, note
from labkit.point.units import MOST_MB, format_number, format_share, format_size, plural
from labkit.read.records.resolution import MOST, UNRESOLVED, sign, text

SCALE = "Cividis"  # even steps of brightness, and made for readers with any colour vision
_GREY = "#d9d9d9"  # of cells without a colour of the scale
_DARK, _LIGHT = "rgb(0, 0, 0)", "rgb(255, 255, 255)"  # texts of cells; dark pages change colours that begin with #
_LEAST = 200  # px
_STATISTICS = ["median", "min", "max", "count"]
_LABELS = 16  # of sizes side by side that have room
_BESIDE = 3  # panels in a row
_FEW = 2  # decades that have room for labels between them
_PARTS = (0.0, math.log10(2), math.log10(5))  # of a decade
_ROW = 26  # px, at which the labels of the cells can be read


def heat_map(reported: pd.DataFrame, rows: str, columns: str, value: str, *, statistic: str | None = None) -> go.Figure:
    """Draw a value over two label columns; both axes in powers of two, a label in every cell, missing cells empty.

    Parameters
    ----------
    reported : from `labkit.read.records.reported`, filtered to one system and one set of options.
    rows, columns : label columns with sizes in B, such as ``file_size_B`` and ``record_size_B``.
    value : name of the reported value, or a column of numbers; the median over launches is drawn.
    statistic : statistic of the value, where several were reported.

    Raises
    ------
    DataError
        If a column or the value is missing, or the unit is not the same in all cells.
    """
    cells = _cells(reported, rows, columns, value, statistic)
    table = _table(cells, rows, columns)
    y, x = ([int(v) for v in sorted(cells[name].unique())] for name in (rows, columns))
    unit, many = str(cells["unit"].iloc[0]), bool((table["count"] > 1).any())
    z = [[_at(_coloured(table), row, col, "median") for col in x] for row in y]
    metric = str(cells["name"].iloc[0]) if "name" in cells else value
    label = METRICS[metric].label if metric in METRICS else metric.replace("_", " ")
    letters = 12 if len(x) <= 9 else 10 if len(x) <= 13 else 8  # 12 px are 8 pt in the PDF
    bounds = _colourless(table)
    about, grey = (
        _texts(part, y, x, unit, lambda value: format_number(value, digits=3)) for part in (_coloured(table), bounds)
    )
    figure = go.Figure(
        go.Heatmap(
            z=z,
            colorscale=SCALE,
            **about,
            colorbar={
                "title": {"text": f"{label} ({unit})", "side": "right"},
                "thickness": 14,
                "outlinewidth": 0,
                "tickformat": ",.4~r",
            },
        )
    )
    if len(bounds):
        figure.add_trace(_grey(bounds, y, x, grey))
    figure.add_traces([*labels(figure.data, letters)])
    small = "1 launch"
    if many:
        widest = format_share(float(((table["max"] - table["min"]) / table["median"]).max()))
        small = f"median of {int(table['count'].max())} launches, with a range of at most {widest} of the median"
    figure.update_layout(xaxis=_axis(x, _title(columns)), yaxis=_axis(y, _title(rows)), plot_bgcolor="#f4f4f4")
    notes = note("launches", small), _meaning([table], unit)
    return style.finish(figure, *notes, height=max(_LEAST, _ROW * len(y) + 120))


def heat_maps(panels: Mapping[str, pd.DataFrame], rows: str, columns: str, value: str) -> go.Figure:
    """Draw heat maps, up to three in a row, on one logarithmic scale of colours: equal colours are equal values.

    Parameters
    ----------
    panels : title → cells, each as for `heat_map`.
    rows, columns, value : as for `heat_map`; all panels get the same axes.

    Raises
    ------
    DataError
        As `heat_map`; also if no value is above 0.
    """
    cells = {title: _cells(panel, rows, columns, value, None) for title, panel in panels.items()}
    tables = {title: _table(cell, rows, columns) for title, cell in cells.items()}
    every = [float(v) for table in tables.values() for v in table["median"] if v > 0]
    coloured = [float(v) for table in tables.values() for v in _coloured(table)["median"] if v > 0]
    if not every:
        raise DataError(f"No {value!r} above 0 to draw. Measure it, or relax the filter.")
    first = next(iter(cells.values()))
    unit, metric = str(first["unit"].iloc[0]), str(first["name"].iloc[0]) if "name" in first else value
    label = METRICS[metric].label if metric in METRICS else metric.replace("_", " ")
    y, x = (sorted({int(at[level]) for table in tables.values() for at in table.index}) for level in (0, 1))
    across = len(tables) if len(tables) <= _BESIDE else math.ceil(len(tables) / 2)
    lines = math.ceil(len(tables) / across)
    figure = make_subplots(
        lines,
        across,
        subplot_titles=list(tables),
        shared_yaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=0.2 if lines > 1 else 0,
    )
    launches, beside = max(int(table["count"].max()) for table in tables.values()), len(x) * across
    ends = (math.log10(min(coloured or every)), math.log10(max(coloured or every)))
    small = f"median of {launches} launches" if launches > 1 else "1 launch"
    middle = "xaxis"
    for n, table in enumerate(tables.values()):
        place = {"row": n // across + 1, "col": n % across + 1}
        for trace in _panel(table, y, x, unit, 12 if beside <= 10 else 10 if beside <= _LABELS else 8, ends):
            figure.add_trace(trace, **place)
        last = n + across >= len(tables)
        if last and place["col"] == (across + 1) // 2:
            middle = f"xaxis{n + 1 if n else ''}"
        axis = _axis(x, _title(columns) if last else "")
        if beside > _LABELS:  # every second one has room
            axis["ticktext"] = [text if not number % 2 else "" for number, text in enumerate(axis["ticktext"])]
        figure.update_xaxes(**axis, **place)
        figure.update_yaxes(**_axis(y, _title(rows) if place["col"] == 1 else ""), **place)
    figure.update_annotations(font={"size": 12})  # the titles of the panels
    figure.update_layout(
        coloraxis=_colours(coloured or every, f"{label} ({unit})"), plot_bgcolor="#f4f4f4", margin={"t": 30}
    )
    height = max(_LEAST, _ROW * len(y) * lines + 150 + 60 * (lines - 1))
    return style.finish(figure, note("launches", small), _meaning(tables.values(), unit), height=height, axis=middle)


def matrix(table: pd.DataFrame, rows: str, columns: str, value: str, *, title: str, small: str) -> go.Figure:
    """Draw a value over two columns of names, on a logarithmic scale of colours, with a label in every cell.

    Parameters
    ----------
    table : a row for each cell, with a text for the cell (``label``) and one for its hover (``about``). Names stand in
        the order of their first rows; cells without a row, and values that are not above 0, stay empty.
    rows, columns, value : columns of the table.
    title : title of the scale, with the unit.
    small : the note below.

    Raises
    ------
    DataError
        If no value is above 0.
    """
    table = table[table[value] > 0]
    if table.empty:
        raise DataError(f"No {value!r} above 0 to draw. Measure it, or relax the filter.")
    y, x = (list(dict.fromkeys(table[name])) for name in (rows, columns))
    cells = {(row[rows], row[columns]): row for row in table.to_dict("records")}

    def each(name: str, none: Any) -> list[list[Any]]:
        return [[cells[row, col][name] if (row, col) in cells else none for col in x] for row in y]

    heat = go.Heatmap(
        z=[[None if v is None else math.log10(v) for v in row] for row in each(value, None)],
        x=x,
        y=y,
        text=each("label", ""),
        customdata=each("about", ""),
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        xgap=1,
        ygap=1,
        coloraxis="coloraxis",
        meta={"logarithm": 10},
    )
    ends = (math.log10(table[value].min()), math.log10(table[value].max()))
    figure = go.Figure([heat, *labels([heat], 12, ends)])
    figure.update_layout(
        coloraxis=_colours(table[value].tolist(), title),
        xaxis={"title": {"text": columns}, "showgrid": False, "type": "category"},
        yaxis={"title": {"text": rows}, "showgrid": False, "type": "category", "autorange": "reversed"},
        plot_bgcolor="#f4f4f4",
    )
    return style.finish(figure, note("matrix", small), height=max(_LEAST, _ROW * len(y) + 120))


def _panel(
    table: pd.DataFrame, y: Sequence[int], x: Sequence[int], unit: str, letters: int, ends: tuple[float, float]
) -> Iterator[go.Heatmap | go.Scatter]:
    """Yield one of several heat maps, of the logarithms of its values, its cells without a colour, and their labels."""
    values = [[_at(_coloured(table), row, col, "median") for col in x] for row in y]
    about = _texts(_coloured(table), y, x, unit, _short)
    logarithms = [[math.log10(v) if v else None for v in row] for row in values]
    maps = [go.Heatmap(z=logarithms, coloraxis="coloraxis", meta={"logarithm": 10}, **about)]
    if len(bounds := _colourless(table)):
        maps.append(_grey(bounds, y, x, _texts(bounds, y, x, unit, _short)))
    yield from maps
    yield from labels(maps, letters, ends)


def labels(maps: Iterable[go.Heatmap], letters: int, ends: tuple[float, float] | None = None) -> Iterator[go.Scatter]:
    """Yield the texts of the cells of heat maps as traces, dark or white, whichever contrasts more with the cell.

    Parameters
    ----------
    maps : with a text for each cell.
    letters : size of the texts, px.
    ends : values at the ends of the scale of colours; those of each map when left out.
    """
    written: dict[str, list[tuple[Any, Any, str]]] = {_DARK: [], _LIGHT: []}
    for one in maps:
        values = [z for row in one.z for z in row if z is not None]
        low, high = ends or (min(values, default=0.0), max(values, default=1.0))
        for row, y in enumerate(one.y):
            for col, x in enumerate(one.x):
                if (z := one.z[row][col]) is not None and one.text[row][col]:
                    part = min(1.0, max(0.0, (z - low) / (high - low))) if high > low else 0.0
                    colour = _GREY if one.showscale is False else sample_colours(SCALE, [part])[0]
                    best = max(written, key=lambda ink: contrast(ink, colour))
                    written[best].append((x, y, one.text[row][col]))
    for ink, cells in written.items():
        if cells:
            yield go.Scatter(
                **dict(zip(("x", "y", "text"), map(list, zip(*cells, strict=True)), strict=True)),
                mode="text",
                textfont={"size": letters, "color": ink},
                hoverinfo="skip",
                showlegend=False,
            )


def contrast(one: str, other: str) -> float:
    """Return the ratio of contrast of two colours, from 1 to 21, as WCAG 2 defines it.

    Examples
    --------
    >>> round(contrast("#000000", "rgb(255, 255, 255)"))
    21
    """
    low, high = sorted(_brightness(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _brightness(colour: str) -> float:
    """Return the relative luminance of a colour written as #rrggbb or rgb(r, g, b)."""
    given = re.findall(r"[\d.]+", colour) if colour.startswith("rgb") else []
    parts = [float(part) for part in given] or [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in parts)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _texts(
    table: pd.DataFrame, y: Sequence[int], x: Sequence[int], unit: str, short: Callable[[float], str]
) -> dict[str, Any]:
    """Return places of the cells, the text in each, and the hover text."""

    def label(row: int, col: int) -> str:
        value = _at(table, row, col, "median")
        bound = (_at(table, row, col, "coarse") or 0.0) >= MOST
        return "" if value is None else f"{sign(unit) if bound else ''}{short(value)}"

    return {
        "x": _positions(x),
        "y": _positions(y),
        "xgap": 1,
        "ygap": 1,
        "text": [[label(row, col) for col in x] for row in y],
        "customdata": [[_about(table, row, col, unit) for col in x] for row in y],
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
    }


def _colours(values: Sequence[float], title: str) -> dict[str, Any]:
    """Scale of colours of logarithms, with the values themselves as labels."""
    low, high = math.log10(min(values)), math.log10(max(values))
    parts = _PARTS if high - low < _FEW else _PARTS[:1]
    ticks = [decade + part for decade in range(math.floor(low), math.ceil(high) + 1) for part in parts]
    ticks = [tick for tick in ticks if low <= tick <= high] or [low, high]
    return {
        "colorscale": SCALE,
        "colorbar": {
            "title": {"text": title, "side": "right"},
            "thickness": 14,
            "outlinewidth": 0,
            "tickvals": ticks,
            "ticktext": [_short(10**tick).replace(".0k", "k") for tick in ticks],
        },
    }


def _short(value: float) -> str:
    """A value in at most four characters, as cells of narrow panels hold it: 12345 is 12k."""
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    return f"{value / 1000:.1f}k" if value >= 1000 else format_number(value, digits=3)


def _cells(reported: pd.DataFrame, rows: str, columns: str, value: str, statistic: str | None) -> pd.DataFrame:
    """Return the rows of a value that have both labels, one unit and one statistic."""
    for name in (rows, columns):
        if name not in reported:
            raise unknown_name("column", name, list(reported.columns), error=DataError)
    names = list(reported["name"].unique()) if "name" in reported else []
    cells = reported[reported["name"] == value] if value in names else reported
    if value not in names and value not in reported:
        raise unknown_name("value", value, names, error=DataError)
    cells = cells.rename(columns={value: "value"}).dropna(subset=[rows, columns, "value"])
    if "unit" in cells and set(cells["unit"]) == {units.SMALL} and cells["value"].max() > MOST_MB:
        cells = cells.assign(value=cells["value"] / 1000, unit=units.LARGE)
    if statistic is not None:
        cells = cells[cells["statistic"] == statistic]
    if cells.empty:
        raise DataError(f"No {value!r} has both {rows} and {columns}. Measure it, or relax the filter.")
    if "unit" not in cells:
        raise DataError(
            "The cells have no column 'unit'. Take the table of `labkit.read.records.reported` with all its columns."
        )
    for name in ("name", "unit", "statistic", "benchmark", "fingerprint"):
        if name in cells and cells[name].nunique() > 1:
            raise DataError(
                f"{name} differs between cells: {', '.join(map(str, cells[name].unique()))}. Filter to one."
            )
    repeated = cells[cells.duplicated([rows, columns, "launch"], keep=False)] if "launch" in cells else cells.iloc[:0]
    if len(repeated):
        differ = [
            c for c in repeated if c not in (rows, columns, "value", "launch") and repeated[c].nunique(dropna=False) > 1
        ]
        raise DataError(f"A launch has several values in a cell, which differ in {', '.join(differ)}. Filter to one.")
    return cells


def _at(table: pd.DataFrame, row: int, col: int, name: str) -> float | None:
    """Value of a cell; None if it was not measured."""
    return float(table.loc[(row, col), name]) if (row, col) in table.index else None


def _table(cells: pd.DataFrame, rows: str, columns: str) -> pd.DataFrame:
    """Return the statistics of each cell over launches, and the part of the launches with a coarse value."""
    groups = cells.groupby([rows, columns])
    table = groups["value"].agg(_STATISTICS)
    return table.assign(coarse=groups["coarse"].mean() if "coarse" in cells else 0.0)


def _grey(bounds: pd.DataFrame, y: Sequence[int], x: Sequence[int], about: Mapping[str, Any]) -> go.Heatmap:
    """Return cells in one colour that the scale lacks."""
    z = [[1.0 if (row, col) in bounds.index else None for col in x] for row in y]
    return go.Heatmap(z=z, colorscale=[[0, _GREY], [1, _GREY]], showscale=False, **about)


def _meaning(tables: Iterable[pd.DataFrame], unit: str) -> Note:
    """Say what grey cells and their signs mean; empty without one."""
    grey = any(len(_colourless(table)) for table in tables)
    return note("clock-resolution", f"{sign(unit)}and grey: a bound, {UNRESOLVED}" if grey else "")


def _colourless(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have no colour of the scale: their values are bounds."""
    return table[table["coarse"] >= MOST]


def _coloured(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cells that have a colour."""
    return table[table["coarse"] < MOST]


def _about(table: pd.DataFrame, row: int, col: int, unit: str) -> str:
    """Hover text of a cell; empty if it was not measured."""
    if (row, col) not in table.index:
        return ""
    cell = table.loc[(row, col)]
    spread = (
        f"<br>{format_number(cell['min'])} – {format_number(cell['max'], unit)} over "
        f"{plural(int(cell['count']), 'launch')}"
    )
    more = spread if cell["count"] > 1 else "<br>1 launch"
    if cell["coarse"] >= MOST:
        more += "<br>clock resolution"
    value = f"{text(cell['median'], unit, cell['coarse'])} {unit}"
    return f"{format_size(row)} × {format_size(col)}<br><b>{value}</b>{more}"


def _binary(sizes: Sequence[int]) -> bool:
    return all(size > 0 and size & (size - 1) == 0 for size in sizes)


def _positions(sizes: Sequence[int]) -> list[Any]:
    """Return places on the axis: log2 where all sizes are powers of two, else consecutive numbers."""
    return [math.log2(size) for size in sizes] if _binary(sizes) else list(range(len(sizes)))


def _axis(sizes: Sequence[int], title: str) -> dict[str, Any]:
    """Axis with a binary label at every size, from the first cell to the last."""
    places = _positions(sizes)
    first, last = (abs(b - a) / 2 for a, b in (places[:2], places[-2:])) if len(places) > 1 else (0.5, 0.5)
    return {
        "title": {"text": title},
        "range": [places[0] - first, places[-1] + last],
        "tickvals": places,
        "tickangle": 0,
        "showgrid": False,
        "ticktext": [format_size(size, unit="") for size in sizes],
    }


def _title(column: str) -> str:
    """Title of a size column: words, and B for its unit."""
    return f"{column.removesuffix('_B').replace('_', ' ')} (B)"
