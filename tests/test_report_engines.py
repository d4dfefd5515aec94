"""Both engines make an equal document from the same sources, as far as the sources show it: no Quarto is needed here."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pypandoc
import pypdf
import pytest
import typst
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit import report
from labkit.errors import ReportError
from labkit.io import project
from labkit.report import artifact, figures, flatten, notebook, options, plain, quarto, slides, styles, words
from labkit.report.blocks import slide
from labkit.report.book import Book, authors, load
from labkit.report.content import Content
from labkit.report.settings import Known, refuse
from labkit.report.sources import read
from labkit.report.stage import TEMPLATES, stage
from tests.test_report import make_campaign

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0"/></svg>'
SPEC = {"data": [{"name": 'a "b" \\', "x": [1, 2], "y": [3, 4]}], "layout": {}}


def finished(folder: Path, *cells: Any) -> notebook.Chapter:
    nbformat.write(new_notebook(cells=list(cells)), folder / "10-x.ipynb")
    return notebook.finish(folder / "10-x.ipynb")


def figure(*, count: int = 1) -> list[Any]:
    return [new_output("display_data", data={figures.PLOTLY: SPEC, figures.SVG: SVG}) for _ in range(count)]


def test_quarto_runs_the_filters_of_the_plain_engine() -> None:
    listed = yaml.safe_load((project.SHIPPED / "templates/report/book.yml").read_text())["filters"]
    ours = [Path(one if isinstance(one, str) else one["path"]).stem for one in listed]
    source = (project.SHIPPED / "labkit/report/plain.py").read_text()
    plain = re.search(r'names = \(("safe".*?)\)', source)
    assert plain is not None
    assert [name for name in ours if name != "pictures"] == re.findall(r"\w+", plain[1])


def test_a_backslash_in_a_text_is_no_command_of_tex_in_either_engine() -> None:
    reader = yaml.safe_load((TEMPLATES / "book.yml").read_text())["from"]
    assert set(reader.split("-")) <= set(plain.READER.split("-"))
    for one in (reader, plain.READER):
        assert (
            pypandoc.convert_text(r"found 0.00 \t\t 0.5", "html", format=one).strip() == r"<p>found 0.00 \t\t 0.5</p>"
        )


def safe(tmp_path: Path, facts: str) -> str:
    """What the first filter leaves of a mark with these facts, in Quarto's place."""
    mark = f"`<!-- quarto-file-metadata: {base64.b64encode(facts.encode()).decode()} -->`{{=html}}"
    quarto = f"quarto = {{ json = pandoc.json, base64 = {{ decode = function() return {json.dumps(facts)} end }} }}\n"
    (tmp_path / "safe.lua").write_text(quarto + (TEMPLATES / "filters/safe.lua").read_text())
    extra = [f"--lua-filter={tmp_path / 'safe.lua'}"]
    return str(pypandoc.convert_text(f"a {mark} `<b>`{{=html}}", "html", format="markdown", extra_args=extra))


def test_raw_parts_go_but_the_marks_where_quartos_chapters_begin_stay(tmp_path: Path) -> None:
    kept = safe(tmp_path, '{"resourceDir": ".", "bookItemType": "appendix", "bookItemNumber": null}')
    assert "<!-- quarto-file-metadata: " in kept
    assert "<b>" not in kept
    for facts in ('{"resourceDir": "../.."}', '{"resourceDir": ".", "include_directory": "/etc"}', "{}", "[1]", "no"):
        assert "<!--" not in safe(tmp_path, facts), facts


def test_without_quarto_no_mark_stays(tmp_path: Path) -> None:
    text = "a `<!-- quarto-file-metadata: e30= -->`{=html}"
    extra = [f"--lua-filter={TEMPLATES / 'filters/safe.lua'}"]
    assert "<!--" not in pypandoc.convert_text(text, "html", format="markdown", extra_args=extra)


def test_a_cell_says_for_both_engines_what_its_figure_shows(tmp_path: Path) -> None:
    code = '#| label: fig-a\n#| fig-cap: "C."\nshow()'
    one, two, own = (
        new_code_cell(code, outputs=figure()),
        new_code_cell("show()", outputs=[*figure(), new_output("stream", name="stdout", text="x"), *figure()]),
        new_code_cell('#| fig-alt: "Mine, ${not math}$."\nshow()', outputs=figure()),
    )
    made = finished(tmp_path, new_markdown_cell("# T"), one, two, own)
    said = [options.options(cell.source)[0]["fig-alt"] for cell in made.notebook.cells[1:]]
    words = "Figure: a 'b' / from 3 to 4 (2 points)."
    assert said == [words, [words, "", words], "Mine, ${not math}$."]
    assert "alt" not in made.notebook.cells[1].outputs[0].metadata


def test_the_plain_engine_reads_what_a_figure_shows_where_quarto_does(tmp_path: Path) -> None:
    (tmp_path / "_quarto.yml").write_text(yaml.safe_dump({"book": {"chapters": ["index.qmd", "10-x.ipynb"]}}))
    (tmp_path / "_variables.yml").write_text("{}")
    (tmp_path / "index.qmd").write_text(figures.Picture("a", "fig-f", "C.", SPEC).shown)
    made = finished(tmp_path, new_markdown_cell("# T"), new_code_cell("show()", outputs=figure(count=2)))
    nbformat.write(made.notebook, tmp_path / "10-x.ipynb")
    text = flatten.flatten(load(tmp_path))
    assert text.count("fig-alt=\"Figure: a 'b' / from") == 3
    formats = TEMPLATES / "plain/format.lua"
    for target, alt in (("typst", "alt: \"Figure: a 'b' / from"), ("html", 'alt="Figure: a')):
        extra = [f"--metadata=target:{target}", f"--lua-filter={formats}"]
        shown = pypandoc.convert_text(text, target, format="markdown", extra_args=extra)
        assert " ".join(shown.split()).replace("&#39;", "'").count(alt) == 3, target


