"""The data of every figure, as files beside the pages."""

from __future__ import annotations

from itertools import zip_longest

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
    half = -(-len(rows) // 2)
    pairs = [[*left, *right] for left, right in zip_longest(rows[:half], rows[half:], fillvalue=["", "", ""])]
    return markdown.table(["figure", "file", "size"] * 2, pairs, align="llrllr", caption=caption) if rows else ""


BLOCKS = {"figure-data": figures}
