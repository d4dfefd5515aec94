"""A different n-th of one rank's tensor on each rank (torch.distributed.scatter).

The size refers to the root's tensor. The bus bandwidth is (n - 1) / n times the algorithm bandwidth, as
scatter_perf of nccl-tests 2.19.6 counts it. In place the output of each rank is its part of a buffer as
long as the root's.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.options import frozen
from labkit.tools import torch


@frozen
class Options(_collective.Placed, _collective.Rooted):
    """Options of learning.scatter."""


BENCHMARK = ProgramBenchmark(
    title="scatter of torch.distributed",
    options=Options,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check_parts,
    metrics=_collective.metrics(lambda ranks: (ranks - 1) / ranks),
    tools=(torch.collective,),
    cadence="streaming",
)
