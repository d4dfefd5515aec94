"""Names, units and the printed data dictionary."""

import itertools
import re
from pathlib import Path

import pytest

from labkit.point import columns
from labkit.store.samples import facts

DOCS = Path(__file__).parents[1] / "docs"


def test_the_data_dictionary_is_up_to_date() -> None:
    """After a change of the tables: write `columns.dictionary() + facts.dictionary()` to docs/data-dictionary.md."""
    assert (DOCS / "data-dictionary.md").read_text() == columns.dictionary() + facts.dictionary()


def test_the_dictionary_has_every_name_once() -> None:
    text = columns.dictionary()
    for table in (columns.COLUMNS, columns.SUMMARY, columns.METRICS, columns.STATISTICS):
        for name in table:
            assert len(re.findall(rf"^\|[^|]*`{name}`[^|]*\|", text, re.M)) == 1, name


# unit → end of the name, units in a second, in a second's work or in the whole
UNITS = {
    "µs": ("_us", 1e6),
    "ns": ("_ns", 1e9),
    "times": ("_times", 1),
    "%": ("_percent", 1),
    "MB": ("_MB", 1e3),  # bytes are kept where other points keep ns
    "MB/s": ("_MBps", 1e-6),
    "GB/s": ("_GBps", 1e-9),
    "1/s": ("_per_s", 1),
    "s": ("_s", 1),
    "Gflop/s": ("_GFLOPS", 1e-9),
    "Mop/s": ("_Mops", 1e-6),
    "GUP/s": ("_GUPS", 1e-9),
    "GiB/s": ("_GiBps", 1),
    "kIOPS": ("_kIOPS", 1),
    "√(GiB/s·kIOPS)": ("_score", 1),
}
GOOD_WHEN_LARGE = {
    "overlap_osu_percent",
    "overlap_imb_percent",
    "available_percent",
    "peak_percent",
    "speedup_times",
    "moved_MB",
    "metadata_score_kIOPS",
    "io500_score",
}  # of those without a time


@pytest.mark.parametrize("metric", columns.METRICS.values(), ids=lambda m: m.name)
def test_name_factor_and_direction_follow_from_the_unit(metric: columns.Metric) -> None:
    end, factor = UNITS[metric.unit]
    assert metric.name.endswith(end)
    assert metric.factor == pytest.approx(factor)
    assert metric.better == ("higher" if metric.unit.endswith("/s") or metric.name in GOOD_WHEN_LARGE else "lower")
    assert metric.unit == "s" or metric.unit not in metric.label
    assert metric.meaning.endswith(".")


def test_titles_of_metrics() -> None:
    assert columns.title("latency_us") == "latency (µs)"
    assert columns.title("message_rate_per_s") == "message rate (1/s)"
    assert columns.title("lost_percent_p50") == "lost, median (%)"


def test_split_undoes_statistic_column() -> None:
    for metric, statistic in itertools.product(columns.METRICS, columns.STATISTICS):
        column = columns.statistic_column(metric, statistic)
        assert columns.split(column) == (metric, statistic)
        assert columns.METRICS[metric].unit in columns.title(column), column


def test_plain_columns() -> None:
    for name, column in (columns.COLUMNS | columns.SUMMARY).items():
        assert columns.split(name) is None
        assert column.dtype in ("str", "int64", "float64", "bool", "list of notes", "list of str", "object")
        if column.unit:
            assert name.endswith("_" + column.unit), f"{name} must end in its unit"
    assert columns.title("timer_overhead_ns") == "timer overhead (ns)"
    assert columns.title("option_window") == "option window"
