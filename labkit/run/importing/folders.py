"""Sorts the files of folders by their content; those that cannot be imported are named, each with the reason."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from labkit.errors import DataError
from labkit.point.notes import joined
from labkit.run.importing.text import Text, UnknownError, parts

MOST = 20_000  # files of a folder


def collected(paths: Sequence[str | Path]) -> tuple[list[Text], list[tuple[str, str]]]:
    """Return the texts of files and of all files below folders, and what was left out of folders, with the reason.

    A file that was named must be right. Of a folder, labkit reads each file once in vain before it imports any, so
    that a damaged one is left out as a whole.

    Raises
    ------
    DataError
        If a named file cannot be read or is of no kind that labkit knows, or if a folder has no file that can be
        imported; that error names the first reasons.
    """
    texts: list[Text] = []
    left_out: list[tuple[str, str]] = []
    for path in paths:
        if not _is_folder(path):
            texts += parts(path)
            continue
        before = len(texts)
        reasons = []
        for name in _files(Path(path)):
            try:
                texts += _tried(Path(path, name), name)
            except DataError as error:
                reasons.append((name, _reason(error, Path(path, name))))
        left_out += reasons
        if len(texts) == before:
            first = joined(f"{name}: {reason}" for name, reason in reasons[:5]) or "it has no file"
            problem = f"{path}: labkit can import no file of this folder. {first}."
            raise DataError(f"{problem} Name a folder with the output of benchmarks.")
    return texts, left_out


def _is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder; not for one that no file can have, which `parts` refuses."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _tried(path: Path, name: str) -> list[Text]:
    """Return the texts of a file that can be imported as a whole."""
    texts = parts(path, name)
    for text in texts:
        if text.log:
            text.runs(lambda count: None)
        else:
            for _ in text.tables(text.lines(lambda count: None)):
                pass
    return texts


def _reason(error: DataError, path: Path) -> str:
    """Return why a file was left out, without its path."""
    if isinstance(error, UnknownError):
        return error.reason
    return error.brief.removeprefix(str(path)).lstrip(",: ")


def _files(folder: Path) -> list[str]:
    """Return the names of all regular files below a folder, in order.

    Hidden files, links, campaigns and other file systems, such as /proc below /, are left out.
    """
    names: list[str] = []
    for above, folders, files in os.walk(folder):
        if "campaign.json" in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not Path(above, name).is_mount())
        paths = (Path(above, name) for name in sorted(files) if not name.startswith("."))
        names += [path.relative_to(folder).as_posix() for path in paths if not path.is_symlink()]
        if len(names) > MOST:
            raise DataError(f"{folder} has more than {MOST:,} files. Name a folder with the output of benchmarks.")
    return names
