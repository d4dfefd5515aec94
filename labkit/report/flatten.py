"""Write the staged book as one Markdown text for pandoc, with cells, captions and values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from labkit.report import figures, markdown
from labkit.report.book import Book, Piece

_SHORTCODE = re.compile(r"\{\{<\s*(?:var\s+([\w.-]+)|pagebreak)\s*>\}\}")


def flatten(book: Book) -> str:
    """Return all chapters as one Markdown text, each in a div with its file and kind."""
    parts = []
    for file, kind in book.chapters:
        body = "\n\n".join(_piece(piece, book) for piece in book.pieces(file))
        parts.append(f":::::::::: {{.item kind={kind} file={Path(file).stem}}}\n\n{body}\n\n::::::::::")
    return "\n\n".join(parts) + "\n"


def _piece(piece: Piece, book: Book) -> str:
    if piece.kind == "prose":
        return _expand(piece.text, book)
    chosen = piece.options
    if chosen.get("include") is False:
        return ""
    label = str(chosen.get("label", ""))
    label = label if label.startswith(("fig-", "tbl-")) else ""
    name = f"{Path(piece.file).stem}-{label or piece.cell}"
    lines = [f":::::: {{{f'#{label} ' if label else ''}.cell .{chosen.get('classes', 'plain')}}}"]
    if piece.text and chosen.get("echo") is not False:
        lines.append(markdown.block(piece.text, "{.python .cell-code}"))
    shown = [_output(out, f"{name}-{i}", book, piece.alt(i)) for i, out in enumerate(piece.outputs)]
    lines += [f"::::: output\n{text}\n:::::" for text in shown]
    caption = chosen.get(f"{label[:3]}-cap", "") if label else ""
    if caption:
        lines.append(f"::::: caption\n{_expand(str(caption), book)}\n:::::")
    return "\n\n".join([*lines, "::::::"])


def _output(out: Any, name: str, book: Book, alt: str) -> str:
    """Return the Markdown of one output, in a form that both formats can show."""
    if out.output_type == "stream":
        return markdown.block(out.text)
    data = out.data
    if "text/markdown" in data:
        return _expand(data["text/markdown"], book)
    parts = []
    if "text/html" in data:
        parts.append(markdown.block(data["text/html"], "{=html}"))
    if figures.SVG in data:
        drawn = bool(parts)  # a page draws plots itself
        file = figures.still(data) or f"{'static' if drawn else 'figures'}/{name}.svg"
        (book.folder / file).parent.mkdir(exist_ok=True)
        (book.folder / file).write_text(data[figures.SVG])
        parts.append(f'![]({file}){{.{"static" if drawn else "image"} fig-alt="{alt}"}}')
    elif parts and "<table" not in data["text/html"]:
        note = markdown.escape(data.get("text/plain", ""))
        parts.append(f'::: {{.content-visible unless-format="html"}}\n*{note}*\n:::')
    return "\n\n".join(parts) or markdown.block(data.get("text/plain", ""))


def _expand(text: str, book: Book) -> str:
    """Replace ``{{< var a.b >}}`` by its value."""
    return _SHORTCODE.sub(lambda m: book.variable(m[1]) if m[1] else "```{=typst}\n#pagebreak()\n```", text)
