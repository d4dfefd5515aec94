"""Which Python can use pyverbs: it is bound to the rdma-core it was built with, so often only the system's own."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache

CANDIDATES = (sys.executable, "/usr/bin/python3", "/usr/bin/python3.12", "/usr/bin/python3.11")
# the version of rdma-core is that of the library it has loaded: libibverbs.so.1.14.44.0 is of 44.0
_TRY = """
import pyverbs.device, pyverbs.qp, re, sys
found = re.search(r"libibverbs\\.so\\.\\d+\\.\\d+\\.([\\d.]+)", open("/proc/self/maps").read())
print(found[1] if found else "unknown", "%d.%d.%d" % sys.version_info[:3], pyverbs.device.__file__)
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python, and what came of importing pyverbs there.

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
        """Of rdma-core, which pyverbs is a part of."""
        return self.text.partition(" ")[0] if self.works else "unknown"


@cache
def interpreters() -> tuple[Interpreter, ...]:
    """Every Python there is of `CANDIDATES`, tried."""
    found = []
    for program in dict.fromkeys(CANDIDATES):
        try:
            done = subprocess.run([program, "-I", "-c", _TRY], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
        found.append(Interpreter(program, done.returncode == 0, said[-1] if said else "no answer"))
    return tuple(found)


def interpreter() -> str:
    """The first Python that can use pyverbs; empty where none can."""
    return next((one.program for one in interpreters() if one.works), "")


def version() -> str:
    """Version of the pyverbs that is used; ``unknown`` where there is none."""
    return next((one.version for one in interpreters() if one.works), "unknown")


def explained() -> str:
    """Which Python is used for pyverbs, and why others are not, in a sentence or two."""
    tried = interpreters()
    words = [f"{one.program}: {one.text}" for one in tried]
    if interpreter():
        return f"used: {interpreter()} ({'; '.join(words)})"
    if any("IBVERBS_PRIVATE" in one.text for one in tried):
        words.append("this pyverbs was built for another version of rdma-core; use the system's own pyverbs")
    return f"no Python here can import pyverbs ({'; '.join(words)})"
