"""The data of every figure, as files beside the pages."""

from __future__ import annotations

from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code
from labkit.report.variables import plural


def figures(content: Content) -> str:
    """Return a table of the figures with their files."""
    rows = []
    for chapter in content.chapters.values():
        for name, text in chapter.csv.items():
            label = name.partition(".")[0]
            what = f"@{label}" if label.startswith("fig-") else f"@{chapter.label}"
            rows.append([what, f"[{code(name)}](data/{name})", plural(max(text.count("\n") - 1, 0), "row")])
    caption = "Data of the figures, in the folder `data` of the pages. {#tbl-figure-data}"
    return markdown.table(["figure", "file", "size"], rows, align="llr", caption=caption) if rows else ""


BLOCKS = {"figure-data": figures}
