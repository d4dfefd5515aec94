"""How ranks start: one file a launcher, each a pure function from a placement to a command line.

`labkit.run.launchers._files` describes the contents of a launcher's file.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from labkit.errors import LaunchError, known_failures, unknown_name
from labkit.host import eager
from labkit.io import extras, project
from labkit.point.host_list import listed, named, slots, spread
from labkit.run.launchers._files import (
    Launcher,
    LauncherFile,
    abi,
    file,
    libraries,
    library_path,
    names,
    programs,
    recognised,
    titled,
    version_text,
)
from labkit.run.launchers._placement import FLAGS, NETWORK, RDMA, Placement, job_hosts, refuse_uneven

__all__ = [
    "FLAGS",
    "NETWORK",
    "RDMA",
    "SETTINGS",
    "Launcher",
    "LauncherFile",
    "Placement",
    "abi",
    "eager_limits",
    "get",
    "inherited",
    "installed",
    "job_hosts",
    "libraries",
    "library",
    "library_path",
    "listed",
    "named",
    "names",
    "programs",
    "recognised",
    "refuse_uneven",
    "slots",
    "spread",
    "titled",
]

SETTINGS = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "UCX_", "FI_", "I_MPI_", "MV2_", "MVP_", "PSM2_", "PSM3_")
_PLACES = ("_ROOT", "_PATH", "_HOME", "_DIR")  # end names that say where a library is
_WITHIN = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")  # set inside a rank, with much of the launcher's own

VENVS = (".venv-ompi5", ".venv-mpich")  # what `make venvs` makes


def inherited(launcher: Launcher, placement: Placement, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the settings of MPI libraries in an environment that ranks would follow.

    Those that the launcher chooses itself, such as the path of a transport, are left out: its choice wins. Files with
    settings, such as ``openmpi-mca-params.conf``, are not read.

    Parameters
    ----------
    launcher : launcher that starts the ranks.
    placement : placement of the ranks, without what they inherit.
    environment : environment of labkit.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(command=lambda *_: ["mpirun", "--mca", "btl", "self"], environment=lambda _: {})
    >>> inherited(found, None, {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_coll": "^han", "UCX_DIR": "/opt", "HOME": "/"})
    {'OMPI_MCA_coll': '^han'}
    """
    if any(name in environment for name in _WITHIN):
        return {}
    words = launcher.command(placement, [])
    chosen = {f"OMPI_MCA_{name}" for word, name in pairwise(words) if word == "--mca"}
    chosen |= launcher.environment(placement).keys()
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(SETTINGS) and not name.endswith(_PLACES) and name not in chosen and value.isprintable()
    }


def library(text: str) -> str:
    """Library and version, from the text of MPI_Get_library_version; empty for a library without a launcher file.

    Examples
    --------
    >>> library("MPICH Version:      5.0.2"), library("Open MPI v4.1.4, package: Debian OpenMPI")
    ('MPICH 5.0.2', 'Open MPI 4.1.4')
    """
    return next((titled(module, text)[0] for module in libraries().values() if text.startswith(module.BANNER)), "")


