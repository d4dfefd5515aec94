"""Time of one read from a memory disk that the kernel serves over TCP or RDMA (NVMe over Fabrics), and of one write."""

import dataclasses

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.benchmarks.storage.file import METRICS
from labkit.options.storage import Nvme
from labkit.point.spec import Spec
from labkit.point.units import KiB
from labkit.tools import fio


def _check(spec: Spec[Nvme]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    size, disk, depth, offered = spec.size, int(spec.options.file_size), spec.options.depth, spec.options.offered
    if not 0 < size <= disk or size % 512:
        return f"size={size} B, but it must be a multiple of 512 B up to the disk's {disk} B. Set size=4096."
    if disk % (64 * KiB):
        return f"file_size={disk} B, but it must be a multiple of 64Ki. Set file_size=16Mi."
    if depth < 1 or offered < 0:
        return f"depth={depth}, offered={offered}, but they must be at least 1 and 0. Set depth=1 and offered=0."
    return ""


_READ = ToolBenchmark(
    title="read over NVMe",
    options=Nvme,
    check=_check,
    sizes="4Ki:64Ki:*4",
    metrics=METRICS,
    tools=(fio.nvme_read,),
    cadence="streaming",
    ends=Ends(where="none"),
    size_label="request size (B)",
    doc="""Time of one read from a memory disk, through NVMe over RDMA or TCP or at once, and how many a second.

A sample is fio's latency (`lat`) of one request with O_DIRECT. The kernel of the guest of soft-RoCE is target and
host, and the data cross the virtual cable between its two devices. The fabrics differ in nothing else, so they compare
with one another; an emulated processor makes all of them slow.
""",
)
FORMS = {
    "nvme_read": _READ,
    "nvme_write": dataclasses.replace(
        _READ,
        title="write over NVMe",
        tools=(fio.nvme_write,),
        doc="""Time of one write to a memory disk, through NVMe over RDMA or TCP or at once, and how many a second.

As storage.nvme_read. A write counts when the target has the data in the memory of its disk.
""",
    ),
}
