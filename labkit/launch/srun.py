"""Slurm's srun (20.11 or later), which starts the ranks of any MPI library.

``srun`` takes the library that mpi4py finds, ``srun@openmpi`` that of another launcher, ``srun@/opt/openmpi`` the
one that is installed there.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from labkit.errors import LaunchError, SpecError
from labkit.launch import Placement, alike, intelmpi, library_path, mpich, openmpi

NAME, LIBRARY = "srun", "Slurm"
PROGRAMS = ("srun",)
TRANSPORTS = ("auto", "shm", "tcp")
LIBRARIES = {"openmpi": openmpi, "mpich": mpich, "intelmpi": intelmpi}
_PMI2 = ("/usr/lib64/libpmi2.so", "/usr/lib64/slurmpmi/libpmi2.so", "/usr/lib/x86_64-linux-gnu/libpmi2.so.0")


def recognise(version_text: str) -> bool:
    """Whether this is what srun says of itself."""
    return version_text.startswith("slurm")


def arguments(placement: Placement, variables: Mapping[str, str]) -> list[str]:
    """Everything between the program and the command of a rank; --export takes `variables` to all hosts."""
    alike(placement, NAME)  # other shares would need a host file
    if placement.remote_shell:
        raise SpecError("launcher=srun, but no Slurm runs on the hosts of this testbed. Set launcher=openmpi or mpich.")
    out = ["--ntasks", str(placement.ranks)]
    if placement.shares:
        hosts = [host for host, _ in placement.shares]
        out += ["--nodes", str(len(hosts)), "--nodelist", ",".join(hosts), "--distribution", "block"]
    if placement.shares or placement.ppn:
        out += ["--ntasks-per-node", str(placement.per_host)]
    out += [f"--mpi={_pmi(placement)}", f"--cpu-bind={placement.binding}{'' if placement.binding == 'none' else 's'}"]
    out += ["--overcommit"] if placement.oversubscribed else []
    out += ["--overlap"] if placement.nodes else []  # else a step waits for the cores that the job script holds
    return [*out, "--kill-on-bad-exit=1", "--export=ALL"]


def _pmi(placement: Placement) -> str:
    """How ranks find one another: what the library understands, of what srun offers."""
    wanted: tuple[str, ...] = ("pmi2", "cray_shasta")  # MPICH and its relatives
    if placement.library == "openmpi":
        wanted = ("pmix",) if placement.version >= (5,) else ("pmix", "pmi2")
    offered = {name.partition("_v")[0]: name for name in sorted(placement.pmi)}
    for kind in wanted:
        if kind in offered:
            return kind if kind in placement.pmi else offered[kind]
    raise LaunchError(
        f"srun --mpi=list offers {', '.join(placement.pmi) or 'nothing'}, but {placement.library} needs "
        f"{' or '.join(wanted)}. Set launcher={placement.library}, or ask for that plugin of Slurm."
    )


def environment(placement: Placement, home: str) -> dict[str, str]:
    """Variables for the ranks: those of their library, MCA parameters among them."""
    if placement.library not in LIBRARIES:
        return {}
    own = LIBRARIES[placement.library].environment(replace(placement, patience=0), home)
    out = {name: value for name, value in own.items() if "ALLOW_RUN_AS_ROOT" not in name and "I_MPI_PIN" not in name}
    if placement.library == "openmpi":
        out |= {f"OMPI_MCA_{name}": value for name, value in openmpi.parameters(placement).items()}
        lib = Path(home).resolve().parent.parent / "lib"
        out |= library_path(lib) if home and (lib / "libmpi.so.40").exists() else {}
    if placement.library == "intelmpi":
        out |= {"I_MPI_PIN": "0"}  # srun binds
        found = next((path for path in _PMI2 if Path(path).exists()), "")
        out |= {"I_MPI_PMI_LIBRARY": found} if found else {}
    if not home:
        out.pop("MPI4PY_MPIABI")  # mpi4py finds what `linked` found
    return out


def offered(program: str) -> tuple[str, ...]:
    """What ``srun --mpi=list`` names."""
    done = subprocess.run([program, "--mpi=list"], capture_output=True, text=True, timeout=20, check=False)
    words = (done.stderr + done.stdout).replace(",", " ").split()
    return tuple(dict.fromkeys(w for w in words if w == "none" or w.startswith(("pmi", "cray_"))))


def linked() -> str:
    """What the library that mpi4py finds says of itself; empty when there is none."""
    ask = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout
