"""What a program's file shows: the libraries that it loads here, its MPI and its BLAS, and texts in it."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

_TIMEOUT_S = 20.0
_MPI = {  # name that the loader searches → kind of launcher; Intel MPI has the ABI of MPICH
    "libmpi.so.12": "mpich",
    "libmpich.so.12": "mpich",
    "libmpi.so.20": "openmpi",
    "libmpi.so.40": "openmpi",
}
_LINE = re.compile(r"^\s*(\S+) => (/\S+)", re.MULTILINE)
_BLAS = {  # part of a file's name or folder → the implementation
    "openblas": "OpenBLAS",
    "mkl": "Intel MKL",
    "blis": "BLIS",
    "atlas": "ATLAS",
    "armpl": "Arm Performance Libraries",
}
_REFERENCE = "reference BLAS of netlib"


def mpi(program: str) -> tuple[str, str]:
    """Return the kind of MPI library that a program is linked to, and the folder of that library; empty if unknown."""
    for name, path in loaded(program).items():
        if name in _MPI:
            return _MPI[name], str(Path(path).resolve().parent)
    return "", ""


def blas(program: str) -> str:
    """Return the BLAS that a program loads; empty if it loads none, or if labkit cannot tell.

    The version stands in the file's name, if it has one.
    """
    libraries = {name: Path(path).resolve() for name, path in loaded(program).items()}
    for part, title in _BLAS.items():
        files = [file for file in libraries.values() if part in str(file).lower()]
        if files:
            versions = (re.search(r"(\d+\.\d+(?:\.\d+)?)\.so|\.so\.(\d+\.\d[\d.]*)", file.name) for file in files)
            return " ".join([title, *(found[1] or found[2] for found in versions if found)][:2])
    reference = next((file for name, file in libraries.items() if name.startswith("libblas.so")), None)
    return " ".join(filter(None, [_REFERENCE, reference.name.partition(".so.")[2]])) if reference else ""


def loaded(program: str) -> dict[str, str]:
    """Return the shared libraries of a program on the PATH: name → file; empty if it is not there, or has none."""
    path = shutil.which(program)
    return dict(_LINE.findall(_ldd(path, Path(path).stat().st_mtime_ns))) if path else {}


@lru_cache(maxsize=32)
def _ldd(path: str, changed_ns: int) -> str:
    try:
        done = subprocess.run(["ldd", path], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def written(program: str, pattern: bytes) -> str:
    """Return the first group of a pattern's match in a program's file, for programs that cannot print it.

    Empty if the program is not there, cannot be read, or has no such text.
    """
    path = shutil.which(program)
    try:
        match = re.search(pattern, Path(path).read_bytes()) if path else None
    except OSError:
        return ""
    return match[1].decode(errors="replace") if match else ""
