"""Refuse unknown or unusable settings of a user's report before anything is drawn."""

from __future__ import annotations

import difflib
import fnmatch
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typst

from labkit.errors import ReportError
from labkit.io import project
from labkit.report import words
from labkit.report.styles import TEMPLATES, read

_FORMATS = ("html", "report-typst", "docx", "revealjs")
_PDF = "format.report-typst"
_PAPER = ("papersize", "margin", "columns", "page-numbering", "toc-depth", "mainfont")
_BOTH = (  # settings that both engines read
    *("lang", "language.*", "bibliography", "csl", "mainfont"),
    *(f"book.{name}" for name in ("title", "subtitle", "author", "date", "chapters", "appendices")),
    *(f"{_PDF}.{name}" for name in _PAPER),
    "format.docx.*",  # Quarto alone makes Word documents and decks for a browser
    "format.revealjs.*",
)
_WHOLE = ("book.author", f"{_PDF}.margin")  # groups that are one setting
_QUARTO = ("brand", "crossref", "date-format", "website")  # further groups that Quarto reads
_FREE = ("brand", "language", "metadata", "variables")  # groups with names of the user, or that are checked elsewhere
_SIDES = ("x", "y", "left", "right", "top", "bottom")
_LENGTH = re.compile(r"\d+(\.\d+)?(cm|mm|in|pt|em|%)")


@dataclass(frozen=True)
class Known:
    """Names that the installed Quarto knows; empty if it does not list them.

    Parameters
    ----------
    options : settings of a format.
    names : settings at any depth.
    language : fixed words, which settings may replace.
    """

    options: Collection[str] = frozenset()
    names: Collection[str] = frozenset()
    language: Collection[str] = frozenset()


def refuse(config: Mapping[str, Any], file: Path, engine: str, known: Known = Known()) -> None:
    """Refuse settings of the user that the engine would ignore or could not use.

    Parameters
    ----------
    config : content of a settings file without labkit's section.
    file : named in the message; labkit's own files are not checked.
    engine : ``quarto`` or ``plain``.
    known : names that the installed Quarto knows.

    Raises
    ------
    ReportError
        Names the key, the expected value, and what to do.
    """
    if file.is_relative_to(TEMPLATES):
        return
    shipped = read(TEMPLATES / project.SETTINGS)
    groups = sorted({*shipped, *(key.partition(".")[0] for key in _BOTH), *_QUARTO})
    for key in config:
        if key not in groups:
            raise ReportError(
                f"{file}: {key}: is not a setting of reports{_near(key, groups)}. There are: {', '.join(groups)}. "
                "Write what Quarto knows of one format below format: html: or report-typst:."
            )
    for key in ("book", "format", "language"):
        if not isinstance(config.get(key) or {}, Mapping):
            raise ReportError(f"{file}: {key}: must have keys and values, but is {config[key]!r}. Correct it.")
    for name in config.get("format") or {}:
        if name not in _FORMATS:
            near = "; use report-typst" if name in ("typst", "pdf") else _near(name, _FORMATS)
            raise ReportError(
                f"{file}: format: {name}: is not a format of reports{near}. There are: {', '.join(_FORMATS)}."
            )
    if engine == "quarto":
        _refuse_unknown(config, file, known)
    else:
        _refuse_further(config, file, dict(_leaves(shipped)))
    readable = {*words.READ, *known.language}
    for name in config.get("language") or {}:
        if name not in readable and (engine == "plain" or known.language):
            raise ReportError(
                f"{file}: language: {name}: is not a word of reports{_near(name, readable)}. There are: "
                f"{', '.join(words.READ)}. Correct it, or remove it."
            )
    for key, value in _leaves(config):
        if (expected := _VALUES.get(key)) and value is not None and not expected[0](value):
            raise ReportError(
                f"{file}: {_path(key)}: {value!r} cannot be used; it must be {expected[1]}. Correct it, or remove it."
            )


def _refuse_unknown(config: Mapping[str, Any], file: Path, known: Known) -> None:
    """Refuse names that Quarto does not know; it checks itself whether those that it knows are in the right place."""
    for name, own in (config.get("format") or {}).items() if known.options else ():
        for key in own if isinstance(own, Mapping) else ():
            if key not in known.options and key not in _PAPER:
                raise _unknown(file, f"format.{name}.{key}", key, known.options)
    for key, name in _names(config) if known.names else ():
        if "." in key and name not in known.names and name not in (*_FORMATS, *_PAPER, *_SIDES):
            raise _unknown(file, key, name, known.names)


def _unknown(file: Path, key: str, name: Any, known: Collection[str]) -> ReportError:
    return ReportError(
        f"{file}: {_path(key)}: is not a setting that Quarto knows{_near(name, known)}. Correct it, or remove it."
    )


def _refuse_further(config: Mapping[str, Any], file: Path, shipped: Mapping[str, Any]) -> None:
    """Refuse settings that the plain engine would ignore; those of labkit's own book are fine."""
    for key, value in _leaves(config):
        if not any(fnmatch.fnmatchcase(key, one) for one in _BOTH) and shipped.get(key) != value:
            raise ReportError(
                f"{file}: {_path(key)}: {value!r} is not a setting of the plain engine, which would ignore it. There "
                f"are: {_path(', '.join(_BOTH))}. Remove it, or make the report with Quarto: --engine quarto."
            )


def _near(name: Any, known: Collection[str]) -> str:
    found = difflib.get_close_matches(str(name), known, n=1)
    return f"; close to it is {found[0]}" if found else ""


def _path(key: str) -> str:
    return key.replace(".", ": ")


def _leaves(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the settings that are not groups, with the names of their groups before them."""
    for key, value in config.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and name not in _WHOLE:
            yield from _leaves(value, f"{name}.")
        else:
            yield name, value


def _names(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name of every setting and group at any depth, with those of its groups before it."""
    for key, value in config.items():
        name = f"{above}{key}"
        if name in ("book.author", *_FREE) or key in _FREE:
            continue
        yield name, key
        if isinstance(value, Mapping):
            yield from _names(value, f"{name}.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_margin(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        key in _SIDES and _LENGTH.fullmatch(str(length)) for key, length in value.items()
    )


def _is_fonts(value: Any) -> bool:
    return all(map(_is_text, value if isinstance(value, list) and value else [value]))


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _sets(argument: str) -> Callable[[Any], bool]:
    """Return a check whether typst takes a text as an argument of a page."""

    def takes(value: Any) -> bool:
        if not _is_text(value):
            return False
        try:
            typst.compile(f"#set page({argument}: {json.dumps(value)})\n".encode())
        except typst.TypstError:
            return False
        return True

    return takes


_Check = tuple[Callable[[Any], bool], str]
_FONT: _Check = (_is_fonts, "the name of a font, or a list of names")
_VALUES: Mapping[str, _Check] = {
    "book.chapters": (_is_list, "a list of files"),
    "book.appendices": (_is_list, "a list of files"),
    "mainfont": _FONT,
    f"{_PDF}.mainfont": _FONT,
    f"{_PDF}.papersize": (_sets("paper"), "the name of a paper, such as a4 or us-letter"),
    f"{_PDF}.page-numbering": (_sets("numbering"), 'a pattern, such as "1" or "1 / 1"'),
    f"{_PDF}.columns": (_is_count, "a whole number, 1 or more"),
    f"{_PDF}.toc-depth": (_is_count, "a whole number, 1 or more"),
    f"{_PDF}.margin": (_is_margin, f"lengths by side ({', '.join(_SIDES)}), such as {{x: 2.5cm, top: 2cm}}"),
}
