"""Detect whether files changed: their states, and the states of labkit and the installed packages.

The state of a file is its size and the times of the last change of content and status. No program can set the time of
the status change. So a file that was written again has another state, even one of the same size with its time set back.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import labkit
from labkit.io import safe_read

State = tuple[str, str, int, int, int]


_LEFT = ("__pycache__", "_start")  # by Python and by `labkit lab`


def _is_source(path: Path) -> bool:
    return path.name not in _LEFT and not path.name.startswith((".", "run-"))


def states_of(top: Path, wanted: Callable[[Path], bool] = _is_source, *, packaged: bool = False) -> Iterator[State]:
    """Yield the states of the files below a folder, or of a file itself, in a fixed order; none if nothing is there.

    A link to a folder never has the same state twice: what is behind it is not looked at.

    Parameters
    ----------
    top : folder or file.
    wanted : which files and folders count (default: all but those of tools and of learners).
    packaged : a package manager installed them. The status of such a file is left out, because it also changes when
        the same file is linked into another environment.
    """
    try:
        top = safe_read.resolved(top)
        entries = sorted(top.iterdir()) if top.is_dir() else [top]
    except OSError:
        entries = []
    for path in filter(wanted, entries):
        if path.is_dir() and not path.is_symlink():
            yield from states_of(path, wanted, packaged=packaged)
            continue
        try:
            state = path.stat()
        except OSError as error:
            yield str(path), str(error.errno), 0, 0, 0
        else:
            link = os.urandom(8).hex() if path.is_dir() else ""
            yield str(path), link, state.st_size, state.st_mtime_ns, 0 if packaged else state.st_ctime_ns


def installed() -> Iterator[object]:
    """Yield what identifies Python, its packages with their versions, and the sources of labkit."""
    yield sys.version
    for folder in sorted({Path(entry) for entry in sys.path if entry}):
        with suppress(OSError):
            names = sorted(one.name for one in folder.iterdir() if one.suffix in (".dist-info", ".egg-info", ".pth"))
            yield str(folder), names
    yield from states_of(Path(labkit.__file__).parent, packaged=True)


def digest(parts: Iterable[object]) -> str:
    """Return a hash of plain values."""
    return hashlib.sha256(repr([*parts]).encode(errors="surrogateescape")).hexdigest()
