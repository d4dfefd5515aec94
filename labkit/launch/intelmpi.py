"""Intel MPI's mpiexec (Hydra), versions 2019 and later, over libfabric."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from labkit.launch import Placement, alike, library_path

NAME, LIBRARY = "intelmpi", "Intel MPI"
SAYS = "Intel(R) MPI"
PROGRAMS = ("mpiexec.hydra", "mpiexec", "mpirun")
TRANSPORTS = ("auto", "shm", "tcp")


def recognise(version_text: str) -> bool:
    """Whether this is what Intel MPI's Hydra says of itself."""
    return "Intel(R) MPI Library" in version_text


def arguments(placement: Placement, variables: Mapping[str, str]) -> list[str]:
    """Everything between the program and the command of a rank; `variables` are for ranks on other hosts."""
    alike(placement, NAME)  # other shares would need a machine file
    out = ["-n", str(placement.ranks)]
    if placement.shares or placement.ppn:
        out += ["-ppn", str(placement.per_host)]
    if placement.shares:
        out += ["-hosts", ",".join(host for host, _ in placement.shares)]
    if placement.remote:
        own = {name: value for name, value in variables.items() if not name.startswith("I_MPI_HYDRA_")}
        out += [word for name, value in own.items() for word in ("-genv", name, value)]
    return out


def environment(placement: Placement, home: str) -> dict[str, str]:
    """Variables for mpiexec and its ranks: binding, path, and the library that mpi4py is to load."""
    out = {"MPI4PY_MPIABI": "mpich"}  # the two have one ABI
    root = Path(home).resolve().parent.parent if home else Path("/nonexistent")
    folders = [root / "lib", root / "lib" / "release", root / "opt" / "mpi" / "libfabric" / "lib",
               root / "libfabric" / "lib"]  # fmt: skip
    found = [folder for folder in folders if any(folder.glob("lib*.so.*"))]
    out |= library_path(*found) if found else {}
    providers = [folder / "prov" for folder in found if (folder / "prov").is_dir()]
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
        out |= {"FI_TCP_IFACE": placement.interface} if placement.interface else {}
    if placement.remote_shell:
        out |= {"I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": placement.remote_shell}
    if placement.yields:
        out |= {"I_MPI_WAIT_MODE": "1", "I_MPI_THREAD_YIELD": "2"}
    return out
