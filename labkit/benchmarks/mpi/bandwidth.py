"""Bandwidth from rank 0 to rank 1 with a window of messages in flight, closed by one short answer.

A sample is one window: `window` non-blocking sends, their completion, and the receiver's answer. The definition of
osu_bw (OMB 7.4, mpi/pt2pt/osu_bw.c; window 64, one buffer for all messages). 1 MB = 10^6 B.
"""

import dataclasses

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Binding, Window, allowed, first_half, from_active
from labkit.benchmarks.simulated import windows
from labkit.options import frozen


@frozen
class Options(Binding, Window):
    """Options of mpi.bandwidth."""


BENCHMARK = KernelBenchmark(
    title="bandwidth",
    kernel="bandwidth",
    options=Options,
    check=allowed,
    ranks=(2, 2),
    window=lambda spec: spec.options.window,
    metrics={
        "bandwidth_MBps": lambda spec: spec.options.window * spec.size,
        "message_rate_per_s": lambda spec: spec.options.window,
    },
    active=first_half,
    expected=from_active,
    cadence="windowed",
    simulation=windows(both=False),
    directions=1,
    warmup=(10, 2),
    equivalents={"osu_bw": {}},
)
FORMS = {
    "bandwidth_persistent": dataclasses.replace(
        BENCHMARK,
        title="bandwidth, persistent requests",
        kernel="bandwidth_persistent",
        options=Window,  # type: ignore[arg-type]  # less than those of the form that it replaces
        simulation=None,
        equivalents={"osu_bw_persistent": {}},
        doc="""Bandwidth from rank 0 to rank 1 with persistent requests.

As mpi.bandwidth, with the requests of the window set up once, untimed, and started together (MPI_Startall). The
definition of osu_bw_persistent (OMB 7.4, mpi/pt2pt/persistent).
""",
    )
}
