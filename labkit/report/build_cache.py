"""Check whether a report is up to date.

A report is a function of its campaigns, of the settings and parts of the user's project, of labkit with its templates,
notebooks and reference data, and of the packages, fonts and programs installed here. The report's folder holds their
fingerprint and a fingerprint of its files. If neither has changed, labkit keeps the report. If you delete the file with
the fingerprints, or the folder, labkit makes the report again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pypandoc

from labkit.errors import DataError
from labkit.figures import static
from labkit.io import beneath, file_state, project, safe_read
from labkit.models import peers
from labkit.store import derived
from labkit.store.campaign import Campaign

FILE = ".labkit-made.json"  # in the folder of the report
_MADE = ("records", "exports", "lease.json")  # in a campaign, but no input of its report
_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")
_Choice = Callable[[Path], bool]


def fingerprint(campaigns: Sequence[Path], chosen: Mapping[str, Any]) -> str:
    """Return a hash of all inputs of a report.

    Parameters
    ----------
    campaigns : their folders, in the order of the chapters.
    chosen : the options of `labkit.report.build`, as text.
    """
    parts: list[Any] = [*file_state.installed(), sorted(chosen.items())]
    for path in campaigns:
        for folder in dict.fromkeys((safe_read.resolved(path), safe_read.resolved(Campaign(path).derived))):
            parts += [str(folder), *file_state.states_of(folder, _is_input(folder))]
    parts += [str(project.current()), str(project.home())]
    for folder in _sources():
        parts += [str(folder), *file_state.states_of(folder, packaged=project.SHIPPED in folder.parents)]
    parts += [static.browser_identity(), *file_state.states_of(Path(pypandoc.get_pandoc_path()), packaged=True)]
    for name in _FONTS:
        parts += [(str(path), path.stat().st_mtime_ns) for path in _folders(Path(name).expanduser())]
    return file_state.digest(parts)


def kept(folder: Path, wanted: str) -> list[str] | None:
    """Return the warnings of the report with this fingerprint if it is unchanged; else None."""
    try:
        known = safe_read.json_object(folder / FILE)
    except DataError:
        return None
    warnings = known.get("warnings")
    same = known.get("inputs") == wanted and known.get("outputs") == _outputs(folder)
    return [str(text) for text in warnings] if same and isinstance(warnings, list) else None


def keep(folder: Path, made_from: str, warnings: Sequence[str]) -> None:
    """Record the fingerprint of the inputs of a report. Failures are ignored."""
    known = {"inputs": made_from, "outputs": _outputs(folder), "warnings": [*warnings]}
    with suppress(OSError, DataError):
        beneath.put(folder.parent, f"{folder.name}/{FILE}", json.dumps(known, indent=1).encode())


def _sources() -> Iterable[Path]:
    """Return what labkit, beside its sources, and the user's project bring to a report."""
    both = ("notebooks", "suites", "data/reference")
    shipped = [
        *(project.SHIPPED / name for name in (*both, "templates", "docs/glossary.md")),
        peers.FOLDER,
        peers.own(),
    ]
    current = project.current()
    own = [current / name for name in (*both, project.REPORT)] if current else []
    return [*shipped, *own, project.config()]


def _is_input(campaign: Path) -> _Choice:
    """Return whether a path below a campaign is something that its report is made from."""

    def is_input(path: Path) -> bool:
        made = path.name in _MADE or path.name.startswith(".") or derived.is_report(path.name)
        return not (path.parent == campaign and made)

    return is_input


def _folders(top: Path) -> Iterator[Path]:
    """Yield a folder and those below it, in a fixed order; nothing if it is not there."""
    for path, names, _ in os.walk(top):
        names.sort()
        yield Path(path)


def _outputs(folder: Path) -> str:
    """Return a hash of the files of a report by name, size and time."""
    return file_state.digest(file_state.states_of(folder, lambda path: path.name != FILE))