def test_a_description_that_is_no_text_for_each_output_breaks_nothing(tmp_path: Path) -> None:
    code = new_code_cell('#| fig-alt: ["one"]\nshow()', outputs=figure(count=2))
    made = finished(tmp_path, new_markdown_cell("# T"), code)
    nbformat.write(made.notebook, tmp_path / "10-x.ipynb")
    text = flatten.flatten(Book(tmp_path, {"book": {"chapters": ["10-x.ipynb"]}}, {}))
    assert text.count('fig-alt="one"') == text.count('fig-alt=""') == 1


@pytest.mark.parametrize(
    "title",
    ["`<script>x</script>`{=html}", r"\<img onerror=x>", '" onmouseover="x', "&lt;b>", "&#60;b>", "a `<b>` c"],
)
def test_no_heading_of_a_chapter_is_html_wherever_quarto_puts_it(tmp_path: Path, title: str) -> None:
    made = finished(tmp_path, new_markdown_cell(f"# T {title} {{#sec-t}}"))
    notebook.retitle(made, title)
    heading = made.notebook.cells[0].source.splitlines()[0]
    assert heading.startswith("# T ")
    assert heading.endswith(" {#sec-t}")
    assert not re.search(r'[<"]|&#?\w+;|`\{=', heading)
    assert made.title in heading


