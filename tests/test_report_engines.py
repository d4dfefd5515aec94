"""Both engines make an equal document from the same sources, as far as the sources show it: no Quarto is needed here."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pypandoc
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit import project
from labkit.report import figures, flatten, notebook, options
from labkit.report.book import Book, load
from labkit.report.stage import TEMPLATES

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path d="M0 0"/></svg>'
SPEC = {"data": [{"name": 'a "b" \\', "x": [1, 2], "y": [3, 4]}], "layout": {}}


def finished(folder: Path, *cells: Any) -> notebook.Chapter:
    nbformat.write(new_notebook(cells=list(cells)), folder / "10-x.ipynb")
    return notebook.finish(folder / "10-x.ipynb")


def figure(*, count: int = 1) -> list[Any]:
    return [new_output("display_data", data={figures.PLOTLY: SPEC, figures.SVG: SVG}) for _ in range(count)]


def test_quarto_runs_the_filters_of_the_plain_engine() -> None:
    listed = yaml.safe_load((project.SHIPPED / "_quarto.yml").read_text())["filters"]
    ours = [Path(one if isinstance(one, str) else one["path"]).stem for one in listed]
    source = (project.SHIPPED / "labkit/report/plain.py").read_text()
    plain = re.search(r'for n in \(("safe".*?)\)\)', source)
    assert plain is not None
    assert [name for name in ours if name != "plots"] == re.findall(r"\w+", plain[1])


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
    (tmp_path / "index.qmd").write_text(figures.captioned("C.", "figures/a.svg", "fig-f", SPEC))
    made = finished(tmp_path, new_markdown_cell("# T"), new_code_cell("show()", outputs=figure(count=2)))
    nbformat.write(made.notebook, tmp_path / "10-x.ipynb")
    text = flatten.flatten(load(tmp_path))
    assert text.count("fig-alt=\"Figure: a 'b' / from") == 3
    formats = TEMPLATES / "plain/format.lua"
    for target, alt in (("typst", "alt: \"Figure: a 'b' / from"), ("html", 'alt="Figure: a')):
        extra = [f"--metadata=target:{target}", f"--lua-filter={formats}"]
        shown = pypandoc.convert_text(text, target, format="markdown", extra_args=extra)
        assert " ".join(shown.split()).replace("&#39;", "'").count(alt) == (3 if target == "typst" else 1), target


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


def test_the_title_of_quartos_window_has_no_signs_of_markdown(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text(r"<title>1&nbsp; A – run\_2 \(b\)</title><p>\_</p>")
    command = [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")]
    subprocess.run(command, env={"QUARTO_PROJECT_OUTPUT_FILES": str(page)}, check=True)
    assert page.read_text() == r"<title>1&nbsp; A – run_2 (b)</title><p>\_</p>"
