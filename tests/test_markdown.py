"""Pipe tables as pandoc reads them."""

import json
import re
from pathlib import Path

import pypandoc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.io import markdown

PACKAGE = Path(markdown.__file__).parents[1]
words = st.text(st.sampled_from("ab|\\ \n\r\u2028µ"), min_size=1, max_size=8)


def read(text: str) -> tuple[list[str], list[list[str]]]:
    """Alignments and cells of the one table of a text."""
    [block] = json.loads(pypandoc.convert_text(text, "json", format="markdown"))["blocks"]
    assert block["t"] == "Table"
    _, _, columns, (_, head), [(_, _, _, body)], _ = block["c"]

    def flat(node: object) -> str:
        if isinstance(node, list):
            return "".join(map(flat, node))
        if not isinstance(node, dict):
            return ""
        kind, content = node["t"], node.get("c")
        return (
            content
            if kind == "Str"
            else content[1]
            if kind == "Code"
            else " "
            if "Break" in kind or kind == "Space"
            else flat(content)
        )

    return [kind["t"] for kind, _ in columns], [[flat(cell[4]) for cell in row[1]] for row in [*head, *body]]


def test_a_bar_stays_in_its_cell_as_text_and_as_code() -> None:
    rows = [["a|b", "`c|d`", "1"], [r"a\|b", "`` e`|f ``", "2"], ["| |", "x\ny", "3"], ["", "`", "4"]]
    align, cells = read(markdown.table(["text", "co|de", "n"], rows, align="lcr"))
    assert align == ["AlignLeft", "AlignCenter", "AlignRight"]
    assert cells == [
        ["text", "co|de", "n"],
        ["a|b", "c|d", "1"],
        ["a|b", "e`|f", "2"],
        ["| |", "x y", "3"],
        ["", "`", "4"],
    ]


@given(st.lists(st.tuples(words, words), max_size=4))
def test_no_cell_ends_a_row_or_another_cell(rows: list[tuple[str, str]]) -> None:
    lines = markdown.table(["a", "b"], rows).splitlines()
    assert len(lines) == 2 + len(rows)
    for line in lines:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3, line


def test_a_column_of_prose_does_not_starve_the_others() -> None:
    text = markdown.table(["n", "why"], [["1", "word " * 100]])
    block = json.loads(pypandoc.convert_text(text, "json", format="markdown"))["blocks"][0]
    narrow, wide = (width["c"] for _, width in block["c"][2])
    assert narrow >= wide / 10


def test_a_caption_and_rows_that_do_not_fit() -> None:
    assert markdown.table(["a"], [["b"]], caption="Hosts. {#tbl-hosts}").endswith("| b |\n\n: Hosts. {#tbl-hosts}")
    with pytest.raises(ValueError, match="shorter"):
        markdown.table(["a", "b"], [], align="l")


def test_no_module_has_a_pipe_table_of_its_own() -> None:
    modules = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"""["'] \| ["']\.join""", path.read_text())
    }
    assert modules == {"io/markdown.py", "apps/show/__init__.py"}  # show: the choices of an option
