"""Slurm's srun (20.11 or later), which starts the ranks of any MPI library.

``srun`` uses the library that mpi4py finds, ``srun@openmpi`` the library of another launcher, and ``srun@/opt/openmpi``
the library of that installation.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace

from labkit.errors import LaunchError, SpecError
from labkit.host import VERSION, Program
from labkit.run.launchers._files import Launcher, file, libraries, recognised, titled
from labkit.run.launchers._placement import Placement, refuse_uneven

PROGRAM = Program(
    name="srun",
    commands=("srun",),
    pattern=rf"slurm\S* {VERSION}",
    package="slurm-client",
    target="testing",
    purpose="starting ranks in a Slurm job",
    instead="mpirun",
    needs="slurm",
)
LIBRARY, BANNER, ORDER = "", "", 90
TRANSPORTS = ("auto", "shm", "tcp")


def launcher(of: Launcher | None) -> Launcher:
    """Slurm's srun, for the ranks of a library (default: the one that mpi4py finds).

    Raises
    ------
    LaunchError
        If it is not installed, or there is no library.
    """
    path = shutil.which("srun")
    if path is None or not recognised(PROGRAM, path):
        raise LaunchError("The launcher 'srun' is not installed. Install slurm-client, or set another launcher.")
    pmi, module = offered(path), file(PROGRAM.name)
    if of is not None:
        return replace(of, name=f"srun@{of.name}", program=path, module=module, of=of, pmi=pmi)
    text = mpi4py_library()
    for kind, library in libraries().items():
        if text.startswith(library.BANNER):
            return Launcher("srun", path, *titled(library, text), module, pmi=pmi, kind=kind)
    raise LaunchError("mpi4py finds no MPI library for srun. Load your site's MPI module.")


def usable() -> bool:
    """Whether srun counts as installed: only inside a Slurm job, because elsewhere it would wait for an allocation."""
    return "SLURM_JOB_ID" in os.environ


def arguments(placement: Placement, variables: Mapping[str, str]) -> list[str]:
    """Everything between the program and the command of a rank; --export takes `variables` to all hosts."""
    refuse_uneven(placement, PROGRAM.name)  # other shares would need a host file
    if placement.remote_shell:
        raise SpecError("launcher=srun, but the hosts of this testbed do not run Slurm. Set launcher=openmpi or mpich.")
    out = ["--ntasks", str(placement.ranks)]
    if placement.shares:
        hosts = [host for host, _ in placement.shares]
        out += ["--nodes", str(len(hosts)), "--nodelist", ",".join(hosts), "--distribution", "block"]
    if placement.shares or placement.ppn:
        out += ["--ntasks-per-node", str(placement.per_host)]
    out += [f"--mpi={_pmi(placement)}", f"--cpu-bind={placement.binding}{'' if placement.binding == 'none' else 's'}"]
    if placement.threads > 1:
        out += ["--cpus-per-task", str(placement.threads)]  # else all threads of a rank share one core
    if placement.oversubscribed:
        out += ["--overcommit"]
    if placement.nodes:
        out += ["--overlap"]  # else a step waits for the cores that the job script holds
    out += ["--input=0"] if placement.by_input else []  # else srun sends it to all ranks
    return [*out, "--kill-on-bad-exit=1", "--export=ALL"]


def _pmi(placement: Placement) -> str:
    """The process management interface that both the library and srun know."""
    pmi = libraries()[placement.library].pmi if placement.library in libraries() else None
    kinds = pmi(placement) if pmi else ("pmi2",)
    without_version = {name.partition("_v")[0]: name for name in sorted(placement.pmi)}
    for kind in kinds:
        if kind in without_version:
            return kind if kind in placement.pmi else without_version[kind]
    raise LaunchError(
        f"srun --mpi=list offers {', '.join(placement.pmi) or 'nothing'}, but {placement.library} needs "
        f"{' or '.join(kinds)}. Set launcher={placement.library}, or ask your administrator for that Slurm plugin."
    )


def environment(placement: Placement, home: str) -> dict[str, str]:
    """Variables for the ranks, from their library's launcher."""
    below_srun = libraries()[placement.library].below_srun if placement.library in libraries() else None
    if below_srun is None:
        return {}
    out = below_srun(replace(placement, patience=0), home)
    if not home:
        out.pop("MPI4PY_MPIABI", None)  # mpi4py loads the library that `mpi4py_library` named
    return out


def offered(program: str) -> tuple[str, ...]:
    """Process management interfaces that ``srun --mpi=list`` names."""
    process = subprocess.run([program, "--mpi=list"], capture_output=True, text=True, timeout=20, check=False)
    words = (process.stderr + process.stdout).replace(",", " ").split()
    return tuple(dict.fromkeys(w for w in words if w == "none" or w.startswith(("pmi", "cray_"))))


def mpi4py_library() -> str:
    """Version text of the MPI library that mpi4py loads; empty if there is none."""
    code = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return process.stdout
