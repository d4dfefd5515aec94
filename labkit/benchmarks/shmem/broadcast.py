"""Latency of shmem_broadcast32: one message from the root to all other PEs.

A barrier (shmem_barrier_all) follows each iteration outside the timed part; the slowest PE counts.

labkit also gives OSU's mean over PEs, as osu_oshm_broadcast does (OMB 7.4, openshmem/osu_oshm_broadcast.c). There, PE 0
is the root, and sends and receives use the same buffer.
"""

from labkit.benchmarks import shmem
from labkit.options import frozen
from labkit.options.ranks import Root
from labkit.point.spec import Spec


@frozen
class Options(Root, shmem.Timed):
    """Options of shmem.broadcast.

    Parameters
    ----------
    root : PE that sends to all others.
    """

    root: int = 0


def _check(spec: Spec[Options]) -> str:
    root = spec.options.root
    if not 0 <= root < spec.ranks:
        return f"root={root}, but there are ranks 0 to {spec.ranks - 1}. Set root=0."
    return shmem.words(spec)


BENCHMARK = shmem.collective(
    title="broadcast of OpenSHMEM",
    kernel="shmem_broadcast",
    options=Options,
    check=_check,
    expected=lambda spec, rank, send: None if rank == spec.options.root else send(spec.options.root),
    equivalents={"osu_oshm_broadcast": {}},
)