def test_titles_of_quartos_pages_have_no_signs_of_markdown_and_links_no_handlers(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    menu = '<span class="menu-text"><span class="chapter-number">1</span>&nbsp; <span class="chapter-title">{}</span></span>'
    link = '<a{} role="doc-biblioref"{}>1</a>'
    page.write_text(
        r"<title>1&nbsp; A – run\_2 \(b\)</title><p>\_</p>"
        + menu.format(r"run\_2")
        + link.format(' href=""', ' onclick="return false;"')
        + link.format(' href="#/refs"', ' onclick=""')
    )
    command = [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")]
    subprocess.run(command, env={"QUARTO_PROJECT_OUTPUT_FILES": str(page)}, check=True)
    expected = r"<title>1&nbsp; A – run_2 (b)</title><p>\_</p>" + menu.format("run_2")
    assert page.read_text() == expected + link.format("", "") + link.format(' href="#/refs"', "")


def test_the_slides_for_quarto_are_one_file_with_a_page_for_each_heading(tmp_path: Path) -> None:
    made, _ = stage([read(make_campaign(tmp_path / "c"))], style="slides", engine="quarto", folder=tmp_path / "staged")
    cells = nbformat.read(made.folder / slides.DECK, as_version=4).cells
    front = yaml.safe_load(cells[0].source.strip("-"))
    assert front["title"]
    assert set(front) <= {"title", "subtitle", "author", "date"}
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert "pagebreak" not in prose
    assert {len(level) for level in re.findall(r"^(#+) ", prose, re.M)} == {1}
    shown = [cell for cell in cells if cell.cell_type == "code" and cell.outputs]
    assert shown
    assert all(f"#| label: {name}" in "".join(c.source for c in shown) for name in ("fig-latency",))
    assert made.config["project"]["type"] == "default"
    assert made.config["project"]["render"] == [slides.DECK]
    assert made.config["format"]["revealjs"]["slide-level"] == 1


def test_a_word_document_takes_quarto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_campaign(tmp_path / "c")
    made, _ = stage([read(folder)], style="report", engine="quarto", docx=True, folder=tmp_path / "staged")
    assert made.config["format"]["docx"]["echo"] is False
    monkeypatch.setenv("PATH", str(tmp_path))
    for engine, message in (("auto", "--docx needs Quarto, but there is no quarto"), ("plain", "--engine is plain")):
        with pytest.raises(ReportError, match=message):
            report.build([folder], engine=engine, docx=True)  # type: ignore[arg-type]


DRAW = """#!{python}
import sys, typst
words = sys.argv[1:]
assert words[:2] == ["typst", "compile"], words
found = dict(zip(words[4::2], words[5::2], strict=True))
typst.compile(words[2], output=words[3], root=found["--root"], format=found["--format"], ppi=float(found["--ppi"]))
"""


def test_the_pictures_of_a_word_document_are_such_as_every_word_shows(tmp_path: Path) -> None:
    """A program in Quarto's place draws them with the typst that labkit has."""
    program = tmp_path / "bin/quarto"
    program.parent.mkdir()
    program.write_text(DRAW.format(python=sys.executable))
    program.chmod(0o755)
    for name in "ab":
        (tmp_path / f"{name}.svg").write_text(SVG.replace('width="9"', 'width="90"'))
    text = '![](a.svg){fig-alt="What it shows."}\n\n![](b.svg) ![](a.svg) ![](c.png)'
    filters = f"--lua-filter={TEMPLATES / 'filters/pictures.lua'}"
    command = [pypandoc.get_pandoc_path(), "--from=markdown", "--to=docx", "--output=a.docx", filters]
    environment = {**os.environ, "QUARTO_BIN_PATH": str(program.parent)}
    subprocess.run(command, input=text, text=True, cwd=tmp_path, check=True, capture_output=True, env=environment)
    with zipfile.ZipFile(tmp_path / "a.docx") as document:
        pictures = [name for name in document.namelist() if name.startswith("word/media/")]
        body = document.read("word/document.xml").decode()
    assert {Path(name).suffix for name in pictures} == {".png"}
    assert 'descr="What it shows."' in body
    assert body.count("<a:blip ") == 3
    (program.parent / "quarto").unlink()
    subprocess.run(command, input=text, text=True, cwd=tmp_path, check=True, capture_output=True, env=environment)


def test_slides_begin_with_the_verdicts_and_leave_out_what_found_nothing() -> None:
    content = Content([read(project.CAMPAIGNS / "examples" / "sixteen-hosts")], {})
    titles = {}
    for name in ("30-collectives", "61-incast", "62-congestion-impact", "65-all-pairs", "80-is-this-good"):
        cells = [new_code_cell("#| label: fig-a\nx", outputs=[new_output("display_data", data={"text/plain": "x"})])]
        chapter = notebook.finish(Path(f"{name}.ipynb"), book=new_notebook(cells=cells))
        chapter.notebook.cells = cells
        kept = slides.shorten({name: chapter}, content, 1)
        titles[name] = chapter.notebook.cells[0].source.partition("# ")[2] if kept else ""
    assert not titles["62-congestion-impact"], "no claim is not a finding"
    assert (
        "All pairs, slowest of a round, 8\u00a0B: none of 120\u00a0pairs was slower than the others in both measurements: good"
        in titles["65-all-pairs"]
    )
    assert re.match(r"Allreduce, slowest rank: 7,202", titles["30-collectives"])
    assert not [one for one in titles.values() if "=" in one], "a title is not a string of options"
    first = slide.BLOCKS["slide-verdicts"](content)
    assert first.startswith("**No real network was measured:**")
    assert (
        "| MPI collectives over the emulated link | **not judged** | mpi.barrier, 0 B: the emulated hosts share cores"
        in first
    )
    assert "To do next:" in first


def test_slides_have_no_menu_and_scripts_in_their_text_do_not_run(tmp_path: Path) -> None:
    text = '<script>evil()</script><a onclick="evil()">x</a>'
    menu = """'menu': {"side":"left","custom":[{"content":"<a href=\\"#\\" onclick=\\"Menu.open(event)\\">"}]},"""
    frame = (
        "<script>window.backupDefine = 1</script>\n"
        '<script src="slides_files/libs/revealjs/plugin/reveal-menu/menu.js"></script>\n'
        f"<script>Reveal.initialize({{\n{menu}\n'smaller': false,\nplugins: [Lines, RevealMenu, Zoom]}})</script>"
    )
    page = tmp_path / "slides.html"
    page.write_text(f'<html><head></head><body><div><div class="slides">{text}</div></div>{frame}</body></html>')
    command = [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")]
    subprocess.run(command, env={"QUARTO_PROJECT_OUTPUT_FILES": str(page)}, cwd=tmp_path, check=True)
    made = page.read_text()
    assert text in made
    first, second = ((tmp_path / name).read_text() for name in re.findall(r'src="(inline/\w+\.js)"', made))
    assert first == "window.backupDefine = 1"
    assert second == "Reveal.initialize({\n'smaller': false,\nplugins: [Lines, Zoom]})"
    assert "reveal-menu" not in made


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("lines", "scrolls"), [(3, False), (24, False), (80, True)])
def test_a_slide_that_is_too_high_is_drawn_smaller(tmp_path: Path, lines: int, scrolls: bool) -> None:
    """A deck as Quarto lays it out, without reveal.js: what a slide needs fits on the screen, or scrolls."""
    if (program := shutil.which("chromium") or shutil.which("google-chrome")) is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    deck = "window.Reveal = { getConfig: () => ({ height: 590 }), on: () => {}, getCurrentSlide: () => document.getElementById('a') }"
    text = "".join(f"<p style='height: 30px; margin: 0'>{line}</p>" for line in range(lines))
    (tmp_path / "a.html").write_text(
        f"<!DOCTYPE html><script>{deck}</script><div class='reveal'><div class='slides' style='width: 1050px; height: 590px'>"
        f"<section id='a'>{text}</section></div></div><script src='{(TEMPLATES / 'assets/report.js').as_uri()}'></script>"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto((tmp_path / "a.html").as_uri())
        high, zoom, rolls = tab.evaluate(
            "(e => [e.getBoundingClientRect().height, Number(e.style.zoom || 1), e.scrollHeight > e.clientHeight])(Reveal.getCurrentSlide())"
        )
        browser.close()
    assert high <= 590
    assert (zoom == 1) is (lines == 3)
    assert zoom >= 0.6
    assert rolls is scrolls


def test_a_bare_quarto_leaves_the_paper_beside_the_site(tmp_path: Path) -> None:
    (tmp_path / "html").mkdir()
    for name in ("report.pdf", "report.docx"):
        (tmp_path / "html" / name).write_bytes(b"\x00\xff\r\n")
    command = [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")]
    made = {"QUARTO_PROJECT_OUTPUT_FILES": "html/report.pdf\nhtml/report.docx"}
    subprocess.run(command, env=made, cwd=tmp_path, check=True)
    assert all((tmp_path / name).read_bytes() == b"\x00\xff\r\n" for name in ("report.pdf", "report.docx"))


def test_quartos_words_stay_and_no_other_native_part(tmp_path: Path) -> None:
    native = "`{part}`{{=pandoc-native}}"
    word, markup = native.format(part='Str "a/reveal.js"'), native.format(part='RawInline (Format "html") "<b>"')
    command = [
        pypandoc.get_pandoc_path(),
        "--from=markdown",
        "--to=native",
        f"--lua-filter={TEMPLATES / 'filters/safe.lua'}",
    ]
    done = subprocess.run(command, input=f"{word} {markup}", check=True, capture_output=True, text=True)
    assert "a/reveal.js" in done.stdout
    assert "<b>" not in done.stdout


PEOPLE = """
- {name: Ann Author, affiliation: University of X, orcid: "https://orcid.org/0000-0002-1825-0097"}
- {name: {given: Bo, family: Author}, affiliations: [{name: Lab Y, city: Z}, Lab W], email: bo@y.example}
- Cy --plain
"""
SHOWN = (
    "Ann Author, University of X, ORCID 0000-0002-1825-0097",
    "Bo Author, Lab Y, Z, Lab W, bo@y.example",
    "Cy --plain",
)


def written(folder: Path, **more: Any) -> Book:
    """A staged book of one chapter with these settings."""
    settings = yaml.safe_load((TEMPLATES / "book.yml").read_text())
    settings["book"] |= {
        "title": "T",
        "chapters": ["index.qmd"],
        "appendices": [],
        "author": authors(yaml.safe_load(PEOPLE)),
    }
    settings["format"]["report-typst"] |= more.pop("paper", {})
    (folder / "_quarto.yml").write_text(yaml.safe_dump({**settings, **more}))
    (folder / "_variables.yml").write_text("{}")
    contents = "## Ganz anders {.unnumbered}\n\n::: {.contents}\n:::\n"
    (folder / "index.qmd").write_text(f"# Erstens\n\nText.\n\n{contents}\n## Zweitens {{#sec-b}}\n\nSee @sec-b.\n")
    for name in ("assets", "_extensions", "filters"):
        shutil.copytree(TEMPLATES / name, folder / name)
    (folder / "data").mkdir()
    shutil.copy(TEMPLATES / "references.bib", folder)
    return load(folder)


CSL = """<style xmlns="http://purl.org/net/xbiblio/csl" version="1.0" class="in-text" default-locale="en-US">
<info><title>Numbers</title><id>numbers</id><updated>2026-01-01T00:00:00+00:00</updated></info>
<citation><layout prefix="[" suffix="]" delimiter=", "><text variable="citation-number"/></layout></citation>
<bibliography><layout><text variable="citation-number" prefix="[" suffix="] "/><names variable="author">
<name initialize-with=". " and="text"/></names><text variable="title" prefix=", "/></layout></bibliography></style>
"""
GERMAN = {"lang": "de-CH", "mainfont": "Liberation Sans"}
PAPER = {"margin": {"x": "3cm"}, "page-numbering": "I", "columns": 2, "toc-depth": 2}


def test_the_plain_engine_shows_authors_and_obeys_the_settings_of_the_pdf(tmp_path: Path) -> None:
    book = written(tmp_path, **GERMAN, paper=PAPER)
    pdf = pypdf.PdfReader(plain.paper(book, flatten.flatten(book), TEMPLATES))
    assert pdf.metadata is not None
    assert pdf.metadata.author == "Ann Author, Bo Author, Cy --plain"
    root: Any = pdf.trailer["/Root"]
    assert root["/Lang"] == "de-CH"
    text = pdf.pages[0].extract_text()
    for line in SHOWN:
        assert line in " ".join(text.split()), text
    assert text.rstrip().endswith("I")
    assert len(re.findall(r"Zweitens", text)) == 2, "contents of depth 2, whatever their heading"
    fonts = {str(font["/BaseFont"]) for font in pdf.pages[0]["/Resources"]["/Font"].values()}  # type: ignore[index]
    assert not [name for name in fonts if "Libertinus" in name]
    source = (tmp_path / "report.typ").read_text()
    assert "margin: (x: 3cm, )" in source
    assert "columns: 2" in source


def test_the_plain_engine_shows_authors_on_the_first_page(tmp_path: Path) -> None:
    page = plain._site(written(tmp_path), flatten.flatten(load(tmp_path)), TEMPLATES).read_text()
    by = re.search(r'<p class="by">(.*?)</p>', page, re.S)
    assert by is not None
    words = re.sub(r"<[^>]*>", "", by[1].replace("<br>", "|")).split("|")
    assert [" ".join(one.split()) for one in words][:3] == [*SHOWN]
    assert 'href="https://orcid.org/0000-0002-1825-0097"' in by[1]


def test_the_address_of_a_heading_depends_on_its_own_page_alone(tmp_path: Path) -> None:
    book = written(tmp_path)
    (tmp_path / "a.qmd").write_text("# A\n\n## Results\n\n## Ärger & Lärm\n\n## Results 1\n")
    (tmp_path / "b.qmd").write_text("# B\n\n## Results\n\nSee [these](#results).\n\n## Results\n\n## Ärger & Lärm\n")
    book.config["book"]["chapters"] = ["index.qmd", "a.qmd", "b.qmd"]  # type: ignore[index]
    folder = plain._site(book, flatten.flatten(book), TEMPLATES).parent
    found = {name: re.findall(r'<section id="([^"]*)"', (folder / f"{name}.html").read_text()) for name in "ab"}
    assert found["a"] == ["a", "results", "ärger-lärm", "results-1"]
    assert found["b"] == ["b", "results", "results-1", "ärger-lärm"]
    assert 'href="#results">these' in (folder / "b.html").read_text()


def test_the_look_for_quarto_has_authors_and_obeys_the_settings(tmp_path: Path) -> None:
    """The format's parts as Quarto fills them; Quarto itself is not needed for that."""
    folder = TEMPLATES / "_extensions" / "report"
    names = ("numbering.typ", "page.typ", "typst-template.typ", "typst-show.typ")
    (tmp_path / "t.typ").write_text("\n".join((folder / name).read_text() for name in names) + "\n$body$\n")
    people = [{**one, "name": {"literal": one["name"]}} for one in authors(yaml.safe_load(PEOPLE))]
    facts = {"title": "T", "by-author": people, "lang": "de", "region": "CH", "mainfont": "Liberation Sans", **PAPER}
    (tmp_path / "meta.json").write_text(json.dumps(facts))
    extra = ["--standalone", f"--template={tmp_path / 't.typ'}", f"--metadata-file={tmp_path / 'meta.json'}"]
    body = "= Eins\n\n#contents()\n\n== Zwei"
    source = pypandoc.convert_text(f"```{{=typst}}\n{body}\n```", "typst", format="markdown-smart", extra_args=extra)
    (tmp_path / "a.typ").write_text(source)
    typst.compile(str(tmp_path / "a.typ"), output=str(tmp_path / "a.pdf"))
    pdf = pypdf.PdfReader(tmp_path / "a.pdf")
    assert pdf.metadata is not None
    assert pdf.metadata.author == "Ann Author, Bo Author, Cy --plain"
    text = " ".join(pdf.pages[0].extract_text().split())
    for line in SHOWN:
        assert line in text
    assert text.count("Zwei") == 2
    assert "margin: (x: 3cm, )" in source


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "A", "affil": "B"}, r"author: .* has the key 'affil'\. Reports show name, affiliation,"),
        ({"orcid": "1"}, "has no name"),
        (
            {"name": "A", "affiliation": {"name": "B", "ref": "x"}},
            r"affiliation .* has the key 'ref'\. Reports show dep",
        ),
    ],
)
def test_a_key_of_an_author_that_reports_do_not_show_is_refused(given: Any, says: str) -> None:
    with pytest.raises(ReportError, match=says):
        authors(given)


