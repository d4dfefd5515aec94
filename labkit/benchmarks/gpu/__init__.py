"""Benchmarks of GPUs: copies, launches, messages from and to device memory; collectives from logs of the originals.

labkit calls CUDA's driver (`labkit.kernels.cuda`), which comes with every NVIDIA GPU. Without a GPU, the option
``accelerator=stand-in`` runs the same code on a stand-in in host memory. That tests the code and shows nothing about a
GPU.
"""

from typing import Any

from labkit.benchmarks import DeviceBenchmark
from labkit.options import frozen
from labkit.options.ranks import OnGpu
from labkit.point.spec import Spec


@frozen
class Copies(OnGpu):
    """Options of copies through a stream.

    Parameters
    ----------
    copies : in a sample, one after the other in a stream, between the same two buffers.
    """

    copies: int = 1


def counted(spec: Spec[Copies]) -> str:
    """Say why there cannot be so many copies in a sample; empty if there can."""
    copies = spec.options.copies
    return "" if 1 <= copies <= 4096 else f"copies={copies}, but it must be 1 to 4096. Set copies=1."


def copying(**fields: Any) -> DeviceBenchmark:
    """Make a benchmark of copies that one process starts."""
    defaults: dict[str, Any] = {
        "options": Copies,
        "mpi": False,
        "sizes": "4:256Mi:*4",
        "check": counted,
        "window": lambda spec: spec.options.copies,
        "metrics": {
            "bandwidth_MBps": lambda spec: spec.options.copies * spec.size,
            "latency_us": lambda spec: spec.options.copies,
        },
        "expected": lambda spec, rank, send: send(rank),
        "cadence": "streaming",
        "warmup": (20, 2),
    }
    return DeviceBenchmark(**(defaults | fields))
