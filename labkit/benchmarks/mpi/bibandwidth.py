"""Bidirectional bandwidth: each of two ranks sends a window to the other at the same time.

A sample is one window each way and the short answer; the bytes of both directions count. The definition of osu_bibw
(OMB 7.4, mpi/pt2pt/osu_bibw.c).
"""

import dataclasses

from labkit.benchmarks import KernelBenchmark
from labkit.benchmarks.mpi import Window, allowed, first_half, from_peer
from labkit.benchmarks.simulated import windows

BENCHMARK = KernelBenchmark(
    title="bidirectional bandwidth",
    kernel="bibandwidth",
    options=Window,
    check=allowed,
    ranks=(2, 2),
    window=lambda spec: spec.options.window,
    requests=lambda spec: 2 * spec.options.window,
    metrics={
        "bandwidth_MBps": lambda spec: 2 * spec.options.window * spec.size,
        "message_rate_per_s": lambda spec: 2 * spec.options.window,
    },
    active=first_half,
    expected=from_peer,
    cadence="windowed",
    simulation=windows(both=True),
    directions=2,
    warmup=(10, 2),
    equivalents={"osu_bibw": {}},
)
FORMS = {
    "bibandwidth_persistent": dataclasses.replace(
        BENCHMARK,
        title="bidirectional bandwidth, persistent requests",
        kernel="bibandwidth_persistent",
        simulation=None,
        equivalents={"osu_bibw_persistent": {}},
        doc="""Bandwidth both ways at once with persistent requests.

As mpi.bibandwidth, with the requests of both windows set up once, untimed. The definition of osu_bibw_persistent (OMB
7.4, mpi/pt2pt/persistent).
""",
    )
}
