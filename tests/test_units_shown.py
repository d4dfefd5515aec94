"""A table that shows values of a benchmark shows them in units of its metrics: in the documentation and in reports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit import benchmarks
from labkit.io import project
from labkit.point.columns import METRICS
from labkit.read.reference import UNITS
from labkit.report.blocks import overview, repeated
from labkit.report.content import Content
from labkit.report.sources import read

ROOT = project.SHIPPED
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "templates").rglob("*.qmd"))]
EVERY = benchmarks.every()
SIZES = {"B", ""}  # a size may stand in every row
# how tables write a unit: as in METRICS, or as in UNITS
MEASURES = {name: kind for name, (kind, _) in UNITS.items()}
MEASURES |= {one.unit: MEASURES.get(one.unit, one.unit) for one in METRICS.values()}
_UNIT = "|".join(re.escape(name) for name in sorted(MEASURES, key=len, reverse=True) if len(name) > 1 or name in "s%")


def measures(name: str) -> set[str]:
    """What the metrics of a benchmark measure: s, B/s, …"""
    benchmark = EVERY[name]
    metrics = [*benchmark.metrics, *benchmark.phases.values(), *benchmark.derived]
    return {MEASURES[METRICS[one].unit] for one in metrics}


def wrong(text: str) -> Iterator[str]:
    """Yield the rows of Markdown tables with a value, or below a head, in a unit that is none of their benchmark's."""
    heads: list[str] = []
    for line in text.splitlines():
        cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
        if not line.lstrip().startswith("|"):
            heads = []
        elif not heads:
            heads = cells
        else:
            names = {name for name in re.findall(r"`?\b([a-z]+\.\w+)\b`?", line) if name in EVERY}
            known = {kind for name in names for kind in measures(name)} | SIZES
            for head, cell in zip(heads, cells, strict=False):
                if not names or re.search(r"\b(experiment|statistic|takes)\b", head):
                    continue
                # without settings such as delay=4ms and (4 ms of delay), and without the share in 20 % of 100 Gb/s
                values = re.sub(
                    r"\w+=\S+|\([^()]*\b(?:links of|of delay|of loss)\b[^()]*\)|\d % of (?=\d)",
                    "",
                    cell.replace("\u00a0", " "),
                )
                units = re.findall(rf"\d\**\s?({_UNIT})(?![\w/])", values)
                units += re.findall(rf"\(({_UNIT})\)\s*$", head.strip()) if re.search(r"\d", cell) else []
                if any(MEASURES[unit] not in known for unit in units):
                    yield f"{sorted(names)}: {head.strip()}: {cell.strip()}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_table_of_the_documentation_has_a_unit_that_is_none_of_its_benchmark(page: Path) -> None:
    assert not list(wrong(page.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("two-cores", marks=pytest.mark.slow), "virtual-cluster"])
def test_no_table_of_a_report_has_a_unit_that_is_none_of_its_benchmark(name: str) -> None:
    content = Content([read(ROOT / "data" / "campaigns" / "examples" / name)], {})
    text = "\n\n".join([repeated.repeated(content), overview.measured(content)])
    assert "| **" in text
    assert not list(wrong(text))


def test_a_wrong_unit_is_found() -> None:
    head = "| benchmark | value |\n|:--|:--|\n"
    assert list(wrong(head + "| `mpi.latency` | 12 MB/s |"))
    assert list(wrong(head + "| `compute.hpl` | 71 MB/s |"))
    assert not list(wrong(head + "| `mpi.latency` | 12 µs at 64 KiB |\n| `compute.hpl` | 71 % |"))
    assert list(wrong("| benchmark | result (MB/s) |\n|:--|:--|\n| mpi.latency | 12 |"))


def test_tables_of_the_benches_that_compare_programs_show_ratios_or_units_of_the_metric() -> None:
    for path in sorted((ROOT / "bench").glob("*.py")):
        rows = [line for line in re.findall(r'"([^"\n]*)"', path.read_text()) if line.lstrip().startswith("|")]
        assert not list(wrong("\n".join(rows))), path.name
