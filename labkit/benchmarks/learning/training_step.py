"""A step of data-parallel training of a small transformer: forward, backward, gradients averaged over ranks, update.

`communication=overlap` is torch's DistributedDataParallel: it reduces a bucket of gradients (`bucket`, B) as soon as
the backward pass has filled it. `after` reduces buckets of that size after the backward pass; `none` reduces nothing.
The difference of the two steps is the cost of communication. `compression` is torch's hook: 16 bits for each value, or
PowerSGD of rank 1 (Vogels et al., 2019), which compresses from the third step on, before the timing begins. With gloo
labkit runs PowerSGD's hook for one bucket after the other, because torch's own order can make the ranks wait for ever.
Before timing, each rank compares its gradients with the mean of the gradients that all ranks compute alone.

The rate counts the sequences of all ranks. A rank computes with one thread.
"""

from typing import Literal

from labkit.benchmarks import ProgramBenchmark
from labkit.benchmarks.learning import _model
from labkit.options import frozen
from labkit.point.spec import Spec
from labkit.tools import torch


@frozen
class Options(_model.Transformer):
    """Options of learning.training_step.

    Parameters
    ----------
    communication : when gradients are reduced: during the backward pass, after it, or not at all.
    bucket : most bytes of gradients in one message (DistributedDataParallel's bucket_cap_mb; its default is 25 MiB).
    compression : compression of the gradients on their way.
    """

    communication: Literal["overlap", "after", "none"] = "overlap"
    bucket: int = 26_214_400
    compression: Literal["none", "float16", "powersgd"] = "none"


def _check(spec: Spec[Options]) -> str:
    communication, compression = spec.options.communication, spec.options.compression
    if spec.options.bucket < 1:
        return f"bucket={spec.options.bucket} B, but it must be 1 or more. Set bucket=26214400."
    if compression == "powersgd" and communication != "overlap":
        return "compression=powersgd is a hook of DistributedDataParallel. Set communication=overlap."
    if compression != "none" and communication == "none":
        return f"compression={compression}, but communication=none sends nothing. Set compression=none."
    return _model.check(spec)


BENCHMARK = ProgramBenchmark(
    title="step of data-parallel training",
    options=Options,
    sized=False,
    ranks=(2, None),
    check=_check,
    metrics={"step_s": lambda spec: 1, "operation_rate_per_s": lambda spec: spec.ranks * spec.options.batch},
    phases={
        "forward_ns": "forward_s",
        "backward_ns": "backward_s",
        "reduction_ns": "reduction_s",
        "update_ns": "update_s",
    },
    tools=(torch.training,),
    cadence="streaming",
)
