"""Bandwidth of MPI_Put both ways at once: each of two ranks writes a window of messages to the other in one epoch.

The bytes of both directions count. As osu_put_bibw (OMB 7.4, mpi/one-sided/osu_put_bibw.c), with its default
synchronisation, pscw.

osu_put_bibw prints the rate over its whole loop, clock reads included: that is `bandwidth_MBps_osu_mean` here, and what
`--format omb` prints; the headline is the median epoch.
"""

from typing import Literal

from labkit.benchmarks.mpi import _one_sided
from labkit.options import frozen


@frozen
class Options(_one_sided.Streaming):
    """Options of mpi.put_bibandwidth.

    Parameters
    ----------
    synchronisation : as for the other one-sided calls; OSU's default here.
    origins : both, always.
    """

    synchronisation: Literal["lock", "flush", "flush_local", "lock_all", "pscw", "fence"] = "pscw"
    origins: Literal["both"] = "both"


BENCHMARK = _one_sided.bandwidth(
    title="bidirectional bandwidth of puts",
    kernel="put",
    options=Options,
    exposed=_one_sided.put_where(answers=False),
    directions=2,
    equivalents={"osu_put_bibw": {}},
)
