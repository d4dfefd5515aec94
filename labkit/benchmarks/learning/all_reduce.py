"""Sum of all ranks' tensors on every rank: what data-parallel training does with gradients.

torch.distributed.all_reduce. The size refers to the tensor. The bus bandwidth is 2 (n - 1) / n times the algorithm
bandwidth, as all_reduce_perf of nccl-tests 2.19.6 counts it. torch.distributed works in place. With `in_place=false`
the call copies its input first, in the timed part.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.tools import torch

BENCHMARK = ProgramBenchmark(
    title="all-reduce of torch.distributed",
    options=_collective.Reducing,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check,
    metrics=_collective.metrics(lambda ranks: 2 * (ranks - 1) / ranks),
    tools=(torch.collective,),
    cadence="streaming",
)
