"""Programs that labkit can use: how each tells its version, what brings it, what stands in for it.

One row here and doctor knows a program. Running one is the matter of its file in ``labkit/tools``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import labkit
from labkit import folders as user
from labkit.host import pyverbs

_VERSION = r"(\d+(?:\.\d+)+[\w.+-]*)"
_TIMEOUT_S = 20.0


@dataclass(frozen=True, kw_only=True)
class Program:
    """An external program.

    Parameters
    ----------
    name : as labkit calls it.
    commands : names it may be installed under, best first.
    version : argument that makes it print its version.
    pattern : finds the version in what it prints, in its first group. Output that does not fit belongs to another
        program of that command's name (each MPI has its own mpirun). Without a group the program tells no version.
    remedy : exact command that brings it.
    purpose : what it is for.
    instead : what stands in for it; empty for nothing.
    needs : kind of machine it is of use on: ``rdma``, ``slurm``, or any.
    """

    name: str
    commands: tuple[str, ...]
    version: str = "--version"
    pattern: str = _VERSION
    remedy: str
    purpose: str
    instead: str = ""
    needs: str = ""


def _apt(packages: str) -> str:
    return f"sudo apt-get install {packages}"


_NOT_FREE = "sudo make setup   # adds the component of the distribution that has it, then installs {}"

PROGRAMS = {
    program.name: program
    for program in (
        Program(
            name="openmpi", commands=("mpirun", "mpirun.openmpi"), pattern=rf"(?:Open MPI|OpenRTE)\) {_VERSION}",
            remedy=_apt("openmpi-bin"), purpose="starting ranks",
        ),
        Program(
            name="mpich", commands=("mpiexec", "mpiexec.hydra", "mpirun.mpich"),
            pattern=rf"HYDRA[^\n]*\s+Version:\s+{_VERSION}",
            remedy=_apt("mpich"), purpose="starting ranks",
        ),
        Program(
            name="intelmpi", commands=("mpiexec", "mpiexec.hydra"),
            pattern=r"Intel\(R\) MPI Library.*?Version (\d[\w.]*)",
            remedy="module load intel-mpi   # or as your site calls it", purpose="starting ranks",
        ),
        Program(
            name="slurm", commands=("srun",), remedy=_apt("slurm-client"), purpose="starting ranks in a Slurm job",
            instead="mpirun", needs="slurm",
        ),
        Program(
            name="netperf", commands=("netperf",), version="-V", remedy=_NOT_FREE.format("netperf"),
            purpose="streams and round trips over TCP and UDP",
            instead="iperf3 (streams), sockperf or qperf (round trips)",
        ),
        Program(
            name="iperf3", commands=("iperf3",), remedy=_apt("iperf3"),
            purpose="streams over TCP and UDP, several and both ways", instead="netperf or iperf",
        ),
        Program(
            name="iperf", commands=("iperf",), version="-v", pattern=rf"iperf version {_VERSION}",
            remedy=_apt("iperf"), purpose="both ways over one connection; streams; bounce-back",
            instead="iperf3 or netperf",
        ),
        Program(
            name="sockperf", commands=("sockperf",), remedy=_apt("sockperf"),
            purpose="sockets.under_load; round trips with every sample", instead="netperf or qperf, but for under_load",
        ),
        Program(
            name="qperf", commands=("qperf",), remedy=_apt("qperf"), purpose="TCP and UDP, and verbs over RC",
            instead="netperf or sockperf, and perftest",
        ),
        Program(
            name="netpipe", commands=("NPtcp",), version="-V", pattern="NETPIPE USAGE", remedy=_apt("netpipe-tcp"),
            purpose="sockets.netpipe", instead="netperf",
        ),
        Program(
            name="fi_pingpong", commands=("fi_info",), pattern=rf"libfabric: {_VERSION}",  # its own tells none
            remedy=_apt("libfabric-bin"), purpose="sockets.fabric_pingpong",
        ),
        Program(
            name="fio", commands=("fio",), pattern=r"fio-(\d[\w.+-]*)", remedy=_apt("fio"),
            purpose="storage.read, storage.write and sockets.unix_rr", instead="iozone, for files",
        ),
        Program(
            name="iozone", commands=("iozone",), version="-v", pattern=rf"Revision: {_VERSION}",
            remedy=_NOT_FREE.format("iozone3"), purpose="storage.iozone", instead="fio",
        ),
        Program(
            name="perftest", commands=("ib_write_lat", "ib_send_lat"), remedy=_apt("perftest"), purpose="verbs",
            instead="the loops over pyverbs, or qperf", needs="rdma",
        ),
        Program(
            name="ucx_perftest", commands=("ucx_info",), version="-v",  # its own program does not tell
            remedy=_apt("ucx-utils"), purpose="verbs.ucx_latency and verbs.ucx_bandwidth", needs="rdma",
        ),
        Program(
            name="cc", commands=("cc", "gcc", "clang"), remedy=_apt("gcc libc6-dev"), purpose="compiling the kernels",
            instead="mpi4py loops",
        ),
        Program(
            name="chromium",
            commands=("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
            remedy=_apt("chromium"), purpose="static figures, and with them the PDF",
            instead="interactive figures, in HTML alone",
        ),
        Program(
            name="quarto", commands=("quarto",), remedy="conda install -c conda-forge quarto", purpose="the report",
            instead="the plain engine: pandoc and typst",
        ),
        Program(
            name="iproute2", commands=("ip",), version="-V", remedy=_apt("iproute2"),
            purpose="the testbed virtual-cluster", instead="the testbed local",
        ),
        Program(
            name="qemu", commands=("qemu-system-x86_64", "qemu-system-aarch64"), remedy=_apt("qemu-system-x86"),
            purpose="the testbed soft-roce in a guest",
        ),
    )
}  # fmt: skip
MPIS = ("openmpi", "mpich", "intelmpi")


def _paths(program: Program) -> Iterator[Path]:
    """Where its commands are: beside this interpreter, as Python packages install them, then on the PATH."""
    for command in program.commands:
        for place in (str(Path(sys.executable).parent), None):
            found = shutil.which(command, path=place)
            if found:
                yield Path(found)


@lru_cache(maxsize=256)
def _printed(path: Path, argument: str, changed_ns: int) -> str:
    """What a program prints when asked for its version, whatever its exit status; empty if it does not answer."""
    try:
        done = subprocess.run(
            [path, argument], stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S,
            start_new_session=True, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + b"\n" + done.stderr).decode(errors="replace")


def find(name: str) -> dict[str, str] | None:
    """Look one program up.

    Parameters
    ----------
    name : one of `PROGRAMS`.

    Returns
    -------
    Its ``path`` and ``version``; None if it is not installed, or does not answer when asked for its version. A program
    is asked once, and again when its file changes.
    """
    program = PROGRAMS[name]
    for path in _paths(program):
        match = re.search(program.pattern, _printed(path, program.version, path.stat().st_mtime_ns), re.DOTALL)
        if match:
            return {"path": str(path), "version": match[1] if match.re.groups else "unknown"}
    return None


def tools() -> dict[str, dict[str, str]]:
    """Path and version of every program of `PROGRAMS` that is installed."""
    with ThreadPoolExecutor(8) as pool:
        found = dict(zip(PROGRAMS, pool.map(find, PROGRAMS), strict=True))
    return {name: program for name, program in found.items() if program}


def installed() -> dict[str, Any]:
    """What labkit can use here beside the machine itself: the second argument of `labkit.host.checks`.

    Returns
    -------
    ``programs`` as from `tools`; ``kernels``: kinds of MPI handle they are compiled for; ``fonts``: whether Liberation
    Sans is there; ``pyverbs``: which Python is used for it, and ``pyverbs_explained`` why.
    """
    found = {"programs": tools(), "kernels": _kernels(), "fonts": _fonts()}
    return found | {"pyverbs": pyverbs.interpreter(), "pyverbs_explained": pyverbs.explained()}


def _kernels() -> list[str]:
    folder = str(Path(labkit.__file__).parent / "kernels")
    return [kind for kind in ("int", "ptr") if PathFinder.find_spec(f"_kernels_{kind}", [folder])]


def _fonts() -> bool:
    folders = (
        Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), *user.fonts(), Path(sys.prefix) / "fonts",
    )  # fmt: skip
    return any(next(folder.rglob("LiberationSans-Regular.*"), None) for folder in folders if folder.is_dir())