def test_fixed_words_follow_the_language() -> None:
    german = words.words({"lang": "de", "language": {"crossref-tbl-title": "Tafel"}})
    wanted = {
        "fig": "Abbildung",
        "tbl": "Tafel",
        "ch": "Kapitel",
        "apx": "Anhang",
        "sec": "Abschnitt",
        "eq": "Gleichung",
    }
    for kind, word in wanted.items():
        assert german[f"crossref-{kind}-title"] == german[f"crossref-{kind}-prefix"] == word
    assert german["toc-title-document"] == "Inhaltsverzeichnis"
    assert german["callout-warning-title"] == "Warnung"
    assert words.words({"lang": "zh-Hans"})["crossref-fig-title"] == "图"
    assert words.words({}) == words.words({"lang": "en-GB"}) == {}
    assert set(words.words({"lang": "de", "language": {}})) <= set(words.READ)


@pytest.mark.parametrize("language", ["tlh", "deutsch", 5, "de_DE"])
def test_a_language_without_words_is_refused(language: Any) -> None:
    with pytest.raises(ReportError, match=rf"lang: {language!r} is not a language that reports have words for\. Write"):
        words.words({"lang": language})


def test_callouts_and_citations_of_the_plain_engine_are_in_the_language_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "ieee.csl").write_text(CSL)
    book = written(tmp_path, lang="de-CH", csl="ieee.csl", language=words.words({"lang": "de-CH"}))
    callouts = "::: {.callout-note}\nA.\n:::\n\n::: {.callout-warning title=B}\nC.\n:::\n"
    (tmp_path / "index.qmd").write_text(f"# E\n\nSee [@hoefler2015].\n\n{callouts}\n::: {{#refs}}\n:::\n")
    source = flatten.flatten(book)
    page = plain._site(book, source, TEMPLATES).read_text()
    pdf = pypdf.PdfReader(plain.paper(book, source, TEMPLATES)).pages[0].extract_text()
    for text in (re.sub(r"<[^>]*>", "", page), pdf):
        assert "Hinweis" in text
        assert "Note" not in text
        assert "Hoefler und R" in " ".join(text.split())
    assert '<html lang="de-CH">' in page


