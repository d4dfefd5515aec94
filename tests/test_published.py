"""Published numbers beside measured ones: in figures, in tables and on the command line, and never among records."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labkit import figures
from labkit.apps import cli, notebook
from labkit.errors import SpecError
from labkit.figures import looks, parts, style
from labkit.point.spec import Spec
from labkit.read import records, reference

from . import made

EXAMPLE = "examples/two-cores"


def summary(benchmark: str = "mpi.latency", sizes: tuple[int, ...] = (8, 1024, 65536)) -> pd.DataFrame:
    options = {"tx_depth": 128, "qps": 1} if benchmark.endswith("bandwidth") else {}
    points = [
        made.samples(Spec(benchmark=benchmark, size=size, options=options), np.full(1200, 2000 + size), launch=launch)
        for size in sizes
        for launch in range(2)
    ]
    return records.summary(records.table(points))


def published(figure) -> list:
    return [trace for trace in figure.data if trace.name.endswith("(published)")]


def test_published_numbers_are_drawn_in_their_own_style_in_the_unit_and_at_the_size_of_the_figure() -> None:
    with looks.session():  # series of other tests may have these colours
        plain = figures.versus_size(summary(), "latency_us")
        before = plain.to_json()
        figure = notebook.overlay(plain)
    assert plain.to_json() == before
    by_name = {trace.name: trace for trace in published(figure)}
    mpich = by_name["InfiniBand (ConnectX-4), Zambre et al. 2019 (published)"]
    assert (list(mpich.x), list(mpich.y)) == ([8], [pytest.approx(1.336)])
    tcp = by_name["TCP with and without PFC, Kenny et al. 2020 (published)"]
    assert (list(tcp.y), list(tcp.error_y.array)) == ([pytest.approx(14)], [pytest.approx(1)])
    assert "13 to 15 µs" in tcp.hovertemplate
    assert "Kenny et al. 2020, section VI" in tcp.hovertemplate
    assert figure.layout.xaxis.ticktext[0] == "0"  # a size that was not measured gets its place
    assert "published: not measured here" in figure.layout.xaxis.title.text
    assert figure.layout.showlegend
    for trace in by_name.values():
        assert trace.marker.symbol.endswith(style.ORIGINS["published"].marker)
        assert trace.marker.color not in {one.marker.color for one in plain.data}
    assert len({trace.uid for trace in figure.data}) == len(figure.data)


def test_a_number_without_a_size_is_a_dotted_line_where_the_paper_says_small_or_large() -> None:
    latency = published(notebook.overlay(figures.versus_size(summary("verbs.write_latency"), "latency_us")))
    rate = published(notebook.overlay(figures.versus_size(summary("verbs.write_bandwidth"), "bandwidth_MBps")))
    assert (len(latency), len(rate)) == (3, 3)
    assert all(trace.line.dash == style.ORIGINS["published"].dash for trace in latency + rate)
    assert all(trace.x[0] == pytest.approx(8) and trace.x[-1] < 128 for trace in latency)
    assert all(trace.x[0] > 4096 and trace.x[-1] == pytest.approx(65536) for trace in rate)
    assert rate[0].y[0] == pytest.approx(831 * 2**20 / 1e6)


def test_words_choose_among_the_numbers() -> None:
    figure = figures.versus_size(summary(), "latency_us")
    assert [trace.name for trace in published(notebook.overlay(figure, "roce"))] == [
        "RoCE v1 and v2, Kenny et al. 2020 (published)"
    ]
    with pytest.raises(SpecError, match=r"No published number of mpi.latency in latency has all of these words"):
        notebook.overlay(figure, "pigeons")
    assert notebook.overlay(parts.NOTHING) == parts.NOTHING


def test_bars_get_a_bar_for_numbers_of_their_size_only() -> None:
    bars = figures.bars(summary(sizes=(8,)), "transport", "latency_us")
    drawn = published(notebook.overlay(bars))
    assert [(trace.type, list(trace.x)) for trace in drawn] == [
        ("bar", ["InfiniBand (ConnectX-4), Zambre et al. 2019"])
    ]
    assert drawn[0].marker.pattern.shape == style.ORIGINS["published"].pattern
    with pytest.raises(SpecError, match="fits the figure"):
        notebook.overlay(figures.bars(summary(sizes=(1024,)), "transport", "latency_us"))


def test_a_figure_of_another_kind_or_metric_is_refused() -> None:
    other = figures.versus(summary(), "message_size_B", "latency_us")
    with pytest.raises(SpecError, match=r"Take figures.versus_size or figures.bars"):
        notebook.overlay(other)
    wrong = reference.matching(["mpi.bandwidth"], "bandwidth_MBps")
    with pytest.raises(SpecError, match="roce_bandwidth is of bandwidth_MBps, but the figure shows latency_us"):
        figures.overlay(figures.versus_size(summary(), "latency_us"), wrong)


def test_numbers_that_a_paper_contradicts_are_searched_but_not_drawn() -> None:
    assert [one.number.name for one in reference.search(["misc_text"])] == ["misc_text"]
    assert not any(one.number.instead for one in reference.matching(["mpi.latency", "apps.fft_subcom3d"], "latency_us"))


def test_every_number_of_a_benchmark_can_be_drawn_or_listed() -> None:
    for one in reference.entries():
        if one.number.metric:
            found = [
                (other.file, other.number.name)
                for other in reference.matching(one.number.benchmarks, one.number.metric)
            ]
            assert (one.file, one.number.name) in found or one.number.instead


def test_the_file_in_the_documentation_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "reference-data.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "own-2026.toml").write_text(example)
    paper = reference.read(tmp_path / "own-2026.toml")
    assert [one.stated for one in paper.numbers.values()] == ["1.8 µs", "195 ± 5 Gb/s", "about 0.3 µs"]
    keys = {field.name for field in dataclasses.fields(reference.Number)}
    assert all(f"`{key}`" in page or f"\n{key} = " in page for key in keys)
    assert all(name in page for name in reference.names())


def test_the_command_prints_value_conditions_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reference"]) == 0
    assert "ethernet-scientific-2020" in capsys.readouterr().out
    assert cli.main(["reference", "RoCE", "bandwidth", "mpi"]) == 0
    text = capsys.readouterr().out
    for words in ("> 97 Gb/s", "Open MPI 4.0.4, 4 MiB", "section VI", "Conditions: 96 nodes"):
        assert words in text
    assert cli.main(["reference", "misc_text", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["value"], row["unit"], row["si_value"], row["si_unit"]) == (56.58, "ns", 56.58e-9, "s")
    assert (row["used_instead"], row["where"], row["page"]) == ("misc", "section 4.2", None)
    assert cli.main(["reference", "--paper", "ibisco-cluster-2025", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == len(reference.load("ibisco-cluster-2025").numbers)


def test_show_puts_published_numbers_after_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    show = ["show", EXAMPLE, "--benchmark", "mpi.bandwidth"]
    assert cli.main(show) == 0
    plain = capsys.readouterr().out
    assert cli.main([*show, "--published"]) == 0
    text = capsys.readouterr().out
    results, _, odd = plain.partition("\nodd: ")
    assert text.startswith(results.rstrip())
    assert "Published numbers beside measured ones" in text.removeprefix(results.rstrip())
    assert odd in text
    assert re.search(r"mpi.bandwidth  > 97 Gb/s .* - \(no point has its size, options and path\)", text)
    assert cli.main([*show, "--published", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {one["origin"] for one in document["records"]} == {"measured"}
    assert {one["name"] for one in document["published"]} == {"roce_bandwidth", "tcp_bandwidth"}
    assert cli.main(["show", EXAMPLE, "--benchmark", "mpi.bcast", "--published"]) == 0
    assert "No published number of these benchmarks has these options" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reference", "foo"], "No published number has 'foo'. Give fewer words"),
        (["reference", "--paper", "ibisco"], "There is no paper 'ibisco'"),
        (["show", EXAMPLE, "--published", "--format", "csv"], "--published with --format csv"),
    ],
)
def test_a_wrong_request_is_one_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 1
    assert said in capsys.readouterr().err


def test_results_are_printed_without_loading_what_papers_published() -> None:
    code = (
        "import sys; import numpy as np; from labkit.apps import show; from tests import made; "
        "show.write([made.samples('mpi.latency', np.full((2, 9), 1000))], 'table', None); "
        "print([name for name in sys.modules if name.startswith('labkit.read.reference')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    assert "p95 (µs)" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_table_of_a_paper_says_what_measures_each_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reference", "--paper", "breaking-band-2019", "am_lat"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"1215 ns .* verbs\.uct_latency +am_lat", shown)
    assert cli.main(["reference", "--paper", "breaking-band-2019", "pcie,"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"137\.49 ns .* instrument +pcie", shown)
    assert "instrument: takes a profiler in the library, a PCIe analyzer or counters of switches." in " ".join(
        shown.split()
    )


def test_a_number_without_a_statistic_says_that_its_paper_names_none() -> None:
    bare = [one for one in reference.entries() if one.number.benchmarks and not one.number.statistic]
    assert len(bare) == 16
    for one in bare:
        assert "statistic" in one.paper.conditions + one.number.note, (one.file, one.number.name)
