"""Find a Python that has torch. It may be another one than labkit's: Debian's python3-torch belongs to the system's."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache

# reads the version without the import, which takes seconds
_TRY = """
import importlib.util, pathlib
spec = importlib.util.find_spec("torch")
values = {}
if spec and spec.origin:
    exec((pathlib.Path(spec.origin).parent / "version.py").read_text(), values)
print(values.get("__version__", ""))
"""


@cache
def _found() -> tuple[str, str]:
    """The first Python that has torch, and its version; empty if none has."""
    for program in dict.fromkeys((sys.executable, shutil.which("python3") or "", "/usr/bin/python3")):
        try:
            done = subprocess.run([program, "-I", "-c", _TRY], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and (version := done.stdout.strip()):
            return program, version
    return "", ""


def interpreter() -> str:
    """Return the first Python that has torch; empty if none has."""
    return _found()[0]


def version() -> str:
    """Return the version of the torch that is used; ``unknown`` if there is none."""
    return _found()[1] or "unknown"