class _Installed(Mapping[str, Launcher]):
    """Launchers by name, in the order in which they are taken.

    labkit asks a program for its version only when it considers it, so selecting one launcher starts no other.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = dict.fromkeys([*folders, ""])  # empty for launchers without a library
        files = {name: file(name) for name in names()}
        self._files = dict(sorted(files.items(), key=lambda item: (item[1].ORDER, item[0])))
        self._looked: dict[tuple[str, str], Launcher | None] = {}

    def __getitem__(self, name: str) -> Launcher:
        if found := next(filter(None, (self._look(name, folder) for folder in self._folders)), None):
            return found
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        left = [*self._files]
        for folder in self._folders:
            for name in [*left]:
                if self._look(name, folder):
                    left.remove(name)
                    yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _look(self, name: str, folder: str) -> Launcher | None:
        """The launcher of that name in a folder, looked for once."""
        if (name, folder) not in self._looked:
            self._looked[name, folder] = self._found(name, folder)
        return self._looked[name, folder]

    def _found(self, name: str, folder: str) -> Launcher | None:
        one = self._files.get(name)
        if one is None or one.own_library == (folder == ""):
            return None
        if one.launcher is None:
            return _search(name, [folder])
        with suppress(LaunchError):
            return one.launcher(None) if one.usable() else None
        return None


@cache
def installed() -> Mapping[str, Launcher]:
    """Launchers beside the running Python and on PATH, in the order of the folders, so that a loaded module wins.

    `LauncherFile.ORDER` orders those of one folder. srun comes last, and only inside a Slurm job.
    """
    return _Installed(str(Path(folder)) for folder in (str(Path(sys.executable).parent), *os.get_exec_path()))


def get(name: str) -> Launcher:
    """A launcher by name; ``auto`` takes the first that is installed.

    Parameters
    ----------
    name : ``auto``, ``openmpi``, ``mpich``, ``intelmpi``, ``srun``; ``openmpi@/opt/openmpi`` or the path alone for
        one that is installed there (a program, or the folder above it or above its bin); ``srun@`` with either
        for the library that srun's ranks are to load.

    Raises
    ------
    LaunchError
        If none is installed; names the packages.
    SpecError
        If there is no launcher of that name.
    """
    kind, separator, place = name.partition("@")
    if not separator and ("/" in name or name.startswith(".")):
        kind, place = "", name
    elif kind not in names() and name != "auto":
        raise unknown_name("launcher", name, ["auto", *names()])
    if kind in names() and (any_library := file(kind).launcher):
        return any_library(get(place) if place else None)
    if place:
        return _installed_at(kind.replace("auto", ""), Path(place))
    launchers = installed()
    first = next(iter(launchers), "") if name == "auto" else name
    if first in launchers:
        return launchers[first]
    if why := _why_broken(names() if name == "auto" else [name]):
        raise LaunchError(why)
    subject = "No MPI launcher is" if name == "auto" else f"The launcher {name!r} is not"
    packages = " or ".join(one.package for one in programs().values() if one.mpi and one.package)
    rootless = project.make("mpich") or extras.command("mpich")
    raise LaunchError(
        f"{subject} installed ({', '.join(launchers) or 'none'} found). Install MPI in one of these ways: "
        f"{rootless} (without root), the Debian package {packages}, or your site's MPI module."
    )


def eager_limits(kind: str, program: str, transport: str = "auto") -> list[eager.Variable]:
    """Eager limits of the MPI that a launcher belongs to.

    Parameters
    ----------
    kind : kind of the library, as `Launcher.kind`.
    program : path of the launcher that belongs to it.
    transport : ``shm``, ``tcp``, or ``rc`` and ``ud`` over UCX; ``auto`` for the first two.

    Returns
    -------
    One for each path; its value is None, and `source` says why, if it cannot be known.
    """
    paths = ("shm", "tcp") if transport == "auto" else (transport,)
    read = file(kind).eager_limits if kind in names() else None
    if read is None:
        return [eager.Variable("eager limit", None, f"labkit cannot read the settings of {kind}", one) for one in paths]
    return read(program, paths)


def _why_broken(kinds: Iterable[str]) -> str:
    """Return why installed programs do not run, if labkit knows the cause; else empty."""
    for kind in kinds:
        for program in file(kind).PROGRAM.commands:
            path = shutil.which(program)
            if path and (cause := known_failures.known(version_text(path))):
                return f"{path} is installed, but does not run: {cause.line.removeprefix('nothing: ')}\n{cause.remedy}"
    return ""


def _search(name: str, folders: Iterable[str]) -> Launcher | None:
    """The first program of a launcher in some folders."""
    paths = (shutil.which(program, path=folder) for folder in folders for program in file(name).PROGRAM.commands)
    return next(filter(None, (_launcher_at(name, path) for path in paths if path)), None)


def _launcher_at(name: str, path: str) -> Launcher | None:
    """The launcher of that name, if the program's version text says that it is one."""
    module = file(name)
    if not recognised(module.PROGRAM, path):
        return None
    return Launcher(name, path, *titled(module, version_text(path)), module)


def _installed_at(kind: str, place: Path) -> Launcher:
    """The launcher at a path, of a given kind or of any."""
    place = Path(os.path.abspath(place.expanduser()))  # noqa: PTH100  (a link stays a link: it names the library)
    for name in [kind] if kind else libraries():
        if place.is_file():
            launcher = _launcher_at(name, str(place))
        else:
            launcher = _search(name, [str(place / "bin"), str(place)])
        if launcher is not None:
            return replace(launcher, name=f"{name}@{launcher.program}")
    if place.name in VENVS and not place.exists():
        raise LaunchError(f"There is no {place}. {_instead_of(place)}")
    output = f": its --version prints {version_text(str(place))[:200]!r}" if place.is_file() else ""
    raise LaunchError(
        f"There is no launcher{f' of the kind {kind}' if kind else ''} at {place}{output}. Name the mpirun or mpiexec "
        "of an MPI library, or the folder it is installed in."
    )


def _instead_of(place: Path) -> str:
    """Say how to get an environment of `VENVS`, or what replaces it outside a checkout."""
    if not (venvs := project.make("venvs")):
        return f"Only labkit's checkout makes it. Install MPICH beside labkit: {extras.command('mpich')}"
    made = project.CHECKOUT / place.name if project.CHECKOUT else place
    return f"Run `{venvs}`" + (", which makes it." if made == place else f" and name {made}.")
