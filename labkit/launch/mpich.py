"""MPICH's mpiexec (Hydra), with the ch4 device over libfabric or UCX."""

from __future__ import annotations

import os
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
    folder = _library_folder(Path(program).resolve().parent.parent / "lib")
    out = {"MPI4PY_MPIABI": "mpich"}
    if folder is not None:
        out["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH", "")]))
    if placement.transport == "tcp":
        out |= {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}
        device = placement.device or ("" if placement.hosts else "lo")
        out |= {"UCX_TLS": "tcp,self"}  # Debian's MPICH is built over UCX instead
        out |= {"FI_TCP_IFACE": device, "UCX_NET_DEVICES": device} if device else {}
    if placement.transport == "shm":
        out |= {"MPIR_CVAR_NOLOCAL": "0"}
    return out


def _library_folder(lib: Path) -> Path | None:
    """Folder with this MPICH's library under the name mpi4py asks for, libmpi.so.12.

    Debian calls it libmpich.so.12; a link with the usual name is then kept in the user's cache.
    """
    if (lib / "libmpi.so.12").exists():
        return lib
    found = [*lib.glob("*/libmpich.so.12"), *lib.glob("libmpich.so.12")]
    if not found:
        return None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labkit" / "mpich"
    link = cache / "libmpi.so.12"
    if not link.exists() or link.resolve() != found[0].resolve():
        cache.mkdir(parents=True, exist_ok=True)
        aside = cache / f".{os.getpid()}"
        aside.symlink_to(found[0])
        aside.rename(link)
    return cache
