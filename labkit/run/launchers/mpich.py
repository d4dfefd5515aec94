"""MPICH's mpiexec (Hydra), with the ch4 device over libfabric or UCX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from labkit.host import VERSION, Program, eager
from labkit.io import atomic, folders
from labkit.run.launchers._files import library_path
from labkit.run.launchers._placement import RDMA, Placement

PROGRAM = Program(
    name="mpich",
    commands=("mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun", "mpirun.mpich"),
    pattern=rf"\A(?!.*Intel\(R\) MPI).*?HYDRA[^\n]*\s+Version:\s+{VERSION}",  # Intel has a separate Hydra
    package="mpich",
    target="testing",
    purpose="starting ranks",
    mpi=True,
)
LIBRARY, BANNER, ORDER = "MPICH", "MPICH", 20
TRANSPORTS = ("auto", "shm", "tcp", *RDMA)
# with any of these Hydra may start its proxies by another program, such as srun, to which -o means another thing
SSH_IS_NOT_USED = (
    *("HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXEC", "HYDRA_LAUNCHER_EXTRA_ARGS"),
    *("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "LOADL_STEP_ID", "COBALT_JOBID"),
)


def arguments(placement: Placement, variables: Mapping[str, str]) -> list[str]:
    """Everything between the program and the command of a rank; `variables` are for ranks on other hosts."""
    out = ["-n", str(placement.ranks)]
    if placement.shares:
        out += ["-hosts", ",".join(f"{host}:{ranks}" for host, ranks in placement.shares)]
    elif placement.ppn:
        out += ["-ppn", str(placement.ppn)]
    if placement.binding != "none":
        out += ["-bind-to", placement.binding]
    if placement.remote:
        forwarded = {name: value for name, value in variables.items() if not name.startswith("HYDRA_")}
        out += [word for name, value in forwarded.items() for word in ("-genv", name, value)]
    return out


def environment(placement: Placement, home: str) -> dict[str, str]:
    """Variables for mpiexec: they make mpi4py load the same MPI, and choose the path."""
    out = {"MPI4PY_MPIABI": "mpich"}
    folder = _library_folder(Path(home).resolve().parent.parent / "lib") if home else None
    if folder is not None:
        out |= library_path(folder)
    if placement.transport == "tcp":
        out |= {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
        out |= {"UCX_TLS": "tcp,self"}  # Debian's MPICH is built over UCX instead
        device = placement.interface
        if device:
            out |= {"FI_TCP_IFACE": device, "UCX_NET_DEVICES": device}
    if placement.over_ucx:
        out |= {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ucx", **placement.over_ucx}
    if placement.transport == "shm":
        out |= {"MPIR_CVAR_NOLOCAL": "0"}
    if ssh_options := placement.ssh_options(*SSH_IS_NOT_USED):
        out |= {"HYDRA_LAUNCHER_EXTRA_ARGS": ssh_options}
    if placement.remote_shell:
        out |= {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": placement.remote_shell}
    if placement.yields:
        # MPICH reads these at MPI_THREAD_MULTIPLE only, from 4.1 on; at other levels a waiting rank keeps its core
        out |= {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    return out


def eager_limits(program: str, transports: tuple[str, ...]) -> list[eager.Variable]:
    """Eager limits of this MPI, for each path."""
    return eager.of_mpich(program, transports)


def pmi(placement: Placement) -> tuple[str, ...]:
    """Process management interfaces with which srun may start its ranks, best first."""
    return ("pmi2", "cray_shasta")


def below_srun(placement: Placement, home: str) -> dict[str, str]:
    """Variables for ranks that srun starts: the same."""
    return environment(placement, home)


def _library_folder(lib: Path) -> Path | None:
    """Folder that has this MPICH's library under the name that mpi4py loads, libmpi.so.12.

    Debian calls it libmpich.so.12; labkit then keeps a link with the usual name in the user's cache.
    """
    if (lib / "libmpi.so.12").exists():
        return lib
    libraries = [*lib.glob("*/libmpich.so.12"), *lib.glob("libmpich.so.12")]
    if not libraries:
        return None
    cache = folders.cache() / "mpich"
    link = cache / "libmpi.so.12"
    if not link.exists() or link.resolve() != libraries[0].resolve():
        cache.mkdir(parents=True, exist_ok=True)
        atomic.replace(link, lambda fresh: fresh.symlink_to(libraries[0]))
    return cache
