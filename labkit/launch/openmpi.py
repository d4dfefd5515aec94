"""Open MPI's mpirun (versions 4 and 5)."""

from __future__ import annotations

from labkit.launch import Placement

NAME, LIBRARY = "openmpi", "Open MPI"
PROGRAMS = ("mpirun.openmpi", "mpirun", "mpiexec")
TRANSPORTS = ("auto", "shm", "tcp")


def recognise(version_text: str) -> bool:
    """Whether this is what Open MPI's mpirun says of itself."""
    return "Open MPI" in version_text


def arguments(placement: Placement) -> list[str]:
    """Everything between the program and the command of a rank."""
    out = ["-np", str(placement.ranks)]
    if placement.hosts:
        slots = f":{placement.per_host}"
        out += ["--host", ",".join(host + slots for host in placement.hosts)]
    if placement.ppn:
        out += ["--map-by", f"ppr:{placement.ppn}:node"]
    if placement.oversubscribed:
        out += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    shared = "sm" if placement.version >= (5,) else "vader"
    if placement.transport == "shm":
        out += ["--mca", "pml", "ob1", "--mca", "btl", f"{shared},self"]
    if placement.transport == "tcp":
        out += ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
        device = placement.device or ("" if placement.hosts else "lo")
        out += ["--mca", "btl_tcp_if_include", device] if device else []
    return out


def environment(placement: Placement, program: str) -> dict[str, str]:
    """Variables for mpirun: mpi4py is told to use the same MPI, and root is allowed."""
    out = {"MPI4PY_MPIABI": "openmpi"}
    if placement.root:
        out |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # fmt: skip
    return out