def test_a_font_that_this_machine_lacks_is_told(tmp_path: Path) -> None:
    campaign = read(make_campaign(tmp_path / "c"))
    project_ = project.init(tmp_path / "project").folder
    (project_ / "report/styles").mkdir()
    (project_ / "report/styles/own.yml").write_text(
        "labkit: {like: report}\nmainfont: [DejaVu Sans Mono, No Such Font]\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(project.PROJECT, str(project_))
        _, warnings = stage([campaign], style="own", engine="plain", folder=tmp_path / "staged")
    assert [one for one in warnings if one.startswith("mainfont")] == [
        "mainfont: there is no font 'No Such Font' on this machine, so labkit uses another one."
    ]


@pytest.mark.parametrize("engine", ["plain", "quarto"])
def test_headings_of_labkits_chapters_follow_the_language_and_the_rest_is_told(tmp_path: Path, engine: str) -> None:
    campaign = read(make_campaign(tmp_path / "c"))
    project_ = project.init(tmp_path / "project").folder
    (project_ / "report/styles").mkdir()
    (project_ / "report/styles/own.yml").write_text("labkit: {like: report}\nlang: de\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(project.PROJECT, str(project_))
        made, warnings = stage([campaign], style="own", engine=engine, folder=tmp_path / "staged")
    assert "## Inhaltsverzeichnis {.unnumbered}" in (made.folder / "index.qmd").read_text()
    assert "# Literatur {.unnumbered}" in (made.folder / "references.qmd").read_text()
    assert made.config["language"]["crossref-fig-prefix"] == "Abbildung"
    assert any(one.startswith("lang: de, but the chapters index.qmd, methods.qmd") for one in warnings)


@pytest.mark.parametrize(
    ("engine", "settings", "says"),
    [
        (
            "quarto",
            "lnag: de",
            r"own\.yml: lnag: is not a setting of reports; close to it is lang\. There are: bibliography",
        ),
        (
            "quarto",
            "format: {typst: {toc: true}}",
            r"format: typst: is not a format of reports; use report-typst\. There are: html",
        ),
        ("plain", "format: {pdf: {toc: true}}", r"format: pdf: is not a format of reports; use report-typst"),
        (
            "plain",
            "format: {html: {theme: darkly}}",
            r"html: theme: 'darkly' is not a setting of the plain engine.*--engine quarto",
        ),
        ("plain", "book: {search: true}", r"book: search: True is not a setting of the plain engine"),
        ("quarto", "format: {html: {theme: darkly}, report-typst: {fontsize: 11pt}}", ""),
        ("plain", "format: {html: {toc: true}, report-typst: {columns: 2, margin: {x: 1cm}}}\nmainfont: A", ""),
        ("plain", "format: {html: {toc: {foo: 1}}}", r"format: html: toc: foo: 1 is not a setting of the plain engine"),
        *(
            (
                engine,
                f"format: {{report-typst: {{{setting}}}}}",
                rf"own\.yml: format: report-typst: {says}.* cannot be used",
            )
            for engine in ("plain", "quarto")
            for setting, says in (
                ("margin: {lefft: 1cm}", "margin: {'lefft': '1cm'}"),
                ("margin: {x: 1}", "margin: "),
                ("margin: 3", "margin: 3"),
                ("columns: two", "columns: 'two'"),
                ("toc-depth: 0", "toc-depth: 0"),
                ("papersize: 4", "papersize: 4"),
                ("papersize: a44", "papersize: 'a44'"),
                ("page-numbering: x", "page-numbering: 'x'"),
            )
        ),
        (
            "quarto",
            "book: {chapters: site.qmd}",
            r"book: chapters: 'site\.qmd' cannot be used; it must be a list of files",
        ),
        ("quarto", "mainfont: []", r"mainfont: \[\] cannot be used; it must be the name of a font"),
        ("plain", "book: [a]", r"own\.yml: book: must have keys and values, but is \['a'\]"),
        ("quarto", "format: html", r"own\.yml: format: must have keys and values, but is 'html'"),
        (
            "plain",
            "language: {crossref-fgi-title: X}",
            "language: crossref-fgi-title: is not a word.*close to it is crossref-fig",
        ),
        ("plain", "language: {search-box-text: X}", "language: search-box-text: is not a word of reports"),
        ("plain", "lang: de\nlanguage: {crossref-fig-title: X, callout-tip-title: Y}", ""),
    ],
)
def test_settings_that_nothing_reads_are_refused(tmp_path: Path, engine: str, settings: str, says: str) -> None:
    file = tmp_path / "own.yml"
    if not says:
        refuse(yaml.safe_load(settings), file, engine)
        return
    with pytest.raises(ReportError, match=says):
        refuse(yaml.safe_load(settings), file, engine)


KNOWN = Known(
    options=frozenset({"toc-depth", "theme", "execute", "code-tools"}),
    names=frozenset(["toc-depth", "theme", "execute", "code-tools", "source", "echo", "sidebar", "style", "light"]),
    language=frozenset({"search-box-text"}),
)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            "html: {toc-depht: 2}",
            r"own\.yml: format: html: toc-depht: is not a setting that Quarto knows; close to it is toc-depth",
        ),
        ("report-typst: {marign: {x: 1cm}}", r"format: report-typst: marign: is not a setting that Quarto knows"),
        ("revealjs: {7: true}", r"format: revealjs: 7: is not a setting that Quarto knows\. Correct it"),
        (
            "{html: {theme: darkly, toc-depth: 2, execute: {echo: false}}, report-typst: {page-numbering: i}, docx: default}",
            "",
        ),
    ],
)
def test_misspelt_settings_of_a_format_are_refused_where_quarto_says_which_it_knows(settings: str, says: str) -> None:
    config = {"format": yaml.safe_load(settings)}
    if says:
        with pytest.raises(ReportError, match=says):
            refuse(config, Path("own.yml"), "quarto", KNOWN)
    else:
        refuse(config, Path("own.yml"), "quarto", KNOWN)
    refuse(config, Path("own.yml"), "quarto")  # an installation that does not say


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            "format: {html: {code-tools: {sourxe: true}}}",
            "format: html: code-tools: sourxe: .* knows; close to it is source",
        ),
        ("format: {html: {execute: {ecko: true}}}", "format: html: execute: ecko: .*; close to it is echo"),
        (
            "book: {sidebar: {stile: docked}}",
            r"own\.yml: book: sidebar: stile: is not a setting that Quarto knows; close to it is s",
        ),
        (
            "language: {search-box-txt: X}",
            "language: search-box-txt: is not a word of reports; close to it is search-box-text",
        ),
        (
            "language: {search-box-text: X}\nformat: {html: {theme: {light: [cosmo]}}}\nbrand: {color: {palette: {a: red}}}",
            "",
        ),
    ],
)
def test_names_that_quarto_does_not_know_are_refused_at_any_depth(settings: str, says: str) -> None:
    config = yaml.safe_load(settings)
    if says:
        with pytest.raises(ReportError, match=says):
            refuse(config, Path("own.yml"), "quarto", KNOWN)
    else:
        refuse(config, Path("own.yml"), "quarto", KNOWN)


