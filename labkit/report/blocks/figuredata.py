"""The data of every figure, as files beside the pages."""

from __future__ import annotations

from itertools import zip_longest

from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code


def figures(content: Content) -> str:
    """Return a table of the figures with their files."""
    rows = []
    for chapter in content.chapters.values():
        for name, text in chapter.csv.items():
            label = name.partition(".")[0]
            what = f"@{label}" if label.startswith("fig-") else f"@{chapter.label}"
            rows.append(_row(what, name, text))
    rows += [_row(f"@{one.label}", f"{one.label}.csv", one.csv) for one in content.pictures.values() if one.csv]
    caption = "Data of the figures, in the folder `data` of the pages. {#tbl-figure-data}"
    half = -(-len(rows) // 2)
    pairs = [[*left, *right] for left, right in zip_longest(rows[:half], rows[half:], fillvalue=["", "", ""])]
    return markdown.table(["figure", "file", "rows"] * 2, pairs, align="llrllr", caption=caption) if rows else ""


def _row(what: str, name: str, text: str) -> list[str]:
    return [what, f"[{code(name)}](data/{name})", str(max(text.count("\n") - 1, 0))]


BLOCKS = {"figure-data": figures}
