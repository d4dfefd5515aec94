"""An n-th of the sum of all ranks' tensors on each rank: what sharded training does with gradients.

The size refers to the input, as in nccl-tests. The bus bandwidth is (n - 1) / n times the algorithm bandwidth
(reduce_scatter_perf, 2.19.6). NCCL runs reduce_scatter_tensor, gloo reduce_scatter, which it lacks before torch 2.6.
In place the output is the rank's part of the input.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.tools import torch

BENCHMARK = ProgramBenchmark(
    title="reduce-scatter of torch.distributed",
    options=_collective.Reducing,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check_parts,
    metrics=_collective.metrics(lambda ranks: (ranks - 1) / ranks),
    tools=(torch.collective,),
    cadence="streaming",
)
