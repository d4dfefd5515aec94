"""Copy between host and device memory, or inside device memory, until the host knows that it has ended.

A sample is `copies` calls of cuMemcpyHtoDAsync, cuMemcpyDtoHAsync or cuMemcpyDtoDAsync in one stream, and
cuStreamSynchronize: the time that a program waits if it needs the data at once. So small sizes show the latency of a
copy. gpu.copy_events times the same copies on the device's clock between two events, without the calls: what
nvbandwidth reports for large ones. Host memory is page-locked (`pinned`) or `pageable`. The device copies pinned memory
itself; the driver copies pageable memory through page-locked buffers. A copied byte counts once: a copy inside device
memory also reads it.
"""

import dataclasses
from typing import Literal

from labkit.benchmarks.gpu import Copies, copying
from labkit.options import frozen
from labkit.point.spec import Spec

MODES = ("host_to_device", "device_to_host", "device_to_device")


@frozen
class Options(Copies):
    """Options of gpu.copy.

    Parameters
    ----------
    direction : from where to where: `host_to_device`, `device_to_host`, `device_to_device`.
    host_memory : memory of the host: `pinned` or `pageable`.
    """

    direction: Literal["host_to_device", "device_to_host", "device_to_device"] = "host_to_device"
    host_memory: Literal["pinned", "pageable"] = "pinned"


def _memories(spec: Spec[Options], rank: int) -> tuple[str, str]:
    host = "pinned" if spec.options.host_memory == "pinned" else "host"
    return {
        "host_to_device": (host, "device"),
        "device_to_host": ("device", host),
        "device_to_device": ("device", "device"),
    }[spec.options.direction]


BENCHMARK = copying(
    title="copy by a GPU",
    kernel="gpu_copy",
    options=Options,
    memories=_memories,
    work=lambda spec: {"mode": MODES.index(spec.options.direction)},
)
FORMS = {
    "copy_events": dataclasses.replace(
        BENCHMARK,
        title="copy by a GPU, between two events",
        kernel="gpu_copy_events",
        doc="""Copy between host and device memory, or inside device memory, on the device's clock.

A sample is the time between two events (cuEventElapsedTime) around `copies` copies in one stream. It leaves out what
the host does before and after. nvbandwidth times its copies so; it has 16 in a sample, and a kernel holds the stream
until all are there. Copies of less than about 1 MiB are therefore not comparable. A copied byte counts once.
""",
    )
}
