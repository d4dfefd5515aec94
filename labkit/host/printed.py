"""What the programs of an MPI library print about it: ompi_info, mpivars, mpichversion."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

_TIMEOUT_S = 20.0


def by_neighbour(program: str, name: str, *arguments: str) -> tuple[str, str]:
    """Return the output of a program in the same folder, and why it may be incomplete.

    Parameters
    ----------
    program : path of a program of the library, such as its mpirun; another install would have other values.
    name : name of the one to run.

    Returns
    -------
    Its standard output, and the reason if it is not there, does not run, or fails; empty if it succeeds.
    """
    if (path := _neighbour(program, name)) is None:
        return "", f"{name} is not installed beside {program}"
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"{path} does not run: {error}"
    return done.stdout, "" if done.returncode == 0 else f"{path} ended with status {done.returncode}"


def libraries(program: str, name: str) -> list[str]:
    """Return the MPI libraries that a program in the same folder loads; none if ldd cannot tell.

    Parameters
    ----------
    program, name : as for `by_neighbour`.
    """
    path, ldd = _neighbour(program, name), shutil.which("ldd")
    if path is None or ldd is None:
        return []
    try:
        done = subprocess.run([ldd, path], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return re.findall(r"=> (/\S*libmpi\S*)", done.stdout)


def _neighbour(program: str, name: str) -> Path | None:
    """Return the path of a program beside another one; None if it is not there."""
    folders = dict.fromkeys((Path(program).parent, Path(program).resolve().parent))
    return next((folder / name for folder in folders if os.access(folder / name, os.X_OK)), None)
