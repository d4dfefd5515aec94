"""The typed parts that pass from studies to reports."""

from __future__ import annotations

import contextlib
import inspect
import json
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_notebook, new_output

from labkit import figures, studies
from labkit.apps import notebook
from labkit.errors import DataError, LabkitError
from labkit.figures import data, parts, small_print
from labkit.figures.plotly import go
from labkit.point.notes import Note, note
from labkit.read import records
from labkit.report import notebook as report_notebook
from labkit.studies import _several

from .test_figures import table

TEXTS = st.text(max_size=20)
NOTES = st.lists(st.builds(Note, TEXTS, TEXTS), max_size=3).map(tuple)
CELLS = st.one_of(st.none(), st.booleans(), st.integers(), TEXTS)
TABLES = st.integers(1, 3).flatmap(
    lambda wide: st.builds(
        parts.Table,
        st.tuples(*[st.builds(parts.Column, TEXTS, TEXTS, st.sampled_from("lr"))] * wide),
        st.lists(st.tuples(*[TEXTS] * wide), max_size=3).map(tuple),
        st.lists(st.tuples(*[CELLS] * wide), max_size=3).map(tuple),
    )
)
PARTS = st.one_of(
    TABLES,
    st.builds(parts.Text, TEXTS, st.lists(TEXTS, max_size=3).map(tuple), NOTES),
    st.builds(parts.Omitted, TEXTS, TEXTS),
    st.builds(parts.Described, TEXTS, TABLES, st.one_of(st.none(), TABLES), NOTES, TEXTS, TEXTS, TEXTS),
)


@given(PARTS)
def test_a_part_comes_back_as_it_was(part: Any) -> None:
    assert parts.read(json.loads(json.dumps(parts.as_json(part)))) == part


JSON = st.recursive(
    CELLS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)
FIELDS = ("columns", "rows", "values", "body", "findings", "notes", "why", "code", "alt", "data", "instead", "title")


