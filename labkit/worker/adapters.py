"""The number of a rank on its host, and its RDMA adapter if the host has several."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

ADAPTERS = "LABKIT_ADAPTERS"  # UCX's names of a host's adapters, by commas: each rank takes the next one
_NUMBER = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")


def local_rank(environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the number of this rank on its host, as the launcher told it; None if it told none.

    Examples
    --------
    >>> local_rank({"MPI_LOCALRANKID": "1"})
    1
    """
    return next((int(environment[name]) for name in _NUMBER if environment.get(name, "").isdecimal()), None)


def choose(environment: MutableMapping[str, str] = os.environ) -> None:
    """Make UCX use the adapter of this rank. Call it before MPI starts; a user's choice stays.

    Without it both ranks of one host would use one adapter, which hands their messages over by itself.

    Examples
    --------
    >>> own = {"LABKIT_ADAPTERS": "rxe0:1,rxe1:1", "MPI_LOCALRANKID": "1"}
    >>> choose(own)
    >>> own["UCX_NET_DEVICES"]
    'rxe1:1'
    """
    number, names = local_rank(environment), environment.get(ADAPTERS, "").split(",")
    if number is not None and names[0]:
        environment.setdefault("UCX_NET_DEVICES", names[number % len(names)])