def test_quarto_says_which_settings_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, schema = tmp_path / "bin/quarto", tmp_path / "share/schema"
    program.parent.mkdir()
    schema.mkdir(parents=True)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    program.write_text(f'#!/bin/sh\n[ "$1" = --paths ] && echo {program.parent} && echo {tmp_path / "share"}\n')
    program.chmod(0o755)
    assert quarto.known() == Known()
    (schema / "document-toc.yml").write_text('- name: toc-depth\n  schema: number\n- name: "toc"\n')
    (schema / "cell-codeoutput.yml").write_text("- name: echo\n  tags:\n    - name: no\n")
    (schema / "definitions.yml").write_text("- id: other\n  object:\n    properties:\n      style:\n        string\n")
    (tmp_path / "share/language").mkdir()
    (tmp_path / "share/language/_language.yml").write_text('toc-title-website: "On this page"\n')
    known = quarto.known()
    assert known.options == {"toc-depth", "toc", "echo", "execute"}
    assert {"style", "toc-depth"} <= set(known.names)
    assert known.language == {"toc-title-website"}


def test_the_installed_quarto_knows_what_labkit_ships_and_names_what_it_does_not_know() -> None:
    if obstacle := quarto.usable():
        pytest.skip(obstacle)
    known = quarto.known()
    for file in (TEMPLATES / "book.yml", *(TEMPLATES / "styles").glob("*.yml")):
        _, config = styles.parted(styles.read(file), file)
        refuse(config, Path("report/book.yml"), "quarto", known)
    further = "format: {html: {theme: {light: cosmo, dark: darkly}, grid: {sidebar-width: 9em}, code-tools: {source: true}}}\n"
    further += "execute: {echo: false}\nlanguage: {search-clear-button-title: X}\nbook: {sidebar: {style: docked}}"
    refuse(yaml.safe_load(further), Path("own.yml"), "quarto", known)
    for wrong in ("execute: {enabld: true}", "book: {sidebar: {stile: docked}}", "format: {html: {axe: {outpt: x}}}"):
        with pytest.raises(ReportError, match="is not a setting that Quarto knows"):
            refuse(yaml.safe_load(wrong), Path("own.yml"), "quarto", known)


