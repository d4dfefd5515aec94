"""From campaigns to a folder that both engines can render: ``<campaign>/report/``.

Only copies are written. The executed notebooks, the samples and the project's own files stay as they are.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import yaml

from labkit import project
from labkit.campaign import Campaign
from labkit.errors import ReportError
from labkit.report import (
    abstract,
    artifact,
    book,
    campaigns,
    caveats,
    front,
    linting,
    markdown,
    methods,
    notebook,
    oddities,
    omitting,
    over_time,
    painting,
    summary,
)
from labkit.report.content import Content
from labkit.report.sources import Source
from labkit.report.variables import as_json, key_numbers, variables

TEMPLATES = project.SHIPPED / "templates" / "report"
BLOCKS = (
    abstract.BLOCKS
    | front.BLOCKS
    | caveats.BLOCKS
    | campaigns.BLOCKS
    | summary.BLOCKS
    | methods.BLOCKS
    | artifact.BLOCKS
    | linting.BLOCKS
    | oddities.BLOCKS
    | over_time.BLOCKS
)
_COPIED = ("assets", "filters", "_extensions")
MARK = ".labkit-report"  # in a folder that may be deleted
_GENERATED = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.M)


def stage(sources: Sequence[Source], *, style: str, engine: str) -> tuple[book.Book, list[str]]:
    """Write the folder ``report/`` of the first campaign from scratch.

    Parameters
    ----------
    sources : campaigns, in the order of the chapters.
    style : a file of ``templates/report/styles``.
    engine : named in the colophon.

    Returns
    -------
    The book, and warnings for its readers.

    Raises
    ------
    ReportError
        If the style or a template does not exist, a notebook cannot be read, or the folder holds something else.
    """
    config = merged(_yaml(project.config()), _style(style))
    folder = _empty(Campaign(sources[0].path).derived / "report")
    chapters, warnings = _notebooks(sources)
    empty = omitting.omit([*chapters.values()])
    chapters = {name: chapter for name, chapter in chapters.items() if chapter not in empty}
    oddities.comment(Content(sources, chapters))
    config = {**config, book.SEAL: _sealed(chapters)}
    svg, caption = front.picture(Content(sources, chapters))
    past = over_time.of(Content(sources, chapters))
    drawn = over_time.picture(past) if past else ""
    content = Content(sources, chapters, empty, caption, past, bool(drawn))
    for name, text in ((front.FILE, svg), (over_time.FILE, drawn)):
        if text:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
    for name in _COPIED:
        shutil.copytree(TEMPLATES / name, folder / name)
    _plotly(folder / "assets")
    shutil.copy(TEMPLATES / str(config["bibliography"]), folder)
    for name, chapter in chapters.items():
        nbformat.write(chapter.notebook, folder / name)
    _data(folder / "data", content)
    _config(config, folder, content, engine)
    for template in [c for c in _listed(config) if c.endswith(".qmd")]:
        (folder / template).write_text(_filled(TEMPLATES / template, content))
    values = variables(sources[0]) | {"report": {"engine": engine, "style": style}}
    _dump(folder / book.VARIABLES, _escaped(values))
    numbers = [row for source in sources for row in as_json(key_numbers(source))]
    (folder / "key-numbers.json").write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n")
    return book.load(folder), warnings


def _empty(folder: Path) -> Path:
    """Return an empty folder with labkit's mark; delete an old report in its place, and refuse anything else.

    The folder has the mark from its first moment to its last, so that labkit also knows one that was interrupted.
    """
    if folder.is_symlink() or (folder.exists() and not _ours(folder)):
        raise ReportError(
            f"{folder} holds files that are not a labkit report. Move them away, because labkit writes the "
            "report there."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        folder.rename(folder.with_name(f".report-old-{os.getpid()}"))
    for leftover in folder.parent.glob(".report-*"):
        if re.fullmatch(r"\.report-(old|new)-\d+", leftover.name) and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
    fresh = folder.with_name(f".report-new-{os.getpid()}")
    fresh.mkdir()
    (fresh / MARK).write_text("labkit report overwrites this folder each time.\n")
    fresh.rename(folder)
    return folder


def _ours(folder: Path) -> bool:
    """Return whether a folder is empty or holds a report, whole or not."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    return not names or MARK in names or {book.CONFIG, book.VARIABLES, "key-numbers.json"} <= names


