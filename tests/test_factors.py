"""Rows of a table can be told apart: every setting in which points of a benchmark differ is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from labkit.apps.show.results import result_table
from labkit.read.records.factors import differing
from labkit.report.content import Content
from labkit.report.sources import Source
from labkit.report.sources import read as read_once
from labkit.report.summary import key_table
from labkit.report.variables import key_numbers, sized

read: Callable[[Path], Source] = cache(read_once)
EXAMPLES = sorted((Path(__file__).parents[1] / "data/campaigns/examples").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_no_two_key_numbers_have_the_same_label(folder: Path) -> None:
    numbers = key_numbers(read(folder))
    labels = Counter((one.title, one.origin, one.transport, one.ranks, one.setting, one.size) for one in numbers)
    assert numbers
    assert not [label for label, count in labels.items() if count > 1]


@pytest.mark.slow
def test_no_two_rows_of_the_table_of_key_numbers_begin_alike() -> None:
    (example,) = (path for path in EXAMPLES if path.name == "two-cores")
    text = key_table(Content([read(example)], {}))
    rows = [line.split("|")[1:6] for line in text.splitlines() if line.startswith("|")]
    assert len(rows) >= 20
    assert len({tuple(row) for row in rows}) == len(rows)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_no_two_rows_that_show_prints_have_the_same_label(folder: Path) -> None:
    for (name, *_), group in read(folder).summary.groupby(["benchmark", "testbed", "ranks"]):
        labels = [*differing(group, skip=("testbed", "ranks")), *(["message_size_B"] if sized(str(name)) else [])]
        assert not labels or not group.duplicated(labels).any(), name
        assert labels or len(group) == 1, name


def test_show_tells_a_variable_that_only_some_points_had() -> None:
    (labs,) = (path for path in EXAMPLES if path.name == "two-cores-labs")
    records = read(labs).records
    text = result_table(records[records["benchmark"] == "mpi.latency"])
    assert "OMPI_MCA_btl_vader_eager_limit" in text.splitlines()[1]


def test_a_missing_value_is_a_value_and_what_another_column_says_is_left_out() -> None:
    rows = pd.DataFrame(
        {
            "message_size_B": 8,
            "env_X": ["1", None, "1", None],
            "library": ["A 1", "A 1", "B 2", "B 2"],
            "launcher": ["a", "a", "b", "b"],
            "bind": "none",
            "fingerprint": list("wxyz"),
        }
    )
    assert differing(rows) == ["library", "env_X"]
    assert differing(rows.assign(library="A 1", launcher="a")) == ["env_X", "fingerprint"]
