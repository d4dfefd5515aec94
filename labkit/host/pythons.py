"""Find a Python that has a package. It may be another one than labkit's: Debian's packages belong to the system's."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache

_TRY = """
import sys
from importlib.metadata import version
from importlib.util import find_spec
print(version(sys.argv[1]) if all(map(find_spec, sys.argv[2:])) else "")
"""


@cache
def first(code: str, *arguments: str) -> tuple[str, str]:
    """Return the first Python that makes a program print something, and this output; empty if there is none."""
    for program in dict.fromkeys((sys.executable, shutil.which("python3") or "", "/usr/bin/python3")):
        try:
            done = subprocess.run(
                [program, "-I", "-c", code, *arguments], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and (printed := done.stdout.strip()):
            return program, printed
    return "", ""


def having(distribution: str, *modules: str) -> tuple[str, str]:
    """Return the first Python that has all of the modules, and the version of a distribution there; empty if none.

    Examples
    --------
    >>> having("no-such-thing", "no_such_thing")
    ('', '')
    """
    return first(_TRY, distribution, *modules)