def _yaml(path: Path) -> dict[str, Any]:
    try:
        return dict(yaml.safe_load(path.read_text()) or {})
    except (OSError, yaml.YAMLError) as error:
        raise ReportError(
            f"{path} cannot be read: {error}. The report needs this file of labkit; reinstall labkit."
        ) from error


def _style(name: str) -> dict[str, Any]:
    """Return the settings of the book that a style changes."""
    names = sorted(path.stem for path in (TEMPLATES / "styles").glob("*.yml"))
    if name not in names:
        raise ReportError(f"There is no style {name!r}. There are: {', '.join(names)}.")
    return _yaml(TEMPLATES / "styles" / f"{name}.yml")


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings with those of `over` on top; lists are replaced.

    Examples
    --------
    >>> merged({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}})
    {'a': {'b': 1, 'c': 3}}
    """
    both = dict(base)
    for key, value in over.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(value, Mapping) and isinstance(old, Mapping) else value
    return both


def _notebooks(sources: Sequence[Source]) -> tuple[dict[str, notebook.Chapter], list[str]]:
    """Return the chapters of all campaigns in their order, and warnings for their readers."""
    chapters: dict[str, notebook.Chapter] = {}
    books = {path: notebook.read(path) for source in sources for path in source.notebooks}
    warnings = painting.unify([*books.values()])
    for number, source in enumerate(sources, start=1):
        added = {path: notebook.finish(path, error=source.error(path), book=books[path]) for path in source.notebooks}
        if number > 1:
            known = set().union(*map(notebook.labels, added.values()))
            for chapter in added.values():
                notebook.relabel(chapter, known, f"-c{number}")
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
    return chapters, warnings


def _sealed(chapters: Mapping[str, notebook.Chapter]) -> str:
    """Begin every HTML output, which labkit cleaned, with a mark that no chapter can hold; return the mark.

    The mark is a hash of all chapters, so the same campaign gives the same bytes.
    """
    whole = hashlib.sha256()
    for chapter in chapters.values():
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
    import plotly

    shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", folder)


def _data(folder: Path, content: Content) -> None:
    """Write the files for download: data of the figures, checksums of the samples."""
    folder.mkdir()
    for chapter in content.chapters.values():
        for name, text in chapter.csv.items():
            (folder / name).write_text(text)
    for source in content.sources:
        (folder / artifact.checksum_file(source, content)).write_text(artifact.checksums(source))


def _listed(config: Mapping[str, Any]) -> list[str]:
    settings = config["book"]
    return [*settings["chapters"], *settings.get("appendices", [])]


def _config(config: dict[str, Any], folder: Path, content: Content, engine: str) -> None:
    """Write the book's settings with the notebooks in their place and the campaigns' titles, names and dates.

    Quarto reads texts of the settings as Markdown, the plain engine as they are.
    """
    shown = markdown.escape if engine == "quarto" else markdown.line
    settings = dict(config["book"])
    place = settings["chapters"].index(book.NOTEBOOKS)
    settings["chapters"] = [*settings["chapters"][:place], *content.chapters, *settings["chapters"][place + 1 :]]
    named = campaigns.heading(content, str(settings["title"]))
    settings |= {key: text if key == "date" else shown(text) for key, text in named.items()}
    _dump(folder / book.CONFIG, {**config, "book": settings})


def _dump(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=False, width=120))


def _escaped(values: Any) -> Any:
    """Return values as Markdown that shows them as they are."""
    if isinstance(values, Mapping):
        return {key: _escaped(value) for key, value in values.items()}
    return markdown.escape(values)


def _filled(template: Path, content: Content) -> str:
    """Return the source of a chapter with its generated parts."""

    def block(match: re.Match[str]) -> str:
        if match[1] not in BLOCKS:
            raise ReportError(f"{template} asks for the generated part {match[1]!r}. There are: {', '.join(BLOCKS)}.")
        return BLOCKS[match[1]](content)

    return _GENERATED.sub(block, template.read_text())
