"""MPICH's mpiexec (Hydra), with the ch4 device over libfabric."""

from __future__ import annotations

from pathlib import Path

from labkit.launch import Placement

NAME, LIBRARY = "mpich", "MPICH"
PROGRAMS = ("mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun")
TRANSPORTS = ("auto", "shm", "tcp")


def recognise(version_text: str) -> bool:
    """Whether this is what Hydra says of itself (Intel MPI's Hydra names Intel)."""
    return "HYDRA" in version_text.upper() and "INTEL" not in version_text.upper()


def arguments(placement: Placement) -> list[str]:
    """Everything between the program and the command of a rank."""
    out = ["-n", str(placement.ranks)]
    if placement.hosts:
        out += ["-hosts", ",".join(placement.hosts)]
    if placement.ppn:
        out += ["-ppn", str(placement.ppn)]
    if not placement.oversubscribed and not placement.hosts:
        out += ["-bind-to", "core"]
    return out


def environment(placement: Placement, program: str) -> dict[str, str]:
    """Variables for mpiexec: mpi4py is told to use the same MPI, and the path is chosen."""
    # Debian calls the library libmpich.so.12; naming the ABI too would keep mpi4py from loading the one that is named
    prefix = Path(program).resolve().parent.parent / "lib"
    found = [
        path for name in ("libmpi.so.12", "libmpich.so.12") for path in (*prefix.glob(name), *prefix.glob(f"*/{name}"))
    ]
    out = {"MPI4PY_LIBMPI": str(found[0])} if found else {"MPI4PY_MPIABI": "mpich"}
    if placement.transport == "tcp":
        out |= {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
        device = placement.device or ("" if placement.hosts else "lo")
        out |= {"FI_TCP_IFACE": device} if device else {}
    if placement.transport == "shm":
        out |= {"MPIR_CVAR_NOLOCAL": "0"}
    return out
