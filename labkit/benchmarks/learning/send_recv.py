"""Every rank sends to the next and receives from the one before, at once.

isend and irecv of torch.distributed. The size refers to one message; the bus bandwidth is the algorithm bandwidth,
as sendrecv_perf of nccl-tests 2.19.6 counts it.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _collective
from labkit.tools import torch

BENCHMARK = ProgramBenchmark(
    title="ring of sends of torch.distributed",
    options=_collective.Data,
    sizes=_collective.SIZES,
    ranks=(2, None),
    check=_collective.check,
    metrics=_collective.metrics(lambda ranks: 1),
    tools=(torch.collective,),
    cadence="streaming",
)
