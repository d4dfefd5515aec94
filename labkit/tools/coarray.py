"""Coarrays of Fortran: labkit's own program (``kernels/programs/coarray.f90``), started by a launcher of its MPI."""

from __future__ import annotations

from labkit import __version__
from labkit.host import allocation
from labkit.kernels import programs
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.point.units import KiB
from labkit.tools import Invocation, Tool, _linked, _own_json

_PACKAGES = "gfortran libcoarrays-openmpi-dev"
_PROGRAM = programs.path("coarray")
_ABSENT = programs.how("coarray", _PACKAGES)
_LIBRARY = "libcaf_"
_WARMUP = (1000, 10)  # for sizes up to 8 KiB and above, as of the kernels of OpenSHMEM
_START_S = 30.0


def _version() -> str:
    return __version__ if _PROGRAM.exists() else "unknown"


TOOL = Tool(
    name="coarray",
    read_version=_version,
    package=_PACKAGES,
    built="coarray",
    purpose="pgas.coarray_*, a program of labkit's own",
    instead="shmem.put_latency and get_latency need no Fortran",
)


def put(spec: Spec, effort: Effort) -> Invocation:
    """Writes into the memory of the other image."""
    return _invocation(spec, effort, "put", "an assignment to a coarray of the other image and sync memory")


def get(spec: Spec, effort: Effort) -> Invocation:
    """Reads from the memory of the other image."""
    return _invocation(spec, effort, "get", "an assignment from a coarray of the other image")


def _invocation(spec: Spec, effort: Effort, call: str, what: str) -> Invocation:
    """A run of two images."""
    program = str(_PROGRAM) if _PROGRAM.exists() else _ABSENT
    kind, folder = _linked.mpi(program)
    warmup = _WARMUP[spec.size > 8 * KiB] if effort.warmup is None else effort.warmup
    here = spec.testbed == "local" and not spec.hosts and allocation.current() is None
    counts = (spec.size, effort.iterations or 0, warmup, repr(float(effort.time_cap)))
    return Invocation(
        tool=TOOL,
        needs=(program,),
        client=(program, call, *map(str, counts)),
        parse=_own_json.parsed,
        mpi=kind,
        mpi_folder=folder,
        libraries=tuple(name for name in _linked.loaded(program) if name.startswith(_LIBRARY)),
        definition=f"labkit coarray: time of {what}, on image 1.",
        duration=effort.time_cap,
        time_limit=10 * effort.time_cap + _START_S + effort.time_limit,
        badges=(badge("loopback"),) if here and spec.transport == "tcp" else (),
    )
