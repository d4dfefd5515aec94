"""MPI messages and collectives from and to the memory of GPUs: the patterns of the family mpi, in other buffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from labkit import benchmarks
from labkit.benchmarks import DeviceBenchmark, KernelBenchmark
from labkit.options import frozen
from labkit.options.ranks import Cadence, Gpus, OnGpu, Operation, Root, Timing, Via
from labkit.point.spec import Spec, has

Kind = Literal["device", "managed", "pinned", "host"]


@frozen
class Buffers(Via, Gpus, OnGpu):
    """Options of MPI calls with memory of GPUs.

    Parameters
    ----------
    memory : memory of all buffers, or of rank 0's if there are two ranks: `device`, `managed`, page-locked memory of
        the host (`pinned`), or pageable memory of the `host`.
    """

    memory: Kind = "device"


@frozen
class Pair(Timing, Buffers):
    """Options of messages between two ranks.

    Parameters
    ----------
    peer_memory : memory of rank 1's buffers, as `memory`.
    """

    peer_memory: Kind = "device"


@frozen
class Window(Pair):
    """Options of windows of messages.

    Parameters
    ----------
    window : messages in flight.
    """

    window: int = 64


@frozen
class Collective(Cadence, Buffers):
    """Options of a collective.

    Parameters
    ----------
    cadence : `isolated` by a barrier after every iteration, or `streaming` back to back.
    """

    cadence: Literal["isolated", "streaming"] = "isolated"


@frozen
class Rooted(Root, Collective):
    """Options of a collective with a root."""


@frozen
class Reduction(Operation, Collective):
    """Options of a collective that computes.

    Parameters
    ----------
    datatype : type of the elements; the default is OSU's -T mpi_float.
    operation : MPI_SUM and so on.
    """

    datatype: Literal["float32", "float64", "int32", "int64"] = "float32"
    operation: Literal["sum", "prod", "max", "min"] = "sum"


@frozen
class RootedReduction(Rooted, Reduction):
    """Options of a collective that computes for a root."""


def _memories(spec: Spec[Buffers], rank: int) -> tuple[str, str]:
    kind = spec.options.peer_memory if rank and has(spec.options, Pair) else spec.options.memory
    return kind, kind


def _allowed(spec: Spec[Buffers]) -> str:
    options = spec.options
    if has(options, Root) and not 0 <= options.root < spec.ranks:
        return f"root={options.root}, but there are ranks 0 to {spec.ranks - 1}. Set root=0."
    if has(options, Window) and not 1 <= options.window <= 65536:
        return f"window={options.window}, but it must be 1 to 65536. Set window=64."
    return ""


_DOC = """{title} with buffers in the memory of GPUs: {call}.

The pattern, the bytes and the metrics are those of {plain}, so those of {osu} with `-d cuda` (OMB 7.4). {which}

`via` says what MPI gets. With `direct` it gets the address in device memory, which needs a CUDA-aware MPI. With
`staged` each call copies what it sends from the device to page-locked memory before, and what it received back
afterwards, whole messages at a time, inside the timed part. A program does so if its MPI knows nothing of GPUs. A
record says which one it was.
"""
_SIDES = "`memory` is where rank 0's buffers are and `peer_memory` where rank 1's are, as OSU's `D D`, `D H`, `H D`."
_ALL = "`memory` is where the buffers of all ranks are."


def _on_gpu(plain: str, call: str, options: type[Any], *, sides: bool = False) -> DeviceBenchmark:
    """Make the benchmark of the family mpi one with memory of GPUs."""
    base = benchmarks.get(plain)
    assert isinstance(base, KernelBenchmark)
    same: Mapping[str, Any] = {
        name: getattr(base, name)
        for name in (
            *("kernel", "metrics", "ranks", "sizes", "dtype", "window", "requests", "buffers", "expected", "peer"),
            *("peers", "active", "warmup", "reduce", "cadence"),
        )
    }
    title = base.title.capitalize()
    osu = next(name for name in base.equivalents if name.startswith("osu_"))
    doc = _DOC.format(title=title, call=call, plain=plain, osu=osu, which=_SIDES if sides else _ALL)
    return DeviceBenchmark(
        title=f"{base.title}, memory of GPUs", options=options, check=_allowed, memories=_memories, doc=doc, **same
    )


COLLECTIVES = {
    "bcast": Rooted,
    "gather": Rooted,
    "scatter": Rooted,
    "allgather": Collective,
    "alltoall": Collective,
    "reduce": RootedReduction,
    "allreduce": Reduction,
    "reduce_scatter_block": Reduction,
}
FORMS = {
    "mpi_latency": _on_gpu("mpi.latency", "ping-pong, one-way time", Pair, sides=True),
    "mpi_bandwidth": _on_gpu("mpi.bandwidth", "a window of messages, closed by a short answer", Window, sides=True),
    "mpi_bibandwidth": _on_gpu("mpi.bibandwidth", "a window of messages each way", Window, sides=True),
    **{
        f"mpi_{name}": _on_gpu(f"mpi.{name}", f"MPI_{name.capitalize()}", options)
        for name, options in COLLECTIVES.items()
    },
}
