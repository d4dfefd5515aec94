"""The tensor of one rank on all (torch.distributed.broadcast): what brings the same weights to all replicas.

The size refers to the tensor; the bus bandwidth is the algorithm bandwidth, as broadcast_perf of nccl-tests 2.19.6
counts it. torch.distributed works in place. With `in_place=false` the root copies its input first, in the timed
part.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.options import frozen
from labkit.tools import torch


@frozen
class Options(_collective.Placed, _collective.Rooted):
    """Options of learning.broadcast."""


BENCHMARK = ProgramBenchmark(
    title="broadcast of torch.distributed",
    options=Options,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check,
    metrics=_collective.metrics(lambda ranks: 1),
    tools=(torch.collective,),
    cadence="streaming",
)
