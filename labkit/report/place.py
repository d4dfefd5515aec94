"""Move a finished report into the folder of its campaign: complete, replacing the old one, without following links.

A report is made in a folder of the system's temporary files. So a run that ends early leaves the old report unchanged,
and others who may write to the campaign cannot redirect the output.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from pathlib import Path

from labkit.errors import ReportError
from labkit.io import beneath
from labkit.report import book

MARK = ".labkit-report"  # in a folder that may be deleted


def begin(folder: Path) -> None:
    """Make the folder of a report, with labkit's mark."""
    folder.mkdir(parents=True)
    (folder / MARK).write_text("labkit report overwrites this folder each time.\n")


def refuse(folder: Path) -> None:
    """Refuse the place of a report if it holds something else.

    Raises
    ------
    ReportError
        If it holds something else, or is a link.
    """
    if folder.is_symlink() or (folder.exists() and not _ours(folder)):
        raise ReportError(
            f"{folder} holds files that are not a labkit report. Move them away, because labkit writes the "
            "report there."
        )


def _ours(folder: Path) -> bool:
    """Return whether a folder is empty or holds a report, whole or not."""
    if not folder.is_dir():
        return False
    names = {path.name for path in folder.iterdir()}
    return not names or MARK in names or {book.CONFIG, book.VARIABLES, "key-numbers.json"} <= names


def publish(made: Path, home: Path, name: str) -> None:
    """Copy a report to its place. After an interruption, either the old or the new report is there.

    Parameters
    ----------
    made : folder of the report.
    home, name : target folder, and its name there.

    Raises
    ------
    ReportError
        If something else is there.
    DataError
        If it is a link.
    OSError
        If it cannot be written.
    """
    refuse(home / name)
    fresh, old = (f".{name}-{kind}-{os.getpid()}" for kind in ("new", "old"))
    with beneath.folder(home, make=True) as place:
        beneath.refuse_links(place, name)
        _clear(place, name)
        try:
            for path in sorted(made.rglob("*")):
                if path.is_file():
                    beneath.put(place, f"{fresh}/{path.relative_to(made)}", beneath.copied(path))
            if (place / name).exists():
                (place / name).rename(place / old)
            (place / fresh).rename(place / name)
        except BaseException:
            if (place / old).exists() and not os.path.lexists(place / name):
                (place / old).rename(place / name)
            raise
        finally:
            _clear(place, name)


def _clear(place: Path, name: str) -> None:
    """Remove what an interrupted call left beside a report."""
    for leftover in place.glob(f".{glob.escape(name)}-*"):
        if re.fullmatch(r"-(old|new)-\d+", leftover.name[len(name) + 1 :]) and not leftover.is_symlink():
            shutil.rmtree(leftover, ignore_errors=True)
