"""Write Markdown that both engines read alike: escaped text, tables, callouts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from labkit.io.markdown import COMMAND
from labkit.io.markdown import table as table
from labkit.io.sanitize import plain
from labkit.point.units import format_size

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~^$@])")
APART = "{{\u200b<"  # how a shortcode is written where it is text: no engine takes it for one
NEEDING = re.compile(r'<span data-needs="([\w -]*)">(.*?)</span>', re.S)  # as `needing` writes it
_NO_VALUE = re.compile(r"–$|none\b")  # a cell that says that there is nothing
_COUNTED = re.compile(r"[a-z]*[^\W\ds]s")  # what a column counts
_WITH_UNIT = re.compile(r"(.+) \(([^()\s]+)\)")
_NUMERAL = re.compile(r"[-−≤≥ ]*\d")
_SMART = re.compile(r"""["']|--+|\.{3,}""")  # otherwise curly, a dash, an ellipsis


def varied(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[int], str]:
    """Return the columns that differ between the rows of a table, and a sentence on the common values.

    A table keeps at least two columns, and empty columns to fill in. Columns without any value are left out.

    Examples
    --------
    >>> varied(["size", "path", "n", "p99"], [["8 B", "shm", "6", "–"], ["1 B", "shm", "7", "–"]])
    ([0, 2], 'In all rows: path shm.')
    >>> varied(["size (B)", "ranks", "n", "time (µs)"], [["2048", "2", "6", "1.5"], ["2048", "2", "7", "2.5"]])
    ([2, 3], 'In all rows: size 2 KiB, 2 ranks.')
    >>> varied(["size", "median", "interval"], [[size, size, "95 % interval of 6 launches"] for size in ("1", "8")])
    ([0, 1], 'In all rows: 95 % interval of 6 launches.')
    """
    same = [len({row[n] for row in rows}) == 1 and bool(rows[0][n].strip()) for n in range(len(head))] if rows else []
    kept = [n for n, one in enumerate(same) if not one]
    if len(rows) < 2 or len(kept) < 2 or len(kept) == len(head):
        return list(range(len(head))), ""
    common = [_constant(head[n], rows[0][n]) for n in range(len(head)) if same[n] and not _NO_VALUE.match(rows[0][n])]
    return kept, f"In all rows: {', '.join(common)}." if common else ""


def _constant(head: str, value: str) -> str:
    """Return what all rows have in a column: ``2 ranks``, ``sum 119 MB/s``, ``path shm``."""
    count = value.isdecimal()
    if count and _COUNTED.fullmatch(head):
        single = head.removesuffix("es") if head.endswith("ches") else head.removesuffix("s")
        return f"{value} {single if value == '1' else head}"
    if (unit := _WITH_UNIT.fullmatch(head)) and _NUMERAL.match(value):
        return f"{unit[1]} {format_size(int(value)) if unit[2] == 'B' and count else f'{value} {unit[2]}'}"
    return value if head in value.split() else f"{head} {value}"


def differing(head: Sequence[str], rows: Sequence[Sequence[str]], *, align: str = "", caption: str) -> str:
    """Return a table of the columns in which its rows differ; its caption names the common values.

    Parameters
    ----------
    head, rows, align, caption : as `labkit.io.markdown.table` takes them.
    """
    kept, common = varied(head, rows)
    words, mark, label = caption.partition(" {#")
    return table(
        [head[n] for n in kept],
        [[row[n] for n in kept] for row in rows],
        align="".join((align or "l" * len(head))[n] for n in kept),
        caption=f"{words} {common}{mark}{label}" if common else caption,
    )


def here(text: str) -> str:
    """Return Markdown with figures that stay in their place in the PDF instead of the top or the foot of a page."""
    return f"::: {{.here}}\n\n{text}\n\n:::"


def line(text: object) -> str:
    """Return a value as plain text on one line, with characters that are valid in a file."""
    return " ".join(plain(str(text)).encode(errors="replace").decode().split())


def literal(text: str) -> str:
    """Escape every character that means something to Markdown; spaces and line ends stay."""
    return _SPECIAL.sub(r"\\\1", plain(text))


def escape(text: object) -> str:
    r"""Return a value as literal text on one line, with its commands and options as code.

    Examples
    --------
    >>> print(escape("a_b | @c"))
    a\_b \| \@c
    >>> print(escape('"-n" -- ...'))
    \"-n\" \-\- \.\.\.
    >>> print(escape("Run it again with --launches 6, or labkit explain a_b --link RATE."))
    Run it again with `--launches 6`, or `labkit explain a_b --link RATE`.
    """
    words, end, parts = line(text), 0, list[str]()
    for command in COMMAND.finditer(words):
        parts += [_literally(words[end : command.start()]), code(command[0])]
        end = command.end()
    return "".join([*parts, _literally(words[end:])])


