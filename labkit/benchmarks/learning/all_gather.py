"""The tensors of all ranks on every rank: what sharded training does with weights before a layer.

The size refers to the result, as in nccl-tests; each rank sends an n-th. The bus bandwidth is (n - 1) / n times the
algorithm bandwidth (all_gather_perf, 2.19.6). NCCL runs all_gather_into_tensor; gloo runs all_gather, which copies the
result once more. In place the input is the rank's part of the result.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.tools import torch

BENCHMARK = ProgramBenchmark(
    title="all-gather of torch.distributed",
    options=_collective.Placed,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check_parts,
    metrics=_collective.metrics(lambda ranks: (ranks - 1) / ranks),
    tools=(torch.collective,),
    cadence="streaming",
)
