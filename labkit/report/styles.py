"""Styles of the report: its chapters, their order, and its requirements. A style is one file of settings.

labkit's styles are in ``templates/report/styles``, those of a user in ``report/styles`` of the project. The file's
settings override ``book.yml``; its section ``labkit`` is for labkit. The chapters of a style are in the folder of its
name, or among the common chapters.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from labkit.errors import DataError, ReportError, SpecError, unknown_name
from labkit.io import project, safe_read
from labkit.judge.contract import load as load_contract
from labkit.judge.retests import load as load_tests
from labkit.point.spec import validated
from labkit.report.book import NOTEBOOKS

TEMPLATES = project.SHIPPED / "templates" / "report"
SECTION = "labkit"  # of the settings; not for the engines
_MOST_B = 1 << 20  # of a file of settings: YAML is read slowly


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The section ``labkit`` of a style.

    Parameters
    ----------
    about : the style in one line.
    like : another style that this one modifies.
    campaigns : fewest campaigns that it needs.
    contract : whether it needs an acceptance contract.
    form : ``book``, ``paper`` with short chapters, ``slides`` with a page for each figure, or ``lab`` for a learner's
        folder.
    figures : most figures of a chapter of a paper or on slides; 0 for all.
    supplement : another style, with its PDF as ``supplement.pdf`` in the same folder.
    colour : colour of headings, and of links in the PDF, such as ``#1f3a5f``; empty for labkit's.
    logo : picture at the top, such as ``figures/logo.svg``.
    """

    about: str = ""
    like: str = ""
    campaigns: int = 1
    contract: bool = False
    form: Literal["book", "paper", "slides", "lab"] = "book"
    figures: int = 0
    colour: str = ""
    logo: str = ""
    supplement: str = ""

    def __post_init__(self) -> None:
        if self.colour and not re.fullmatch(r"#[0-9a-fA-F]{6}", self.colour):
            raise SpecError(f"colour={self.colour!r}, but it must be # and six digits from 0 to f, such as #1f3a5f.")
        if self.logo and not re.fullmatch(r"figures/[\w.-]+\.(?:svg|png|jpg)", self.logo):
            raise SpecError(f"logo={self.logo!r}, but it must be a picture in figures/, such as figures/logo.svg.")


@dataclass(frozen=True)
class Style:
    """A style that was read.

    Parameters
    ----------
    name : name of its file.
    settings : its section ``labkit``.
    config : its changes of ``book.yml``.
    folders : folders with its chapters and other files, in the order of search.
    """

    name: str
    settings: Settings
    config: Mapping[str, Any] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()

    @property
    def shows_notebooks(self) -> bool:
        """Whether any of its chapters are notebooks; a style without a list has the chapters of all reports."""
        listed = self.config.get("book", {}).get("chapters")
        return listed is None or any(map(is_pattern, listed))

    def file(self, name: str) -> Path:
        """Return the path of one of its files.

        Raises
        ------
        ReportError
            If it is in none of the folders, or outside of them.
        """
        inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        for folder in self.folders if inside else ():
            if (path := folder / name).is_file():
                return path
        raise ReportError(_absent(self, [name]))

    def has(self, name: str) -> bool:
        """Return whether one of its folders has a file."""
        try:
            return bool(self.file(name))
        except ReportError:
            return False

    def named(self) -> list[str]:
        """Return the files that its settings name: logo, bibliographies, CSL style, chapters that are not notebooks."""
        book, found = self.config.get("book"), self.config.get("bibliography") or []
        book = book if isinstance(book, Mapping) else {}
        lists = [found if isinstance(found, list) else [found], book.get("chapters"), book.get("appendices")]
        names = [name for one in lists if isinstance(one, list) for name in one if isinstance(name, str)]
        csl = self.config.get("csl")
        return [*filter(None, [self.settings.logo, str(csl or "")]), *(name for name in names if not is_pattern(name))]


def find() -> dict[str, Path]:
    """Return the styles by name; those of the user's project replace those that labkit ships."""
    folders = [TEMPLATES / "styles", *(folder / "styles" for folder in _mine())]
    return dict(sorted((path.stem, path) for folder in folders for path in folder.glob("*.yml")))


def load(name: str) -> Style:
    """Read a style, and the style that it modifies.

    Raises
    ------
    ReportError
        If there is no such style, or its file cannot be read; names all styles.
    """
    return _loaded(name, ())


