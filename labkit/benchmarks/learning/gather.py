"""The tensors of all ranks on one rank (torch.distributed.gather).

The size refers to the result. The bus bandwidth is (n - 1) / n times the algorithm bandwidth, as gather_perf of
nccl-tests 2.19.6 counts it. In place the input of each rank is its part of the result.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.options import frozen
from labkit.tools import torch


@frozen
class Options(_collective.Placed, _collective.Rooted):
    """Options of learning.gather."""


BENCHMARK = ProgramBenchmark(
    title="gather of torch.distributed",
    options=Options,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check_parts,
    metrics=_collective.metrics(lambda ranks: (ranks - 1) / ranks),
    tools=(torch.collective,),
    cadence="streaming",
)
