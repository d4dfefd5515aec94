"""Layout of the reports of the two example campaigns and of a lab: pages, tables and floats that are whole, legible print."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pypandoc
import pypdf
import pytest
import typst

from labkit import report
from labkit.apps.teaching import handout, labs
from labkit.apps.teaching.attempts import Attempts
from labkit.io import project
from labkit.report.stage import TEMPLATES
from tests.layout import Layout, Tables, constant, crowded, layout

POINTS = 8.0  # of a note, at least
MOST = {"two-cores": 60, "virtual-cluster": 40, "survey": 25, "supplement": 110, "lab": 12}  # pages
BOTH = ("survey", "supplement")  # styles that are built of two examples
FIRST = {"lab": ["Lab report"], "survey": ["Abstract", "Keywords:"], "supplement": ["About this supplement"]}
LAB = "collectives"
WHOLE = ("benchmarks.html", "interconnects.html")  # print the survey's tables with all their columns
FIGURE = 17.0 / 2.54 * 72 / 720  # pt a pixel of a figure takes: 720 px on the width of the text
LOOK = "_extensions/report/typst-template.typ"
CELLS = "| a | word word word word word word word word word word word word word |\n"


@pytest.fixture(scope="module", params=list(MOST))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, report.Built]:
    name, folders = str(request.param), []
    if name == "lab":
        return name, _handed_in(tmp_path_factory.mktemp("labs") / f"run-{LAB}")
    for campaign in ("two-cores", "virtual-cluster") if name in BOTH else (name,):
        folders.append(tmp_path_factory.mktemp("campaigns") / campaign)
        shutil.copytree(project.CAMPAIGNS / "examples" / campaign, folders[-1])
    return name, report.build(folders, style=name if name in BOTH else "report", engine="plain")


def _handed_in(folder: Path) -> report.Built:
    """The report of a lab on its recording, with every question answered."""
    attempts, lab = Attempts(folder), labs.get(LAB)
    attempts.note_source("recorded")
    for number, question in enumerate(lab.questions):
        attempts.hint(question.name)
        attempts.answer(question.name, 1.0, right=number % 2 == 0)
    return handout.build(folder, engine="plain", progress=lambda text: None)


@pytest.fixture(scope="module")
def read(built: tuple[str, report.Built]) -> Layout:
    assert built[1].pdf is not None
    return layout(built[1].pdf)


@pytest.mark.slow
@pytest.mark.browser
def test_a_report_has_few_pages_and_they_are_well_filled(built: tuple[str, report.Built], read: Layout) -> None:
    assert read.pages <= MOST[built[0]]
    assert not any(read.faults.values()), read.faults


@pytest.mark.slow
@pytest.mark.browser
def test_no_table_prints_the_same_row_twice(built: tuple[str, report.Built]) -> None:
    """Else a column that tells the rows apart is missing, or they are one."""
    pages = sorted(built[1].html.parent.rglob("*.html"))
    found = [(page.name, row) for page in pages for row in doubled(page.read_text())]
    assert pages
    assert not found


def doubled(page: str) -> list[str]:
    """Rows that a table of a page has more than once, by the text of their cells."""
    rows = []
    for table in re.findall(r"<table.*?</table>", page, re.DOTALL):
        cells = [
            re.sub(r"<[^>]*>|\s", "", row.replace("</td>", "|")) for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        ]
        rows += [row for row, count in Counter(cells).items() if count > 1 and row.strip("|")]
    return rows


def test_a_doubled_row_is_found() -> None:
    row = "<tr><td>one <b>stream</b></td><td>200</td></tr>"
    assert doubled(f"<table>{row}{row}</table>") == ["onestream|200|"]
    assert not doubled(f"<table>{row}</table><table>{row}</table>")


@pytest.mark.slow
@pytest.mark.browser
def test_the_first_page_has_the_abstract_what_to_do_and_the_verdicts(built: tuple[str, report.Built]) -> None:
    pages = [page.extract_text().replace("\xa0", " ") for page in pypdf.PdfReader(str(built[1].pdf)).pages[:3]]
    for words in FIRST.get(built[0], ["Caveats:", "To do next", "Table 1:"]):
        assert words in pages[0]
    if built[0] not in FIRST:
        before, end, after = pages[0].partition("Summary\n")[2].partition("has all.")
        assert end
        assert len(before.splitlines()) <= 12, "the figure follows few lines of text"
        assert re.match(r"[^§]*Figure 1:[^§]*To do next", after)
    if built[0] == "survey":
        abstract = pages[0].partition("Abstract")[2].partition("Keywords:")[0]
        assert 150 <= len(abstract.split()) <= 250


@pytest.mark.slow
@pytest.mark.browser
def test_notes_of_figures_are_legible(built: tuple[str, report.Built]) -> None:
    pictures = sorted(one for name in ("figures", "static") for one in (built[1].html.parent / name).glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text()
        width = float(re.search(r'<svg[^>]* width="([\d.]+)', text)[1])  # type: ignore[index]
        notes = [float(size) for size in re.findall(r"<tspan[^>]*font-size: ?([\d.]+)px", text)]
        assert all(size * min(FIGURE * 720 / width, 0.75) >= POINTS - 0.05 for size in notes), picture.name


@pytest.mark.slow
@pytest.mark.browser
def test_every_figure_has_a_description_in_the_pdf_and_commands_can_be_copied(
    built: tuple[str, report.Built],
) -> None:
    source = (Path(str(built[1].pdf)).parent / "report.typ").read_text()
    shown = re.findall(r'image\("(?:figures|static)/[^"]*"(.*)', source)
    assert shown
    assert all(re.match(r', alt: "[^"]{10,}', after) for after in shown)
    text = "\n".join(page.extract_text() for page in pypdf.PdfReader(str(built[1].pdf)).pages)
    assert built[0] in ("lab", "survey") or "labkit run" in text
    assert not re.search(r"(?<!\S)–[a-z]", text)  # two dashes stay two


@pytest.mark.slow
@pytest.mark.browser
def test_labels_of_axes_keep_apart(built: tuple[str, report.Built]) -> None:
    pictures = [one for name in ("figures", "static") for one in (built[1].html.parent / name).glob("*.svg")]
    assert pictures
    assert not {one.name: found for one in pictures if (found := crowded(one.read_text()))}


@pytest.mark.slow
@pytest.mark.browser
def test_every_table_has_a_number_and_no_column_of_equal_cells(built: tuple[str, report.Built]) -> None:
    found = 0
    for page in built[1].html.parent.glob("*.html"):
        for caption, head, rows in Tables(page.read_text()).found:
            found += 1
            assert re.match(r"(Table|Figure) [A-Z\d.]+:", caption), (page.name, head)
            if page.name not in WHOLE and built[0] != "lab" and all(len(row) == len(head) for row in rows):
                assert not constant(head, rows), (page.name, caption)
    assert found > 2 or built[0] == "lab"


@pytest.mark.slow
@pytest.mark.browser
def test_captions_of_figures_end_with_what_there_is_to_see(built: tuple[str, report.Built]) -> None:
    captions = [
        html.unescape(re.sub(r"<[^>]*>", "", one))
        for page in built[1].html.parent.glob("*.html")
        for one in re.findall(
            r'<figure[^>]*>(?:(?!</figure>).)*class="plot"(?:(?!</figure>).)*<figcaption[^>]*>(.*?)</fig',
            page.read_text(),
            re.S,
        )
    ]
    assert captions or built[0] == "lab"
    told = [
        one
        for one in captions
        if re.search(r"(Farthest|Highest|From|Half|hundred|Least|Largest|Above|Below|Not clearly)[^:]*", one)
    ]
    assert len(told) >= 0.9 * len(captions), [one for one in captions if one not in told]


TIES = TEMPLATES / "filters/ties.lua"


def made(folder: Path, *filters: str, rows: int = 12, after: range = range(24, 46)) -> Layout:
    """The layout of tables at many places of a page, with Lua filters."""
    line = "x\\\n"
    text = "\n\n".join(
        f"# {lines} {{.unnumbered}}\n\n{line * lines}x\n\n| a | b |\n|---|---|\n"
        f"{CELLS.replace('a', f'row{lines}', 1) * rows}\n: caption\n"
        for lines in after
    )
    names = [f"--lua-filter={TEMPLATES / 'filters' / name}" for name in filters]
    command = [pypandoc.get_pandoc_path(), "--from=markdown", "--to=typst-citations", *names]
    body = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    body = re.sub(r"^= ", "#pagebreak()\n= ", body, flags=re.M)
    (folder / "a.typ").write_text(f"{(TEMPLATES / LOOK).read_text()}\n#let horizontalrule = []\n#show: report\n{body}")
    typst.compile(str(folder / "a.typ"), output=str(folder / "a.pdf"), root=str(folder))
    return layout(folder / "a.pdf")


def test_signs_that_typst_joins_are_printed_as_they_are(tmp_path: Path) -> None:
    words = "x --launches and --- ... x-? 6..8 a.b-c"
    command = [pypandoc.get_pandoc_path(), "--from=markdown-smart", "--to=typst", f"--lua-filter={TIES}"]
    body = subprocess.run(command, input=f"{words}\n\n`{words}`", capture_output=True, text=True, check=True).stdout
    first = body.splitlines()[0]
    assert not re.search(r"--|-\?|\.\.\.", first), "what pandoc before 3.9 leaves to typst"
    (tmp_path / "a.typ").write_text(f"{(TEMPLATES / LOOK).read_text()}\n#show: report\n{body}")
    typst.compile(str(tmp_path / "a.typ"), output=str(tmp_path / "a.pdf"), root=str(tmp_path))
    text = pypdf.PdfReader(str(tmp_path / "a.pdf")).pages[0].extract_text()
    assert text.count(words) == 2, text


@pytest.mark.slow
def test_a_page_break_leaves_no_row_of_a_table_alone(tmp_path: Path) -> None:
    assert any("single row" in place for place in made(tmp_path).split), "the tables test nothing"
    assert not made(tmp_path, "ties.lua").split


@pytest.mark.slow
def test_a_table_of_few_rows_stays_whole(tmp_path: Path) -> None:
    def pages(*filters: str, rows: int) -> set[int]:
        made(tmp_path, *filters, rows=rows, after=range(33, 51))
        text = [page.extract_text() for page in pypdf.PdfReader(str(tmp_path / "a.pdf")).pages]
        return {one.count(f"row{lines}") for one in text for lines in range(33, 51)} - {0}

    assert pages("ties.lua", rows=6) == {6}
    assert pages(rows=6) > {6}, "the tables test nothing"
    assert len(pages("ties.lua", rows=24)) > 1, "a long table fills the page, and goes on"


def test_columns_that_touch_and_small_captions_are_found(tmp_path: Path) -> None:
    text = """
#figure(table(columns: (1.1cm, 2cm), inset: 0pt, align: left, table.header([overlong], [head]), [a], [b]), caption: text(5pt)[small])
"""
    (tmp_path / "a.typ").write_text(f"{(TEMPLATES / LOOK).read_text()}\n#show: report\n{text}")
    typst.compile(str(tmp_path / "a.typ"), output=str(tmp_path / "a.pdf"), root=str(tmp_path))
    found = layout(tmp_path / "a.pdf")
    assert len(found.touching) == 1
    assert len(found.small) == 1
    assert not found.empty, "the last page ends a chapter"
