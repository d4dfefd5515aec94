"""Open MPI's mpirun (versions 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from labkit.host import VERSION, Program, eager
from labkit.run.launchers._files import library_path
from labkit.run.launchers._placement import RDMA, Placement

PROGRAM = Program(
    name="openmpi",
    commands=("mpirun.openmpi", "mpirun", "mpiexec"),
    pattern=rf"(?:Open MPI|OpenRTE)\) {VERSION}",
    package="openmpi-bin",
    conda="openmpi",
    target="setup",
    purpose="starting ranks",
    mpi=True,
)
LIBRARY, BANNER, ORDER = "Open MPI", "Open MPI", 10
TRANSPORTS = ("auto", "shm", "tcp", *RDMA)
_RSH = ("OMPI_MCA_plm_rsh_agent", "OMPI_MCA_plm_rsh_args", "OMPI_MCA_orte_rsh_agent")
_FORWARDED = ("OMPI_", "PMIX_", "PRTE_")  # by mpirun itself


def arguments(placement: Placement, variables: Mapping[str, str]) -> list[str]:
    """Everything between the program and the command of a rank; `variables` are for ranks on other hosts."""
    out = ["-np", str(placement.ranks)]
    if placement.shares:
        out += ["--host", ",".join(f"{host}:{ranks}" for host, ranks in placement.shares)]
    if placement.ppn:
        out += ["--map-by", f"ppr:{placement.ppn}:node"]
    if placement.oversubscribed:
        out += ["--oversubscribe"]
    target = "package" if placement.binding == "socket" and placement.version >= (5,) else placement.binding
    crowded = placement.oversubscribed and target != "none"
    out += ["--bind-to", f"{target}:overload-allowed" if crowded else target]
    for name, value in parameters(placement).items():
        if f"OMPI_MCA_{name}" not in dict(placement.settings):  # the command line would win
            out += ["--mca", name, value]
    if placement.remote:
        out += [word for name in variables if not name.startswith(_FORWARDED) for word in ("-x", name)]
    return out


def parameters(placement: Placement) -> dict[str, str]:
    """MCA parameters that choose the path, and make waiting ranks yield if there are too few cores."""
    out = {"mpi_yield_when_idle": "1"} if placement.yields else {}
    shared_memory = "sm" if placement.version >= (5,) else "vader"
    if placement.transport == "shm":
        out |= {"pml": "ob1", "btl": f"{shared_memory},self"}
    if placement.transport == "tcp":
        out |= {"pml": "ob1", "btl": "tcp,self"}
        if placement.interface:
            out |= {"btl_tcp_if_include": placement.interface}
    if placement.over_ucx:
        out |= {"pml": "ucx"}
    over_tcp = placement.transport == "tcp" or (placement.transport == "auto" and placement.emulated)
    if over_tcp and placement.version[0] == 4:
        # of those that Debian's settings leave, sm is no TCP, and rdma makes no window over TCP
        out |= {"osc": "pt2pt"}
    if placement.pgas:
        # with rdma every rank crashes in shmem_finalize (open-mpi/ompi#11604), and coarrays find no window over TCP;
        # without ucx coarrays of one host go through shared memory
        out |= {"osc": "ucx" if placement.transport == "tcp" else "^rdma"}
    return out


def _pgas(placement: Placement) -> dict[str, str]:
    """Variables of UCX that choose the path of OpenSHMEM, and of coarrays over TCP.

    The hosts of a testbed share this machine's memory, which UCX would use between them.
    """
    if placement.transport == "shm":
        return {"UCX_TLS": "shm,self"}
    if placement.transport != "tcp" and not placement.remote_shell:
        return {}
    return {"UCX_TLS": "tcp,self"} | ({"UCX_NET_DEVICES": placement.interface} if placement.interface else {})


def environment(placement: Placement, home: str) -> dict[str, str]:
    """Variables for mpirun: they make mpi4py load Open MPI, and allow root. mpirun finds its own library."""
    out = {"MPI4PY_MPIABI": "openmpi", **placement.over_ucx}
    if placement.root:
        out |= {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
    if placement.pgas:
        out |= _pgas(placement)
    version_5 = placement.version >= (5,)
    variables = ("PRTE_MCA_plm_ssh_agent", "PRTE_MCA_plm_ssh_args") if version_5 else _RSH
    if ssh_options := placement.ssh_options(*variables):
        out |= {variables[1]: ssh_options}
    if placement.remote_shell:
        out |= {"OMPI_MCA_plm_rsh_agent": placement.remote_shell, "PRTE_MCA_plm_ssh_agent": placement.remote_shell}
        # Open MPI takes a second address of one link for a second link
        out |= {"OMPI_MCA_btl_tcp_disable_family": "6"}
    return out


def eager_limits(program: str, transports: tuple[str, ...]) -> list[eager.Variable]:
    """Eager limits of this MPI, for each path."""
    return eager.of_openmpi(program, transports)


def pmi(placement: Placement) -> tuple[str, ...]:
    """Process management interfaces with which srun may start its ranks, best first."""
    return ("pmix",) if placement.version >= (5,) else ("pmix", "pmi2")


def below_srun(placement: Placement, home: str) -> dict[str, str]:
    """Variables for ranks that srun starts: MCA parameters cannot be arguments there."""
    out = {name: value for name, value in environment(placement, home).items() if "ALLOW_RUN_AS_ROOT" not in name}
    out |= {f"OMPI_MCA_{name}": value for name, value in parameters(placement).items()}
    lib = Path(home).resolve().parent.parent / "lib"
    if home and (lib / "libmpi.so.40").exists():
        out |= library_path(lib)
    return out
