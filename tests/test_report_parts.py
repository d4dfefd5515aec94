"""The transformations behind the report, one by one."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pypandoc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit.errors import ReportError
from labkit.figures import apart, parts, savings, small_print, stacked
from labkit.figures.data import values
from labkit.figures.path import Part, Stack
from labkit.figures.plotly import go
from labkit.judge import causes, rules
from labkit.models.breakdown import Time
from labkit.point.notes import Note, note
from labkit.report import (
    cleaning,
    dedupe,
    figures,
    flatten,
    markdown,
    methods,
    notebook,
    painting,
    pairing,
    styles,
    summary,
)
from labkit.report.book import Book
from labkit.report.content import Content

SPEC = {"data": [{"x": [1], "y": [2]}], "layout": {"height": 300, "title": {"text": "a </script> <!-- b"}}}


def as_csv(spec: dict[str, Any]) -> str:
    """The data of a figure as the report offers them."""
    return figures.as_csv(parts.described(spec).table)


def instead(spec: dict[str, Any]) -> str:
    """The table in the place of a figure; empty where the figure stays."""
    table = parts.described(spec).instead
    return str(table) if table else ""


def pandoc_text(source: str) -> str:
    """What pandoc makes of Markdown, as plain text."""
    return str(pypandoc.convert_text(source, "plain", format="markdown", extra_args=["--wrap=none"])).strip()


def write(folder: Path, *cells: Any) -> Path:
    path = folder / "10-x.ipynb"
    nbformat.write(new_notebook(cells=list(cells)), path)
    return path


def test_bundle_holds_every_form_and_no_markdown() -> None:
    made = figures.bundle(SPEC, "<svg/>", link="data/a.csv")
    assert set(made) == {"text/html", "image/svg+xml", "text/plain"}
    assert 'style="height:300px"' in made["text/html"]
    assert 'href="data/a.csv"' in made["text/html"]


def test_a_page_names_the_picture_that_it_shows_without_scripts() -> None:
    page = figures.bundle(SPEC, "<svg/>", alt='a "b"', still="static/a.svg")["text/html"]
    assert '<noscript><img src="static/a.svg" alt="a &quot;b&quot;"></noscript>' in page
    assert figures.still({"text/html": page}) == "static/a.svg"
    assert "noscript" not in figures.bundle(SPEC, still="static/a.svg")["text/html"], "nothing could draw it"
    hostile = {"data": [{"name": '<noscript><img src="static/../x"'}], "layout": {}}
    assert figures.still(figures.bundle(hostile, "<svg/>", alt='<noscript><img src="static/../x"')) == ""


def test_figure_in_html_cannot_end_its_script() -> None:
    html = figures.bundle(SPEC)["text/html"]
    assert html.count("</script>") == 1
    body = html.split('json">')[1].split("</script>")[0]
    assert json.loads(body) == SPEC
    assert "<" not in body


def test_no_svg_leaves_the_note() -> None:
    made = figures.bundle(SPEC)
    assert figures.SVG not in made
    assert made["text/plain"] == figures.NOTE


def test_data_of_typed_arrays_errors_and_heat_maps() -> None:
    x = {"dtype": "f8", "bdata": base64.b64encode(np.array([1.5, 2.5])).decode()}
    spec = {
        "data": [
            {"name": "a", "x": x, "y": [1, 2], "error_y": {"array": [3, 4], "arrayminus": [0.5, 1]}},
            {"x": ["p", "q"], "z": [[1, 2], [3, 4]]},
        ]
    }
    rows = list(csv.DictReader(io.StringIO(as_csv(spec))))
    assert rows[0] == {"series": "a", "x": "1.5", "y": "1", "y_low": "0.5", "y_high": "4.0", "z": ""}
    assert [(r["x"], r["y"], r["z"]) for r in rows[2:]] == [
        ("p", "0", "1"),
        ("q", "0", "2"),
        ("p", "1", "3"),
        ("q", "1", "4"),
    ]
    assert as_csv({"data": [{"type": "sankey"}]}) == ""


def test_data_name_the_rows_and_panels_of_a_figure() -> None:
    drawn_parts = [
        Part("post & <b>doorbell</b>", 1.5, "CPU"),
        Part("wire", 0.25, "link", 0.2, 0.3),
        Part("copy", 2.0, "CPU"),
    ]
    stacks = [Stack("a message", drawn_parts, "measured", Part("observed", 4.0, "the whole"))]
    rows = list(csv.DictReader(io.StringIO(as_csv(stacked(stacks, "µs").to_plotly_json()))))
    assert [(row["series"], row["y"], row["base"], row["time (µs)"]) for row in rows] == [
        ("CPU (measured)", "post & doorbell", "0.0", "1.5"),
        ("CPU (measured)", "copy", "1.75", "2.0"),
        ("link (measured)", "wire", "1.5", "0.25"),
        ("the whole (measured)", "observed", "0.0", "4.0"),
    ], "without the labels of the bars, and with names in the place of row numbers"
    curve = [(10.0, Time(value=2.0)), (90.0, Time(value=20.0))]
    drawn = savings.saving({"latency": {"wire": curve}, "bandwidth": {"wire": curve}}).to_plotly_json()
    rows = list(csv.DictReader(io.StringIO(as_csv(drawn))))
    assert [row["panel"] for row in rows] == ["latency", "latency", "bandwidth", "bandwidth"]
    numbers = {"data": [{"x": [1, 2], "y": [3, 4]}]}
    ticks = {"tickvals": [1, 2, 8], "ticktext": ["1", "2", "8"]}
    text = as_csv(numbers | {"layout": {"xaxis": ticks, "yaxis": {"type": "log", **ticks}}})
    assert text == "series,x,y\n0,1,3\n0,2,4\n", "numbers stay numbers"


def figure_cell(label: str, **layout: Any) -> Any:
    """A cell with a figure of two lines and a long note."""
    lines = [{"type": "scatter", "name": name, "x": [1, 2], "y": [n + 1, 30]} for n, name in enumerate(("shm", "tcp"))]
    ticks = {"tickvals": list(range(1, 13)), "ticktext": [f"{n},000" for n in range(1, 13)]}
    shown = {
        "xaxis": {"title": {"text": "message size (B)"}, **ticks},
        "yaxis": {"title": {"text": "latency, median (µs)"}},
    }
    spec = {"data": lines, "layout": {"showlegend": True, "height": 280, **shown, **layout}}
    figure = go.Figure(spec)
    small_print.write(figure, ["bars: range of 3 launches " * 4])
    source = f'#| label: fig-{label}\n#| fig-cap: "{label}"\nshow()'
    return new_code_cell(source, outputs=[new_output("display_data", data=parts.bundle(parts.Figure(figure)))])


def test_two_small_figures_in_a_row_are_drawn_for_half_the_width() -> None:
    cells = [figure_cell(name) for name in "abc"]
    text, empty = new_markdown_cell("text"), new_code_cell("nothing()")
    wide, other = figure_cell("d", annotations=[{"text": "x"}]), figure_cell("e")
    book = new_notebook(cells=[cells[0], empty, cells[1], cells[2], text, wide, other])
    narrow = pairing.pair([book])
    marked = [pairing.HALF in cell.source for cell in book.cells]
    assert marked == [True, False, True, False, False, False, False], "each is in one pair, and all of it fits"
    forms = [narrow[id(cell.outputs[0].data)] for cell in cells[:2]]
    assert len(narrow) == 2
    assert {form["layout"]["width"] for form in forms} == {351}
    axis = forms[0]["layout"]["xaxis"]
    assert axis["ticktext"] == [f"{n},000" for n in (1, 4, 7, 10)]
    assert axis["title"]["text"].count("<br>") == 3
    assert cells[0].outputs[0].data[figures.PLOTLY]["layout"]["height"] == 280, "the page keeps its figure"
    svgs = [cell.outputs[0].data.get(figures.SVG) for cell in cells]
    assert svgs == [None] * 3
    asked: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(painting, "svgs", lambda specs: [asked.append(spec) or "<svg/>" for spec in specs])
        painting.draw([book], [], other=narrow)
    assert [spec["layout"].get("width") for spec in asked] == [351, 351, None, None, None]
    heights = {form["layout"]["height"] for form in painting.heighten([book]).values()}
    assert len(heights) == 1
    assert heights.pop() > 280, "alone on a page a figure is higher"


def test_the_pdf_has_pairs_in_a_row(tmp_path: Path) -> None:
    figure = ":::::: {{#fig-{0} .cell .half}}\n\n::::: output\n![](a.svg)\n:::::\n\n::::: caption\n{0}\n:::::\n\n::::::"
    pair = "\n\n".join(figure.format(name) for name in "ab")
    text = f":::::::::: {{.item kind=chapter file=x}}\n\n# X\n\nfar\n\n1\n\n- 2\n\n3\n\n{pair}\n\n::::::::::"
    filters = ("plain/number.lua", "filters/ties.lua", "plain/format.lua")
    names = [f"--lua-filter={styles.TEMPLATES / name}" for name in filters]
    made = pypandoc.convert_text(text, "typst", format="markdown", extra_args=["--metadata=target:typst", *names])
    assert re.search(r"#pair\(\[.*fig-a.*\], \[.*fig-b.*\]\)", made, re.S)


def test_cells_of_quarto_have_pairs_in_a_row_too(tmp_path: Path) -> None:
    cell = "::: {{.cell .half}}\n{0}\n:::"
    one, two, three = (cell.format(name) for name in ("one", "two", "three"))
    text = "\n\n".join([one, "between", two, "after", three, "- list", cell.format("four").replace(" .half", "")])
    extra = [f"--lua-filter={styles.TEMPLATES / 'filters/ties.lua'}"]
    made = pypandoc.convert_text(text, "typst", format="markdown", extra_args=extra)
    pair = "between #pair([ #block[ one ] ], [ #block[ two ] ])"
    assert " ".join(made.split()) == f"{pair} after #block[ three ] - list #block[ four ]"
    assert "#pair" not in pypandoc.convert_text(text, "html", format="markdown", extra_args=extra)


def test_a_figure_is_described_from_its_data() -> None:
    lines = [{"name": f"s{n}", "x": [1, 2], "y": [n, n + 0.5]} for n in range(8)]
    layout = {
        "xaxis": {"title": {"text": 'size (B)<br><span style="font-size:11px">small print</span>'}},
        "yaxis": {"title": {"text": "latency (µs)"}},
        "meta": {"title": "size (B)"},
    }
    text = parts.described({"data": lines, "layout": layout}).alt
    assert text.startswith("latency (µs) against size (B): s0 from 0 to 0.5 (2 points); s1")
    assert text.endswith("; 2 more series.")
    odd = {"data": [{**lines[1], "name": '"<b>'}], "layout": {}}
    page = figures.bundle(odd, alt=parts.described(odd).alt)["text/html"]
    assert 'aria-label="Figure: &quot;&lt;b&gt; from 1 to 1.5 (2 points)."' in page
    strange = parts.described({"data": [{"y": 3}, {"type": "heatmap", "z": [[1, 2]]}]}).alt
    assert strange == "Figure: the values from 1 to 2 (2 cells)."
    assert parts.described({"data": [{"type": "sankey"}]}).alt == "Figure: 1 series."


def test_a_figure_with_one_x_value_becomes_a_table() -> None:
    one = {"type": "scatter", "name": "shm", "x": [8], "y": [2.5], "error_y": {"array": [0.5], "arrayminus": [0.25]}}
    layout = {"yaxis": {"title": {"text": "latency (µs)<br>small"}}}
    text = instead({"data": [one, {**one, "name": "tail", "showlegend": False}], "layout": layout})
    assert "latency (µs)" in text
    assert "| shm" in text
    assert "2.25 to 3" in text
    assert "tail" not in text
    for other in ({"x": [8, 16], "y": [1, 2]}, {"x": ["a"]}, {"type": "bar", "x": ["a", "b"], "y": [1, 2]}):
        assert instead({"data": [{**one, **other}], "layout": layout}) == ""


def test_a_single_bar_becomes_a_table() -> None:
    bar = {"type": "bar", "name": "64 KiB", "x": ["vc0,vc3"], "y": [2724], "error_y": {"array": [6], "arrayminus": [4]}}
    floor = {"type": "scatter", "name": "floor", "x": ["vc0,vc3"], "y": [1300]}
    layout = {"xaxis": {"title": {"text": "hosts"}}, "yaxis": {"title": {"text": "latency (µs)"}}, "showlegend": True}
    text = instead({"data": [bar, floor], "layout": layout})
    assert "latency (µs) at hosts vc0,vc3" in text
    assert "2,720 to 2,730" in text
    assert "| floor" in text
    assert "2,724" in instead({"data": [{**bar, "showlegend": False}], "layout": {}})
    for more in ({**bar, "name": "8 B"}, {"type": "box", "x": ["vc0,vc3"], "y": [1]}, {**floor, "x": ["vc1"]}):
        assert instead({"data": [bar, more], "layout": layout}) == ""
    assert instead({"data": [{**bar, "orientation": "h", "x": [3], "y": [7]}], "layout": layout}) == ""


def noted(label: str, *notes: Note, **layout: Any) -> Any:
    """A cell with a figure that has small print."""
    figure = go.Figure(layout={"height": 280, "xaxis": {"title": {"text": "size"}}, **layout})
    small_print.write(figure, notes)
    data = parts.bundle(parts.Figure(figure)) | {figures.SVG: "<svg/>"}
    return new_code_cell(f"#| label: {label}", outputs=[new_output("display_data", data=data)])


def test_the_note_of_a_figure_does_not_repeat_that_of_the_figure_before() -> None:
    thin = note("thin", "thin: 99th percentile, open with < 10 samples beyond")
    two = note("bars", "bars: range of 2 launches")
    own = note("campaign", "campaign A"), note("not-drawn", "not drawn: B")
    cells = [
        noted("fig-a", note("bars", "bars: range of 3 launches; of which some are long, " * 3), thin),
        noted("fig-b", two, thin, *own),
        noted("fig-c", two, *own),
        noted("fig-d", note("launches", "median of 3 launches")),
        noted("fig-e", two),
    ]
    book = new_notebook(cells=cells)
    before = [cell.outputs[0].data[figures.PLOTLY]["layout"]["height"] for cell in book.cells]
    changed = dedupe.shorten([book])
    specs = [cell.outputs[0].data[figures.PLOTLY]["layout"] for cell in book.cells]
    texts = [re.sub(r"<[^>]*>", "|", one["xaxis"]["title"]["text"]) for one in specs]
    assert "open with &lt; 10" in texts[0]
    assert texts[1].partition("||")[2].replace("|||", " ").strip("|") == (
        "bars: range of 2 launches; thin: 99th percentile, open with &lt; 10 samples beyond; campaign A; not drawn: B"
    ), "thin lines are explained below each figure that has them"
    assert texts[2].partition("||")[2].strip("|") == "campaign A; not drawn: B", "what each figure says of itself stays"
    assert "bars" in texts[4], "the figure before says something else"
    assert [specs[n]["height"] - before[n] for n in range(3)] == [0, 0, 0]
    assert len(changed) == 1
    assert dedupe.shorten([new_notebook(cells=[new_code_cell("x")])]) == []


def test_two_dimensional_typed_array() -> None:
    z = {"dtype": "i4", "bdata": base64.b64encode(np.arange(6, dtype="i4")).decode(), "shape": "2, 3"}
    assert values(z) == [[0, 1, 2], [3, 4, 5]]


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=30))
def test_escaped_text_has_nothing_left_to_interpret(text: str) -> None:
    made = markdown.escape(text)
    rest = markdown.mask(made).replace("\\\\", "")
    for character in "`*_{}[]<>#|~^$@":
        assert rest.count(character) == rest.count("\\" + character)


@pytest.mark.parametrize("text", ["a_b *c* @d $e$ <f> |g| [h](i) ~j~ ^k^ `l` #m {n} \\o", "{{< var a >}}"])
def test_escaped_text_reads_as_it_is(text: str) -> None:
    assert pandoc_text(markdown.escape(text)) == text


def _with_commands() -> list[str]:
    """Remedies and words of rules and causes that name an option."""
    kinds = [*rules.every().values(), *causes.every().values()]
    texts = [str(text) for one in kinds for text in (getattr(one, "remedy", ""), getattr(one, "decides", ""))]
    return [text for text in texts if "--" in text]


def test_commands_in_prose_are_code() -> None:
    texts = _with_commands()
    assert len(texts) >= 8
    for text in texts:
        assert "--" not in markdown.mask(markdown.escape(text)).replace("\\", ""), text
    for text, shown in (
        ("labkit gate --contract FILE --plan prints it.", "`labkit gate --contract FILE --plan` prints it."),
        ("Let labkit tune look, or set --bind core.", "Let `labkit tune` look, or set `--bind` core."),
        ("Longer: --time-cap, or -i 1000 (--where a=b).", "Longer: `--time-cap`, or `-i 1000` (`--where a=b`)."),
        ("labkit measures -5 to 6; x -y -- z", r"labkit measures -5 to 6; x -y \-\- z"),
        ("a | --launches=6|7", r"a \| `--launches=6`\|7"),
    ):
        assert markdown.escape(text) == shown


@pytest.mark.parametrize("text", ["plain", "a `b` c", "``", "x``y`"])
def test_inline_code_holds_any_text(text: str) -> None:
    assert pandoc_text(markdown.code(text)) == text


def test_code_block_is_longer_than_its_fences_and_has_no_colours() -> None:
    made = markdown.block("````\nx\n````\n\x1b[31mred\x1b[0m")
    assert made.startswith("`````\n")
    assert "\x1b" not in made
    assert "red" in made


def test_table_is_one_table_with_its_caption() -> None:
    text = markdown.table(
        ["a", "b"], [["1", markdown.escape("x|y")], ["2", "z" * 90]], align="rl", caption="Cap. {#tbl-x}"
    )
    tree = json.loads(pypandoc.convert_text(text, "json", format="markdown"))
    assert [block["t"] for block in tree["blocks"]] == ["Table"]
    assert tree["blocks"][0]["c"][0][0] == "tbl-x"
    assert [c[0]["t"] for c in tree["blocks"][0]["c"][2]] == ["AlignRight", "AlignLeft"]


def test_nested_facts_become_rows() -> None:
    facts = {"a": 1, "b": {"c_d": "x", "e": None}, "f": [{"g": 2}, {"g": 3}], "h": [], "i": ["p", "q"]}
    assert summary.flat(facts) == [("a", "1"), ("b c d", "x"), ("f 1 g", "2"), ("f 2 g", "3"), ("i", "p, q")]


def test_docstring_reads_as_it_is() -> None:
    text = "Half a_trip @x, `osu_latency` [1]_.\n\nReferences\n----------\n.. [1] T. Hoefler, a *star*."
    shown = pandoc_text(methods.prose(text))
    assert "Half a_trip @x, osu_latency [1]_." in shown
    assert "References" in shown
    assert "[1] T. Hoefler, a *star*." in shown


def test_chapter_without_heading_or_label_gets_them(tmp_path: Path) -> None:
    made = notebook.finish(write(tmp_path, new_code_cell("1")))
    assert made.notebook.cells[0].source == "# 10 x {#sec-10-x}"
    made = notebook.finish(write(tmp_path, new_markdown_cell("# A question {.wide}\n\nText.")))
    assert made.notebook.cells[0].source == "# A question {#sec-10-x .wide}\n\nText."
    assert (made.title, made.label) == ("A question", "sec-10-x")


def test_hash_in_code_is_no_heading(tmp_path: Path) -> None:
    made = notebook.finish(write(tmp_path, new_markdown_cell("```\n# no\n```\n\n# Yes {#sec-yes}")))
    assert made.label == "sec-yes"


def test_finish_drops_what_has_no_place(tmp_path: Path) -> None:
    widget = new_output("display_data", data={"application/vnd.jupyter.widget-view+json": {}, "text/plain": "w"})
    err = new_output("stream", name="stderr", text="noise")
    cell = new_code_cell(
        "f()",
        outputs=[widget, err, new_output("stream", name="stdout", text="said\n")],
        metadata={"papermill": {"duration": 1}},
    )
    made = notebook.finish(
        write(
            tmp_path, new_markdown_cell("# T {#sec-t}"), cell, new_code_cell("x = 1", metadata={"tags": ["parameters"]})
        )
    )
    cell, hidden = made.notebook.cells[1:]
    assert [out.text for out in cell.outputs] == ["said\n"]
    assert cell.metadata == {}
    assert hidden.source.startswith("#| include: false\n")
    assert made.parameters == "x = 1"


def test_failed_cell_with_a_label_keeps_its_place(tmp_path: Path) -> None:
    error = new_output("error", ename="E", evalue="v", traceback=[])
    made = notebook.finish(
        write(
            tmp_path,
            new_markdown_cell("# T {#sec-t}"),
            new_code_cell("#| label: fig-x\n#| fig-cap: X.\nf()", outputs=[error]),
        )
    )
    head, cell, after = made.notebook.cells
    assert "This notebook failed" in head.source
    assert [set(out.data) for out in cell.outputs] == [{"text/html", "text/plain"}]
    assert "Cell 2 failed here" in after.source
    assert made.error == "cell 2: E: v"


def test_no_notebook(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("not json")
    with pytest.raises(ReportError, match=r"a.ipynb cannot be read as a notebook"):
        notebook.read(tmp_path / "a.ipynb")


def test_relabel_touches_known_labels_only(tmp_path: Path) -> None:
    made = notebook.finish(write(tmp_path, new_markdown_cell("# T {#sec-t}\n\n@sec-t @sec-tt @sec-methods")))
    assert notebook.labels(made) == {"sec-t"}
    notebook.relabel(made, {"sec-t"}, "-c2")
    assert made.notebook.cells[0].source == "# T {#sec-t-c2}\n\n@sec-t-c2 @sec-tt @sec-methods"
    assert made.label == "sec-t-c2"


def test_notes_get_the_name_of_their_chapter_outside_code(tmp_path: Path) -> None:
    shown = new_output("display_data", data={"text/markdown": "z[^n]"})
    code = new_code_cell('#| label: tbl-a\n#| tbl-cap: "T[^n]"\na = "[^n]"', outputs=[shown])
    made = notebook.finish(write(tmp_path, new_markdown_cell("# T {#sec-t}\n\nx[^n] `[^n]`\n\n[^n]: y"), code))
    notebook.prefix_notes(made, "a")
    prose, cell = made.notebook.cells
    assert prose.source == "# T {#sec-t}\n\nx[^a-n] `[^n]`\n\n[^a-n]: y"
    assert cell.source == '#| label: tbl-a\n#| tbl-cap: "T[^a-n]"\na = "[^n]"'
    assert cell.outputs[0].data["text/markdown"] == "z[^a-n]"


def test_variables_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "a.qmd").write_text("x {{< var v >}}")
    text = flatten.flatten(Book(tmp_path, {"book": {"chapters": ["a.qmd"]}}, {"v": "value"}))
    assert "x value" in text


def widths(*rows: list[str]) -> list[Any]:
    """Widths of the columns of a table after the filter; None for one that is left to its content."""
    from labkit.report.stage import TEMPLATES

    text = markdown.table(rows[0], rows[1:])
    extra = [f"--lua-filter={TEMPLATES / 'filters' / 'widths.lua'}"]
    tree = json.loads(pypandoc.convert_text(text, "json", format="markdown", extra_args=extra))
    table = tree["blocks"][0]["c"]
    assert len(table[3][1]) == 1
    assert len(table[4][0][3]) == len(rows) - 1
    return [spec[1].get("c") for spec in table[2]]


def test_columns_that_fit_are_left_to_their_content() -> None:
    assert widths(["head " * 6, "b"], ["x " * 20, "y" * 10]) == [None, None]


def test_columns_of_a_wide_table_share_the_line_without_cutting_words() -> None:
    shares = widths(["transport", "n", "text"], ["shm", "12000", "word " * 60], ["tcp", "3", "x"])
    assert sum(shares) == pytest.approx(1)
    assert shares[2] == max(shares)
    assert shares[0] * 92 >= len("transport")
    assert shares[1] * 92 >= len("12000")


def test_a_word_that_would_fill_the_line_may_be_cut() -> None:
    from labkit.report.stage import TEMPLATES

    shares = widths(["point", "reason"], ["latency 8 B " * 3, "{" + "x," * 90 + "} was said"])
    assert shares[0] * 92 >= len("latency")
    assert shares[1] * 92 < 92
    extra = [f"--lua-filter={TEMPLATES / 'filters' / 'widths.lua'}"]
    text = markdown.table(["a"], [["short " + "y" * 40]])
    made = pypandoc.convert_text(text, "html", format="markdown", extra_args=extra)
    assert f'short <span class="long">{"y" * 40}</span>' in " ".join(made.split())


def test_long_words_are_cut_after_a_sign_in_the_pdf(tmp_path: Path) -> None:
    import pypdf
    import typst

    from labkit.report.stage import TEMPLATES

    look = (TEMPLATES / "_extensions/report/typst-template.typ").read_text()
    body = '\n#set page(width: 5cm, margin: 5mm)\n#breakable(30, [#("program,"*9)end])\n\n#breakable(99, [#("program,"*9)end])'
    (tmp_path / "a.typ").write_text(look + body)
    typst.compile(str(tmp_path / "a.typ"), output=str(tmp_path / "a.pdf"))
    lines = pypdf.PdfReader(tmp_path / "a.pdf").pages[0].extract_text().replace("\u200b", "").splitlines()
    assert len([line for line in lines if line.strip()]) >= 4
    assert any(line.strip() == "program," * 9 + "end" for line in lines)


def test_the_look_for_quarto_compiles_and_numbers_by_chapter(tmp_path: Path) -> None:
    """The format's parts as Quarto puts them together; Quarto itself is not needed for that."""
    import typst

    from labkit.report.stage import TEMPLATES

    folder = TEMPLATES / "_extensions" / "report"
    names = ("numbering.typ", "page.typ", "typst-template.typ", "typst-show.typ")
    template = "\n".join((folder / name).read_text() for name in names) + "\n$body$\n"
    (tmp_path / "t.typ").write_text(template)
    cell = '#figure(rect(), caption: [C], kind: "quarto-float-fig", supplement: "Figure")'
    equation = "#math.equation(block: true, numbering: equation-numbering, $ a $) <eq-a>"
    parts = [
        "#heading(numbering: none)[Front]",
        cell,
        "= One",
        cell,
        cell,
        "$ b $",
        equation,
        "#show: appendix",
        "= Extra",
        "==== Fourth",
        cell,
        "See #ref(<eq-a>, supplement: [Equation]).",
    ]
    body = "\n\n".join(f"```{{=typst}}\n{part}\n```" for part in parts)
    extra = ["--standalone", f"--template={tmp_path / 't.typ'}", "--metadata=title:T", "--metadata=date:D"]
    source = tmp_path / "a.typ"
    source.write_text(pypandoc.convert_text(body, "typst", format="markdown", extra_args=extra))
    import pypdf

    typst.compile(str(source), output=str(tmp_path / "a.pdf"))
    text = " ".join(page.extract_text() for page in pypdf.PdfReader(tmp_path / "a.pdf").pages).replace("\xa0", " ")
    for wanted in (
        "Figure 1: C",
        "1 One",
        "Figure 1.1: C",
        "Figure 1.2: C",
        "(1.1)",
        "A Extra",
        "Figure A.1: C",
        "See Equation 1.1.",
    ):
        assert wanted in " ".join(text.split()), wanted
    assert "(1.2)" not in text, "an equation without a label has no number"


