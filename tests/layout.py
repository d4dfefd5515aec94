"""Layout of a report's PDF: pages that are too empty, tables and floats in the wrong place, small print, columns that touch.

    python -m tests.layout REPORT.pdf…

typst and Quarto tag what they write, so the PDF alone says which text is a table's row, a caption or a link to a figure.
"""

from __future__ import annotations

import html
import math
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pypdf
from pypdf.generic import ContentStream

FULL = 2 / 3  # of a page, at least, where the next page does not begin a chapter
NEAR = 2  # pages from a sentence to the figure that it names, at most
SMALL = 8.0  # pt: smallest print of captions, and of text in figures
GAP = 2.0  # pt between the texts of two columns
_TOP, _FOOT = 1.8 / 2.54 * 72, 1.6 / 2.54 * 72  # margins, pt
_EPSILON = 0.05  # pt
_HEADINGS = tuple(f"/H{level}" for level in range(1, 7))
_LETTER, _CAPITAL = 0.53, 0.72  # mean width of a label's letters and signs, and their height, over the font's size

Matrix = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class Run:
    """A piece of text, or a picture, on a page.

    Parameters
    ----------
    page : from 1.
    left, right, base : of the text, in pt from the left and the foot of the page; `base` is the foot of a picture.
    size : of the print, pt; 0 for a picture.
    drawn : whether it is part of a picture.
    """

    page: int
    left: float
    right: float
    base: float
    size: float
    drawn: bool = False


@dataclass
class Layout:
    """What is wrong with a PDF, each entry with its page.

    Parameters
    ----------
    pages : number of pages.
    filled : share of each page's height of text that is used.
    empty : pages that are less than `FULL`, and end no chapter.
    split : tables with a single row before or after a page break, or with a row that a page break cuts.
    late : first links to a figure or table of the chapter that begins more than `NEAR` pages later.
    following : those that begin on a later page nearer than that; no fault, because figures float and text fills pages.
    small : print of captions and figures below `SMALL`.
    touching : cells of a row without a gap between their texts.
    stranded : headings at the end of a page, and captions of tables on the page before.
    """

    pages: int = 0
    filled: list[float] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    following: list[str] = field(default_factory=list)
    small: list[str] = field(default_factory=list)
    touching: list[str] = field(default_factory=list)
    stranded: list[str] = field(default_factory=list)

    @property
    def faults(self) -> dict[str, list[str]]:
        """Names of what is wrong → where."""
        names = ("empty", "split", "late", "small", "touching", "stranded")
        return {name: getattr(self, name) for name in names}


def layout(path: Path) -> Layout:
    """Read the layout of a tagged PDF.

    Raises
    ------
    ValueError
        If the PDF is not tagged.
    """
    reader = pypdf.PdfReader(path)
    root = reader.trailer["/Root"].get("/StructTreeRoot")
    if root is None:
        raise ValueError(f"{path} is not tagged, so its tables and figures are not known. Take a PDF of typst ≥ 0.14.")
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(reader.pages, 1)}
    marked: dict[tuple[int, int], list[Run]] = defaultdict(list)
    lowest: dict[int, float] = {}
    for number, page in enumerate(reader.pages, 1):
        for mark, run in _Reading(reader, page, number):
            if mark is not None:
                marked[number, mark].append(run)
            if run.base >= _FOOT - 1:
                lowest[number] = min(lowest.get(number, 1e9), run.base)
    found = Layout(pages=len(reader.pages))
    elements = list(_elements(root["/K"], numbers, marked))
    chapters = {element.first for element in elements if element.kind == "/H1" and element.is_first(lowest, marked)}
    for number, page in enumerate(reader.pages, 1):
        height = float(page.mediabox.height)
        share = (height - _TOP - lowest.get(number, height - _TOP)) / (height - _TOP - _FOOT)
        found.filled.append(round(share, 3))
        if share < FULL and number < found.pages and number + 1 not in chapters:
            found.empty.append(f"page {number}: {share:.0%} full")
    for element in elements:
        if element.kind == "/Table":
            found.split += _splits(element)
            found.touching += _touching(element)
        elif element.kind in ("/Caption", "/Figure"):
            found.small += _small(element)
        elif element.kind in _HEADINGS and element.runs and not [*element.of("/TOC")]:
            low = min(run.base for run in element.runs)
            if element.first < found.pages and lowest.get(element.first, 0.0) >= low - 1:
                found.stranded.append(f"page {element.first}: a heading is the last line")
        found.stranded += _apart(element)
    heads = sorted(
        (element.first, -max(run.base for run in element.runs)) for element in elements if element.kind == "/H1"
    )
    for first, page, name in _references(reader, numbers, heads):
        if page > first:
            places = found.late if page - first > NEAR else found.following
            places.append(f"page {first}: {name} begins on page {page}")
    return found