@given(st.sampled_from(["figure", "table", "text", "omitted", "", 3]), st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_a_part_from_elsewhere_is_read_or_refused(kind: object, given_: dict[str, Any]) -> None:
    with contextlib.suppress(DataError):
        parts.read({"schema": parts.SCHEMA, "kind": kind} | given_)


@pytest.mark.parametrize("given_", [None, 3, [], {}, {"schema": 2, "kind": "text"}, {"schema": "1"}])
def test_another_schema_is_refused(given_: object) -> None:
    with pytest.raises(DataError, match="but this labkit reads 1"):
        parts.read(given_)


def test_a_figure_brings_its_data_with_units_its_notes_and_a_description() -> None:
    figure = parts.as_part(figures.versus_size(records.summary(table(sizes=(0, 8, 64), launches=3)), "latency_us"))
    forms = parts.bundle(figure)
    about = parts.read(json.loads(json.dumps(forms[parts.MIME])))
    assert isinstance(about, parts.Described)
    titles = [column.title for column in about.table.columns]
    low, high = (f"latency, median (µs), {end}" for end in ("low", "high"))
    assert titles == ["series", "message size (B)", "latency, median (µs)", low, high]
    assert [row[1] for row in about.table.values] == [0, 8, 64] * 4, (
        "0 is not at its place on the axis, and no gap is a row"
    )
    assert about.notes[0] == note("bars", "bars: range of 3 launches")
    assert about.title == "message size (B)"
    assert "(µs) against message size (B): " in about.alt
    assert forms[parts.PLOTLY]["layout"]["xaxis"]["title"]["text"].startswith("message size (B)<br>")


def test_places_with_names_at_two_levels_have_one_name_in_the_rows() -> None:
    """As computation and communication of each rank, in groups by the number of ranks."""
    groups, ranks = ["1 rank", "2 ranks", "2 ranks"], [0, 0, 1]
    spec = {"data": [{"name": "computation", "type": "bar", "x": [groups, ranks], "y": [1, 2, 3]}]}
    assert data.single(spec) is None
    rows = data.rows(spec)
    assert [(row["x"], row["y"]) for row in rows] == [("1 rank, 0", 1), ("2 ranks, 0", 2), ("2 ranks, 1", 3)]


@pytest.mark.parametrize(
    ("title", "tick", "where"),
    [
        ("request size (B)", "4Ki", "latency (µs) at 4 KiB"),
        ("ranks", "4Ki", "latency (µs) at ranks 4Ki"),
        ("ranks", "16", "latency (µs) at 16 ranks"),
        ("order", "16", "latency (µs) at order 16"),
    ],
)
def test_a_figure_of_one_place_is_a_table_that_names_it(title: str, tick: str, where: str) -> None:
    line = {"name": "shm", "type": "scatter", "x": [4096], "y": [2.5]}
    axes = {"yaxis": {"title": "latency (µs)"}, "xaxis": {"title": title, "ticktext": [tick]}}
    made = data.single({"data": [line], "layout": axes})
    assert made is not None
    assert made[0] == ["series", where, "interval"]


def test_panels_with_different_axes_have_columns_with_units_and_sentences_of_their_own() -> None:
    traces = [
        {"name": "shm", "x": [1, 2], "y": [0.5, 0.75], "error_y": {"array": [1, 1], "arrayminus": [0.25, 0.25]}},
        {"name": "shm", "x": [1, 2], "y": [20, 40], "xaxis": "x2", "yaxis": "y2", "showlegend": False},
        {"name": "tail", "x": [1, 2], "y": [70, 80], "xaxis": "x2", "yaxis": "y2", "showlegend": False},
    ]
    titles = {"yaxis": "latency (µs)", "yaxis2": "bandwidth (MB/s)", "xaxis": "size (B)", "xaxis2": "size (B)"}
    spec = {"data": traces, "layout": {axis: {"title": {"text": text}} for axis, text in titles.items()}}
    table = parts.described(spec).table
    heads = [column.title for column in table.columns]
    assert heads == [
        "series", "size (B)", "latency (µs)", "latency (µs), low", "latency (µs), high", "bandwidth (MB/s)"
    ]  # fmt: skip
    assert table.values[0] == ("shm", 1, 0.5, 0.25, 1.5, "")
    assert table.values[2] == ("shm", 1, "", "", "", 20)
    assert data.words(spec) == (
        "Left: latency (µs) against size (B): shm from 0.5 to 0.75 (2 points). "
        "Right: bandwidth (MB/s) against size (B): shm from 20 to 40 (2 points)."
    )


def test_the_data_of_boxes_are_their_quartiles_and_whiskers() -> None:
    box = {"type": "box", "name": "a", "x": ["0"]} | {one: [n] for n, one in enumerate(data.BOX)}
    spec = {"data": [box], "layout": {"yaxis": {"title": {"text": "time (µs)"}}, "xaxis": {"title": {"text": "rank"}}}}
    table = parts.described(spec).table
    assert [column.title for column in table.columns][2:] == [f"time (µs), {one}" for one in data.BOX]
    assert table.values == (("a", "0", 0, 1, 2, 3, 4),)
    assert data.words(spec) == "time (µs) against rank: a 2."


def test_notes_can_be_added_and_taken_and_a_figure_grows_by_their_lines() -> None:
    figure = go.Figure(layout={"height": 300, "xaxis": {"title": {"text": "size"}}})
    small_print.add(figure, note("n", "n=3"))
    assert figure.layout.height == 300 + small_print.LINE
    small_print.add(figure, note("kept", "word " * 30))
    assert [one.code for one in small_print.notes_of(figure)] == ["n", "kept"]
    assert figure.layout.height == 300 + 2 * small_print.LINE
    assert [one.code for one in small_print.take(figure)] == ["n", "kept"]
    assert figure.layout.xaxis.title.text == "size"
    assert small_print.notes_of(figure) == ()


def test_jupyter_shows_a_part_at_the_end_of_a_cell() -> None:
    for part in (
        parts.Text("a"),
        parts.Warned((note("a", "b"),)),
        parts.Omitted("b."),
        parts.Table.of(["c"], [["1"]]),
        parts.Figure(go.Figure()),
    ):
        assert part._repr_mimebundle_() == parts.bundle(part)


@pytest.mark.parametrize("name", studies.names())
def test_what_a_study_shows_is_typed(name: str) -> None:
    """A figure or a text is never a plain string, which a report would have to parse."""
    if name == "needs":
        return
    for method, function in inspect.getmembers(studies.get(name), inspect.isfunction):
        if not method.startswith("_"):
            returned = str(function.__annotations__.get("return", ""))
            assert "go.Figure" not in returned or method == "bounded", f"{name}.{method} returns {returned}"
            assert not (_several.is_shown(function) and "str" in returned.split(" | ")), f"{name}.{method}"


def test_a_study_without_points_returns_what_it_omits(tmp_path: Path) -> None:
    from labkit.store.campaign import Campaign

    study = studies.get("latency")(campaign=str(Campaign(tmp_path / "c", {}).path), measure=False)
    assert study.latency_figure() == parts.NOTHING  # type: ignore[attr-defined]


def test_parts_of_several_campaigns_become_one() -> None:
    first, second = (parts.Figure(go.Figure(layout={"xaxis": {"title": {"text": "x"}}})) for _ in "ab")
    figure = _several.combined({"a": first, "b": second}, {"c": "has none"}, what="f")
    assert [one.text for one in figure.notes] == ["campaign a", "not drawn: b"]
    text = _several.combined({"a": parts.Text("One."), "b": parts.Text("Two.")}, {"c": "It failed."}, what="f")
    assert str(text) == "Campaign **a**:\n\nOne.\n\nCampaign **b**:\n\nTwo.\n\nCampaign **c**:\n\n*It failed.*"
    same = parts.Text("The same.")
    assert _several.combined({"a": same, "b": same}, {}, what="f") == same
    assert _several.combined({"a": parts.NOTHING, "b": parts.NOTHING}, {}, what="f") == parts.NOTHING
    frame = _several.combined({"a": table(), "b": table()}, {}, what="f")
    assert list(frame["campaign"].unique()) == ["a", "b"]
    with pytest.raises(LabkitError, match="has what f needs: has none"):
        _several.combined({}, {"c": "has none"}, what="f")


def test_a_report_reads_no_part_that_is_not_as_labkit_writes_it(tmp_path: Path) -> None:
    """A wrong part leaves the other forms of its output."""
    good = parts.bundle(parts.Text("Good."))
    wrong = good | {parts.MIME: {"schema": parts.SCHEMA, "kind": "text", "body": 3}, "text/markdown": "Wrong."}
    mixed = parts.bundle(parts.Figure(go.Figure(go.Scatter(x=[1, 2], y=[1, 2])))) | {parts.MIME: good[parts.MIME]}
    outputs = [new_output("display_data", data=data) for data in (good, wrong, mixed)]
    path = tmp_path / "10-x.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("x", outputs=outputs)]), path)
    chapter = report_notebook.finish(path)
    shown = chapter.notebook.cells[1].outputs
    assert [one.data.get("text/markdown") for one in shown] == ["Good.", "Wrong.", None]
    assert isinstance(report_notebook.part_of(shown[0]), parts.Text)
    assert report_notebook.part_of(shown[1]) is None
    assert "text/html" in shown[2].data


def test_a_column_has_one_number_of_digits() -> None:
    """Numbers without an interval have three digits each, zeros at the end included; whole numbers have none."""
    frame = pd.DataFrame(
        {
            "latency_us_p99": [0.19531, 9.5, 183.1, float("nan")],
            "slots": [2.0, 10.0, 5.0, 1.0],
            "certain": [True, False, True, True],
        }
    )
    made = notebook.of_frame(frame)
    assert isinstance(made, parts.Table)
    assert [*zip(*made.rows, strict=True)] == [
        ("0.195", "9.50", "183", "–"),
        ("2", "10", "5", "1"),
        ("yes", "no", "yes", "yes"),
    ]


def test_a_table_keeps_its_values_beside_its_texts() -> None:
    frame = records.summary(table(sizes=(8,), transports=("shm",)))[["message_size_B", "latency_us_p50", "n"]]
    made = notebook.of_frame(frame)
    assert isinstance(made, parts.Table)
    assert [column.name for column in made.columns] == ["message_size_B", "latency_us_p50", "n"]
    assert made.rows[0][0] == "8 B"
    assert made.values[0][:2] == (8, pytest.approx(float(frame["latency_us_p50"].iloc[0])))


def test_a_column_above_9999_mb_per_s_is_in_gigabytes_and_its_head_says_so() -> None:
    frame = pd.DataFrame(
        {
            "message_size_B": [8, 1024],
            "bandwidth_MBps_p50": [135.0, 12920.0],
            "bandwidth_MBps_low": [79.0, 10650.0],
            "bandwidth_MBps_high": [137.0, 13060.0],
        }
    )
    made = notebook.of_frame(frame)
    assert [column.title for column in made.columns] == ["message size", "median (GB/s)", "low (GB/s)", "high (GB/s)"]
    assert made.rows == (("8 B", "0.135", "0.079", "0.137"), ("1 KiB", "12.9", "10.7", "13.1"))
    assert made.values[1][1] == 12920.0, "programs get the column's own unit, as its name says"
    small = notebook.of_frame(frame[:1])
    assert small.columns[1].title == "median (MB/s)"
    assert small.rows[0][1] == "135"
