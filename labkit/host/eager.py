"""The size up to which an MPI library sends eagerly, read from its control variables.

Open MPI's ``ompi_info`` and MPICH's ``mpivars`` print them, including what the environment sets. Nothing here
initialises MPI. The programs must be those beside the launcher, because another install has other limits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.host import printed
from labkit.point.units import parse_size

_OPENMPI = {"shm": ("btl_sm_eager_limit", "btl_vader_eager_limit"), "tcp": ("btl_tcp_eager_limit",)}
_CELL, _OFI, _UCX = (
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
    "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE",
    "UCX_RNDV_THRESH",
)


@dataclass(frozen=True)
class Variable:
    """A control variable of an MPI library.

    Parameters
    ----------
    name : as the library calls it.
    value : B; None if it cannot be read, or the library decides for itself.
    source : where the value comes from, or why there is none.
    transport : path it is about: ``shm``, ``tcp``, or ``rc`` and ``ud`` of UCX.
    """

    name: str
    value: int | None
    source: str
    transport: str


def of_openmpi(program: str, transports: tuple[str, ...]) -> list[Variable]:
    """Return the eager limits of the Open MPI that a program belongs to."""
    text, reason = printed.by_neighbour(program, "ompi_info", "--all", "--parsable")
    return openmpi(text, transports, reason)


def of_mpich(program: str, transports: tuple[str, ...]) -> list[Variable]:
    """Return the eager limits of the MPICH that a program belongs to."""
    text, reason = printed.by_neighbour(program, "mpivars")
    device, _ = printed.by_neighbour(program, "mpichversion")
    return mpich(text, device, transports, os.environ, reason)


def openmpi(text: str, transports: tuple[str, ...], reason: str = "") -> list[Variable]:
    """Return the eager limits in what ``ompi_info --all --parsable`` prints.

    Parameters
    ----------
    reason : why there is no text, for a variable without a value.
    """
    limits = []
    for transport in transports:
        if transport not in _OPENMPI:
            limits.append(_ucx(os.environ, transport))
            continue
        for name in _OPENMPI[transport]:
            value = re.search(rf":param:{name}:value:(\d+)$", text, re.MULTILINE)
            source = re.search(rf":param:{name}:source:(.*)$", text, re.MULTILINE)
            if value:
                origin = f"ompi_info ({source[1]})" if source else "ompi_info"
                limits.append(Variable(name, int(value[1]), origin, transport))
                break
        else:
            names = " or ".join(_OPENMPI[transport])
            limits.append(Variable(_OPENMPI[transport][0], None, reason or f"ompi_info lists no {names}", transport))
    return limits


def mpich(
    text: str, version: str, transports: tuple[str, ...], environment: Mapping[str, str], reason: str = ""
) -> list[Variable]:
    """Return the eager limits that ``mpivars`` prints: the cell of a shared-memory queue, the network module's limit.

    Parameters
    ----------
    version : what ``mpichversion`` prints; its device names the network module.
    environment : UCX reads its limit from there.
    """
    cell = re.search(rf"\b{_CELL}\s*=(\d+)", text)
    eager = re.search(rf"\b{_OFI}\s*=(-?\d+)", text)
    limits = []
    for transport in transports:
        if transport == "shm":
            value, source = (int(cell[1]), "mpivars") if cell else (None, reason or f"mpivars lists no {_CELL}")
            limits.append(Variable(_CELL, value, source, transport))
        elif transport in ("rc", "ud") or "ch4:ucx" in version:
            limits.append(_ucx(environment, transport))
        elif eager and int(eager[1]) > 0:
            limits.append(Variable(_OFI, int(eager[1]), "mpivars", transport))
        else:
            source = "is -1: the libfabric provider decides" if eager else reason or "is not listed by mpivars"
            limits.append(Variable(_OFI, None, source, transport))
    return limits


def _ucx(environment: Mapping[str, str], transport: str) -> Variable:
    """Return UCX's threshold, which is a size only if somebody set one."""
    given = environment.get(_UCX, "auto")
    if re.fullmatch(r"\d+(\.\d+)?[KMGkmg]?[Bb]?", given):
        return Variable(_UCX, parse_size(re.sub(r"(?<=[KMGkmg])[Bb]", "", given)), "environment", transport)
    return Variable(_UCX, None, f"is {given}: UCX decides by its own estimate", transport)