@dataclass
class Element:
    """A part of the document, as its tags have it.

    Parameters
    ----------
    kind : its tag, such as ``/TR``.
    runs : its text in the order of reading.
    inside : its parts.
    """

    kind: str
    runs: list[Run]
    inside: list[Element]

    @property
    def pages(self) -> list[int]:
        """Pages with something of it."""
        return sorted({run.page for run in self.runs})

    @property
    def first(self) -> int:
        """Its first page; 0 where nothing of it is seen."""
        return next(iter(self.pages), 0)

    def of(self, *kinds: str) -> Iterator[Element]:
        """Yield its parts of these kinds, at any depth."""
        for one in self.inside:
            if one.kind in kinds:
                yield one
            else:
                yield from one.of(*kinds)

    def is_first(self, lowest: Mapping[int, float], marked: Mapping[tuple[int, int], list[Run]]) -> bool:
        """Return whether nothing stands above it on its page."""
        highest = max((r.base for (page, _), runs in marked.items() if page == self.first for r in runs), default=0.0)
        return bool(self.runs) and max(run.base for run in self.runs) >= highest - 1


def _elements(
    item: Any, numbers: Mapping[int, int], marked: Mapping[tuple[int, int], list[Run]], page: int = 0
) -> Iterator[Element]:
    """Yield the elements of a tree, parents before their parts."""
    for one in _listed(item):
        tree = one.get_object()
        if isinstance(tree, dict) and "/S" in tree:
            element = _element(tree, numbers, marked, page)
            yield from _flat(element)


def _flat(element: Element) -> Iterator[Element]:
    yield element
    for one in element.inside:
        yield from _flat(one)


def _element(tree: Any, numbers: Mapping[int, int], marked: Mapping[tuple[int, int], list[Run]], page: int) -> Element:
    page = numbers.get(tree.raw_get("/Pg").idnum, page) if "/Pg" in tree else page
    runs: list[Run] = []
    inside: list[Element] = []
    for one in _listed(tree.get("/K", [])):
        kid = one.get_object()
        if isinstance(kid, int):
            runs += marked.get((page, kid), [])
        elif kid.get("/Type") == "/MCR":
            there = numbers.get(kid.raw_get("/Pg").idnum, page) if "/Pg" in kid else page
            runs += marked.get((there, kid["/MCID"]), [])
        elif "/S" in kid:
            inside.append(_element(kid, numbers, marked, page))
            runs += inside[-1].runs
    return Element(str(tree["/S"]), runs, inside)


def _listed(item: Any) -> list[Any]:
    whole = item.get_object()
    return list(whole) if isinstance(whole, list) else [whole]


def _splits(table: Element) -> Iterator[str]:
    """Yield where a page break leaves a single row of a table, or cuts one."""
    rows = [row for part in table.of("/TBody") for row in part.of("/TR")]
    counts: dict[int, int] = defaultdict(int)
    for row in rows:
        counts[row.first] += 1
        if len(row.pages) > 1:
            yield f"page {row.first}: a row goes on on the next page"
    used = sorted(page for page in counts if page)
    if len(used) > 1 and counts[used[0]] == 1:
        yield f"page {used[0]}: a single row before the break of {len(rows)} rows"
    if len(used) > 1 and counts[used[-1]] == 1:
        yield f"page {used[-1]}: a single row after the break of {len(rows)} rows"


def _touching(table: Element) -> Iterator[str]:
    """Yield where the texts of two cells of a row have no gap between them."""
    for row in table.of("/TR"):
        cells = [cell.runs for cell in row.of("/TH", "/TD")]
        for number, (one, other) in enumerate(pairwise(cells), 1):
            for left in one:
                near = [r for r in other if r.page == left.page and abs(r.base - left.base) < 0.7 * left.size]
                if near and min(r.left for r in near) - left.right < GAP:
                    gap = min(r.left for r in near) - left.right
                    yield f"page {left.page}: columns {number} and {number + 1} are {gap:.1f} pt apart"
                    break


def _apart(element: Element) -> Iterator[str]:
    """Yield where the caption of a table ends on a page before that on which the table begins."""
    for one, other in pairwise(element.inside):
        both = {one.kind, other.kind}
        if both == {"/Caption", "/Table"} and one.pages and other.pages and max(one.pages) < min(other.pages):
            yield f"page {max(one.pages)}: a caption without its table"