def test_offline_filter_takes_out_what_quarto_adds(tmp_path: Path) -> None:
    from labkit.report.stage import TEMPLATES

    page = tmp_path / "a.html"
    page.write_text(
        '<script src="https://cdnjs.cloudflare.com/ajax/libs/require.js/2.3.6/require.min.js" integrity="x"></script>\n'
        '<script src="https://cdnjs.cloudflare.com/ajax/libs/jquery/3.5.1/jquery.min.js"></script>\n'
        "<script type=\"application/javascript\">define('jquery', [],function() {return window.jQuery;})</script>\n"
        "<p>kept</p>"
    )
    subprocess.run(
        [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")],
        env={"QUARTO_PROJECT_OUTPUT_FILES": str(page)},
        check=True,
    )
    assert page.read_text() == "<p>kept</p>"


def test_offline_filter_makes_quartos_script_one_that_loads_from_disk(tmp_path: Path) -> None:
    from labkit.report.stage import TEMPLATES

    folder = tmp_path / "site_libs" / "quarto-html"
    (folder / "tabsets").mkdir(parents=True)
    (folder / "tabsets" / "tabsets.js").write_text("export function init() { return 1; }\n")
    (folder / "axe.js").write_text("export async function start() { await 1; }\n")
    (folder / "quarto.js").write_text(
        'import * as tabsets from "./tabsets/tabsets.js";\nimport * as axe from "./axe.js";\ntabsets.init();\n'
    )
    (tmp_path / "methods.html").write_text(
        '<h2 data-anchor-id="sec-a-b"><span class="header-section-number">3.1</span> A</h2>'
    )
    page = tmp_path / "index.html"
    page.write_text(
        '<script src="site_libs/quarto-html/quarto.js" type="module"></script>\n'
        '<script src="site_libs/quarto-html/tabsets/tabsets.js" type="module"></script>\n'
        '<a href="methods.html#sec-a-b" class="quarto-xref"><span>A</span></a>\n'
        '<a href="1.html" class="quarto-xref"><span>1&nbsp; One</span></a>\n'
        '<a href="b.html" class="quarto-xref"><span>Appendix B — Extra</span></a>\n'
    )
    for _ in range(2):  # a second rendering finds the script as the first left it
        subprocess.run(
            [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")],
            env={"QUARTO_PROJECT_OUTPUT_FILES": str(page), "QUARTO_PROJECT_OUTPUT_DIR": str(tmp_path)},
            check=True,
        )
        assert page.read_text() == (
            '<script src="site_libs/quarto-html/quarto.js" defer></script>\n'
            '<a href="methods.html#sec-a-b" class="quarto-xref"><span>Section&nbsp;3.1</span></a>\n'
            '<a href="1.html" class="quarto-xref"><span>Chapter&nbsp;1</span></a>\n'
            '<a href="b.html" class="quarto-xref"><span>Appendix&nbsp;B</span></a>\n'
        )
        script = (folder / "quarto.js").read_text()
        assert "import" not in script
        assert "export" not in script
        assert "return { start };" in script
        assert script.index("function init") < script.index("tabsets.init();")


def test_markdown_with_very_many_shortcodes_and_tags_is_cleaned_in_one_pass() -> None:
    many = 60_000  # each looked at once: with every one compared with all others this would take minutes
    assert cleaning.markdown("{{< pagebreak >}} " * many) == "{{< pagebreak >}} " * many
    assert cleaning.markdown("{{< include x >}}<b> " * many) == f"{markdown.APART} include x >}}}}\\<b> " * many


def test_columns_of_equal_cells_are_said_once_in_the_caption() -> None:
    rows = [("8 B", "shm", "0.14", "–", "6"), ("1 MiB", "shm", "84.8", "–", "6")]
    table = parts.Table.of(["size", "transport", "median (µs)", "p99 (µs)", "launches"], rows, "lllrr")
    source = '#| label: tbl-a\n#| tbl-cap: "Times."\nshow()'
    cell = new_code_cell(source, outputs=[new_output("display_data", data=parts.bundle(table))])
    alone = new_code_cell("show()", outputs=[new_output("display_data", data=parts.bundle(table))])
    chapter = notebook.finish(Path("10-a.ipynb"), book=new_notebook(cells=[cell, alone]))
    first, second = (one for one in chapter.notebook.cells if one.cell_type == "code")
    assert 'tbl-cap: "Times. In all rows: transport shm, 6 launches."' in first.source
    assert first.outputs[0].data["text/markdown"].startswith("| size | median (µs) |")
    assert "transport" in second.outputs[0].data["text/markdown"], "a table without a caption says it in its columns"
    assert markdown.varied(["a", "b"], [["1", "2"], ["1", "2"]]) == ([0, 1], ""), "two columns stay"
    assert markdown.varied(["a", "b", "sign here"], [["1", "2", ""], ["2", "3", ""]]) == ([0, 1, 2], "")
    one = Content([], {}).table(
        ["a", "b", "c"], [(None, "xyz"), (None, "xvw")], align="lrl", caption="C. {#tbl-c}", empty=""
    )
    assert ": C. In all rows: a x. {#tbl-c}" in one
    assert "| b | c |\n|-----:|:-----|" in one


def test_a_figure_that_becomes_a_table_has_the_number_of_a_table(tmp_path: Path) -> None:
    figure = figure_cell("one")
    figure.outputs = [new_output("display_data", data=parts.bundle(parts.Figure(single())))]
    prose = '# T {#sec-t}\n\n<span data-needs="fig-one fig-b">@fig-one and @fig-b</span> `@fig-onemore`'
    made = notebook.finish(write(tmp_path, new_markdown_cell(prose), figure, figure_cell("b")))
    head, table, other = made.notebook.cells
    assert '#| label: tbl-one\n#| tbl-cap: "one' in table.source
    assert "fig-" not in table.source
    assert 'data-needs="tbl-one fig-b">@tbl-one and @fig-b<' in head.source
    assert "#| label: fig-b" in other.source
    assert made.tables == {"fig-one": "tbl-one"}
    notebook.relabel(made, {"tbl-one", "fig-b"}, "-c2")
    assert 'data-needs="tbl-one-c2 fig-b-c2">@tbl-one-c2' in head.source, "marks follow their parts"


def single() -> Any:
    """A figure of one size."""
    line = {"type": "scatter", "mode": "markers", "x": [8], "y": [2.5]}
    return go.Figure([{**line, "name": "shm"}, {**line, "name": "tcp"}])


def test_markers_of_one_place_stand_side_by_side_and_their_data_stay() -> None:
    one = {"type": "scatter", "mode": "markers", "x": [8, 4096]}
    axis = {"type": "log", "range": [0.5, 4.0], "title": {"text": "size (B)"}}
    series = [{**one, "name": name, "y": [1.0, 2.0 + n], "legendgroup": name} for n, name in enumerate("abc")]
    plot = go.Figure({"data": series, "layout": {"xaxis": axis, "yaxis": {"type": "log"}}})
    shown = parts.bundle(parts.Figure(plot))
    places = [trace["x"] for trace in shown[figures.PLOTLY]["data"]]
    assert places[0][0] < 8 < places[2][0]
    assert places[1] == [8, 4096], "the middle one keeps its place"
    distances = [np.ptp(np.log10([place[n] for place in places])) for n in (0, 1)]
    assert distances == pytest.approx([2 * 0.016 * 3.5, 0]), "nothing overlaps at 4 KiB"
    assert "markers of one place stand side by side" in shown[figures.PLOTLY]["layout"]["xaxis"]["title"]["text"]
    about = parts.read(shown[parts.MIME])
    assert isinstance(about, parts.Described)
    assert {row[1] for row in about.table.values} == {8, 4096}, "the data have the true places"
    far = [{**one, "name": name, "y": [10.0**n, 10.0**n]} for n, name in enumerate("abc")]
    whole = parts.bundle(parts.Figure(go.Figure({"data": far, "layout": {"xaxis": axis, "yaxis": {"type": "log"}}})))
    assert [trace["x"] for trace in whole[figures.PLOTLY]["data"]] == [[8, 4096]] * 3, "nothing overlaps"
    assert all(trace["cliponaxis"] is False for trace in whole[figures.PLOTLY]["data"]), "no marker is cut"


def test_markers_leave_the_place_to_a_line_and_stay_within_the_axis() -> None:
    assert list(apart._offsets(3, joined=True)) == [1, -1, 2]
    axis = {"type": "linear", "range": [-1.0, 11.0]}
    many = [{"mode": "markers", "x": [0, 10], "y": [1, 1]} for _ in range(9)]
    found = apart.shifts({"data": many, "layout": {"xaxis": axis, "yaxis": {}}})
    assert max(abs(part) for part, _ in found.values()) == pytest.approx(0.034)
    tight = {"type": "linear", "range": [-0.4, 10.4]}
    plot = {"data": [dict(one) for one in many], "layout": {"xaxis": dict(tight), "yaxis": {}}}
    apart.move(plot, apart.shifts(plot))
    low, high = plot["layout"]["xaxis"]["range"]
    places = [x for trace in plot["data"] for x in trace["x"]]
    assert min(places) - low > 0.2 < high - max(places), "no marker touches an end of the axis"
    assert not apart.shifts({"data": many, "layout": {"xaxis": {"type": "category"}}})


TERMS = {"launch": "term-launch", "clock resolution": "term-clock-resolution", "path": "term-path"}


@pytest.mark.parametrize(
    ("target", "first"), [("html", 'href="#term-{}" class="term">{}<'), ("typst", "#term(<term-{}>)[{}]")]
)
def test_the_first_use_of_a_term_in_a_chapter_leads_to_the_glossary(tmp_path: Path, target: str, first: str) -> None:
    (tmp_path / "terms.json").write_text(json.dumps({"home": "methods.qmd", "terms": TERMS}))
    chapter = (
        ":::::::::: {{.item kind=chapter file=x}}\n\n# A launch\n\n`launch` [a launch](x.html), two Launches, a launch;\n"
        "clock resolution {0}\n\n| path |\n|---|\n| path |\n\n: path\n\n::::: caption\npath\n:::::\n\n"
        "::::: hidden\n[path]{{.hidden}}\n:::::\n\n<div __quarto_custom_type='FloatRefTarget'>\n\npath\n\n</div>\n\n::::::::::"
    )
    text = "\n\n".join(chapter.format(word) for word in ("--path", "(path)."))
    command = [pypandoc.get_pandoc_path(), f"--to={target}", f"--lua-filter={styles.TEMPLATES / 'filters/terms.lua'}"]
    made = subprocess.run(command, input=text, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    flat = " ".join(made.split())
    assert flat.count(first.format("launch", "Launches")) == 2, "once in each chapter"
    assert flat.count(first.format("clock-resolution", "clock resolution")) == 2
    assert flat.count("term-path") == 1, "an option, a table, captions and Quarto's navigation have no link"
    assert first.format("path", "path") in flat


def test_the_words_of_pages_have_a_german_form() -> None:
    script = (styles.TEMPLATES / "assets/report.js").read_text()
    known = set(re.findall(r'"([^"]+)": "', script[script.index("de: {") : script.index("const said")]))
    used = set(re.findall(r'said\("([^"]+)"', script))
    used |= set(re.findall(r'(?:button|choice|field)\("([^"]+)"', script)) - {"statistic"}
    used |= {f"{what} copied" for what in re.findall(r'"(Command|Code|Link)"', script)}
    assert len(used) > 20
    assert used <= known, used - known


def test_the_caption_of_a_figure_that_became_a_table_names_no_axis() -> None:
    figure = go.Figure(go.Scatter(x=[16], y=[2.5], name="6 neighbours", mode="markers"))
    figure.update_layout(xaxis={"title": {"text": "ranks"}}, yaxis={"title": {"text": "latency (µs)"}}, showlegend=True)
    shown = parts.bundle(parts.Figure(figure))
    source = '#| label: fig-a\n#| fig-cap: "Time against the number of ranks, slowest rank."\nshow()'
    cell = new_code_cell(source, outputs=[new_output("display_data", data=shown)])
    chapter = notebook.finish(Path("10-a.ipynb"), book=new_notebook(cells=[cell]))
    (one,) = (one for one in chapter.notebook.cells if one.cell_type == "code")
    assert '#| tbl-cap: "Time, slowest rank."' in one.source
    empty = [("a", "1", "–", "none"), ("b", "2", "–", "none")]
    assert markdown.varied(["x", "y", "p99", "claim"], empty) == ([0, 1], ""), (
        "columns without a value are not announced"
    )
    bound = go.Figure([*figure.data, go.Scatter(x=[8, 16], y=[1, 1], name="bound", mode="lines")], figure.layout)
    small_print.add(bound, note("one-place", "one number of ranks alone"))
    shown = parts.bundle(parts.Figure(bound))
    cell = new_code_cell(source, outputs=[new_output("display_data", data=shown)])
    chapter = notebook.finish(Path("10-a.ipynb"), book=new_notebook(cells=[cell]))
    (one,) = (one for one in chapter.notebook.cells if one.cell_type == "code")
    assert '#| fig-cap: "Time, slowest rank.' in one.source, "a figure of one place has no axis either"
