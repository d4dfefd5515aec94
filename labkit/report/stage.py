"""Write campaigns as a folder that both engines can render, named by `labkit.store.derived.report`.

Only copies are written. The executed notebooks, the samples and the project's own files do not change.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import plotly
import typst
import yaml

from labkit import __version__
from labkit.errors import ReportError
from labkit.figures.provenance import Provenance
from labkit.io import project, safe_read
from labkit.point.notes import listed
from labkit.report import (
    abstract,
    answered,
    artifact,
    beside,
    blocks,
    book,
    campaigns,
    caveats,
    dedupe,
    figures,
    front,
    invalid,
    linting,
    markdown,
    methods,
    notebook,
    oddities,
    painting,
    pairing,
    paper,
    place,
    prune,
    quarto,
    settings,
    slides,
    styles,
    summary,
    templates,
    words,
)
from labkit.report.content import Content
from labkit.report.options import options
from labkit.report.sources import Source
from labkit.report.variables import as_json, key_numbers, variables

if TYPE_CHECKING:
    from labkit.judge.gate import Result

TEMPLATES = styles.TEMPLATES
BLOCKS = (
    abstract.BLOCKS
    | answered.BLOCKS
    | front.BLOCKS
    | caveats.BLOCKS
    | campaigns.BLOCKS
    | summary.BLOCKS
    | methods.BLOCKS
    | artifact.BLOCKS
    | linting.BLOCKS
    | oddities.BLOCKS
)
_COPIED = ("assets", "filters", "_extensions")
_WORD = {"format": {"docx": {"echo": False, "toc": True, "toc-depth": 1}}}
_LABEL = re.compile(r"\{#((?:fig|tbl|eq|sec)-[\w-]+)")


def stage(
    sources: Sequence[Source],
    *,
    style: str,
    engine: str,
    contract: Path | None = None,
    gate: Result | None = None,
    log: Path | None = None,
    allow: Sequence[str] = (),
    folder: Path,
    title: str = "",
    docx: bool = False,
) -> tuple[book.Book, list[str]]:
    """Write the folder of the report.

    Parameters
    ----------
    sources : campaigns, in the order of the chapters.
    style : a name from `labkit.report.styles.find`.
    engine : named in the colophon.
    contract : file of an acceptance contract, for a style that shows its verdicts.
    gate : verdicts of the gate on the campaign, for the first page.
    log : file of the tests of the contract, for the page to sign.
    allow : factors that may differ between campaigns, for a style that compares them.
    folder : folder of the report; it must not exist.
    title : title of the book (default: that of the campaigns or of the style).
    docx : whether Quarto also makes a Word document.

    Returns
    -------
    The book, and warnings for its readers.

    Raises
    ------
    ReportError
        If the style or a template does not exist, a notebook cannot be read, or the folder holds something else.
    """
    chosen, config = _settings(style, engine, title, docx)
    place.begin(folder)
    first = front.picture(sources)
    papers = beside.drawn(sources) if beside.PART in config["book"]["chapters"] else []
    chapters, (svg, *svgs), warnings, drawn = _notebooks(
        sources,
        [first and first.spec, *(one.picture.spec for one in papers)],
        named=len(sources) > 1 and chosen.settings.form != "paper",
        paired=not docx and chosen.settings.form != "slides",
        apart=chosen.settings.form == "slides",
    )
    empty = prune.omit([*chapters.values()])
    chapters = {name: chapter for name, chapter in chapters.items() if chapter not in empty}
    listed = styles.placed(config["book"]["chapters"], list(chapters))
    elsewhere = {label for name, one in chapters.items() if name not in listed for label in notebook.labels(one)}
    chapters = {name: chapters[name] for name in listed if name in chapters}
    _edit(draft := Content(sources, chapters))
    whole = chapters
    if chosen.settings.form in ("paper", "slides"):
        elsewhere |= {label for one in chapters.values() for label in notebook.labels(one)}
        shorten = {"paper": paper.shorten, "slides": slides.shorten}[chosen.settings.form]
        chapters = {name: chapters[name] for name in shorten(chapters, draft, chosen.settings.figures)}
    config = {**config, book.SEAL: _sealed(chapters)}
    content = Content(
        sources, chapters, empty, replace(first, svg=svg) if first and svg else None, style=style, contract=contract,
        gate=gate, log=log, allow=allow, made=draft.made, whole=whole,
    )  # fmt: skip
    content.add(papers, svgs)
    for name in _COPIED:
        shutil.copytree(TEMPLATES / name, folder / name)
    _plotly(folder / "assets")
    _files(config, chosen, folder)
    config = _look(config, chosen, folder)
    texts = _texts(config, chosen, content, elsewhere)
    warnings += _translated(texts, config, chosen) + _fontless(config)
    invalid.mark(texts, content)
    _trace(content)
    books = {name: chapter.notebook for name, chapter in chapters.items()}
    if chosen.settings.form == "paper":
        books = {paper.RESULTS: paper.join(texts, content)}
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name, one in books.items():
        nbformat.write(one, folder / name)
    _data(folder, content, texts)
    config = {**config, "labkit-made": _made(content, engine)}
    _config(config, chosen, folder, content, engine, texts)
    values = variables(sources[0]) | {"report": {"engine": engine, "style": style}}
    _dump(folder / book.VARIABLES, _escaped(values))
    numbers = [row for source in sources for row in as_json(key_numbers(source))]
    (folder / "key-numbers.json").write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
    return replace(book.load(folder), drawn=drawn), warnings


def _trace(content: Content) -> None:
    """Write into all pictures where they come from."""
    every = ", ".join(source.name for source in content.sources)
    about = Provenance(campaign=every, command=artifact.remake(content), caption="")
    for chapter in content.chapters.values():
        own = replace(about, campaign=slides.source_of(chapter, content).name)
        for cell in (one for one in chapter.notebook.cells if one.cell_type == "code"):
            caption = markdown.bare(str(options(cell.source)[0].get("fig-cap", "")))
            for out in (one for one in cell.outputs if figures.SVG in one.get("data", {})):
                out.data[figures.SVG] = replace(own, caption=caption).in_svg(out.data[figures.SVG])
    for name, picture in content.pictures.items():
        told = replace(about, caption=markdown.bare(picture.caption))
        content.pictures[name] = replace(picture, svg=told.in_svg(picture.svg))


def _made(content: Content, engine: str) -> str:
    """Return what the metadata of the PDF say: the campaigns, labkit's version, and the command.

    Quarto reads it as Markdown, the plain engine as it is.
    """
    names = listed([source.name for source in content.sources])
    word = "Campaigns" if content.several else "Campaign"
    text = f"{word} {names}; labkit {__version__}; {artifact.remake(content)}"
    return markdown.escape(text) if engine == "quarto" else markdown.line(text)


def _settings(style: str, engine: str, title: str, docx: bool) -> tuple[styles.Style, dict[str, Any]]:
    """Return a style, and its settings on top of those of all reports; refuse what the engine would ignore."""
    chosen = styles.load(style)
    _, shared = styles.parted(styles.read(project.config()), project.config())
    known = quarto.known() if engine == "quarto" else settings.Known()
    for file, own in ((project.config(), shared), *styles.chain(style)):
        settings.refuse(own, file, engine, known)
    if title:
        chosen = replace(chosen, config=styles.merged(chosen.config, {"book": {"title": title}}))
    config = styles.merged(styles.merged(shared, _WORD if docx else {}), chosen.config)
    if fixed := words.words(config):
        config["language"] = fixed
    return chosen, config


def _edit(content: Content) -> None:
    """Add what is odd to the chapters, and take away what they would all say."""
    oddities.comment(content)
    caveats.shorten(content)


def _texts(config: Mapping[str, Any], style: styles.Style, content: Content, elsewhere: set[str]) -> dict[str, str]:
    """Return the chapters that are not notebooks, with their blocks; notebooks lose references to what is gone.

    Parameters
    ----------
    elsewhere : labels of notebooks that the style does not show.
    """
    files = {name: style.file(name) for name in _listed(config) if not styles.is_pattern(name)}
    labels = set().union(*map(notebook.labels, content.chapters.values()))
    shared = {label for path in TEMPLATES.glob("*.qmd") for label in _LABEL.findall(path.read_text())}
    made = {name: partial(function, content) for name, function in {**BLOCKS, **blocks.find()}.items()}
    filled = templates.fill(
        files, made, labels=labels, optional=shared | elsewhere | {oddities.LABEL}, omitted=content.absent
    )
    for chapter in content.chapters.values():
        prune.settle(chapter, filled.gone)
    every = [pair for chapter in content.chapters.values() for pair in chapter.tables.items()]
    tables = {label: one for label, one in reversed(every) if label not in labels}
    return {name: notebook.renamed(text, tables) for name, text in filled.texts.items()}


def _translated(texts: dict[str, str], config: Mapping[str, Any], style: styles.Style) -> list[str]:
    """Put the fixed headings of labkit's chapters into the language of the report; say which chapters stay English."""
    english = []
    for name in texts:
        if style.file(name).is_relative_to(TEMPLATES):
            english.append(name)
            for title, key in words.TITLES.items():
                if word := (config.get("language") or {}).get(key):
                    texts[name] = re.sub(
                        rf"^(#+) {title}(?= \{{)", rf"\1 {markdown.heading(str(word))}", texts[name], flags=re.M
                    )
    language = str(config.get("lang") or "en")
    if language.startswith("en") or not english:
        return []
    return [
        f"lang: {language}, but the chapters {', '.join(english)} are labkit's, in English, and so are the tables and "
        "sentences that labkit generates. Write chapters of these names in report/ of the project to replace them."
    ]