def _small(element: Element) -> Iterator[str]:
    sizes = [run.size for run in element.runs if run.size > 0]
    if sizes and min(sizes) < SMALL - _EPSILON:
        yield f"page {element.first}: {element.kind[1:].lower()} with {min(sizes):.1f} pt"


def _references(
    reader: pypdf.PdfReader, numbers: Mapping[int, int], heads: list[tuple[int, float]]
) -> Iterator[tuple[int, int, str]]:
    """Yield the page of the first link to each figure and table in its own chapter, the page where it begins, its kind."""
    targets: dict[tuple[int, float, float], tuple[int, str]] = {}
    for number, page in enumerate(reader.pages, 1):
        for one in page.get("/Annots") or []:
            note = one.get_object()
            kind = str(note.get("/Contents", "")).partition(",")[0]
            if kind not in ("Figure", "Table") or "/Dest" not in note:
                continue
            place, _, left, top, *_ = note["/Dest"]
            target = (numbers[place.idnum], float(left), float(top))
            here, there = (number, -float(note["/Rect"][3])), (target[0], -target[2])
            if bisect_right(heads, here) == bisect_right(heads, there):
                targets.setdefault(target, (number, str(note["/Contents"])))
    yield from sorted((first, page, name) for (page, *_), (first, name) in targets.items())


class _Reading:
    """Text and pictures of a page with the mark of each.

    It follows the operators of the page's content: matrices, fonts, text and forms, which hold pictures.
    """

    def __init__(self, reader: pypdf.PdfReader, page: Any, number: int) -> None:
        self._reader, self._page, self._number = reader, page, number

    def __iter__(self) -> Iterator[tuple[int | None, Run]]:
        content = self._page.get_contents()
        if content is not None:
            yield from self._follow(content, self._page["/Resources"], (1, 0, 0, 1, 0, 0), [None], False)

    def _follow(
        self, content: Any, resources: Any, matrix: Matrix, marks: list[int | None], drawn: bool
    ) -> Iterator[tuple[int | None, Run]]:
        fonts = {name: _Font(one.get_object()) for name, one in (resources.get("/Font") or {}).items()}
        forms = resources.get("/XObject") or {}
        kept: list[Matrix] = []
        at: Matrix = (1, 0, 0, 1, 0, 0)
        font, size = None, 0.0
        for operands, operator in ContentStream(content, self._reader).operations:
            if operator == b"q":
                kept.append(matrix)
            elif operator == b"Q" and kept:
                matrix = kept.pop()
            elif operator == b"cm":
                matrix = _times(tuple(map(float, operands)), matrix)  # type: ignore[arg-type]
            elif operator == b"BT":
                at = (1, 0, 0, 1, 0, 0)
            elif operator == b"Tf":
                font, size = fonts.get(operands[0]), float(operands[1])
            elif operator == b"Tm":
                at = tuple(map(float, operands))  # type: ignore[assignment]
            elif operator == b"Td":
                at = _times((1, 0, 0, 1, float(operands[0]), float(operands[1])), at)
            elif operator in (b"Tj", b"TJ") and font:
                yield marks[-1], self._text(operands[0], font, size, _times(at, matrix), drawn)
            elif operator in (b"BDC", b"BMC"):
                tags = operands[1] if len(operands) > 1 and isinstance(operands[1], dict) else {}
                marks.append(tags.get("/MCID", marks[-1]))
            elif operator == b"EMC" and len(marks) > 1:
                marks.pop()
            elif operator == b"Do" and operands[0] in forms:
                form = forms[operands[0]].get_object()
                if form.get("/Subtype") == "/Form":
                    inner = _times(tuple(map(float, form.get("/Matrix", (1, 0, 0, 1, 0, 0)))), matrix)  # type: ignore[arg-type]
                    yield marks[-1], self._box(form["/BBox"], inner)
                    own = form.get("/Resources", resources)
                    yield from self._follow(form, own.get_object(), inner, [marks[-1]], True)
                else:
                    yield marks[-1], self._box((0, 0, 1, 1), matrix)

    def _text(self, shown: Any, font: _Font, size: float, matrix: Matrix, drawn: bool) -> Run:
        length = font.length(shown if isinstance(shown, list) else [shown]) * size
        left, base = matrix[4], matrix[5]
        right = left + matrix[0] * length
        return Run(
            self._number, min(left, right), max(left, right), base, math.hypot(matrix[2], matrix[3]) * size, drawn
        )

    def _box(self, box: Any, matrix: Matrix) -> Run:
        corners = [(float(box[i]), float(box[j])) for i in (0, 2) for j in (1, 3)]
        across = [x * matrix[0] + y * matrix[2] + matrix[4] for x, y in corners]
        up = [x * matrix[1] + y * matrix[3] + matrix[5] for x, y in corners]
        return Run(self._number, min(across), max(across), min(up), 0.0, True)


