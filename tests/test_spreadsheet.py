"""CSV: no text of others is a formula in a spreadsheet, numbers stay, and nothing is lost."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labkit.apps import cli
from labkit.apps.explorer import export
from labkit.apps.explorer.store import Store
from labkit.apps.explorer.view import View
from labkit.figures import parts
from labkit.io import csv_export
from labkit.report import figures
from labkit.store.campaign import Campaign

from . import made
from .shown import EXAMPLES

FORMULA = '=HYPERLINK("http://example.invalid","x")'
BEGINS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
cells = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
    st.builds("{}{}".format, st.sampled_from(BEGINS), st.text("A1+(,\"'\n\r)", max_size=6)),
)


def parsed(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def sound(cell: str) -> bool:
    """Whether a spreadsheet takes a cell for text or a number."""
    if not cell.startswith(BEGINS) or len(cell) == 1:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4), cells)
@example([(FORMULA, "\t=1+1"), ("-1.5", "-")], "@SUM(A1)")
def test_no_cell_is_a_formula_and_none_is_lost(rows: list[tuple[str, str]], name: str) -> None:
    columns = ["first", f"{name}2"]
    frame = pd.DataFrame(rows, columns=columns)
    for text in (
        csv_export.of_frame(frame),
        csv_export.of_rows(dict(zip(columns, row, strict=True)) for row in rows),
    ):
        printed = parsed(text)
        assert all(sound(cell) for row in printed for cell in row)
        wanted = [columns, *map(list, rows)]
        assert [len(row) for row in printed] == [2] * len(wanted)
        for cell, meant in zip(itertools.chain(*printed), itertools.chain(*wanted), strict=True):
            assert cell.removeprefix("'") == "\n".join(meant.split("\r\n")).replace("\r", "\n").removeprefix("'")


def test_numbers_and_gaps_stay_as_they_are() -> None:
    frame = pd.DataFrame({"value": [-1.5, float("nan")], "n": [-1, 2], "sure": [True, False], "name": ["a", None]})
    assert parsed(csv_export.of_frame(frame)) == [
        ["value", "n", "sure", "name"],
        ["-1.5", "-1", "True", "a"],
        ["", "2", "False", ""],
    ]
    assert csv_export.of_rows([{"x": -1.5}, {"y": None}]) == "x,y\n-1.5,\n,\n"
    assert csv_export.of_rows([]) == ""


def test_what_the_command_line_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = Campaign(tmp_path / "c")
    meta = {"library": FORMULA, "warnings": [FORMULA]}
    campaign.save(made.samples("mpi.latency", origin="imported", reported=made.values(mean=-2.0), meta=meta), "0" * 16)
    assert cli.main(["show", str(campaign.path), "--format", "csv"]) == 0
    rows = parsed(capsys.readouterr().out)
    assert all(sound(cell) for row in rows for cell in row)
    assert f"'{FORMULA}" in rows[1]


def test_what_the_explorer_and_the_report_hand_over(tmp_path: Path) -> None:
    shown = View(campaigns=(str(EXAMPLES / "two-cores"),), benchmark="mpi.latency", metric="latency_us")
    summary = Store().summary(shown.campaigns, shown.benchmark).assign(host=FORMULA)
    rows = parsed(export.write(shown, summary, "csv", tmp_path).read_text())
    assert rows[1][rows[0].index("host")] == f"'{FORMULA}"
    spec = json.loads(json.dumps({"data": [{"name": FORMULA, "x": ["@SUM(1)"], "y": [-1]}]}))
    assert parsed(figures.as_csv(parts.described(spec).table))[1] == [f"'{FORMULA}", "'@SUM(1)", "-1"]
