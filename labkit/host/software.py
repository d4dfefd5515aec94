"""What labkit can use here beside the machine itself: programs, libraries, kernels, fonts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TypedDict

import labkit
from labkit.host import filesystems, pyverbs
from labkit.io import folders as user
from labkit.io.programs import Program, present


class Software(TypedDict):
    """What labkit can use here beside the machine itself.

    Parameters
    ----------
    programs : as from `present`.
    kernels : kinds of MPI handle they are compiled for.
    fonts : whether Liberation Sans is there.
    loaded_from : as from `labkit.host.filesystems.facts`.
    libraries : versions of what is not a command, without pyverbs.
    pyverbs, pyverbs_explained : which Python is used for pyverbs, and why.
    """

    programs: dict[str, dict[str, str]]
    kernels: list[str]
    fonts: bool
    loaded_from: dict[str, object]
    libraries: dict[str, str]
    pyverbs: str
    pyverbs_explained: str


def installed(programs: Mapping[str, Program]) -> Software:
    """Return the software that labkit can use here; `labkit.host.checks` judges it."""
    return {
        "programs": present(programs),
        "kernels": kernels(),
        "fonts": _fonts(),
        "loaded_from": filesystems.facts(),
        "libraries": _libraries(programs),
        "pyverbs": pyverbs.interpreter(),
        "pyverbs_explained": pyverbs.explained(),
    }


def _libraries(programs: Mapping[str, Program]) -> dict[str, str]:
    asked = {
        name: program.read_version()
        for name, program in programs.items()
        if program.read_version is not None and not program.commands and name != "pyverbs"
    }
    return {name: version for name, version in asked.items() if version != "unknown"}


def kernels() -> list[str]:
    """Return the kinds of MPI handle that the kernels are compiled for."""
    folder = str(Path(labkit.__file__).parent / "kernels")
    return [kind for kind in ("int", "ptr") if PathFinder.find_spec(f"_kernels_{kind}", [folder])]


def _fonts() -> bool:
    folders = (
        Path("/usr/share/fonts"),
        Path("/usr/local/share/fonts"),
        *user.fonts(),
        Path(sys.prefix) / "fonts",
    )
    return any(next(folder.rglob("LiberationSans-Regular.*"), None) for folder in folders if folder.is_dir())
