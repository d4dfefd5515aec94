"""What a paper includes: LaTeX takes each character that labkit prints, and each row of a table is one."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labkit
from labkit.errors import SpecError
from labkit.figures.parts import Table
from labkit.figures.publication import pgfplots, tex
from labkit.figures.tabulated import written

HOME = Path(labkit.__file__).parent
PRINTING = ("figures", "studies", "judge", "point", "read", "stats", "models", "report", "benchmarks", "testbeds")
LETTERS = re.compile(r"[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f]")  # inputenc and fontenc compose these
# what a text becomes; everything else must be no character with a meaning in LaTeX
COMMANDS = re.compile(r"\\text\w+\{\}|\\ldots\{\}|\\rule\{1ex\}\{1ex\}|\$[^$]+\$|\\[&%$#_{}]|-\{\}|~")


def _constants(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a module but its docstrings."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_each_character_that_labkit_prints_is_one_that_latex_takes() -> None:
    """PdfLaTeX of 2023 was run on all of them; here only that none is left without a form."""
    printed = {
        character
        for folder in PRINTING
        for path in (HOME / folder).rglob("*.py")
        for text in _constants(ast.parse(path.read_text()))
        for character in text
        if ord(character) > 126
    }
    assert len(printed) > 20
    left = {one: tex(one) for one in printed if not tex(one).isascii() and not LETTERS.fullmatch(one)}
    assert not left


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2300), max_size=30))
def test_no_character_keeps_a_meaning_of_latex(text: str) -> None:
    assert not re.search(r"[\\&%$#_{}~^<>|\"]|--", COMMANDS.sub("", tex(text).replace("---", "").replace("--", "")))


def test_words_keep_their_characters() -> None:
    assert tex("--mca a_b <p>") == r"-{}-mca a\_b $<$p$>$"
    assert tex("10 µs ± 5 %, √n → ∞") == r"10 $\mu$s $\pm$ 5 \%, $\surd$n $\to$ $\infty$"
    assert tex("Müller–Łoś") == "Müller--Łoś"


def test_no_row_begins_with_an_argument_of_the_line_above() -> None:
    """A bracket or a star behind a line end, or behind a rule, is its argument."""
    table = Table.of(["[x]", "n"], [["[5 pt]", "1"], ["*star", "2"], ["plain & more", "–"]], "lr")
    rows = written(table, ".tex").splitlines()[3:]
    assert [row for row in rows if row.startswith("{}")] == [
        r"{}[x] & {n} \\",
        r"{}[5 pt] & 1 \\",
        r"{}*star & 2 \\",
    ]
    assert r"plain \& more & {--} \\" in rows


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), min_size=1, max_size=4))
def test_each_row_is_one_line_with_each_cell(cells: list[tuple[str, str]]) -> None:
    lines = written(Table.of(["a", "b"], [list(row) for row in cells], "lr"), ".tex").split("\n")
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(body) == len(cells)
    for line in body:
        assert line.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", line)) == 1


def test_numbers_stand_below_one_another() -> None:
    table = Table.of(["rate"], [["1,234.5"], ["−3.25"], ["–"]], "r")
    text = written(table, ".tex")
    assert r"\begin{tabular}{S[table-format=-4.2]}" in text
    assert text.splitlines()[5:8] == [r"1234.5 \\", r"-3.25 \\", r"{--} \\"]
    with pytest.raises(SpecError, match=r"A table cannot end in .\.doc"):
        written(table, ".doc")


def test_code_for_pgfplots_has_bars_only_where_there_are_intervals() -> None:
    """Bars of thousands of points exceed TeX's memory, also if they have no length."""
    figure = go.Figure()
    figure.add_scatter(x=[1, 2], y=[3.5, 4.5], name="50 % & more", mode="lines")
    figure.add_scatter(x=[1, 2], y=[3.0, 4.0], name="b", error_y={"array": [0.5, 1], "arrayminus": [0.25, 1]})
    plain, barred = pgfplots(json.loads(str(figure.to_json())), width=84, height=55).split(r"\addplot")[1:]
    assert "(1,3.5)\n" in plain
    assert "error bars" not in plain
    assert r"\addlegendentry{50 \% \& more}" in plain
    assert "(1,3) += (0,0.5) -= (0,0.25)" in barred
    assert "y dir=both, y explicit" in barred
