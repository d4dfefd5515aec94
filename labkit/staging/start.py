"""First lines of a staged rank: everything is loaded from the copy on its own node.

It runs as ``python -I -S -B``. `labkit.staging.archive` puts it into the archive, with a call of `main` and its
parameters at the end.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any


class Behind:
    """Finds modules in the environment that the copy has not; of none else it looks there.

    Parameters
    ----------
    folders : of the environment.
    names : of the modules and packages in them.
    """

    def __init__(self, folders: Sequence[str], names: frozenset[str]) -> None:
        self._folders, self._names = folders, names

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """The module, if it is a top-level one and there."""
        return PathFinder.find_spec(name, list(self._folders)) if path is None and name in self._names else None


def main(p: Mapping[str, Any]) -> int:
    """Hold the copy, set the path of modules, and be a rank.

    Parameters
    ----------
    p : ``site``: modules in the copy; ``prefix`` and ``base`` of the environment, where mpi4py looks for an MPI;
        ``behind``: folders in which a module is looked for that the copy has not, and ``names`` of what is there;
        ``rank``: the script that starts ranks.
    """
    copy = os.path.dirname(os.path.abspath(sys.argv[0]))
    held = os.open(f"{copy}.lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(held, fcntl.LOCK_SH)  # held as long as this process lives
    try:
        os.utime(f"{copy}/complete")
    except FileNotFoundError:  # removed since the script saw it
        os.execv("/bin/sh", ["/bin/sh", p["rank"], *sys.argv[1:]])
    preloaded = os.environ.pop("LABKIT_PRELOADED", "")
    if preloaded:  # the interpreter's library; programs that a rank starts have their own
        os.environ["LD_PRELOAD"] = os.environ.get("LD_PRELOAD", "").replace(preloaded, "").strip(":")
    own = [path for path in sys.path if not path.endswith(".zip")]
    sys.path[:] = [f"{copy}/{p['site']}", *own]
    sys.meta_path.append(Behind(p["behind"], frozenset(p["names"])))
    sys.prefix = sys.exec_prefix = p["prefix"]
    sys.base_prefix = sys.base_exec_prefix = p["base"]
    import site  # after -S it sets nothing up

    site.PREFIXES = [p["prefix"], p["base"]]
    from labkit.worker.__main__ import main as run

    return run(sys.argv[1:])
