"""Names, units and the printed data dictionary."""

import re
from pathlib import Path

import pytest

from labkit import columns

DOCS = Path(__file__).parents[1] / "docs"


def test_the_data_dictionary_is_up_to_date() -> None:
    """After a change of the tables: write `columns.dictionary()` to docs/data-dictionary.md."""
    assert (DOCS / "data-dictionary.md").read_text() == columns.dictionary()


def test_the_dictionary_has_every_name_once() -> None:
    text = columns.dictionary()
    for table in (columns.COLUMNS, columns.SUMMARY, columns.METRICS, columns.STATISTICS):
        for name in table:
            assert len(re.findall(rf"^\| `{name}` \|", text, re.M)) == 1, name


@pytest.mark.parametrize("metric", columns.METRICS.values(), ids=lambda m: m.name)
def test_a_metric_carries_its_unit(metric: columns.Metric) -> None:
    suffix = metric.unit.replace("µ", "u").replace("1/", "per_").replace("/", "p").replace("%", "percent")
    assert metric.name.endswith("_" + suffix)
    assert metric.title == f"{metric.label} ({metric.unit})"
    assert metric.meaning.endswith(".")
    assert metric.better == ("lower" if metric.kind in ("cost", "loss") else "higher")


@pytest.mark.parametrize("metric", columns.METRICS)
@pytest.mark.parametrize("statistic", columns.STATISTICS)
def test_split_undoes_statistic_column(metric: str, statistic: str) -> None:
    column = columns.statistic_column(metric, statistic)
    assert columns.split(column) == (metric, statistic)
    assert columns.METRICS[metric].unit in columns.title(column)


def test_plain_columns() -> None:
    for name, column in (columns.COLUMNS | columns.SUMMARY).items():
        assert columns.split(name) is None
        assert column.dtype in ("str", "int64", "float64", "bool", "list of notes", "list of str")
        if column.unit:
            assert name.endswith("_" + column.unit), f"{name} must end in its unit"
    assert columns.title("timer_overhead_ns") == "timer overhead (ns)"
    assert columns.title("option_window") == "option window"