def test_settings_that_labkit_ships_are_read() -> None:
    for file in (TEMPLATES / "book.yml", *(TEMPLATES / "styles").glob("*.yml")):
        _, config = styles.parted(styles.read(file), file)
        refuse(config, Path("report/book.yml"), "quarto")


def after_quarto(folder: Path, settings: str) -> dict[str, str]:
    """Pages of a folder after the filter that runs when Quarto has rendered."""
    (folder / "_quarto.yml").write_text(settings)
    files = sorted(str(path) for path in folder.glob("*.html"))
    command = [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters/offline.lua")]
    subprocess.run(command, env={"QUARTO_PROJECT_OUTPUT_FILES": "\n".join(files)}, cwd=folder, check=True)
    return {Path(file).stem: Path(file).read_text() for file in files}


def work(key: str, number: int, words: str) -> str:
    inside = f'<div class="csl-left-margin">[{number}] </div><div class="csl-right-inline">{words} 2020.</div>'
    return f'<div id="ref-{key}" class="csl-entry" role="listitem">\n{inside}\n</div>\n'


def citation(inside: str, *keys: str) -> str:
    inside = re.sub(r"(\d+)(\w)", r'<a href="references.html#ref-\2" role="doc-biblioref">\1</a>', inside)
    return f'<span class="citation" data-cites="{" ".join(keys)}">[{inside}]</span>'


def test_numbers_of_citations_count_through_the_book_where_quarto_counts_on_each_page(tmp_path: Path) -> None:
    lists = {
        "z": (citation("1d", "d") + citation("2b, 1d", "b", "d"), ["d", "b"]),
        "a": (citation("1b", "b") + citation("1b–3a", "b", "c", "a"), ["b", "c", "a"]),
    }
    for name, (text, keys) in lists.items():
        entries = "".join(work(key, number, f"{key} und") for number, key in enumerate(keys, start=1))
        page = f'<main><p>{text}</p>\n<div id="refs" style="display: none">\n{entries}</div>\n</main>'
        (tmp_path / f"{name}.html").write_text(page)
    entries = "".join(work(key, number, f"{key} and") for number, key in enumerate("abcd", start=1))
    (tmp_path / "references.html").write_text(f'<main><div id="refs">\n{entries}</div>\n</main>')
    made = after_quarto(tmp_path, "book: {chapters: [z.qmd, a.qmd, references.qmd]}\n")
    shown = {name: re.sub(r"<[^>]*>", "", text.partition('<div id="refs"')[0]).strip() for name, text in made.items()}
    assert shown["z"] == "[1][1, 2]"
    assert shown["a"] == "[2][2, 3, 4]"
    listed = re.sub(r"<[^>]*>", "", made["references"]).split("\n")
    assert [one for one in listed if one] == [
        "[1] d und 2020.",
        "[2] b und 2020.",
        "[3] c und 2020.",
        "[4] a und 2020.",
    ]
    assert re.findall(r'href="([^"]*)"', made["a"]) == [f"references.html#ref-{key}" for key in "bbca"]
    assert [*map(int, re.findall(r">\[(\d)\]", made["a"]))] == [2, 3, 4]


def test_citations_by_author_and_year_stay_and_their_list_is_in_the_language_of_the_pages(tmp_path: Path) -> None:
    cited = citation("1x", "x").replace("1<", "2020<").replace("[<", "Own (<").replace(">]", ">)")
    entry = '<div id="ref-x" class="csl-entry" role="listitem">\nOwn 2020 {} Co.\n</div>\n'
    (tmp_path / "a.html").write_text(
        f'<main>{cited}<div id="refs" style="display: none">\n{entry.format("und")}</div></main>'
    )
    (tmp_path / "references.html").write_text(f'<main><div id="refs">\n{entry.format("and")}</div></main>')
    made = after_quarto(tmp_path, "book: {chapters: [a.qmd, references.qmd]}\n")
    assert cited in made["a"]
    assert "Own 2020 und Co." in made["references"]


def test_references_of_quartos_first_page_are_in_the_language_of_the_report(tmp_path: Path) -> None:
    link = '<a href="{}" class="quarto-xref"><span>{}</span></a>'
    (tmp_path / "m.html").write_text('<h2 data-anchor-id="sec-b"><span class="header-section-number">3.1</span> A</h2>')
    (tmp_path / "index.html").write_text(
        link.format("m.html#sec-b", "A")
        + link.format("1.html", "1&nbsp; One")
        + link.format("b.html", "Anhang B — More")
    )
    language = yaml.safe_dump({"language": words.words({"lang": "de"})})
    page = after_quarto(tmp_path, language)["index"]
    assert re.findall(r"<span>([^<]*)", page) == ["Abschnitt&nbsp;3.1", "Kapitel&nbsp;1", "Anhang&nbsp;B"]


def test_no_link_of_quartos_pages_leads_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="./">T</a><a class="x" href="../../">T</a><a href="data/">D</a><a href="#a/">'
    )
    page = after_quarto(tmp_path, "")["a"]
    assert re.findall(r'href="([^"]*)"', page) == ["./index.html", "../../index.html", "data/", "#a/"]


