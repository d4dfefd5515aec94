"""The staged book: its `_quarto.yml`, and its chapters as pieces with their origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from labkit.errors import ReportError
from labkit.report import notebook
from labkit.report.options import ALT, options

CONFIG = "_quarto.yml"
VARIABLES = "_variables.yml"
SEAL = "labkit-seal"  # setting with the mark that begins every raw part that labkit wrote, see filters/safe.lua
NOTEBOOKS = "*.ipynb"  # stands in the list of chapters where the notebooks of the campaign go


_PERSON = ("name", "affiliation", "affiliations", "email", "orcid")
_PLACE = ("department", "name", "city", "state", "country")  # of an affiliation, in this order


def authors(given: Any) -> list[dict[str, Any]]:
    """Return the authors of a book in a form that both engines read.

    Parameters
    ----------
    given : ``book: author:`` of the settings: a name, or keys and values as for Quarto, or a list of these.

    Returns
    -------
    For each author a name, the names of the affiliations, and if given e-mail address and ORCID.

    Raises
    ------
    ReportError
        If a report does not show a key.

    Examples
    --------
    >>> authors("Ann Author")
    [{'name': 'Ann Author', 'affiliations': []}]
    >>> authors({"name": {"given": "Bo", "family": "Author"}, "affiliation": "Lab", "orcid": "https://orcid.org/0-1"})
    [{'name': 'Bo Author', 'affiliations': [{'name': 'Lab'}], 'orcid': '0-1'}]
    """
    return [_author(one) for one in _listed(given)]


def _listed(value: Any) -> list[Any]:
    return [] if value in (None, "") else value if isinstance(value, list) else [value]


def _author(given: Any) -> dict[str, Any]:
    facts = given if isinstance(given, Mapping) else {"name": given}
    if (unknown := [key for key in facts if key not in _PERSON]) or "name" not in facts:
        what = f"has the key {unknown[0]!r}" if unknown else "has no name"
        raise ReportError(f"book: author: {given!r} {what}. Reports show {', '.join(_PERSON)}. Write these.")
    name = facts["name"]
    if isinstance(name, Mapping):
        name = name.get("literal") or " ".join(str(name[part]) for part in ("given", "family") if name.get(part))
    places = [*_listed(facts.get("affiliation")), *_listed(facts.get("affiliations"))]
    found = {key: str(facts[key]) for key in ("email", "orcid") if facts.get(key)}
    if "orcid" in found:
        found["orcid"] = found["orcid"].rstrip("/").rpartition("/")[2]
    return {"name": str(name), "affiliations": [{"name": _affiliation(place)} for place in places], **found}


def _affiliation(given: Any) -> str:
    if not isinstance(given, Mapping):
        return str(given)
    if unknown := [key for key in given if key not in _PLACE]:
        raise ReportError(
            f"book: author: the affiliation {given!r} has the key {unknown[0]!r}. Reports show {', '.join(_PLACE)}. "
            "Write these, for each author."
        )
    return ", ".join(str(given[key]) for key in _PLACE if given.get(key))


@dataclass(frozen=True)
class Piece:
    """A part of a chapter: prose, or a code cell.

    Parameters
    ----------
    file : name of the staged file.
    kind : ``prose`` or ``code``.
    text : Markdown, or the code without its options.
    cell : number of the notebook cell, from 1; 0 in a qmd file.
    line : line of the file or cell at which the text begins.
    options, outputs : options and outputs of a code cell.
    """

    file: str
    kind: str
    text: str
    cell: int = 0
    line: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[Any, ...] = ()

    def place(self, line: int = 1) -> str:
        """Return the place of a line of the text, for messages."""
        cell = f", cell {self.cell}" if self.cell else ""
        return f"{self.file}{cell}, line {self.line + line - 1}"

    def alt(self, number: int) -> str:
        """Return the description of an output in words."""
        words = self.options.get(ALT, "")
        listed = words if isinstance(words, list) else [words] * len(self.outputs)
        return str(listed[number]) if number < len(listed) else ""


@dataclass(frozen=True)
class Book:
    """A folder that both engines can render.

    Parameters
    ----------
    folder : folder with `_quarto.yml` and everything it names.
    config : content of `_quarto.yml`.
    variables : content of `_variables.yml`.
    drawn : whether every figure has an up-to-date picture.
    """

    folder: Path
    config: Mapping[str, Any]
    variables: Mapping[str, Any]
    drawn: bool = True

    @property
    def chapters(self) -> list[tuple[str, str]]:
        """Files with their kinds (``index``, ``chapter``, ``appendix``) in reading order."""
        book = self.config["book"]
        listed = [(file, "index" if file.startswith("index.") else "chapter") for file in book["chapters"]]
        return listed + [(file, "appendix") for file in book.get("appendices", [])]

    @property
    def bibliographies(self) -> list[str]:
        """Files with the references that chapters may cite."""
        named = self.config.get("bibliography") or []
        return [str(name) for name in (named if isinstance(named, list) else [named])]

    def pieces(self, file: str) -> Iterator[Piece]:
        """Return the pieces of a chapter.

        Raises
        ------
        ReportError
            If the file is missing, or a cell's options cannot be read.
        """
        path = self.folder / file
        if not path.exists():
            raise ReportError(
                f"{self.folder / CONFIG} names the chapter {file}, but it is not there. "
                f"Add it, or take it out of the list."
            )
        if path.suffix != ".ipynb":
            yield Piece(file, "prose", path.read_text())
            return
        for number, cell in enumerate(notebook.read(path).cells, start=1):
            if cell.cell_type != "code":
                yield Piece(file, "prose", cell.source, number)
                continue
            try:
                chosen, code = options(cell.source)
            except ReportError as error:
                raise ReportError(f"{file}, cell {number}: {error}. Correct the notebook, and run it again.") from error
            above = sum(1 for line in cell.source.splitlines() if line.startswith("#|"))
            yield Piece(file, "code", code, number, above + 1, chosen, tuple(cell.outputs))

    def variable(self, name: str) -> str:
        """Return the value of ``a.b.c``.

        Raises
        ------
        KeyError
            If there is no such variable.
        """
        value: Any = self.variables
        for part in name.split("."):
            value = value[part]
        if isinstance(value, Mapping | list):
            raise KeyError(name)
        return str(value)


def load(folder: Path) -> Book:
    """Return the book of a staged folder."""
    config = yaml.safe_load((folder / CONFIG).read_text())
    variables = yaml.safe_load((folder / VARIABLES).read_text()) or {}
    return Book(folder, config, variables)
