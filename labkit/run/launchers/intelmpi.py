"""Intel MPI's mpiexec (Hydra), versions 2019 and later, over libfabric."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from labkit.host import Program
from labkit.run.launchers._files import library_path
from labkit.run.launchers._placement import Placement, refuse_uneven

PROGRAM = Program(
    name="intelmpi",
    commands=("mpiexec.hydra", "mpiexec", "mpirun"),
    pattern=r"Intel\(R\) MPI Library.*?Version (\d[\w.]*)",
    install="module load intel-mpi   # or as your site calls it",
    purpose="starting ranks",
    mpi=True,
)
LIBRARY, BANNER, ORDER, ABI = "Intel MPI", "Intel(R) MPI", 30, "mpich"
_PMI2 = ("/usr/lib64/libpmi2.so", "/usr/lib64/slurmpmi/libpmi2.so", "/usr/lib/x86_64-linux-gnu/libpmi2.so.0")
TRANSPORTS = ("auto", "shm", "tcp")


def arguments(placement: Placement, variables: Mapping[str, str]) -> list[str]:
    """Everything between the program and the command of a rank; `variables` are for ranks on other hosts."""
    refuse_uneven(placement, PROGRAM.name)  # other shares would need a machine file
    out = ["-n", str(placement.ranks)]
    if placement.shares or placement.ppn:
        out += ["-ppn", str(placement.per_host)]
    if placement.shares:
        out += ["-hosts", ",".join(host for host, _ in placement.shares)]
    if placement.remote:
        forwarded = {name: value for name, value in variables.items() if not name.startswith("I_MPI_HYDRA_")}
        out += [word for name, value in forwarded.items() for word in ("-genv", name, value)]
    return out


def environment(placement: Placement, home: str) -> dict[str, str]:
    """Variables for mpiexec and its ranks: binding, path, and the library that mpi4py is to load."""
    out = {"MPI4PY_MPIABI": "mpich"}  # Intel MPI has the ABI of MPICH
    root = Path(home).resolve().parent.parent if home else Path("/nonexistent")
    folders = [
        root / "lib",
        root / "lib" / "release",
        root / "opt" / "mpi" / "libfabric" / "lib",
        root / "libfabric" / "lib",
    ]
    libraries = [folder for folder in folders if any(folder.glob("lib*.so.*"))]
    if libraries:
        out |= library_path(*libraries)
    providers = [folder / "prov" for folder in libraries if (folder / "prov").is_dir()]
    if providers and "FI_PROVIDER_PATH" not in os.environ:
        out |= {"FI_PROVIDER_PATH": str(providers[0])}
    if placement.shares or placement.ppn:
        out |= {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "off"}  # else the batch system overrules -ppn
    bound = placement.binding != "none"
    out |= {"I_MPI_PIN": "1", "I_MPI_PIN_DOMAIN": placement.binding} if bound else {"I_MPI_PIN": "0"}
    if placement.transport == "shm":
        out |= {"I_MPI_FABRICS": "shm"}
    if placement.transport == "tcp":
        out |= {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"}
        if placement.interface:
            out |= {"FI_TCP_IFACE": placement.interface}
    if placement.remote_shell:
        out |= {"I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": placement.remote_shell}
    if placement.yields:
        out |= {"I_MPI_WAIT_MODE": "1", "I_MPI_THREAD_YIELD": "2"}
    return out


def pmi(placement: Placement) -> tuple[str, ...]:
    """Process management interfaces with which srun may start its ranks, best first."""
    return ("pmi2", "cray_shasta")


def below_srun(placement: Placement, home: str) -> dict[str, str]:
    """Variables for ranks that srun starts, and binds."""
    out = {name: value for name, value in environment(placement, home).items() if "I_MPI_PIN" not in name}
    pmi2 = next((path for path in _PMI2 if Path(path).exists()), "")
    if pmi2:
        out |= {"I_MPI_PMI_LIBRARY": pmi2}
    return out | {"I_MPI_PIN": "0"}
