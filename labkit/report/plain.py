"""The plain engine: pandoc and typst turn the staged book into the same site and PDF that Quarto makes.

It reads the Markdown subset that `labkit.report.check` accepts. One pass of pandoc with the project's Lua filters
numbers and links everything; the pages and the PDF are written from its result.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.errors import ReportError
from labkit.report.book import SEAL, Book
from labkit.report.flatten import flatten
from labkit.report.policy import PLAIN

Json = dict[str, Any]


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
    pdf = _pdf(book, text, templates)
    return _site(book, text, templates), pdf


LIMITS = ("+RTS", "-M4G", "-RTS")  # pandoc's own limit of its memory
PATIENCE = 300  # s
_BEGIN = "#set figure(numbering: none)"  # where the text of the book begins in plain/book.typ
READER = "markdown-yaml_metadata_block-pandoc_title_block-latex_macros-raw_tex"  # chapters set nothing but themselves


def _pandoc(text: str, source: str, target: str, folder: Path, *extra: str) -> str:
    """Run pandoc on a text."""
    import pypandoc

    command = [pypandoc.get_pandoc_path(), *LIMITS, f"--from={source}", f"--to={target}", *extra]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, cwd=folder, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise ReportError(
            f"pandoc did not finish within {PATIENCE} s in {folder}. Reduce the number of chapters."
        ) from error
    if done.returncode or "[WARNING]" in done.stderr:
        raise ReportError(f"pandoc failed to make the report in {folder}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _tree(book: Book, text: str, templates: Path, target: str) -> Json:
    """Return the whole book as pandoc's tree, numbered, linked and cited, for ``html`` or ``typst``."""
    known = {"link-citations": "true", "target": target, "labkit-seal": book.config.get(SEAL, "")} | _words(book)
    meta = [f"--metadata={key}:{value}" for key, value in known.items()]
    meta += [f"--bibliography={name}" for name in book.bibliographies]
    number, form = (f"--lua-filter={templates / 'plain' / name}" for name in ("number.lua", "format.lua"))
    safe, widths = (f"--lua-filter={templates / 'filters' / name}" for name in ("safe.lua", "widths.lua"))
    made = _pandoc(text, READER, "json", book.folder, *meta, safe, widths, number, "--citeproc", form)
    tree: Json = json.loads(made)
    return tree


_WORDS = {  # name of a word in the filters and templates → Quarto's name for it
    "word-fig": "crossref-fig-title",
    "word-tbl": "crossref-tbl-title",
    "word-eq": "crossref-eq-prefix",
    "word-sec": "crossref-sec-prefix",
    "word-chapter": "crossref-ch-prefix",
    "word-appendix": "crossref-apx-prefix",
    "word-page": "toc-title-website",
}


def _words(book: Book) -> dict[str, str]:
    """Return the fixed words that the settings give in another language."""
    given = book.config.get("language") or {}
    return {name: str(given[key]) for name, key in _WORDS.items() if given.get(key)}


def _meta(values: Mapping[str, Any]) -> Json:
    """Return plain values as pandoc's metadata; texts are literal."""

    def convert(value: Any) -> Json:
        if isinstance(value, bool):
            return {"t": "MetaBool", "c": value}
        if isinstance(value, Mapping):
            return {"t": "MetaMap", "c": _meta(value)}
        if isinstance(value, list):
            return {"t": "MetaList", "c": [convert(v) for v in value]}
        return {"t": "MetaInlines", "c": [{"t": "Str", "c": str(value)}]}

    return {key: convert(value) for key, value in values.items() if value not in (None, "")}


def _front(book: Book) -> dict[str, Any]:
    settings = book.config["book"]
    return {key: settings.get(key) for key in ("title", "subtitle", "author", "date")}


def _pdf(book: Book, text: str, templates: Path) -> Path:
    """Make the PDF of the whole book with typst."""
    import typst

    tree = _tree(book, text, templates, "typst")
    style = {
        key: value for key, value in (book.config["format"].get("report-typst") or {}).items() if key == "papersize"
    }
    look = (book.folder / "_extensions/report/typst-template.typ").read_text()
    tree["meta"] = _meta(_front(book) | style | {"lang": book.config.get("lang", "en")})
    body = _pandoc(
        json.dumps(tree),
        "json",
        "typst-citations",
        book.folder,
        "--standalone",
        f"--template={templates / 'plain/book.typ'}",
    )
    source, pdf = book.folder / "report.typ", book.folder / "report.pdf"
    if (own := book.folder / "style.typ").is_file():
        body = body.replace(_BEGIN, f"{own.read_text()}\n{_BEGIN}", 1)
    source.write_text(look + body)
    try:
        typst.compile(str(source), output=str(pdf), root=str(book.folder))
    except typst.TypstError as error:
        raise ReportError(f"typst could not make {pdf}: {error}. Its source is {source}.") from error
    return pdf


def _site(book: Book, text: str, templates: Path) -> Path:
    """Write a page for each chapter, with links between them, and the files that the pages load."""
    tree = _tree(book, text, templates, "html")
    pages = [(_page(item), item["c"][1]) for item in tree["blocks"]]
    homes = {label: page for page, blocks in pages for label in _identifiers(blocks)}
    target = book.folder / "html"
    shutil.copytree(book.folder / "assets", target / "assets")
    shutil.copy(templates / "plain/page.css", target / "assets")
    shutil.copytree(book.folder / "data", target / "data")
    shutil.copy(book.folder / "report.pdf", target)
    titles = [(page, _title(blocks)) for page, blocks in pages]
    extra = ["--standalone", "--mathml", "--toc", "--toc-depth=3", "--section-divs"]
    extra.append(f"--template={templates / 'plain/page.html'}")
    lang = book.config.get("lang")
    styled, logo = (target / "assets/style.css").is_file(), book.config.get("labkit-logo", "")
    if logo:
        (target / logo).parent.mkdir(exist_ok=True)
        shutil.copy(book.folder / logo, target / logo)
    for picture in {node["c"][2][0] for node in _nodes(tree["blocks"]) if node.get("t") == "Image"}:
        if (book.folder / picture).is_file() and picture.startswith("figures/"):
            (target / picture).parent.mkdir(exist_ok=True)
            shutil.copy(book.folder / picture, target / picture)
    for number, (page, blocks) in enumerate(pages):
        _relink(blocks, page, homes)
        own = {"plots": _plots(blocks), "policy": PLAIN, "styled": styled, "logo": logo, "lang": lang}
        meta = _meta(_front(book) | _around(number, titles) | _words(book) | own)
        document = {"pandoc-api-version": tree["pandoc-api-version"], "meta": meta, "blocks": blocks}
        (target / page).write_text(_pandoc(json.dumps(document), "json", "html5", book.folder, *extra))
    return target / "index.html"


def _around(number: int, titles: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return what the template of a page needs from the other pages."""
    page, title = titles[number]
    listed = [{"url": p, "title": t, "here": p == page} for p, t in titles]
    near = {
        "previous": listed[number - 1] if number else None,
        "next": listed[number + 1] if number + 1 < len(listed) else None,
    }
    return near | {"chapters": listed, "front": page == "index.html", "pagetitle": title}


def _plots(blocks: Sequence[Json]) -> bool:
    """Return whether a page draws anything."""
    return any(node.get("t") == "RawBlock" and 'class="plot"' in node["c"][1] for node in _nodes(list(blocks)))


def _page(item: Json) -> str:
    return str(dict(item["c"][0][2])["file"]) + ".html"


def _title(blocks: Sequence[Json]) -> str:
    header = next((block for block in blocks if block["t"] == "Header" and block["c"][0] == 1), None)
    return _plain(header["c"][2]) if header else ""


def _plain(node: Any) -> str:
    """Return the text of inlines without their formatting."""
    if isinstance(node, list):
        return "".join(_plain(part) for part in node)
    if node["t"] in ("Space", "SoftBreak", "LineBreak"):
        return " "
    if node["t"] in ("Str",):
        return str(node["c"])
    if node["t"] in ("Code", "Math"):
        return str(node["c"][1])
    inner = node.get("c", [])
    return _plain(
        [part for part in (inner[-1] if node["t"] in ("Span", "Quoted") else inner) if isinstance(part, dict)]
    )


def _nodes(node: Any) -> Iterator[Json]:
    """Yield every element of a tree."""
    if isinstance(node, list):
        for part in node:
            yield from _nodes(part)
    elif isinstance(node, dict):
        yield node
        yield from _nodes(node.get("c"))


def _identifiers(blocks: Sequence[Json]) -> Iterator[str]:
    """Yield every identifier that a link may lead to."""
    place = {"Header": 1, "Div": 0, "Span": 0, "Figure": 0, "Table": 0, "CodeBlock": 0}
    for node in _nodes(list(blocks)):
        if node.get("t") in place and node["c"][place[node["t"]]][0]:
            yield node["c"][place[node["t"]]][0]


def _relink(blocks: Sequence[Json], page: str, homes: Mapping[str, str]) -> None:
    """Point links to labels of other chapters at the pages of these chapters."""
    for node in _nodes(list(blocks)):
        if node.get("t") == "Link" and node["c"][2][0].startswith("#"):
            label = node["c"][2][0][1:]
            if label not in homes:
                raise ReportError(
                    f"A link on {page} leads to #{label}, which no chapter has. Correct it, or label its target."
                )
            if homes[label] != page:
                node["c"][2][0] = f"{homes[label]}#{label}"