def _literally(text: str) -> str:
    """Escape every character that means something to Markdown, and those that it makes prettier."""
    return _SMART.sub(lambda match: "".join(f"\\{c}" for c in match[0]), literal(text))


def bare(text: str) -> str:
    r"""Return Markdown of a caption as plain text: without escapes, emphasis, code marks and citations.

    Examples
    --------
    >>> print(bare(r"Latency of `mpi.latency`, **bold** \[2 to 3] \(a\_b) [@kenny2020]."))
    Latency of mpi.latency, bold [2 to 3] (a_b).
    """
    words = re.sub(r" ?\[@[^\]]*\]|\{#[^}]*\}", "", text)
    words = re.sub(r"(?<!\\)(?:\*\*|`+|(?<![\w])\*(?=\S)|(?<=\S)\*(?!\w))", "", words)
    return " ".join(re.sub(r"\\([^A-Za-z0-9\s])", r"\1", words).replace("\u00a0", " ").split())


def heading(text: str) -> str:
    r"""Return Markdown as the heading of a chapter, without anything that Quarto's lists and references take for HTML.

    Examples
    --------
    >>> print(heading(r'`<b>` \<i> &lt;b "c"'), heading("`d` & e"))
    ‹b> ‹i> lt;b ”c” `d` & e
    """
    bare = text.replace("`", "") if re.search('[<"]', text) else text
    return re.sub(r"&(?=#?\w+;)", "", re.sub(r'\\?([<"])', lambda match: "‹" if match[1] == "<" else "”", bare))


def code(text: object) -> str:
    """Return a value as inline code, also with back quotes in it."""
    words = line(text).replace("{{<", APART)
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", words)), default=0) + 1)
    pad = " " if "`" in words else ""
    return f"{ticks}{pad}{words}{pad}{ticks}" if words else ""


def block(text: str, attributes: str = "") -> str:
    """Return a code block with a fence longer than any in the text, without control codes of terminals."""
    text = plain(text).encode(errors="replace").decode().replace("{{<", APART).rstrip("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{attributes}\n{text}\n{fence}"


def needing(labels: str, text: str) -> str:
    """Return a sentence or clause with a mark: a report leaves it out if it lacks one of the parts.

    The mark is an HTML element. JupyterLab and GitHub show only its text.

    Parameters
    ----------
    labels : labels of these parts, separated by spaces.

    Examples
    --------
    >>> print(needing("fig-latency", "@fig-latency shows the median."))
    <span data-needs="fig-latency">@fig-latency shows the median.</span>
    """
    return f'<span data-needs="{labels}">{text}</span>'


def bullets(items: Iterable[str]) -> str:
    """Return a list of items that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def callout(kind: str, title: str, body: str, *, collapse: bool = False) -> str:
    """Return a callout; `title` is plain text.

    Parameters
    ----------
    kind : note, tip, warning, important or caution.
    """
    folded = ' collapse="true"' if collapse else ""
    title = title.replace("\\", "\\\\").replace('"', "'")
    return f':::: {{.callout-{kind}{folded} title="{title}"}}\n{body}\n::::'


def mask(text: str) -> str:
    """Replace the code in prose by blanks; positions do not change.

    Examples
    --------
    >>> mask("see `@x` now")
    'see      now'
    """
    lines, fence = [], ""
    for line in text.split("\n"):
        opened = re.match(r"\s{0,3}(`{3,}|~{3,})", line)
        if fence:
            if opened and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            lines.append(" " * len(line))
        elif opened:
            fence = opened[1]
            lines.append(" " * len(line))
        else:
            lines.append(line)
    joined = "\n".join(lines)
    return re.sub(
        r"(?<![`\\])(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)",
        lambda m: re.sub(r"[^\n]", " ", m[0]),
        joined,
        flags=re.S,
    )


def unmarked(text: str) -> str:
    """Return Markdown without its marks of needed parts.

    Examples
    --------
    >>> print(unmarked('A. <span data-needs="fig-b">@fig-b shows B.</span>'))
    A. @fig-b shows B.
    """
    for one in reversed([*NEEDING.finditer(mask(text))]):
        text = text[: one.start()] + text[one.start(2) : one.end(2)] + text[one.end() :]
    return text
