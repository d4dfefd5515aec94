"""Copy from the memory of one GPU into the memory of the next, by a process that uses both.

A sample is `copies` calls of cuMemcpyPeerAsync in one stream of the first GPU, and cuStreamSynchronize. With
`peer_access` the first GPU accesses the memory of the other one directly (over NVLink or PCIe); without, the driver may
copy through the host. nvbandwidth and CUDA's sample p2pBandwidthLatencyTest measure the same copies, on the device's
clock. It needs two GPUs.
"""

from labkit.benchmarks.gpu import Copies, copying
from labkit.options import frozen
from labkit.options.ranks import Peer


@frozen
class Options(Peer, Copies):
    """Options of gpu.peer_copy."""


BENCHMARK = copying(
    title="copy between two GPUs",
    kernel="gpu_copy",
    options=Options,
    memories=lambda spec, rank: ("device", "peer"),
    work=lambda spec: {"mode": 3},
)
