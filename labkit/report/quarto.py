"""Render with Quarto, if it is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from labkit.errors import ReportError
from labkit.io import sanitize
from labkit.report import plain
from labkit.report.book import Book
from labkit.report.flatten import flatten
from labkit.report.settings import Known
from labkit.report.slides import DECK
from labkit.report.styles import TEMPLATES

MINIMUM = (1, 9, 20)  # the oldest that was tried; 1.9.17 lacks the parts of books by typst that the template replaces
_WANTED = ".".join(map(str, MINIMUM))
_LINES = 30  # of a failure that are shown


def _program() -> str | None:
    """Return the `quarto` on PATH, else the one that a Python package put beside this interpreter."""
    return shutil.which("quarto") or shutil.which("quarto", path=str(Path(sys.executable).parent))


def version() -> tuple[int, ...] | None:
    """Return the version of the installed Quarto; None without one."""
    return parsed(_said("--version"))


def _said(option: str) -> str:
    """Return what the installed Quarto prints for an option; nothing if none runs."""
    program = _program()
    try:
        command = [program or "", option]
        return (
            subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout if program else ""
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""


def parsed(text: str) -> tuple[int, ...] | None:
    r"""Return the version in the output of ``quarto --version``; None without one.

    Examples
    --------
    >>> parsed("1.9.20\n"), parsed("no")
    ((1, 9, 20), None)
    """
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", text.strip())
    return tuple(map(int, match.groups())) if match else None


def obstacle(have: tuple[int, ...] | None) -> str:
    """Return why this version of Quarto cannot make the report; empty if it can."""
    if have is None:
        return (
            f"there is no quarto on PATH. Install Quarto {_WANTED} or later (pip install 'quarto-cli>={_WANTED}'), or "
            "use the plain engine"
        )
    if have < MINIMUM:
        return (
            f"quarto is {'.'.join(map(str, have))}, but typst books need {_WANTED}. Update it, or use the plain engine"
        )
    return ""


def usable() -> str:
    """Return why Quarto cannot make the report here; empty if it can."""
    return obstacle(version())


def known() -> Known:
    """Return the names that the installed Quarto knows; none if it does not list them."""
    output = _said("--paths")
    share = Path(output.splitlines()[1]) if output.count("\n") > 1 else None  # after the folder of its programs
    files = sorted(share.glob("schema/*.yml")) if share else []
    texts = {path.name: path.read_text() for path in files}
    shown = [text for name, text in texts.items() if re.match(r"[cd]\w*-", name)]
    options = {name for text in shown for name in re.findall(r'^- name: "?([\w-]+)', text, re.M)}
    names = {name for text in texts.values() for name in re.findall(r'^[ -]*"?([\w-]+)"?:', text, re.M)}
    language = share / "language/_language.yml" if share else Path()
    terms = re.findall(r"^([\w-]+):", language.read_text(), re.M) if language.is_file() else []
    return Known(options | {"execute"} if options else frozenset(), names | options, frozenset(terms))


def _last(output: str) -> str:
    """Return the end of what Quarto printed before it failed, without repetitions and the stack of its functions."""
    end = output.partition("Stack trace:")[0]
    start = end.rfind("ERROR: ")  # what went wrong in settings follows it, once for each place that checks them
    parts = dict.fromkeys(re.split(r"\n\n+", (end[start:] if end.count("\n", start) > 2 else end).strip()))
    return "\n".join("\n\n".join(parts).splitlines()[-_LINES:])


def document(book: Book) -> Path | None:
    """Return the Word document of a rendered book; None if its settings request none."""
    made = book.folder / "report.docx"
    return made if made.is_file() else None


def render(book: Book) -> tuple[Path, Path, list[str]]:
    """Make the site and the PDF of a staged book; the plain engine makes the PDF of slides.

    Returns
    -------
    ``html/index.html``, or ``html/slides.html``, and ``report.pdf`` in the book's folder; the warnings of Quarto and
    pandoc.

    Raises
    ------
    ReportError
        With the end of Quarto's output, if it fails.
    """
    deck = (book.folder / DECK).is_file()
    command = [_program() or "quarto", "render", "--no-execute", *(["--to", "revealjs"] if deck else [])]
    plain_text = os.environ | {"NO_COLOR": "1"}  # Quarto colours its messages even where nobody sees them
    done = subprocess.run(command, cwd=book.folder, env=plain_text, capture_output=True, text=True, check=False)
    output = sanitize.plain(done.stdout + done.stderr)  # its Lua filters colour in any case
    html = book.folder / "html" / (f"{Path(DECK).stem}.html" if deck else "index.html")
    pdf = plain.paper(book, flatten(book), TEMPLATES) if deck else book.folder / "report.pdf"
    if done.returncode or not html.exists() or not pdf.exists():
        raise ReportError(f"quarto render failed in {book.folder} with exit status {done.returncode}:\n{_last(output)}")
    lines = [line.strip() for line in output.splitlines() if re.search(r"\bWARN(ING)?\b", line)]
    return html, pdf, [f"Quarto: {line}" for line in dict.fromkeys(lines)]
