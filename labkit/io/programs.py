"""Programs outside labkit: how to read their versions, which packages bring them, what can replace them.

A tool's file describes its own program, and so does a launcher's (`labkit.tools.programs`,
`labkit.run.launch.programs`). `PROGRAMS` has the rest: what compiles, draws, renders and emulates.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from labkit.io import extras, project

VERSION = r"(\d+(?:\.\d+)+[\w.+-]*)"
_TIMEOUT_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Program:
    """An external program.

    Parameters
    ----------
    name : as labkit calls it.
    commands : names it may be installed under, best first; empty for what is not a command (see `read_version`).
    version : argument that makes it print its version.
    pattern : finds the version in what it prints, in its first group. Output that does not fit belongs to another
        program of that command's name (each MPI has its own mpirun). Without a group the program tells no version.
    read_version : returns the version of what is not a command, or of one that has no argument for it and would run;
        ``unknown`` if it is not installed, or tells none.
    package : Debian packages that bring it, separated by spaces.
    free : whether Debian has it in its main component; else in non-free.
    conda : package in `environment.yml` that brings it; empty if none does.
    install : the exact command that installs it, if it is not the Debian package.
    rootless : a command that installs it without root, if there is one beside these.
    find_path : returns its path, if it is looked for in more places than the PATH; empty if it is in none.
    target : target of ``make`` in a checkout, which installs it; empty if none does.
    built : program of labkit (`labkit.kernels.programs`) that runs as this tool; empty for a program of somebody else.
    purpose : what it is for.
    instead : what replaces it; empty for nothing.
    needs : kind of machine it is of use on: ``rdma``, ``slurm``, or any.
    mpi : whether it is the launcher of an MPI library; one of those is enough.
    """

    name: str
    commands: tuple[str, ...] = ()
    version: str = "--version"
    pattern: str = VERSION
    read_version: Callable[[], str] | None = None
    package: str = ""
    free: bool = True
    conda: str = ""
    install: str = ""
    rootless: str = ""
    find_path: Callable[[], str] | None = None
    target: str = "setup-all"
    built: str = ""
    purpose: str
    instead: str = ""
    needs: str = ""
    mpi: bool = False

    @property
    def alone(self) -> str:
        """The exact command that installs it and nothing else."""
        if self.install:
            return self.install
        if self.conda and os.environ.get("CONDA_PREFIX") and not shutil.which("apt-get"):
            return f"conda install -c conda-forge {self.conda}"
        return f"sudo apt-get install {self.package}"

    @property
    def made(self) -> str:
        """The ``make`` command of this checkout that installs it; empty outside a checkout, or if none does."""
        command = project.make(self.target) if self.target and not self.install else ""
        return f"NONFREE=yes {command}" if command and not self.free else command

    @property
    def remedy(self) -> str:
        """The commands that install it, for a line of the shell."""
        source = "" if self.free else "from the component non-free (Debian) or multiverse (Ubuntu)"
        rootless = f"without root: {self.rootless}" if self.rootless else ""
        if self.made:
            only = f"only this{f', {source}' if source else ''}: {self.alone}"
            return f"{self.made}   # or {only}{f', or {rootless}' if rootless else ''}"
        comment = ", ".join(part for part in (source, rootless and f"or {rootless}") if part)
        return f"{self.alone}{f'   # {comment}' if comment else ''}"


def ways(programs: Sequence[Program]) -> str:
    """Return the commands that install one of these programs, best first, for a sentence.

    The first command is the smallest `make` target that installs one. The second installs a single program, preferably
    one from Debian's section main.
    """
    ordered = sorted(programs, key=lambda program: not (program.free and program.package))
    made = sorted((program.made for program in ordered if program.made), key=len)[:1]
    alone = [program.alone for program in ordered if program.package or program.install][:1]
    rootless = [f"without root '{program.rootless}'" for program in ordered if program.rootless][:1]
    return ", or ".join([*(f"'{command}'" for command in dict.fromkeys([*made, *alone])), *rootless])


_HEADLESS = "chromium-headless-shell"  # Debian's package without windows, which choreographer does not look for


def browser() -> str:
    """Return the path of the browser that draws figures; empty if there is none.

    The variable BROWSER_PATH decides; else it is the Chrome that ``choreo_get_chrome`` brought, or one on the PATH.
    """
    path: str | None = None
    if not extras.absent("choreographer"):
        words, sys.argv = sys.argv, sys.argv[:1]  # its logging reads them on import, and would end labkit at --log FILE
        try:
            from choreographer.browsers.chromium import Chromium  # 0.07 s; optional
        finally:
            sys.argv = words
        path = Chromium.find_browser(skip_local=False)
    path = os.environ.get("BROWSER_PATH") or path or shutil.which(_HEADLESS)
    return str(path) if path and Path(path).is_file() else ""


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            name="cc",
            commands=("cc", "gcc", "clang"),
            package="gcc libc6-dev",
            conda="compilers",
            target="setup",
            purpose="compiling the kernels",
            instead="mpi4py loops",
        ),
        Program(
            name="chromium",
            commands=("chromium",),
            find_path=browser,
            package=_HEADLESS,
            rootless="choreo_get_chrome",
            target="setup",
            purpose="static figures, which the PDF needs",
            instead="interactive figures in HTML only",
        ),
        Program(
            name="quarto",
            commands=("quarto",),
            conda="quarto",
            install="conda install -c conda-forge 'quarto>=1.9.20'",
            rootless="pip install 'quarto-cli>=1.9.20'",
            purpose="the report",
            instead="the plain engine: pandoc and typst",
        ),
        Program(
            name="iproute2",
            commands=("ip",),
            version="-V",
            package="iproute2",
            purpose="the testbed virtual-cluster",
            instead="the testbed local",
        ),
        Program(
            name="qemu",
            commands=("qemu-system-x86_64", "qemu-system-aarch64"),
            package="qemu-system-x86",
            purpose="the testbed soft-roce in a guest",
        ),
    )
}


def _paths(program: Program) -> Iterator[Path]:
    """Yield the paths of its commands: beside this interpreter, as Python packages install them, then on the PATH."""
    if program.find_path is not None:
        if found := program.find_path():
            yield Path(found)
        return
    for command in program.commands:
        for place in (str(Path(sys.executable).parent), None):
            path = shutil.which(command, path=place)
            if path:
                yield Path(path)


@lru_cache(maxsize=256)
def _printed(path: Path, argument: str, changed_ns: int) -> str:
    """Return what a program prints when asked for its version, with any exit status; empty if it does not answer."""
    try:
        done = subprocess.run(
            [path, argument],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    return (done.stdout + b"\n" + done.stderr).decode(errors="replace")


def find(program: Program) -> dict[str, str] | None:
    """Look up one program.

    Returns
    -------
    Its ``path`` and ``version``; None if it is not installed, or does not answer when asked for its version. labkit
    asks a program once, and again when its file changes.
    """
    for path in _paths(program):
        if program.read_version is not None:
            return {"path": str(path), "version": program.read_version()}
        try:
            printed = _printed(path, program.version, path.stat().st_mtime_ns)
        except OSError:  # no process could start: the next time it may
            continue
        if match := re.search(program.pattern, printed, re.DOTALL):
            return {"path": str(path), "version": match[1] if match.re.groups else "unknown"}
    return None


def present(programs: Mapping[str, Program]) -> dict[str, dict[str, str]]:
    """Return the path and version of every one of these programs that is installed."""
    with ThreadPoolExecutor(8) as pool:
        entries = dict(zip(programs, pool.map(find, programs.values()), strict=True))
    return {name: program for name, program in entries.items() if program}
