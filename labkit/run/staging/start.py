"""First lines of a rank that loads everything from the copy on its own node.

It runs as ``python -I -S -B``. `labkit.run.staging.archive` puts it into the archive and appends a call of `main` with
its parameters.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any


class EnvironmentFinder:
    """Finds top-level modules of the environment that the copy has not, and looks there for no others.

    Parameters
    ----------
    folders : of the environment.
    names : of the modules and packages in them.
    """

    def __init__(self, folders: Sequence[str], names: frozenset[str]) -> None:
        self._folders, self._names = folders, names

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Return where the module is; None if this finder does not look for it."""
        return PathFinder.find_spec(name, list(self._folders)) if path is None and name in self._names else None


def main(parameters: Mapping[str, Any]) -> int:
    """Hold the copy, set the path of modules, and be a rank.

    Parameters
    ----------
    parameters : ``site``, the folder of packages in the copy; ``prefix`` and ``base`` of the environment, where mpi4py
        looks for an MPI; ``folders`` of the environment and the ``names`` of modules there; ``rank``, the script that
        starts ranks.
    """
    copy = os.path.dirname(os.path.abspath(sys.argv[0]))
    try:
        lock = os.open(f"{copy}.lock", os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH)  # until this process ends
        os.utime(f"{copy}/complete")
    except FileNotFoundError:  # removed since the script saw it
        os.execv("/bin/sh", ["/bin/sh", parameters["rank"], *sys.argv[1:]])
    preloaded = os.environ.pop("LABKIT_PRELOADED", "")
    if preloaded:  # the library of this interpreter, which is of no use to programs that a rank starts
        os.environ["LD_PRELOAD"] = os.environ.get("LD_PRELOAD", "").replace(preloaded, "").strip(":")
    library = [path for path in sys.path if not path.endswith(".zip")]
    sys.path[:] = [f"{copy}/{parameters['site']}", *library]
    sys.meta_path.append(EnvironmentFinder(parameters["folders"], frozenset(parameters["names"])))
    sys.prefix = sys.exec_prefix = parameters["prefix"]
    sys.base_prefix = sys.base_exec_prefix = parameters["base"]
    import site  # it sets nothing up after -S

    site.PREFIXES = [parameters["prefix"], parameters["base"]]
    from labkit.worker.__main__ import main as run

    return run(sys.argv[1:])
