"""What the file of a launcher defines, and how labkit finds the files: every module ``launchers/<name>.py``."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path

from labkit.errors import LaunchError, SpecError
from labkit.host import Program, eager
from labkit.options import frozen
from labkit.point.units import plural
from labkit.run.launchers._placement import Placement


@frozen
class LauncherFile:
    """What the file of a launcher defines: its names, as they stand there. Those with a value here may be missing.

    Parameters
    ----------
    PROGRAM : the program that starts ranks. Output that does not fit its pattern is another launcher's.
    LIBRARY : name of the MPI library of the ranks.
    BANNER : beginning of the text that MPI_Get_library_version of that library returns.
    ORDER : its place among the launchers in one folder of the PATH; the lowest is used first.
    TRANSPORTS : that it can choose.
    arguments : everything between the program and the command of a rank, from the placement and the variables for ranks
        on other hosts.
    environment : variables for the program, from the placement and the launcher of the MPI library that the ranks load.
    ABI : launcher of the library that the programs are linked to which its library loads; empty for its own.
    eager_limits : the limit over each path, as the library that a program belongs to has it.
    pmi : kinds of process management interface that its library understands, best first; for ranks below srun.
    below_srun : variables for ranks that srun starts, as `environment`.
    launcher : for a launcher that starts ranks of any library (srun): the launcher of a named library, or of the
        library that mpi4py finds.
    usable : whether such a launcher counts as installed here.
    """

    PROGRAM: Program
    LIBRARY: str
    BANNER: str
    ORDER: int
    TRANSPORTS: tuple[str, ...]
    arguments: Callable[[Placement, Mapping[str, str]], list[str]]
    environment: Callable[[Placement, str], dict[str, str]]
    ABI: str = ""
    eager_limits: Callable[[str, tuple[str, ...]], list[eager.Variable]] | None = None
    pmi: Callable[[Placement], tuple[str, ...]] | None = None
    below_srun: Callable[[Placement, str], dict[str, str]] | None = None
    launcher: Callable[[Launcher | None], Launcher] | None = None
    usable: Callable[[], bool] = lambda: True

    @property
    def own_library(self) -> bool:
        """Whether it starts only ranks of its own MPI library."""
        return self.launcher is None


@dataclass(frozen=True)
class Launcher:
    """An installed launcher: its module, its program and its version.

    Parameters
    ----------
    name : as a spec gives it: ``openmpi``, or ``openmpi@/opt/openmpi/bin/mpirun`` for one that was requested by place.
    program : program to start.
    library : MPI library of the ranks, with its version.
    version : version of the library, as numbers.
    module : its file.
    of : for srun, the launcher of the library; None for mpi4py's own.
    pmi : what srun offers to start ranks with.
    kind : kind of the library: ``openmpi``, ``mpich``, ``intelmpi``; the launcher's when left out.
    """

    name: str
    program: str
    library: str
    version: tuple[int, ...]
    module: LauncherFile
    of: Launcher | None = None
    pmi: tuple[str, ...] = ()
    kind: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or self.module.PROGRAM.name)

    @property
    def order(self) -> int:
        """Its place among the launchers in one folder of the PATH; the lowest is used first."""
        return self.module.ORDER

    def command(self, placement: Placement, argv: Sequence[str]) -> list[str]:
        """Command line that starts the ranks.

        Raises
        ------
        SpecError
            If the launcher has no such transport, or the hosts cannot hold the ranks.
        """
        if placement.transport not in self.module.TRANSPORTS:
            raise SpecError(
                f"transport={placement.transport!r}, but {self.name} supports {', '.join(self.module.TRANSPORTS)}. "
                "Set transport=auto."
            )
        if placement.transport == "shm" and len(placement.shares) > 1:
            raise SpecError(
                f"transport='shm', but the ranks are on {plural(len(placement.shares), 'host')}, which share no "
                "memory. "
                "Set transport=tcp or auto, or use one host."
            )
        if placement.remote_shell and placement.bind not in ("auto", "none"):
            raise SpecError(
                f"bind={placement.bind}, but the hosts of this testbed share the cores of one machine, so all "
                "would bind to the first ones. Leave bind out."
            )
        variables = dict(sorted(self.environment(placement).items()))
        return [self.program, *self.module.arguments(placement, variables), *placement.flags, *argv]

    def environment(self, placement: Placement) -> dict[str, str]:
        """Variables to set for the launcher and its ranks; the spec's variables win."""
        home = self.program if self.module.own_library else self.of.program if self.of else ""
        variables: dict[str, str] = self.module.environment(placement, home)
        return variables | dict(placement.settings)


def names() -> list[str]:
    """Names of all launchers that have a file."""
    package = importlib.import_module(__package__ or "")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def file(name: str) -> LauncherFile:
    """The file of a launcher.

    Raises
    ------
    LaunchError
        If it lacks one of the names that every launcher defines.
    """
    module = importlib.import_module(f"{__package__}.{name}")
    defined = {one.name: vars(module)[one.name] for one in fields(LauncherFile) if one.name in vars(module)}
    missing = [one.name for one in fields(LauncherFile) if one.name not in defined and one.default is MISSING]
    if missing:
        raise LaunchError(
            f"{module.__file__} does not define {', '.join(missing)}. Define what LauncherFile in "
            "labkit/run/launchers/_files.py describes, or move the file away."
        )
    return LauncherFile(**defined)


def abi(kind: str) -> str:
    """The launcher of the library that programs linked to a library load: its own, or another of the same ABI."""
    return (file(kind).ABI if kind in names() else "") or kind


def libraries() -> dict[str, LauncherFile]:
    """Launchers that belong to an MPI library, best first."""
    modules = sorted(map(file, names()), key=lambda module: (module.ORDER, module.PROGRAM.name))
    return {module.PROGRAM.name: module for module in modules if module.own_library}


def programs() -> dict[str, Program]:
    """The programs of all launchers, best first."""
    modules = sorted(map(file, names()), key=lambda module: (module.ORDER, module.PROGRAM.name))
    return {module.PROGRAM.name: module.PROGRAM for module in modules}


def library_path(*folders: Path) -> dict[str, str]:
    """The variable that makes the loader search these folders first."""
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [*map(str, folders), before]))}


def recognised(program: Program, path: str) -> bool:
    """Whether a path is that program, by its version text."""
    return re.search(program.pattern, version_text(path), re.DOTALL) is not None


def titled(module: LauncherFile, text: str) -> tuple[str, tuple[int, ...]]:
    """A library with its version, as text and as numbers."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    version = tuple(int(n) for n in match.groups(default="0")) if match else (0,)
    return f"{module.LIBRARY} {'.'.join(map(str, version))}", version


def version_text(program: str) -> str:
    """What ``program --version`` prints, or why it prints nothing."""
    path = Path(program)  # /bin may be /usr/bin; the last name is kept, because some programs go by it
    return _printed(str(path.parent.resolve() / path.name))


@cache
def _printed(program: str) -> str:
    """As `version_text`; each program is asked once."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        return f"nothing: {error.strerror}"
    except subprocess.TimeoutExpired:
        return "nothing for 60 s"
    return done.stdout + done.stderr or f"nothing, and ended with status {done.returncode}"