class _Font:
    """Widths of a font's glyphs.

    Parameters
    ----------
    font : its dictionary.
    """

    def __init__(self, font: Any) -> None:
        self._wide = font.get("/Subtype") == "/Type0"
        descendant = font["/DescendantFonts"][0].get_object() if self._wide else {}
        self._usual = float(descendant.get("/DW", 1000 if self._wide else 500))
        self._widths: dict[int, float] = {}
        listed = list(descendant.get("/W", []))
        while listed:
            first, second = int(listed.pop(0)), listed.pop(0)
            if isinstance(second, list):
                self._widths |= {first + i: float(width) for i, width in enumerate(second)}
            else:
                width = float(listed.pop(0))
                self._widths |= dict.fromkeys(range(first, int(second) + 1), width)

    def length(self, shown: list[Any]) -> float:
        """Return the length of a text, in units of its size."""
        total = 0.0
        for part in shown:
            if isinstance(part, int | float):
                total -= float(part)
                continue
            raw = getattr(part, "original_bytes", part if isinstance(part, bytes) else b"")
            step = 2 if self._wide else 1
            for start in range(0, len(raw), step):
                total += self._widths.get(int.from_bytes(raw[start : start + step]), self._usual)
        return total / 1000


class Tables(HTMLParser):
    """The tables of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self._tables: list[tuple[list[str], list[list[str]]]] = []  # captions by which a table may be, and its rows
        self._captions: list[list[str]] = []  # of the figures that are open: a caption may follow its table
        self._rows: list[list[str]] | None = None
        self._into = ""
        self.feed(page)

    @property
    def found(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """Caption, head and rows of each."""
        return [(" ".join("".join(words).split()), rows[0], rows[1:]) for words, rows in self._tables]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "figure":
            self._captions.append([])
        elif tag == "table":
            self._rows = []
            self._captions.append(self._captions[-1] if self._captions else [])
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append("")
        self._into = tag if tag in ("td", "th", "caption", "figcaption") else self._into

    def handle_endtag(self, tag: str) -> None:
        if tag == self._into:
            self._into = ""
        if tag == "table" and self._rows:
            rows = [[" ".join(cell.split()) for cell in row] for row in self._rows]
            self._tables.append((self._captions.pop(), rows))
            self._rows = None
        if tag == "figure" and self._captions:
            self._captions.pop()

    def handle_data(self, data: str) -> None:
        if self._into in ("caption", "figcaption") and self._captions:
            self._captions[-1].append(data)
        elif self._into and self._rows and self._rows[-1]:
            self._rows[-1][-1] += data


def constant(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the heads of columns whose cells are all the same, where at least two others differ."""
    same = [name for n, name in enumerate(head) if len({row[n] for row in rows}) == 1 and rows[0][n]]
    return same if len(rows) > 1 and len(head) - len(same) > 1 else []


_TICK = re.compile(r'<g class="([xy]\d*)tick"><text ([^>]*)>(.*?)</text>', re.S)
_PLACE = re.compile(r'transform="translate\(([-\d.]+),([-\d.]+)\)(?! ?rotate\((?!0))')


def crowded(svg: str) -> list[str]:
    """Return the labels of a plotly figure's axes that lie on the one before, by their boxes in Liberation Sans."""
    axes: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for axis, about, shown in _TICK.findall(svg):
        text = html.unescape(re.sub(r"<[^>]*>", "", shown))
        size, place = re.search(r"font-size: ?([\d.]+)px", about), _PLACE.search(about)
        if size and place and text:
            across = axis[0] == "x"
            extent = _LETTER * float(size[1]) * len(text) if across else _CAPITAL * float(size[1])
            axes[axis].append((float(place[1 if across else 2]), extent, text))
    found = []
    for axis, labels in axes.items():
        for (at, extent, text), (other, more, next_text) in pairwise(sorted(labels)):
            if other - at < (extent + more) / 2 + 1:
                found.append(f"{axis}: {text} and {next_text}")
    return found


def _times(one: Matrix, other: Matrix) -> Matrix:
    """Return the matrix that applies `one`, then `other`."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)


def main() -> None:
    """Print what is wrong with the layout of PDFs."""
    for name in sys.argv[1:]:
        found = layout(Path(name))
        print(f"{name}: {found.pages} pages, {100 * sum(found.filled) / len(found.filled):.0f} % of them used")
        for kind, places in {"on the page after their text": found.following, **found.faults}.items():
            print(f"  {kind}: {len(places)}")
            for place in places:
                print(f"    {place}")


if __name__ == "__main__":
    main()