def test_a_picture_of_a_chapter_says_in_words_what_its_caption_says(tmp_path: Path) -> None:
    text = '![A *rack*.](a.png)\n\n![](b.png)\n\n![A](c.png){fig-alt="C"}\n'
    extra = [f"--lua-filter={TEMPLATES / 'filters/pictures.lua'}"]
    page = pypandoc.convert_text(text, "html", format="markdown", extra_args=extra)
    assert re.findall(r'(\w)\.png"[^>]*fig-alt="([^"]*)"', page) == [("a", "A rack."), ("c", "C")]


@pytest.mark.slow
def test_both_engines_print_the_same_report_in_german_with_numbered_citations(tmp_path: Path) -> None:
    if obstacle := quarto.usable():
        pytest.skip(obstacle)
    folder = project.init(tmp_path / "project").folder
    (folder / "report/styles").mkdir()
    (folder / "report/numbers.csl").write_text(CSL)
    (folder / "report/site.qmd").write_text(
        "# Netz {#sec-site}\n\nSiehe [@hunold2016] und @sec-methods.\n\n::: {.callout-tip}\nText.\n:::\n"
    )
    (folder / "report/styles/own.yml").write_text(
        "labkit: {like: report}\nlang: de\ncsl: numbers.csl\n"
        "book: {chapters: [index.qmd, site.qmd, '*.ipynb', methods.qmd, references.qmd]}\n"
    )
    texts, pages = {}, {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(project.PROJECT, str(folder))
        for engine in ("plain", "quarto"):
            campaign = make_campaign(tmp_path / engine)
            made = report.build([campaign], style="own", engine=engine)  # type: ignore[arg-type]
            assert made.pdf is not None
            text = " ".join(" ".join(page.extract_text() for page in pypdf.PdfReader(made.pdf).pages).split())
            texts[engine] = text
            pages[engine] = {
                name: re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", (made.html.parent / f"{name}.html").read_text()))
                for name in ("site", "references", "index", "methods")
            }
    for words_ in (r"Abbildung \d+(?:\.\d+)?", r"Tabelle \w+(?:\.\d+)?", r"Abschnitt [\d.]+\d", r"\[\d+\]", r"Tipp"):
        found = {engine: sorted(set(re.findall(words_, text.replace("\xa0", " ")))) for engine, text in texts.items()}
        assert found["plain"] == found["quarto"] != [], words_
    for name, pattern in (
        ("site", r"Siehe \[(\d+)\]"),
        ("site", "Tipp"),
        ("index", r"Abschnitt.[\d.]+\d"),
        ("references", r"\[\d+\] [^,]*,"),
    ):
        shown = {
            engine: re.findall(pattern, one[name].replace("\xa0", " ").replace("&nbsp;", " "))
            for engine, one in pages.items()
        }
        assert shown["plain"] == shown["quarto"] != [], (name, pattern)


def test_parameters_of_a_notebook_are_lines_of_python() -> None:
    source = "\n".join(
        f'p{number} = "virtual-cluster:4,rate=200mbit,per-leaf={number}"  # as it is' for number in range(4)
    )
    shown = artifact._compact(f"# Parameters\n{source}\nlaunches = 6\nsizes = '8 B'\n")
    for line in shown.splitlines():
        compile(line, "parameters", "exec")
    assert "launches = 6; sizes = '8 B'" in shown


def test_a_style_without_appendices_has_no_empty_part_for_them(tmp_path: Path) -> None:
    campaign = read(make_campaign(tmp_path / "c"))
    for style, there in (("slides", False), ("report", True)):
        made, _ = stage([campaign], style=style, engine="plain", folder=tmp_path / style)
        assert ("appendices" in made.config["book"]) is there


def test_quarto_render_in_a_checkout_finds_all_that_it_would_add_to_the_ignored_files() -> None:
    ignored = (Path(__file__).parents[1] / ".gitignore").read_text().splitlines()
    assert {"/.quarto/", "**/*.quarto_ipynb", "/_*.local"} <= set(ignored)


@pytest.mark.parametrize("style", ["comparison", "slides"])
def test_quarto_shows_the_days_of_several_campaigns(tmp_path: Path, style: str) -> None:
    """Quarto formats dates, and has no form for two."""
    campaigns = [make_campaign(tmp_path / name) for name in "ab"]
    facts = json.loads((campaigns[1] / "campaign.json").read_text())
    (campaigns[1] / "campaign.json").write_text(json.dumps({**facts, "created": "2026-11-22T10:00:00+00:00"}))
    made, _ = stage([read(one) for one in campaigns], style=style, engine="quarto", folder=tmp_path / "staged")
    assert made.config["date-format"] == "[2026-11-20 to 2026-11-22]"
    one, _ = stage([read(campaigns[0])], style="report", engine="quarto", folder=tmp_path / "one")
    assert (one.config["book"]["date"], one.config["date-format"]) == ("2026-11-20", "iso")
