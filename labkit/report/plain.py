"""The plain engine: pandoc and typst turn the staged book into the same site and PDF that Quarto makes.

It reads the Markdown subset that `labkit.report.check` accepts. pandoc runs twice in parallel, for the site and for the
PDF. The project's Lua filters number and link everything, and write the pages.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pypandoc
import typst

from labkit.errors import ReportError
from labkit.report.book import SEAL, Book, authors
from labkit.report.flatten import flatten

LIMITS = ("+RTS", "-M4G", "-RTS")  # pandoc's own limit of its memory
PATIENCE = 300  # s
PAPER = (
    "papersize",
    "margin",
    "columns",
    "page-numbering",
    "toc-depth",
    "mainfont",
    "lang",
    "region",
    "labkit-made",
)  # of the PDF
_BEGIN = "#set figure(numbering: none)"  # where the text of the book begins in plain.typ
READER = "markdown-yaml_metadata_block-pandoc_title_block-latex_macros-raw_tex"  # chapters set nothing but themselves


def render(book: Book, templates: Path) -> tuple[Path, Path]:
    """Make the site and the PDF of a staged book.

    Parameters
    ----------
    book : staged and checked.
    templates : folder with ``plain/`` and ``_extensions/report/``.

    Returns
    -------
    ``html/index.html`` and ``report.pdf`` in the book's folder.

    Raises
    ------
    ReportError
        With the message of pandoc or typst, if one of them fails.
    """
    text = flatten(book)
    with ThreadPoolExecutor(2) as threads:
        pdf, site = threads.submit(paper, book, text, templates), threads.submit(_site, book, text, templates)
        page, document = site.result(), pdf.result()
    shutil.copy(document, page.parent)
    return page, document


def _pandoc(text: str, book: Book, templates: Path, target: str, facts: Mapping[str, Any], *extra: str) -> str:
    """Run pandoc on the whole book: numbered, linked and cited, for ``html`` or ``typst``."""
    known = {"link-citations": "true", "target": target, SEAL: book.config.get(SEAL, ""), **_words(book), **facts}
    listed = {key: value if isinstance(value, list) else [value] for key, value in known.items()}
    meta = [f"--metadata={key}:{value}" for key, values in listed.items() for value in values]
    meta += [f"--bibliography={name}" for name in book.bibliographies]
    meta += [f"--csl={book.config['csl']}"] if book.config.get("csl") else []
    number, form = (f"--lua-filter={templates / 'plain' / name}" for name in ("number.lua", "format.lua"))
    names = ("safe", "plots", "widths", "terms", "ties")
    safe, plots, widths, terms, ties = (f"--lua-filter={templates / 'filters' / name}.lua" for name in names)
    filters = (safe, plots, widths, number, terms, ties, "--citeproc", form)
    command = [pypandoc.get_pandoc_path(), *LIMITS, f"--from={READER}", *meta, *filters, *extra]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, cwd=book.folder, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise ReportError(
            f"pandoc did not finish within {PATIENCE} s in {book.folder}. Reduce the number of chapters."
        ) from error
    if done.returncode or "[WARNING]" in done.stderr:
        what = done.stderr.strip() or done.returncode
        raise ReportError(f"pandoc failed to make the report in {book.folder}: {what}")
    return done.stdout


def _words(book: Book) -> dict[str, str]:
    """Return the language of the report, and its fixed words by Quarto's names for them."""
    given = book.config.get("language") or {}
    kinds = ("crossref-", "toc-title-", "callout-")
    found = {name: str(word) for name, word in given.items() if name.startswith(kinds)}
    return found | ({"lang": str(book.config["lang"])} if book.config.get("lang") else {})


def _front(book: Book, *more: str) -> dict[str, Any]:
    """Return title, authors and the like as the templates read them, and further settings of the PDF."""
    settings, paper = book.config["book"], {**book.config, **(book.config["format"].get("report-typst") or {})}
    people = [{**one, "name": {"literal": one["name"]}} for one in authors(settings.get("author"))]
    found = {key: settings.get(key) for key in ("title", "subtitle", "date")} | {key: paper.get(key) for key in more}
    found = {key: str(value) if isinstance(value, int) else value for key, value in found.items()}
    return {key: value for key, value in {**found, "by-author": people}.items() if value not in (None, "", [])}


def paper(book: Book, text: str, templates: Path) -> Path:
    """Make the PDF of the whole book with typst."""
    front = json.dumps(_front(book, *PAPER), default=str)
    extension = book.folder / "_extensions/report"
    to = ("--to=typst-citations", "--standalone", f"--template={extension / 'plain.typ'}")
    body = _pandoc(text, book, templates, "typst", {"front": front}, *to)
    source, pdf = book.folder / "report.typ", book.folder / "report.pdf"
    if (own := book.folder / "style.typ").is_file():
        body = body.replace(_BEGIN, f"{own.read_text()}\n{_BEGIN}", 1)
    source.write_text(body)
    try:
        typst.compile(str(source), output=str(pdf), root=str(book.folder))
    except typst.TypstError as error:
        raise ReportError(f"typst could not make {pdf}: {error}. Its source is {source}.") from error
    return pdf


def _site(book: Book, text: str, templates: Path) -> Path:
    """Write a page for each chapter, with links between them, and the files that the pages load."""
    target = book.folder / "html"
    shutil.copytree(book.folder / "assets", target / "assets")
    shutil.copy(templates / "plain/page.css", target / "assets")
    for name in ("data", "figures", "static"):
        if (book.folder / name).is_dir():
            shutil.copytree(book.folder / name, target / name)
    own: dict[str, Any] = {"logo": book.config.get("labkit-logo")}
    people = authors(book.config["book"].get("author"))
    if not any(one["affiliations"] or len(one) > 2 for one in people):  # then they share a line
        own["names"] = [one["name"] for one in people]
    own |= {"styled": (target / "assets/style.css").is_file(), **_words(book)}
    template, policy = (str(templates / name) for name in ("plain/page.html", "filters/policy.html"))
    site = {"folder": target.name, "template": template, "policy": policy}
    meta = json.dumps(site | {"meta": _front(book) | {key: value for key, value in own.items() if value}})
    writer = f"--lua-filter={templates / 'plain/pages.lua'}"
    _pandoc(text, book, templates, "html", {"site": meta}, writer, "--to=plain")
    return target / "index.html"
