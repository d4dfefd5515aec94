"""Sum of all ranks' tensors on one rank (torch.distributed.reduce).

The size refers to the tensor; the bus bandwidth is the algorithm bandwidth, as reduce_perf of nccl-tests 2.19.6
counts it. torch.distributed works in place. With `in_place=false` the call copies its input first, in the timed
part.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.options import frozen
from labkit.tools import torch


@frozen
class Options(_collective.Reducing, _collective.Rooted):
    """Options of learning.reduce."""


BENCHMARK = ProgramBenchmark(
    title="reduction of torch.distributed",
    options=Options,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check,
    metrics=_collective.metrics(lambda ranks: 1),
    tools=(torch.collective,),
    cadence="streaming",
)
