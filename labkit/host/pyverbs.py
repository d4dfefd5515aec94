"""Find a Python that can import pyverbs. It needs the rdma-core it was built with: often only the system's can."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache

CANDIDATES = (sys.executable, "/usr/bin/python3", "/usr/bin/python3.12", "/usr/bin/python3.11")
# the version of rdma-core is that of the library it has loaded: libibverbs.so.1.14.44.0 is of 44.0
_TRY = """
import pyverbs.device, pyverbs.qp, re, sys
match = re.search(r"libibverbs\\.so\\.\\d+\\.\\d+\\.([\\d.]+)", open("/proc/self/maps").read())
print(match[1] if match else "unknown", "%d.%d.%d" % sys.version_info[:3], pyverbs.device.__file__)
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python, and whether it can import pyverbs.

    Parameters
    ----------
    program : its path.
    works : whether pyverbs can be imported.
    text : versions of rdma-core and Python, and where pyverbs is; else the last line of the error.
    """

    program: str
    works: bool
    text: str

    @property
    def version(self) -> str:
        """Version of rdma-core, which pyverbs is a part of."""
        return self.text.partition(" ")[0] if self.works else "unknown"


@cache
def interpreters() -> tuple[Interpreter, ...]:
    """Try every Python of `CANDIDATES` that is installed."""
    candidates = []
    for program in dict.fromkeys(CANDIDATES):
        try:
            done = subprocess.run([program, "-I", "-c", _TRY], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
        candidates.append(Interpreter(program, done.returncode == 0, lines[-1] if lines else "no answer"))
    return tuple(candidates)


def interpreter() -> str:
    """Return the first Python that can use pyverbs; empty if none can."""
    return next((one.program for one in interpreters() if one.works), "")


def version() -> str:
    """Return the version of the pyverbs that is used; ``unknown`` if there is none."""
    return next((one.version for one in interpreters() if one.works), "unknown")


def explained() -> str:
    """Say which Python is used for pyverbs, and why others are not, in a sentence or two."""
    tried = interpreters()
    words = [f"{one.program}: {one.text}" for one in tried]
    if interpreter():
        return f"used: {interpreter()} ({'; '.join(words)})"
    if any("IBVERBS_PRIVATE" in one.text for one in tried):
        words.append("this pyverbs was built for another version of rdma-core; use the system's own pyverbs")
    return f"no Python here can import pyverbs ({'; '.join(words)})"