def required(
    name: str,
    campaigns: Sequence[str],
    contract: Path | None,
    allow: Sequence[str] = (),
    log: Path | None = None,
) -> Style:
    """Return a style; refuse it if a requirement is missing.

    Parameters
    ----------
    campaigns : names of the campaigns of the report.
    contract : file of an acceptance contract.
    allow : factors that may differ between campaigns.
    log : file of the tests of the contract.

    Raises
    ------
    ReportError
        Says what to name.
    DataError, SpecError
        If the contract is invalid.
    """
    style, names = load(name), " ".join(campaigns)
    if len(campaigns) < style.settings.campaigns:
        raise ReportError(
            f"--style {name} needs {style.settings.campaigns} campaigns, but there is {len(campaigns)}: {names}. Name "
            f"another one: labkit report {names} ANOTHER --style {name}"
        )
    if style.settings.contract and contract is None:
        raise ReportError(
            f"--style {name} needs an acceptance contract, a TOML file with clauses. Name it: labkit report {names} "
            f"--style {name} --contract FILE. docs/gate.md shows one."
        )
    if contract is not None and not style.settings.contract:
        raise ReportError(f"--contract has no effect on --style {name}. Use --style acceptance, or leave it out.")
    if log is not None:
        if contract is None:
            raise ReportError("--log without --contract, but it holds tests of a contract. Add --contract FILE.")
        if not load_tests(log):
            raise ReportError(f"--log {log} holds no test. Name the log that labkit gate --contract --log wrote.")
    if allow and style.settings.campaigns < 2:
        raise ReportError(f"--allow has no effect on --style {name}. Use --style comparison, or leave it out.")
    if contract is not None:
        load_contract(contract)
    if absent := [one for one in style.named() if not style.has(one)]:
        raise ReportError(_absent(style, absent))
    return style


def _absent(style: Style, names: Sequence[str]) -> str:
    """Say which files of a style are missing, and where they must be."""
    mine = next(iter(_mine()), None)
    places = f"{mine}, and not among labkit's" if mine else ", ".join(str(folder) for folder in style.folders)
    missing, them = ("file is", "it") if len(names) == 1 else ("files are", "them")
    return (
        f"The style {style.name} names {', '.join(names)}, but no such {missing} in {places}. Add {them}, or correct "
        f"{style.name}.yml."
    )


def chain(name: str) -> list[tuple[Path, dict[str, Any]]]:
    """Return the files of a style and of the styles that it modifies, the first one first, with their changes."""
    file = find()[name]
    settings, config = parted(read(file), file)
    return [*(chain(settings.like) if settings.like else []), (file, config)]


def _loaded(name: str, above: tuple[str, ...]) -> Style:
    files = find()
    if name not in files:
        raise unknown_name("style", name, list(files), error=ReportError)
    if name in above:
        raise ReportError(f"The style {name!r} is like itself: {' → '.join([*above, name])}. Remove one 'like'.")
    settings, config = parted(read(files[name]), files[name])
    own = (files[name].with_suffix(""), *_mine())
    if not settings.like:
        return Style(name, settings, config, tuple(dict.fromkeys((*own, TEMPLATES))))
    base = _loaded(settings.like, (*above, name))
    both = _settings({**vars(base.settings), **read(files[name])[SECTION]}, files[name])
    return Style(name, both, merged(base.config, config), tuple(dict.fromkeys((*own, *base.folders))))


def _mine() -> tuple[Path, ...]:
    """Return the folder with the user's own parts of the report."""
    current = project.current()
    return (current / project.REPORT,) if current else ()


def parted(config: Mapping[str, Any], file: Path) -> tuple[Settings, dict[str, Any]]:
    """Return labkit's section of settings, and the rest of them."""
    rest = {key: value for key, value in config.items() if key != SECTION}
    return _settings(config.get(SECTION) or {}, file), rest


def _settings(section: Any, file: Path) -> Settings:
    if not isinstance(section, Mapping):
        raise ReportError(f"{file}: {SECTION} must have keys and values, but is {section!r}. Write for example like: …")
    try:
        return validated(Settings, section, what=SECTION)
    except SpecError as error:
        raise ReportError(f"{file}: {error}") from error


def read(path: Path) -> dict[str, Any]:
    """Read a file of settings.

    Raises
    ------
    ReportError
        If it cannot be read.
    """
    try:
        config = yaml.safe_load(safe_read.text(path, most=_MOST_B)) or {}
    except (DataError, RecursionError, yaml.YAMLError) as error:
        raise ReportError(f"{path} cannot be read: {error}. Correct it, or restore it from labkit.") from error
    if not isinstance(config, dict):
        raise ReportError(f"{path} must hold keys and values, but holds a {type(config).__name__}. Correct it.")
    return config


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings, overridden by `over`; lists are replaced.

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


def placed(listed: Sequence[str], notebooks: Sequence[str]) -> list[str]:
    """Return a list of chapters with notebooks instead of patterns, without notebooks that no pattern matches.

    The first matching pattern determines the place of a notebook; ``*.ipynb`` matches the rest.

    Examples
    --------
    >>> placed(["a.qmd", "2*.ipynb", "*.ipynb"], ["1.ipynb", "2.ipynb"])
    ['a.qmd', '2.ipynb', '1.ipynb']
    """
    free = dict.fromkeys(notebooks)
    taken: dict[int, list[str]] = {}
    for last in (False, True):
        for place, pattern in enumerate(listed):
            if is_pattern(pattern) and (pattern == NOTEBOOKS) is last:
                taken[place] = fnmatch.filter(list(free), pattern)
                for name in taken[place]:
                    del free[name]
    return list(_in_place(listed, taken))


def _in_place(listed: Sequence[str], taken: Mapping[int, Sequence[str]]) -> Iterator[str]:
    for place, name in enumerate(listed):
        yield from taken.get(place, (name,))


def is_pattern(name: str) -> bool:
    """Return whether an entry of the list of chapters represents notebooks."""
    return name.endswith(".ipynb")
