"""Barrier of torch.distributed: the time until all ranks have arrived. On a GPU the ranks also wait for it."""

from labkit.benchmarks import ProgramBenchmark
from labkit.options.learning import Call
from labkit.tools import torch

BENCHMARK = ProgramBenchmark(
    title="barrier of torch.distributed",
    options=Call,
    sized=False,
    ranks=(2, None),
    metrics={"latency_us": lambda spec: 1},
    tools=(torch.collective,),
    cadence="streaming",
)
