"""Names beside lines, in figures that are too narrow for a legend."""

from __future__ import annotations

import math
from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import figures
from labkit.figures import labels


def lines(*values: list[float], log: bool = True) -> go.Figure:
    figure = go.Figure([{"x": [1, 10, 100], "y": y, "name": f"line {n}"} for n, y in enumerate(values)])
    kind = "log" if log else "linear"
    return figure.update_layout(xaxis_type=kind, yaxis_type=kind, showlegend=True)


def pixels(figure: go.Figure, height: float) -> dict[str, float]:
    """Name → its place from the top, px."""
    ends = [value for trace in figure.data for value in trace.y]
    low, high = math.log10(min(ends)), math.log10(max(ends))
    return {
        note.text.rpartition("> ")[2]: (1 - (note.y - low) / (high - low)) * height - note.yshift
        for note in figure.layout.annotations
    }


def test_a_name_stands_above_the_last_point_of_its_line() -> None:
    figure = figures.label_lines(lines([1.0, 2.0, 10.0], [1.0, 50.0, 100.0]), 300)
    assert not figure.layout.showlegend
    first, second = figure.layout.annotations
    assert (first.text.rpartition("> ")[2], second.text.rpartition("> ")[2]) == ("line 1", "line 0")
    assert (first.x, first.y, second.x, second.y) == (2.0, 2.0, 2.0, 1.0)  # logarithms
    assert first.xanchor == second.xanchor == "right"
    assert second.yshift == 10


@given(st.lists(st.floats(1, 1000), min_size=2, max_size=9))
def test_names_keep_apart_and_inside(ends: list[float]) -> None:
    height = 300
    figure = figures.label_lines(lines(*([1.0, 1000.0, end] for end in ends)), height)
    places = sorted(pixels(figure, height).values())
    assert len(places) == len(ends)
    assert all(b - a >= labels._APART - 1e-6 for a, b in pairwise(places))
    assert places[0] >= -1e-6
    assert places[-1] <= height


def test_what_has_no_name_or_no_point_gets_none_and_categories_keep_their_legend() -> None:
    figure = lines([1.0, 2.0, None])  # type: ignore[list-item]
    figure.add_scatter(x=[1], y=[1], name="marks", showlegend=False)
    figure.add_scatter(x=[1], y=[None], name="empty")
    (note,) = figures.label_lines(figure, 300).layout.annotations
    assert (note.x, note.xanchor) == (1.0, "center")  # in the middle between 1 and 100
    bars = go.Figure([go.Bar(x=["a"], y=[1], name="a")]).update_layout(xaxis_type="category", showlegend=True)
    assert figures.label_lines(bars, 300).layout.showlegend


def test_long_names_are_cut_and_stay_text() -> None:
    figure = lines([1.0, 2.0, 3.0])
    figure.data[0].name = "shm, c &lt;b&gt;, OMPI_MCA_btl_vader_eager_limit=16384"
    (note,) = figures.label_lines(figure, 300, 16).layout.annotations
    assert note.text.endswith("</span> shm, c &lt;b&gt;, OMP…")


@pytest.mark.parametrize(("x", "side"), [(1, "left"), (10, "center"), (100, "right")])
def test_a_single_point_is_named_beside_it(x: int, side: str) -> None:
    figure = lines([1.0, 2.0, 3.0])
    figure.add_scatter(x=[x], y=[7.0], name="published")
    note = figures.label_lines(figure, 300).layout.annotations[0]
    assert (note.text.rpartition("> ")[2], note.xanchor) == ("published", side)


def test_a_measured_figure_is_labelled() -> None:
    rows = pd.DataFrame({"benchmark": "mpi.latency", "message_size_B": [1, 1024], "transport": ["shm", "shm"],
                         "origin": "measured", "latency_us_p50": [1.0, 2.0], "headline": "1 launch"})  # fmt: skip
    both = pd.concat([rows, rows.assign(transport="tcp", latency_us_p50=[3.0, 9.0])])
    figure = figures.label_lines(figures.versus_size(both, "latency_us", tail=None), 300)
    named = [note.text.rpartition("> ")[2] for note in figure.layout.annotations if "●" in note.text]
    assert named == ["tcp", "shm"]
