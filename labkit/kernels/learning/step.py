"""A step of data-parallel training: forward, backward, gradients averaged over ranks, update.

With ``overlap`` torch's DistributedDataParallel reduces a bucket of gradients as soon as the backward pass has filled
it. ``after`` reduces the same buckets when the backward pass is over. ``none`` leaves the ranks to themselves, so that
the rest of a step is known. Compression is torch's own communication hook (16 bits, or PowerSGD).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from labkit.kernels.learning import compression, model
from labkit.kernels.learning.group import Group
from labkit.kernels.learning.plan import Plan

_MiB = 1024 * 1024
_TOLERANCE = {"none": 1e-4, "float16": 1e-2}  # of a reduced gradient, over the largest one
_LEARNING_RATE = 1e-3
_FIRST_BUCKET = dist._DEFAULT_FIRST_BUCKET_BYTES  # 1 MiB, which some versions take even if a bucket must be smaller


class Step:
    """The training of a small transformer on one rank.

    Parameters
    ----------
    plan : options ``layers``, ``width``, ``heads``, ``length``, ``batch``, ``communication``, ``bucket``,
        ``compression``.
    group : group of all ranks.
    """

    phases = ("forward_ns", "backward_ns", "reduction_ns", "update_ns")

    def __init__(self, plan: Plan, group: Group) -> None:
        given = plan.options
        self.group, self.communication, self.compression = group, given["communication"], given["compression"]
        self.bucket = given["bucket"]
        self.model = model.layers(given["width"], given["heads"], given["layers"]).to(group.device)
        self.parameters = [one for one in self.model.parameters() if one.requires_grad]
        drawn = model.tokens(plan.seed, group.rank, given["batch"], given["length"])
        self.inputs, self.wanted = (one.to(group.device) for one in drawn)
        self.net: Any = self._parallel() if self.communication == "overlap" else self.model
        self.update = torch.optim.SGD(self.parameters, lr=_LEARNING_RATE)

    def __call__(self) -> tuple[int, ...]:
        """One step; times of its phases, ns."""
        marks = [perf_counter_ns()]
        self.update.zero_grad(set_to_none=False)
        loss = model.loss_of(self.net(self.inputs), self.wanted)
        self._mark(marks)
        loss.backward()
        self._mark(marks)
        if self.communication == "after":
            for bucket in self._buckets():
                self._reduce(bucket)
        self._mark(marks)
        self.update.step()
        self._mark(marks)
        return tuple(after - before for before, after in pairwise(marks))

    def complaint(self) -> str:
        """What is wrong with the gradients of one step; empty if nothing is.

        The gradients of the step are compared with the mean of the gradients that every rank computes alone. PowerSGD
        only has to give all ranks the same, once it has begun.
        """
        if self.compression == "powersgd":
            for _ in range(compression.PLAIN_STEPS):
                self()
        own = [one.clone() for one in self._alone()]
        self()
        for k, parameter in enumerate(self.parameters):
            got = parameter.grad
            if self.communication == "none":
                wanted = own[k]
            else:
                wanted = own[k] if self.compression != "powersgd" else got.clone()
                dist.all_reduce(wanted)
                wanted /= self.group.ranks
            if (error := model.far(got, wanted)) > _TOLERANCE.get(self.compression, 1e-4):
                return f"gradient {k} is off by {error:.2g} of its largest element"
        return ""

    def facts(self) -> dict[str, Any]:
        """Bytes of the gradients, and of what represents them on the way where that is simple."""
        return {"gradient_B": sum(one.numel() * one.element_size() for one in self.parameters)}

    def _alone(self) -> tuple[torch.Tensor, ...]:
        """Gradients of this rank's data, without the others."""
        return tuple(torch.autograd.grad(model.loss_of(self.model(self.inputs), self.wanted), self.parameters))

    def _mark(self, marks: list[int]) -> None:
        self.group.wait()
        marks.append(perf_counter_ns())

    def _parallel(self) -> Any:
        """The model, with torch's reduction of buckets during the backward pass."""
        devices = [self.group.device.index] if self.group.cuda else None
        # the one way that torch's own source offers for the first bucket; this process trains one model
        dist._DEFAULT_FIRST_BUCKET_BYTES = min(self.bucket, _FIRST_BUCKET)
        net = DistributedDataParallel(self.model, device_ids=devices, bucket_cap_mb=self.bucket / _MiB)
        compression.register(net, self.compression, self.group)
        return net

    def _buckets(self) -> Iterator[list[torch.Tensor]]:
        """Gradients in the order of the backward pass, as many as fit into a bucket."""
        bucket, size = list[torch.Tensor](), 0
        for parameter in reversed(self.parameters):
            grown = size + parameter.grad.numel() * parameter.grad.element_size()
            if bucket and grown > self.bucket:
                yield bucket
                bucket, grown = [], grown - size
            bucket.append(parameter.grad)
            size = grown
        yield bucket

    def _reduce(self, gradients: list[torch.Tensor]) -> None:
        """Average gradients over ranks, as one message."""
        flat = torch.cat([one.flatten() for one in gradients])
        sent = (flat / self.group.ranks).half() if self.compression == "float16" else flat / self.group.ranks
        dist.all_reduce(sent)
        parts = sent.to(flat.dtype).split([one.numel() for one in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
