"""A step of pipeline-parallel training: each rank has some layers, and sends what they give to the next rank.

The schedule is GPipe's (Huang et al., 2019): all micro-batches forward, then all back. With p ranks and m
micro-batches, a share of (p - 1) / (m + p - 1) of the time is idle even if messages cost nothing. Before timing, each
rank compares its gradients with the gradients of the whole model. `waiting_s` is the time that the slowest rank waits
for others, messages included.

The rate counts the sequences. A rank computes with one thread.
"""

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _model
from labkit.options import frozen
from labkit.point.spec import Spec
from labkit.tools import torch


@frozen
class Options(_model.Transformer):
    """Options of learning.pipeline.

    Parameters
    ----------
    micro_batches : micro-batches of a step, each with `batch` sequences.
    """

    micro_batches: int = 4


def _check(spec: Spec[Options]) -> str:
    if spec.options.backend == "nccl":
        return "backend=nccl, but stages send while they compute, which NCCL's pairs do not. Set backend=gloo."
    return _model.beyond(spec, {"micro_batches": 1024}) or _model.check(spec)


def _sequences(spec: Spec[Options]) -> float:
    return float(spec.options.micro_batches * spec.options.batch)


BENCHMARK = ProgramBenchmark(
    title="step of pipeline-parallel training",
    options=Options,
    sized=False,
    ranks=(2, None),
    check=_check,
    metrics={"step_s": lambda spec: 1, "operation_rate_per_s": _sequences},
    phases={"waiting_ns": "waiting_s"},
    tools=(torch.training,),
    cadence="streaming",
)
