"""Settings of MPI libraries in labkit's own environment: ranks inherit them, so they are part of each point."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.run.launch import Launcher, Placement

SETTINGS = ("OMPI_MCA_", "MPIR_CVAR_", "MPICH_", "UCX_", "FI_", "I_MPI_", "MV2_", "MVP_", "PSM2_", "PSM3_")
_PLACES = ("_ROOT", "_PATH", "_HOME", "_DIR")  # end names that say where a library is
_WITHIN = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")  # set inside a rank, with much of the launcher's own


def inherited(launcher: Launcher, placement: Placement, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the settings of MPI libraries in an environment that ranks would follow.

    Those that the launcher chooses itself, such as the path of a transport, are left out: its choice wins. Files with
    settings, such as ``openmpi-mca-params.conf``, are not read.

    Parameters
    ----------
    launcher : that starts the ranks.
    placement : of the ranks, without what they inherit.
    environment : of labkit.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(command=lambda *_: ["mpirun", "--mca", "btl", "self"], environment=lambda _: {})
    >>> inherited(found, None, {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_coll": "^han", "UCX_DIR": "/opt", "HOME": "/"})
    {'OMPI_MCA_coll': '^han'}
    """
    if any(name in environment for name in _WITHIN):
        return {}
    words = launcher.command(placement, [])
    chosen = {f"OMPI_MCA_{name}" for word, name in pairwise(words) if word == "--mca"}
    chosen |= launcher.environment(placement).keys()
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(SETTINGS) and not name.endswith(_PLACES) and name not in chosen and value.isprintable()
    }