def _fontless(config: Mapping[str, Any]) -> list[str]:
    """Say which fonts of the settings this machine lacks."""
    paper = config["format"].get("report-typst") or {}
    fonts = [font for one in (config, paper) if (font := one.get("mainfont"))]
    named = [str(name) for font in fonts for name in (font if isinstance(font, list) else [font])]
    have = {name.casefold() for name in typst.Fonts().families()} if named else set()
    return [
        f"mainfont: there is no font {name!r} on this machine, so labkit uses another one."
        for name in dict.fromkeys(named)
        if name.casefold() not in have
    ]


def _files(config: Mapping[str, Any], style: styles.Style, folder: Path) -> None:
    """Copy the bibliographies with their CSL style, and the pictures of the style and of the user.

    Raises
    ------
    ReportError
        If a file is not there, or the CSL style is a dependent one: pandoc would look for its parent in the web.
    """
    named, csl = config.get("bibliography") or [], config.get("csl")
    for name in [*(named if isinstance(named, list) else [named]), *([csl] if csl else [])]:
        (folder / str(name)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(style.file(str(name)), folder / str(name))
    if csl and 'rel="independent-parent"' in (text := safe_read.text(folder / csl)):
        parent = re.search(r'<link\b[^>]*href="([^"]+)"[^>]*rel="independent-parent"', text)
        raise ReportError(
            f"csl: {csl} only points to another style{f', {parent[1]}' if parent else ''}. Put that file into the "
            "project's report/ and name it."
        )
    for origin in reversed(style.folders):
        if origin != TEMPLATES and (origin / "figures").is_dir():
            shutil.copytree(origin / "figures", folder / "figures", dirs_exist_ok=True)


def _notebooks(
    sources: Sequence[Source], more: Sequence[Any], *, named: bool, paired: bool, apart: bool
) -> tuple[dict[str, notebook.Chapter], list[str | None], list[str], bool]:
    """Return the chapters of all campaigns in their order, the svg of `more` figures, and warnings.

    There is no svg of a figure that is empty or could not be drawn. The last value says whether every figure was drawn.

    Parameters
    ----------
    sources, more : campaigns, and figures that are in no notebook.
    named : whether titles of chapters name their campaign.
    paired : whether two small figures share a row of the PDF.
    apart : whether each figure stands alone, so that its note says everything.
    """
    chapters: dict[str, notebook.Chapter] = {}
    books = {path: notebook.read(path) for source in sources for path in source.notebooks}
    changed = painting.unify([*books.values()])
    changed += [] if apart else dedupe.shorten([*books.values()])
    other = pairing.pair([*books.values()]) if paired else painting.heighten([*books.values()]) if apart else {}
    svgs, lost, reason = painting.draw([*books.values()], changed, [one for one in more if one], other)
    warnings = list[str]()
    remaining = iter(svgs)
    for number, source in enumerate(sources, start=1):
        added = {path: notebook.finish(path, error=source.error(path), book=books[path]) for path in source.notebooks}
        if number > 1:
            known = set().union(*map(notebook.labels, added.values()))
            for chapter in added.values():
                notebook.relabel(chapter, known, f"-c{number}")
        for chapter in added.values() if named else ():
            notebook.retitle(chapter, markdown.escape(source.name))
        for path, chapter in added.items():
            _distinguish(chapter, notebook.named(path), chapters)
            name = notebook.named(path) if number == 1 else f"{notebook.named(path)}-c{number}"
            name = _free(name, chapters)
            notebook.prefix_notes(chapter, name)
            chapters[f"{name}.ipynb"] = chapter
            if chapter.error:
                warnings.append(f"{path} failed: {chapter.error}")
            warnings += [f"{path.name}: {text}" for text in chapter.warnings]
    undrawn = sum(chapter.undrawn for chapter in chapters.values())
    warnings += painting.warning(undrawn, lost, reason)
    drawn = all(svgs) and not undrawn and not lost
    return chapters, [next(remaining, None) if one else None for one in more], warnings, drawn


def _look(config: Mapping[str, Any], style: styles.Style, folder: Path) -> dict[str, Any]:
    """Write what a style changes in the look: its ``style.css`` and ``style.typ``, colour and logo; return settings."""
    chosen = style.settings
    places = [place for place in reversed(style.folders) if place != TEMPLATES]
    css, typ = (
        "\n".join((place / name).read_text() for place in places if (place / name).is_file())
        for name in ("style.css", "style.typ")
    )
    if chosen.colour:
        css += f"\n@media (prefers-color-scheme: light) {{ :root {{ --ink: {chosen.colour}; }} }}\n"
    look = folder / "_extensions/report/typst-template.typ"
    text = look.read_text()
    if chosen.colour:
        text = re.sub(r'#let ink = rgb\("[^"]*"\)', f'#let ink = rgb("{chosen.colour}")', text)
    if chosen.logo:
        style.file(chosen.logo)
        text = text.replace("#let logo = none", f'#let logo = "{chosen.logo}"')
    look.write_text(text)
    for name, part in (("assets/style.css", css), ("style.typ", typ)):
        if part:
            (folder / name).write_text(part)
    settings: dict[str, Any] = dict(config)
    if font := config.get("mainfont"):
        names = font if isinstance(font, list) else [font]
        css += f"\nbody {{ font-family: {', '.join(json.dumps(str(one)) for one in names)}, sans-serif; }}\n"
    if chosen.logo:
        settings["labkit-logo"] = chosen.logo
        settings = styles.merged(settings, {"book": {"sidebar": {"logo": chosen.logo}}})
    if css:
        settings = styles.merged(settings, {"format": {"html": {"css": ["assets/report.css", "assets/style.css"]}}})
    return settings


def _sealed(chapters: Mapping[str, notebook.Chapter]) -> str:
    """Finish the chapters: begin every HTML output, which labkit cleaned, with a mark that no chapter can hold.

    Returns
    -------
    The mark. It is a hash of all chapters, so the same campaign gives the same bytes.
    """
    whole = hashlib.sha256()
    for chapter in chapters.values():
        notebook.forget_parts(chapter)
        whole.update(nbformat.writes(chapter.notebook).encode(errors="replace"))
    seal = whole.hexdigest()[:32]
    for chapter in chapters.values():
        for cell in chapter.notebook.cells:
            for out in cell.get("outputs", []):
                if "text/html" in out.get("data", {}):
                    out.data["text/html"] = f"<!--{seal}-->{out.data['text/html']}"
    return seal


def _free(name: str, chapters: Mapping[str, notebook.Chapter]) -> str:
    """Return the name of a chapter's file, with a number where another chapter has it."""
    names = (name if number == 1 else f"{name}_{number}" for number in range(1, len(chapters) + 2))
    return next(one for one in names if f"{one}.ipynb" not in chapters)


def _distinguish(chapter: notebook.Chapter, stem: str, others: Mapping[str, notebook.Chapter]) -> None:
    """Give a notebook that a sweep ran several times distinct labels and a distinct title."""
    taken = set().union(*map(notebook.labels, others.values()))
    clash = notebook.labels(chapter) & taken
    if clash:
        suffix = next(s for n in range(2, len(others) + 3) if not {label + (s := f"-{n}") for label in clash} & taken)
        notebook.relabel(chapter, clash, suffix)
        notebook.retitle(chapter, markdown.escape(stem))


def _plotly(folder: Path) -> None:
    """Copy plotly.js from the installed plotly, once for all pages."""
    shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", folder)


def _data(folder: Path, content: Content, texts: Mapping[str, str]) -> None:
    """Write pictures, the terms that chapters link to, and what can be downloaded: data of figures, checksums."""
    files = {f"data/{name}": text for one in content.chapters.values() for name, text in one.csv.items()}
    for chapter in content.chapters.values():
        for data in (out.get("data", {}) for cell in chapter.notebook.cells for out in cell.get("outputs", [])):
            files |= {still: data[figures.SVG]} if (still := figures.still(data)) else {}
    for one in content.pictures.values():
        files |= {one.file: one.svg, f"live/{one.name}.html": one.live}
        files |= {f"data/{one.label}.csv": one.csv} if one.csv else {}
    files |= {f"data/{oddities.FILE}": odd} if (odd := oddities.as_csv(content)) else {}
    for source in content.sources:
        files[f"data/{artifact.checksum_file(source, content)}"] = artifact.checksums(source)
    if home := next((name for name, text in texts.items() if "{#tbl-terms}" in text), ""):
        files["terms.json"] = json.dumps({"home": home, "terms": content.terms})
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def _listed(config: Mapping[str, Any]) -> list[str]:
    settings = config["book"]
    return [*settings["chapters"], *settings.get("appendices", [])]


def _config(
    config: dict[str, Any],
    style: styles.Style,
    folder: Path,
    content: Content,
    engine: str,
    texts: Mapping[str, str],
) -> None:
    """Write the book's settings with the notebooks in their place and the campaigns' titles, names and dates.

    Quarto reads texts of the settings as Markdown, the plain engine as they are. A style's own title stays.
    """
    shown = markdown.escape if engine == "quarto" else markdown.line
    settings = dict(config["book"])
    places = styles.placed(settings["chapters"], list(content.chapters))
    if style.settings.form == "paper":
        places = paper.listed(places, content)
    settings["chapters"] = [name for name in places if (folder / name).is_file()]
    if appendices := [name for name in settings.pop("appendices", []) if name in texts]:
        settings["appendices"] = appendices  # Quarto would show an empty part
    named = campaigns.heading(content, str(settings["title"]))
    fixed = style.config.get("book", {})
    for key, value in named.items():
        if key not in fixed:
            settings[key] = value if key == "date" else [*map(shown, value)] if key == "author" else shown(value)
    if people := book.authors(settings.get("author")):
        settings["author"] = people
    if engine == "quarto" and config.get("date-format", "iso") == "iso":
        settings["date"], config["date-format"] = _dated(str(settings.get("date") or ""))
    config["book"] = settings
    _dump(folder / book.CONFIG, config)
    if style.settings.form == "slides" and engine == "quarto":
        slides.join(book.Book(folder, config, {}))


def _dated(text: str) -> tuple[str, str]:
    """Return a date for Quarto, and the format that shows the text unchanged; Quarto shows a range as *Invalid Date*.

    Examples
    --------
    >>> _dated("2026-11-26"), _dated("2026-11-26 to 2026-11-27")
    (('2026-11-26', 'iso'), ('2026-11-27', '[2026-11-26 to 2026-11-27]'))
    """
    days = re.findall(r"\d{4}-\d\d-\d\d", text)
    return (text, "iso") if not days or text == days[0] else (days[-1], f"[{re.sub(r'[][]', '', text)}]")


def _dump(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=False, width=120))


def _escaped(values: Any) -> Any:
    """Return values as Markdown that shows them as they are."""
    if isinstance(values, Mapping):
        return {key: _escaped(value) for key, value in values.items()}
    return markdown.escape(values)
