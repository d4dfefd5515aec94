"""A different n-th of every rank's tensor on each rank: what exchanges embeddings and experts.

torch.distributed.all_to_all_single. The size refers to a rank's tensor, its own part included. The bus bandwidth is
(n - 1) / n times the algorithm bandwidth, as alltoall_perf of nccl-tests 2.19.6 counts it.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.tools import torch

BENCHMARK = ProgramBenchmark(
    title="all-to-all of torch.distributed",
    options=_collective.Data,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check_parts,
    metrics=_collective.metrics(lambda ranks: (ranks - 1) / ranks),
    tools=(torch.collective,),
    cadence="streaming",
)
