"""Packs the byte code of the modules that a rank may load into one file, for ranks on the machine that measures.

A rank that imports labkit and numpy from their folders asks the file system more than a thousand times. From one file
it asks it for that file and for libraries. The file is made when it is first needed and is in the user's cache. Its
name depends on the files in it, with their times and sizes, so a changed module gives another file.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import marshal
import os
import sys
from importlib.machinery import FrozenImporter
from pathlib import Path
from typing import Any

import labkit
from labkit.errors import LabkitError, LaunchError
from labkit.io import atomic, folders
from labkit.run.staging import archive, node

FLAGS = ("-S", "-P")  # `site` need not look for packages, and the folder of the file is no place of modules
MOST_FILES = 12  # that stay in the cache, two for each environment; more do if they were used in the last so many s
RECENT_S = 600.0  # a rank opens its file within that time
_START = Path(__file__).with_name("start.py")


def words(plain: list[str]) -> list[str]:
    """Return the command of a rank on this machine that loads from one file; unchanged if there can be no such file.

    Parameters
    ----------
    plain : ``PYTHON -m labkit.worker PLAN``.
    """
    file = made()
    return [plain[0], *FLAGS, str(file), plain[-1]] if file else plain


def made() -> Path | None:
    """Return the file for the present modules, and create it if the cache lacks it; None if this fails."""
    searched = os.environ.get("PYTHONPATH")
    if searched and not all(map(os.path.isabs, searched.split(os.pathsep))):  # relative to a folder
        return None
    try:
        folder = folders.cache() / "ranks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        node.is_own(str(folder))
        return _found(folder) or _built(folder)
    except (OSError, LabkitError, node.Refused):
        return None


def _key() -> str:
    """Return the name of this environment: what decides which modules a rank may load."""
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages")) and Path(path).is_dir()]
    about = [
        [sys.version, sys.flags.optimize, sys.executable, sys.prefix, sys.base_prefix, labkit.__file__],
        sorted((name, value) for name, value in os.environ.items() if name.startswith("PYTHON")),
        [(path, Path(path).stat().st_mtime_ns) for path in installed],
    ]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]


def _name(key: str, paths: list[str]) -> str:
    """Return the name of the file for modules as they are now.

    Raises
    ------
    FileNotFoundError
        If one of them is gone.
    """
    states = [(path, status.st_mtime_ns, status.st_size) for path in paths for status in [Path(path).stat()]]
    return f"{hashlib.sha256(json.dumps([key, states]).encode()).hexdigest()[:16]}.pyc"


def _found(folder: Path) -> Path | None:
    """Return the file for the modules as they are now; None if it is not in the cache."""
    key = _key()
    listed = folder / f"{key}.json"
    try:
        file = folder / _name(key, json.loads(listed.read_bytes()))
        for path in (listed, file):
            os.utime(path)
    except (FileNotFoundError, ValueError):
        return None
    return file


def _built(folder: Path) -> Path:
    """Ask an interpreter which modules a rank may load, and write the file of their byte code."""
    key, found = _key(), archive.probed("-P")
    if found["modules"]["labkit"] != labkit.__file__:
        raise LaunchError(f"ranks would load {found['modules']['labkit']}, not {labkit.__file__}")
    modules = {name: path for name, path in found["modules"].items() if FrozenImporter.find_spec(name) is None}
    paths = sorted({str(_START), *modules.values()})
    file = folder / _name(key, paths)  # before they are read: what changes meanwhile has another name next time
    places: dict[str, tuple[str, int, int]] = {}
    data = bytearray()
    for name, path in sorted(modules.items()):
        code = archive.byte_code(Path(path), Path(path).read_bytes())[16:] if path.endswith(".py") else b""
        places[name] = (path, len(data), len(code))
        data += code
    about = {name: found[name] for name in ("path", "user_site", "user_base")}
    about |= {"modules": places, "size": len(data), "prefix": sys.prefix, "base": sys.base_prefix}
    atomic.replace(file, _program(about) + bytes(data))
    atomic.replace(folder / f"{key}.json", json.dumps(paths).encode())
    archive.remove_old(folder, file, MOST_FILES, RECENT_S)
    return file


def _program(parameters: dict[str, Any]) -> bytes:
    """Return a rank's first lines with their parameters, as a file of byte code."""
    text = _START.read_text() + archive.call("sys.exit(packed({}))", parameters)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(text, str(_START), "exec"))
