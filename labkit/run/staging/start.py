"""First lines of a rank that does not load its modules from the environment.

On a node with a copy (`labkit.run.staging.archive`) it runs as ``python -I -S -B`` and calls `main`. On the machine
that measures (`labkit.run.staging.packed`) it runs as ``python -S -P`` and calls `packed`. Each puts this file beside
its modules and appends the call with its parameters.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder

TYPE_CHECKING = False  # typing and collections.abc would come from the file system that this file is there to spare
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType
    from typing import Any


class EnvironmentFinder:
    """Finds top-level modules of the environment that the copy has not, and looks there for no others.

    Parameters
    ----------
    folders : folders of the environment.
    names : names of the modules and packages in them.
    """

    def __init__(self, folders: Sequence[str], names: frozenset[str]) -> None:
        self._folders, self._names = folders, names

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Return where the module is; None if this finder does not look for it."""
        return PathFinder.find_spec(name, list(self._folders)) if path is None and name in self._names else None


class PackedFinder:
    """Finds and loads modules from byte code in one file.

    Parameters
    ----------
    file : descriptor of that file.
    modules : name → the module's own file, and where its byte code begins and how long it is, B; 0 for a library.
    """

    def __init__(self, file: int, modules: Mapping[str, tuple[str, int, int]]) -> None:
        self._file, self._modules = file, modules

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        """Return where the module is; None if it is not in the file."""
        if name not in self._modules:
            return None
        origin, _, size = self._modules[name]
        if not size:
            spec = ModuleSpec(name, ExtensionFileLoader(name, origin), origin=origin)
        else:
            folder, _, file = origin.rpartition("/")
            spec = ModuleSpec(name, self, origin=origin, is_package=file == "__init__.py")  # type: ignore[arg-type]
            if spec.submodule_search_locations is not None:
                spec.submodule_search_locations.append(folder)
        spec.has_location = True
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the byte code of a module."""
        _, start, size = self._modules[module.__name__]
        exec(marshal.loads(os.pread(self._file, size, start)), module.__dict__)


def main(parameters: Mapping[str, Any]) -> int:
    """Hold the copy, set the path of modules, and be a rank.

    Parameters
    ----------
    parameters : ``site``, the folder of packages in the copy; ``prefix`` and ``base`` of the environment, where mpi4py
        looks for an MPI; ``folders`` of the environment and the ``names`` of modules there; ``rank``, the script that
        starts ranks.
    """
    import fcntl  # a file more, which `packed` does without

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
    return _run(parameters)


def packed(parameters: Mapping[str, Any]) -> int:
    """Take modules from this very file, behind its own byte code, and be a rank.

    Parameters
    ----------
    parameters : ``modules`` as of `PackedFinder`, with places counted from the first one; their ``size`` together, B;
        ``path``, ``user_site`` and ``user_base`` as the environment's Python has them; ``prefix`` and ``base`` as of
        `main`.
    """
    file = os.open(sys.argv[0], os.O_RDONLY)
    first = os.fstat(file).st_size - parameters["size"]
    modules = {name: (origin, first + at, size) for name, (origin, at, size) in parameters["modules"].items()}
    sys.path[:] = parameters["path"]
    sys.meta_path.insert(2, PackedFinder(file, modules))  # behind what is built in or frozen, before any folder
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the threads of numpy's library would spin for a while
    import site  # found by the path above; after -S it sets nothing up

    site.ENABLE_USER_SITE, site.USER_BASE = parameters["user_site"], parameters["user_base"]
    if "sitecustomize" in modules:  # a cluster's or a user's own, which -S leaves out
        site.execsitecustomize()
    if "usercustomize" in modules:
        site.execusercustomize()
    return _run(parameters)


def _run(parameters: Mapping[str, Any]) -> int:
    """Be a rank of an environment that `site` has not set up; mpi4py looks for an MPI library there."""
    sys.prefix = sys.exec_prefix = parameters["prefix"]
    sys.base_prefix = sys.base_exec_prefix = parameters["base"]
    import site  # as in `packed`

    site.PREFIXES = [parameters["prefix"], parameters["base"]]
    gc.disable()  # the collector looks at all that modules make while they load: 5 ms
    from labkit.worker.__main__ import main as run  # from the copy

    gc.enable()
    return _leave(run(sys.argv[1:]))


def _leave(status: int) -> int:
    """End the rank as Python does, but without tearing down modules, which would take 0.02 s in each rank.

    MPI has ended, but the libraries' own exit functions must run: MPICH from 4.2 on takes its leave from Hydra in one,
    and Hydra kills all other ranks if one ends without it.
    """
    import atexit  # after the run, as the next
    import ctypes

    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads them any more
        pass
    ctypes.CDLL(None).exit(status)
    return status
