"""All pairs of victims and congestors: the sweep, and its figure."""

from __future__ import annotations

import re
from itertools import product
from typing import get_args, get_type_hints

import pandas as pd
import pytest

from labkit import figures
from labkit.benchmarks.congestion.gpcnet import Loaded
from labkit.errors import DataError
from labkit.figures import data
from labkit.studies import congestion_impact
from tests.shown import shown


def test_the_word_all_sweeps_all_pairs() -> None:
    options = get_type_hints(Loaded)
    pairs = set(product(get_args(options["pattern"]), get_args(options["congestor"])))
    assert len(pairs) == 35
    named = {name: congestion_impact._named("all", name) for name in ("pattern", "congestor")}
    assert set(product(named["pattern"], named["congestor"])) == pairs
    assert congestion_impact._named("latency, alltoall", "pattern") == ["latency", "alltoall"]


def test_a_cell_for_each_pair_in_the_order_of_its_names() -> None:
    cells = [("b", "x", 4.0), ("b", "y", 1.0), ("a", "x", 2.0)]
    rows = [
        {"victims": row, "congestors": column, "factor": value, "label": f"{value:g}", "about": f"{row} {column}"}
        for row, column, value in cells
    ]
    figure = figures.matrix(pd.DataFrame(rows), "victims", "congestors", "factor", title="impact (times)", small="s")
    heat = figure.data[0]
    assert (list(heat.y), list(heat.x)) == (["b", "a"], ["x", "y"])
    assert [list(row) for row in heat.text] == [["4", "1"], ["2", ""]]
    assert heat.z[0][0] == pytest.approx(2 * heat.z[1][0])
    assert heat.z[1][1] is None
    with pytest.raises(DataError, match="No 'factor' above 0"):
        figures.matrix(pd.DataFrame(rows).assign(factor=0.0), "victims", "congestors", "factor", title="t", small="s")


def test_the_notebook_shows_the_pairs_of_the_recorded_campaign() -> None:
    figure = next(one for one in shown("virtual-cluster", "62-congestion") if one.label.endswith("-matrix"))
    texts = figure.spec["data"][0]["text"]
    assert [len(row) for row in texts] == [2, 2, 2]
    assert sum(text.startswith("(") for row in texts for text in row) == 3, "three of six effects are not shown"
    assert "congestors" in figure.small
    factors = [float(text.strip("()")) for row in texts for text in row]
    assert [row["z"] for row in data.rows(figure.spec)] == pytest.approx(factors, rel=0.01), "and no logarithms"
    ends = re.search(r"from (\S+) to (\S+) \(6 cells\)", data.words(figure.spec))
    assert ends
    assert [float(end) for end in ends.groups()] == pytest.approx([min(factors), max(factors)], rel=0.01)
