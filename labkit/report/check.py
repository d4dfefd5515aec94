"""Check that the chapters hold only Markdown that both engines understand, and no broken references.

Quarto warns of a reference that does not exist and prints ``?@fig-x``; here it is an error before anything is
rendered. Everything that is not on the lists below is refused.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from labkit.errors import ReportError
from labkit.report.book import VARIABLES, Book, Piece
from labkit.report.markdown import mask

CALLOUTS = ("note", "tip", "warning", "important", "caution")
DIVS = ("content-visible", "wide", "summary", "refs", "fine", "contents", "here")
CELL_OPTIONS = ("label", "fig-cap", "fig-scap", "fig-alt", "tbl-cap", "tbl-scap", "echo", "include", "classes")
KINDS = ("fig", "tbl", "eq", "sec")
_FOREIGN = ("lst", "thm", "lem", "cor", "prp", "cnj", "def", "exm", "exr", "nte", "tip", "wrn", "imp", "cau", "vid")
_PICTURE = re.compile(r"!\[[^\]]*\]\(\s*<?(?!https?:)([^)\s>]+)")
_VAR = re.compile(r"var\s+([\w.-]+)")


@dataclass
class _Findings:
    """Labels and citation keys of the whole book, its folder, and the errors in it."""

    folder: Path
    labels: Counter[str] = field(default_factory=Counter)
    keys: frozenset[str] = frozenset()
    problems: list[str] = field(default_factory=list)

    def add(self, place: str, text: str) -> None:
        self.problems.append(f"{place}: {text}")


def check(book: Book) -> None:
    """Refuse Markdown that one of the engines would render wrongly.

    Raises
    ------
    ReportError
        With file, cell and line of every error.
    """
    findings = _Findings(book.folder, keys=_citation_keys(book))
    pieces = [piece for file, _ in book.chapters for piece in book.pieces(file)]
    for piece in pieces:
        for text, _, _ in _texts(piece):
            findings.labels.update(re.findall(r"(?<!\\)\{#([\w-]+)[^}\n]*\}", mask(text)))
        if piece.kind == "code" and piece.options.get("label"):
            findings.labels[str(piece.options["label"])] += 1
    for piece in pieces:
        if piece.kind == "code":
            _cell(piece, findings)
        for text, line, prose in _texts(piece):
            if prose:
                _prose(piece, text, line, findings)
            _shortcodes(piece, text, line, book, findings)
    for label, count in findings.labels.items():
        if count > 1 and label.startswith(tuple(f"{kind}-" for kind in KINDS)):
            findings.add(
                "book", f"the label {label} is defined {count} times; a label must be unique. Rename all but one."
            )
    if findings.problems:
        shown = "\n  ".join(findings.problems)
        raise ReportError(f"The report in {book.folder} has errors:\n  {shown}")


def _citation_keys(book: Book) -> frozenset[str]:
    paths = [book.folder / name for name in book.bibliographies]
    texts = [path.read_text() for path in paths if path.is_file()]
    return frozenset(key for text in texts for key in re.findall(r"^\s*@\w+\{\s*([^,\s]+)", text, re.M))


def _texts(piece: Piece) -> Iterator[tuple[str, int, bool]]:
    """Yield the Markdown of a piece: text, the line on which it begins, and whether it is prose."""
    if piece.kind == "prose":
        yield piece.text, 1, True
        return
    yield piece.text, 1, False
    for name in ("fig-cap", "tbl-cap"):
        if name in piece.options:
            yield str(piece.options[name]), 2 - piece.line, True
    for out in piece.outputs:
        if "text/markdown" in out.get("data", {}):
            yield out.data["text/markdown"], 2 - piece.line, True


def _cell(piece: Piece, findings: _Findings) -> None:
    """Check the options of a code cell, and that it shows as many outputs as its caption describes."""
    options, place = piece.options, piece.place(2 - piece.line)
    for name in options:
        if name not in CELL_OPTIONS:
            findings.add(place, f"the cell option {name!r} is not supported. Use one of {', '.join(CELL_OPTIONS)}.")
    label = str(options.get("label", ""))
    for kind in ("fig", "tbl"):
        if f"{kind}-cap" in options and not label.startswith(f"{kind}-"):
            problem = f"{kind}-cap without a label of that kind. Add '#| label: {kind}-…', or drop the caption."
            findings.add(place, problem)
        if label.startswith(f"{kind}-") and f"{kind}-cap" not in options:
            findings.add(place, f"{label} has no caption. Add '#| {kind}-cap: …'.")
    shown = [out for out in piece.outputs if out.output_type != "stream"]
    if label.startswith(("fig-", "tbl-")) and options.get("include") is not False:
        streams = len(piece.outputs) - len(shown)
        if len(shown) != 1 or streams:
            findings.add(
                place, f"{label} must show 1 output, but shows {len(shown)} and prints {streams}. Split the cell."
            )


def _prose(piece: Piece, text: str, line: int, findings: _Findings) -> None:
    clean = mask(text)
    if not piece.cell and text.startswith("---\n"):
        findings.add(piece.place(1), "a YAML header is not supported. Write the title as '# Title {#sec-label}'.")
    for number, row in enumerate(clean.split("\n"), start=line):
        place = piece.place(number)
        _references(row, place, findings)
        if re.search(r"!\[[^\]]*\]\(\s*https?:", row) or re.search(r"(?<!\\)<(?:script|link|img|iframe)\b", row):
            findings.add(place, "the page would load an external file. Put the file next to the chapter.")
        for name in [] if piece.cell else _PICTURE.findall(row):
            inside = not name.startswith("/") and ".." not in name.split("/")
            if not (inside and (findings.folder / unquote(name)).is_file()):
                findings.add(place, f"there is no picture {name}. Put it into report/{name}, or correct the name.")
        if re.match(r"\s*\[\^[\w-]+\]:", row) is None and re.search(r"(?<!\\)<[a-z]+[ >/]", row):
            findings.add(place, "raw HTML appears in HTML only. Use Markdown.")
    _divs(piece, clean, line, findings)
    for number, row in enumerate(text.split("\n"), start=line):
        if re.match(r"\s{0,3}(`{3,}|~{3,})\s*\{(?:=|[a-z]+\s*[,}])", row):
            place = piece.place(number)
            findings.add(place, "executable and raw blocks are not supported in prose. Use a notebook cell.")


def _references(row: str, place: str, findings: _Findings) -> None:
    """Check that every @key of a line is a label or a citation."""
    for key in re.findall(r"(?<![\w.\\/`])-?@\{?([A-Za-z][\w:.#/-]*\w)", row):
        kind = key.partition("-")[0]
        if kind in _FOREIGN:
            findings.add(place, f"references to {kind}- are not supported. Use {', '.join(f'@{k}-' for k in KINDS)}.")
        elif kind in KINDS and key not in findings.labels:
            findings.add(place, f"@{key} points nowhere: nothing has the label {key}. {_similar(key, findings.labels)}")
        elif kind not in KINDS and key not in findings.keys:
            findings.add(
                place,
                f"@{key} is not an entry of the bibliography. {_similar(key, findings.keys)}Write \\@ for a plain @.",
            )
    trap = re.search(r"(@(?:fig|tbl|eq|sec)-[\w-]+)\s+\[-?@[A-Za-z]", row)
    if trap:
        findings.add(place, f"a citation right after {trap[1]} becomes its suffix and is lost. Put words between them.")
    for attributes in re.findall(r"^#+ .*\{([^}]*)\}\s*$", row):
        label = re.search(r"#(sec-[\w-]+)", attributes)
        if label and ".unnumbered" in attributes:
            findings.add(
                place, f"{label[1]} labels an unnumbered heading, so nothing can refer to it. Remove one of the two."
            )


def _similar(key: str, known: object) -> str:
    close = difflib.get_close_matches(key, list(known), n=3, cutoff=0.6)  # type: ignore[call-overload]
    return f"Close to it: {', '.join(close)}. " if close else ""


def _divs(piece: Piece, clean: str, line: int, findings: _Findings) -> None:
    """Check that fenced divs are of a known kind and closed."""
    opened: list[str] = []
    for number, row in enumerate(clean.split("\n"), start=line):
        match = re.match(r"\s{0,3}:{3,}\s*(.*?)\s*:*\s*$", row)
        if not match:
            continue
        place = piece.place(number)
        if not match[1]:
            if not opened:
                findings.add(place, "this ':::' closes no block. Delete it, or open a block above.")
            else:
                opened.pop()
            continue
        opened.append(place)
        names = re.findall(r"(?<![\w-])[.#]([A-Za-z][\w-]*)", re.sub(r'"[^"]*"', "", match[1])) or [match[1]]
        for name in names:
            if name.startswith("callout-") and name.removeprefix("callout-") not in CALLOUTS:
                findings.add(place, f"there is no {name}. There are: {', '.join('callout-' + c for c in CALLOUTS)}.")
            elif not name.startswith("callout-") and name not in DIVS:
                findings.add(place, f"the block {name!r} is not supported. Use a callout or one of {', '.join(DIVS)}.")
    for place in opened:
        findings.add(place, "this block is never closed. Add a line ':::' after it.")


def _shortcodes(piece: Piece, text: str, line: int, book: Book, findings: _Findings) -> None:
    for number, row in enumerate(text.split("\n"), start=line):
        for inner in re.findall(r"\{\{<\s*(.*?)\s*>\}\}", row):
            variable = _VAR.fullmatch(inner)
            if inner == "pagebreak":
                continue
            if not variable:
                findings.add(piece.place(number), f"the shortcode {inner!r} is not supported. Use var or pagebreak.")
                continue
            try:
                book.variable(variable[1])
            except (KeyError, TypeError):
                findings.add(piece.place(number), f"there is no variable {variable[1]}. See {book.folder / VARIABLES}.")
