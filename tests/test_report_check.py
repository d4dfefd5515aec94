"""What the report refuses, with the place of it; each case is one line added to a book that is fine."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit.errors import ReportError
from labkit.report import book, check, markdown

INDEX = "# Front {.unnumbered}\n\nSee @fig-a and [@known2020]; {{< var a.b >}}. Write to me@example.org or \\@me.\n"
SHOWN = new_output("display_data", data={"text/plain": "x"})


def make(folder: Path, prose: str = "", cell: str = "", outputs: int = 1) -> book.Book:
    config = {"book": {"chapters": ["index.qmd", "one.ipynb"]}, "bibliography": "references.bib"}
    (folder / "_quarto.yml").write_text(yaml.safe_dump(config))
    (folder / "_variables.yml").write_text(yaml.safe_dump({"a": {"b": 1}}))
    (folder / "references.bib").write_text("@article{known2020,\n title = {T}}\n")
    (folder / "index.qmd").write_text(INDEX + prose)
    notebook = new_notebook(
        cells=[
            new_markdown_cell("# One {#sec-one}\n\n$$ a $$ {#eq-a}"),
            new_code_cell("#| label: fig-a\n#| fig-cap: A.\nf()", outputs=[SHOWN]),
            new_code_cell(cell, outputs=[SHOWN] * outputs),
        ]
    )
    nbformat.write(notebook, folder / "one.ipynb")
    return book.load(folder)


def test_a_book_that_is_fine(tmp_path: Path) -> None:
    fine = "\n`@fig-none` and `{{x}}` in code.\n\n```\n@fig-none ::: <div>\n```\n\n::: {.callout-note}\nText.\n:::\n"
    assert check.check(make(tmp_path, fine)) is None


@pytest.mark.parametrize(
    ("prose", "message"),
    [
        ("See @fig-b.", "index.qmd, line 4: @fig-b points nowhere: nothing has the label fig-b."),
        ("See @fig-a-x.", "Close to it: fig-a."),
        ("See @tbl-b.", "@tbl-b points nowhere"),
        ("See @sec-b.", "@sec-b points nowhere"),
        ("See @eq-b.", "@eq-b points nowhere"),
        ("By [@unknown2020].", "@unknown2020 is not an entry of the bibliography. Close to it: known2020"),
        ("By [-@unknown].", "@unknown is not an entry"),
        ("As @eq-a [@known2020].", "a citation right after @eq-a becomes its suffix and is lost"),
        ("See @lst-a.", "references to lst- are not supported"),
        ("{{< include other.qmd >}}", "the shortcode 'include other.qmd' is not supported"),
        ("{{< embed one.ipynb#fig-a >}}", "the shortcode 'embed one.ipynb#fig-a' is not supported"),
        ("{{< var a.c >}}", "there is no variable a.c"),
        ("{{< var a >}}", "there is no variable a."),
        ("::: {.callout-danger}\nx\n:::", "there is no callout-danger. There are: callout-note, callout-tip"),
        ("::: {.panel-tabset}\nx\n:::", "the block 'panel-tabset' is not supported"),
        ("::: {.column-margin}\nx\n:::", "the block 'column-margin' is not supported"),
        ("::: {#thm-x}\nx\n:::", "the block 'thm-x' is not supported"),
        ("::: {.callout-note}\nx", "index.qmd, line 4: this block is never closed"),
        ("x\n\n:::", "index.qmd, line 6: this ':::' closes no block"),
        ("```{python}\n1\n```", "executable and raw blocks are not supported"),
        ("```{=html}\n<b>x</b>\n```", "executable and raw blocks are not supported"),
        ("A <b>word</b>.", "raw HTML appears in HTML only"),
        ("![x](https://example.org/x.png)", "would load an external file"),
        (
            "![x](figures/none.png){#fig-x}",
            "index.qmd, line 4: there is no picture figures/none.png. Put it into report/",
        ),
        ("![x](../index.qmd)", "there is no picture ../index.qmd"),
        ("## Two {#sec-two .unnumbered}", "sec-two labels an unnumbered heading"),
        ("## Two {#sec-one}", "the label sec-one is defined 2 times"),
    ],
)
def test_refused_prose_is_named_with_its_line(tmp_path: Path, prose: str, message: str) -> None:
    with pytest.raises(ReportError) as caught:
        check.check(make(tmp_path, prose))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "outputs", "message"),
    [
        (
            "#| label: fig-b\n#| fig-cap: B.\n#| column: page\nf()",
            1,
            "one.ipynb, cell 3, line 1: the cell option 'column'",
        ),
        ("#| fig-cap: B.\nf()", 1, "fig-cap without a label of that kind"),
        ("#| label: tbl-b\nf()", 1, "tbl-b has no caption"),
        ("#| label: fig-b\n#| fig-cap: B.\nf()", 2, "fig-b must show 1 output, but shows 2 and prints 0"),
        (
            "#| label: fig-b\n#| fig-cap: B.\n#| fig-subcap: [x, y]\nf()",
            2,
            "the cell option 'fig-subcap' is not supported",
        ),
        ("#| label: fig-a\n#| fig-cap: B.\nf()", 1, "the label fig-a is defined 2 times"),
        ("#| label: fig-b\n#| fig-cap: See @fig-none.\nf()", 1, "one.ipynb, cell 3, line 1: @fig-none points nowhere"),
        ("#| label: [\nf()", 1, "one.ipynb, cell 3: the #| lines are not YAML"),
        ("#| words\nf()", 1, "the #| lines must be 'key: value'"),
    ],
)
def test_refused_cells_are_named(tmp_path: Path, cell: str, outputs: int, message: str) -> None:
    with pytest.raises(ReportError) as caught:
        check.check(make(tmp_path, cell=cell, outputs=outputs))
    assert message in str(caught.value)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ReportError) as caught:
        check.check(make(tmp_path, "See @fig-b.\n\nSee @fig-c."))
    assert "line 4: @fig-b" in str(caught.value)
    assert "line 6: @fig-c" in str(caught.value)


def test_head_of_yaml_is_refused(tmp_path: Path) -> None:
    built = make(tmp_path)
    (tmp_path / "index.qmd").write_text("---\ntitle: x\n---\n" + INDEX)
    with pytest.raises(ReportError, match=r"index\.qmd, line 1: a YAML header is not supported"):
        check.check(built)


def test_chapter_that_is_not_there(tmp_path: Path) -> None:
    built = make(tmp_path)
    (tmp_path / "one.ipynb").unlink()
    with pytest.raises(ReportError, match=r"names the chapter one.ipynb, but it is not there"):
        check.check(built)


def test_mask_keeps_every_position() -> None:
    text = "a `b` c\n\n```py\n@x\n```\n``d ` e`` f \\`@g\n~~~~\n```\n~~~~\nend"
    hidden = markdown.mask(text)
    assert [len(line) for line in hidden.split("\n")] == [len(line) for line in text.split("\n")]
    assert "@x" not in hidden
    assert "@g" in hidden
    assert hidden.endswith("end")
