"""Wait for work of a GPU that has already ended: the cost of the call.

A sample is one call: cuStreamSynchronize, cuCtxSynchronize (all streams), or cuEventSynchronize on an event that has
been reached.
"""

from typing import Literal

from labkit.benchmarks import DeviceBenchmark
from labkit.options import frozen
from labkit.options.ranks import OnGpu

WAITS = ("stream", "context", "event")


@frozen
class Options(OnGpu):
    """Options of gpu.synchronise.

    Parameters
    ----------
    waits_for : a `stream`, the `context` with all streams, or an `event`.
    """

    waits_for: Literal["stream", "context", "event"] = "stream"


BENCHMARK = DeviceBenchmark(
    title="synchronisation with an idle GPU",
    kernel="gpu_synchronise",
    options=Options,
    mpi=False,
    sized=False,
    buffers=lambda spec: (0, 0),
    work=lambda spec: {"mode": WAITS.index(spec.options.waits_for)},
    metrics={"latency_us": lambda spec: 1},
    cadence="streaming",
)
