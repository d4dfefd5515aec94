"""Copy between the device memory of two processes; one process maps both (CUDA IPC).

Rank 1 exports its buffer (cuIpcGetMemHandle) and rank 0 maps it (cuIpcOpenMemHandle), both untimed. A sample is one
copy by rank 0, into the other process's memory (`put`) or from it (`get`), until rank 0 knows that it has ended
(cuStreamSynchronize); rank 1 takes no part. MPI libraries move large messages between processes of a host in this way.
Both ranks use the same GPU (`gpus=one`), or each its own; these must be able to access each other.
"""

from typing import Literal

from labkit.benchmarks import DeviceBenchmark
from labkit.benchmarks.mpi import Values, first_half, from_active, from_peer
from labkit.options import frozen
from labkit.options.ranks import Gpus, OnGpu
from labkit.point.spec import Spec


@frozen
class Options(Gpus, OnGpu):
    """Options of gpu.ipc_copy.

    Parameters
    ----------
    direction : `put` into the memory of the other process, or `get` from it.
    gpus : all ranks use `one` GPU, or `each` its own.
    """

    direction: Literal["put", "get"] = "put"
    gpus: Literal["one", "each"] = "one"


def _expected(spec: Spec[Options], rank: int, send: object) -> Values | None:
    if spec.options.direction == "put":
        return from_active(spec, rank, send)  # type: ignore[arg-type]
    return from_peer(spec, rank, send) if first_half(spec, rank) else None  # type: ignore[arg-type]


BENCHMARK = DeviceBenchmark(
    title="copy between two processes on a GPU",
    kernel="gpu_ipc_copy",
    options=Options,
    ranks=(2, 2),
    sizes="4:256Mi:*4",
    metrics={"bandwidth_MBps": lambda spec: spec.size, "latency_us": lambda spec: 1},
    active=first_half,
    expected=_expected,
    maps=lambda spec: "recv" if spec.options.direction == "put" else "send",
    work=lambda spec: {"mode": ("put", "get").index(spec.options.direction)},
    cadence="streaming",
    warmup=(20, 2),
)
