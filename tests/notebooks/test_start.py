"""The notebook for researchers runs as it is, and what it saves has the size and the font that a paper needs."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import papermill
import plotly.graph_objects as go
import pypdf
import pytest
import typst

from labkit import figures, notebook
from labkit.errors import ReportError, SpecError
from labkit.figures import parts, publication, tabulated
from labkit.io import project
from labkit.read import columnar, records
from labkit.store.campaign import Campaign

BOOK = project.NOTEBOOKS / "00-start.ipynb"
MM = 72 / 25.4  # pt


@cache
def latencies() -> pd.DataFrame:
    """Latencies that a loop in C measured over shared memory and TCP."""
    campaign = Campaign(project.CAMPAIGNS / "examples" / "two-cores")
    table = columnar.read_campaigns(campaign, benchmark="mpi.latency").records
    return records.summary(table[table["transport"].isin(["shm", "tcp"]) & (table["option_binding"] == "c")])


@pytest.fixture(scope="module")
def figure() -> go.Figure:
    return figures.versus_size(latencies(), "latency_us", series=["transport"], tail=None)


def test_it_is_short_and_has_twelve_recipes() -> None:
    cells = nbformat.read(BOOK, as_version=4).cells
    heads = re.findall(r"^### Recipe (\d+): ", "\n".join(cell.source for cell in cells), re.MULTILINE)
    assert list(map(int, heads)) == list(range(1, 13))
    assert all(len(cell.source.splitlines()) <= 9 for cell in cells if cell.cell_type == "code")


@pytest.mark.slow
@pytest.mark.browser
def test_it_runs_on_the_bundled_example_and_leaves_a_figure_for_latex(chromium: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.ipynb"
    papermill.execute_notebook(str(BOOK), str(out), cwd=str(tmp_path), progress_bar=False)
    outputs = [o for cell in nbformat.read(out, as_version=4).cells for o in cell.get("outputs", [])]
    assert not [o for o in outputs if o.output_type == "error"]
    said = "\n".join(str(o["data"].get("text/markdown", "")) for o in outputs if "data" in o)
    assert "Saved `figures/latency.pdf`, 84 mm wide. For the caption: bars: " in said
    saved = {path.name for path in (tmp_path / "figures").iterdir()}
    assert saved >= {"latency.pdf", "latency.tex", "own.tex", "slide.svg", "latency-table.tex", "latency.csv"}


@pytest.mark.browser
def test_a_pdf_has_the_width_of_a_column_and_its_font(chromium: Path, figure: go.Figure, tmp_path: Path) -> None:
    before = figure.to_json()
    notes = publication.save(figure, tmp_path / "one.pdf", width=84, height=60, size=8)
    assert figure.to_json() == before
    assert "95 % interval of 6 launches" in notes
    (page,) = pypdf.PdfReader(tmp_path / "one.pdf").pages
    assert float(page.mediabox.width) == pytest.approx(84 * MM, abs=0.1)
    assert float(page.mediabox.height) == pytest.approx(60 * MM, rel=0.01)
    fonts = {str(one.get_object()["/BaseFont"]) for one in page["/Resources"]["/Font"].values()}
    assert not any("Sans" in font for font in fonts)
    assert "95 %" not in page.extract_text()  # the small print is for the caption
    publication.save(figure, tmp_path / "one.svg", width=160, font="sans", size=12)
    svg = (tmp_path / "one.svg").read_text()
    assert 'width="160mm"' in svg.partition(">")[0]


def test_code_for_pgfplots_has_every_point_its_bars_and_its_title(figure: go.Figure, tmp_path: Path) -> None:
    notebook.save(figure, tmp_path / "new" / "one.tex", width=84)
    text = (tmp_path / "new" / "one.tex").read_text()
    points = re.findall(r"\(([\d.e+]+),([\d.e+]+)\) \+= \(0,([\d.e+-]+)\) -= \(0,([\d.e+-]+)\)", text)
    drawn = [
        (float(x), float(y))
        for trace in json.loads(figure.to_json())["data"]
        for x, y in zip(trace["x"], trace["y"], strict=True)
        if y is not None
    ]
    assert np.allclose([(float(x), float(y)) for x, y, _, _ in points], drawn, rtol=1e-6)
    assert all(float(up) >= 0 and float(down) >= 0 for *_, up, down in points)
    assert r"ylabel={latency, median ($\mu$s)}" in text
    assert text.count(r"\addlegendentry{") == 2
    assert text.count("{") == text.count("}")
    assert "xmode=log" in text
    assert "width=84mm" in text


def test_a_paper_sets_width_font_and_size(figure: go.Figure, tmp_path: Path) -> None:
    for paper, width in (("ieee", 88.9), ("ieee-wide", 181.9), ("acm", 84.6), ("lncs", 122), ("elsevier", 90)):
        publication.save(figure, tmp_path / "one.tex", paper=paper)
        assert f"width={width:g}mm" in (tmp_path / "one.tex").read_text()
    publication.save(figure, tmp_path / "one.tex", paper="ieee", width=60)
    assert "width=60mm" in (tmp_path / "one.tex").read_text()
    assert all(column.font in publication.FONTS for column in publication.COLUMNS.values())
    with pytest.raises(SpecError, match="paper='aps', but it must be one of: ieee, ieee-wide"):
        publication.save(figure, tmp_path / "two.tex", paper="aps")


@pytest.mark.browser
def test_a_pdf_for_a_publisher_has_its_width_and_no_other_font(
    chromium: Path, figure: go.Figure, tmp_path: Path
) -> None:
    publication.save(figure, tmp_path / "one.pdf", paper="elsevier")
    (page,) = pypdf.PdfReader(tmp_path / "one.pdf").pages
    assert float(page.mediabox.width) == pytest.approx(90 * MM, abs=0.1)
    fonts = {str(one.get_object()["/BaseFont"]) for one in page["/Resources"]["/Font"].values()}
    assert not any("Sans" in font for font in fonts)


def rows() -> pd.DataFrame:
    chosen = latencies()[latencies()["message_size_B"].isin([8, 4096])]
    return chosen[["transport", "message_size_B", "latency_us_p50"]]


def test_a_table_for_latex_is_aligned_by_siunitx(tmp_path: Path) -> None:
    notebook.save(rows(), tmp_path / "new" / "table.tex")
    text = (tmp_path / "new" / "table.tex").read_text()
    assert r"\begin{tabular}{lrS[table-format=1.3]}" in text
    assert r"transport & message size & {median ($\mu$s)} \\" in text
    assert re.search(r"^shm & 8 B & 0\.\d+ \\\\$", text, re.MULTILINE)
    assert text.count("\\\\\n") == 1 + len(rows())
    odd = parts.Table.of(["a_b", "n"], [["50 %", "1,250"], ["x\\|y", "–"], ["z", "-2.5"]], "lr")
    assert tabulated.written(odd, ".tex").splitlines()[2:-1] == [
        r"\toprule", r"a\_b & {n} \\", r"\midrule", r"50 \% & 1250 \\", r"x$|$y & {--} \\", r"z & -2.5 \\", r"\bottomrule",
    ]  # fmt: skip
    assert "{lS[table-format=-4.1]}" in tabulated.written(odd, ".tex")
    mixed = parts.Table.of(["time"], [["≤ 1"], ["2"]], "r")
    assert r"\begin{tabular}{r}" in tabulated.written(mixed, ".tex")  # a bound is not a number for siunitx


def test_a_table_for_typst_compiles_and_shows_every_cell(tmp_path: Path) -> None:
    odd = parts.Table.of(["path #1", "µs"], [['"a" \\\\ b', "0.21"], ["$x$ @y [z]", "12.5"]], "lr")
    source = tmp_path / "table.typ"
    notebook.save(odd, source)
    source.write_text("#set page(width: 88.9mm, height: auto)\n" + source.read_text())
    typst.compile(source, output=tmp_path / "table.pdf")
    (page,) = pypdf.PdfReader(tmp_path / "table.pdf").pages
    text = page.extract_text()
    assert all(cell in text for cell in ("path #1", "µs", '"a" \\ b', "0.21", "$x$ @y [z]", "12.5"))


def test_a_table_without_rows_or_with_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="has no rows"):
        notebook.save(rows().iloc[:0], tmp_path / "table.tex")
    with pytest.raises(SpecError, match=r"A table cannot end in '\.pdf'. End it in one of: \.tex, \.typ, \.md"):
        notebook.save(rows(), tmp_path / "table.pdf")
    notebook.save(rows(), tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text().startswith("| transport | message size |")


def test_what_pgfplots_cannot_draw_and_what_no_file_can_be_is_refused(figure: go.Figure, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"Save (it|the figure) as \.pdf"):
        publication.save(go.Figure(go.Bar(x=["a"], y=[1])), tmp_path / "bars.tex")
    with pytest.raises(ReportError, match=r"names, which have no form"):
        publication.save(go.Figure(go.Scatter(x=["a"], y=[1])), tmp_path / "names.tex")
    with pytest.raises(SpecError, match=r"ends in '\.bmp'"):
        publication.save(figure, tmp_path / "one.bmp")
    with pytest.raises(SpecError, match="a width is 30 to 400 mm"):
        publication.save(figure, tmp_path / "one.pdf", width=8.4)
    assert not list(tmp_path.iterdir())
