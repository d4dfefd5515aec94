"""A step of pipeline-parallel training: each rank has a stage of the model and passes activations on (GPipe).

All micro-batches go forward, then all go backward. Stages exchange data by send and receive. A stage waits for the
stages before and behind it. With p stages and m micro-batches of equal work, it waits for (p - 1) / (m + p - 1) of the
time.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

import torch
import torch.distributed as dist

from labkit.kernels.learning import model
from labkit.kernels.learning.group import Group
from labkit.kernels.learning.plan import Plan

_TOLERANCE = 1e-3


class Pipeline:
    """One stage.

    Parameters
    ----------
    plan : options ``layers`` (of a stage), ``width``, ``heads``, ``length``, ``batch`` (of a micro-batch),
        ``micro_batches``.
    group : group of all ranks; rank r is stage r.
    """

    phases = ("waiting_ns",)

    def __init__(self, plan: Plan, group: Group) -> None:
        given = plan.options
        self.group, self.given = group, given
        self.whole = model.layers(given["width"], given["heads"], given["layers"] * group.ranks).to(group.device)
        first, last = group.rank == 0, group.rank == group.ranks - 1
        begin = 1 + group.rank * given["layers"]
        self.stage = self.whole[0 if first else begin : begin + given["layers"] + last]
        drawn = [model.tokens(plan.seed, k, given["batch"], given["length"]) for k in range(given["micro_batches"])]
        self.data = [(inputs.to(group.device), wanted.to(group.device)) for inputs, wanted in drawn]
        self.shape = (given["batch"], given["length"], given["width"])

    def __call__(self) -> tuple[int, ...]:
        """Run one step; return the time in which the stage waits for data, ns."""
        self.stage.zero_grad(set_to_none=False)
        waiting, sent, kept = 0, [], []
        for inputs, wanted in self.data:
            before = inputs
            if self.group.rank:
                before, waited = self._received(self.group.rank - 1)
                waiting += waited
                before.requires_grad_()
            after = self.stage(before)
            if self.group.rank == self.group.ranks - 1:
                after = model.loss_of(after, wanted) / len(self.data)
            else:
                sent.append(self._sent(after.detach(), self.group.rank + 1))
            kept.append((before, after))
        for before, after in reversed(kept):
            gradient = None
            if self.group.rank < self.group.ranks - 1:
                gradient, waited = self._received(self.group.rank + 1)
                waiting += waited
            after.backward(gradient)
            if self.group.rank:
                sent.append(self._sent(before.grad, self.group.rank - 1))
        for request, _ in sent:
            request.wait()
        self.group.wait()
        return (waiting,)

    def complaint(self) -> str:
        """What is wrong with this stage's gradients, by the whole model on this rank."""
        self()
        ours = [one.grad.clone() for one in self.stage.parameters()]
        self.whole.zero_grad(set_to_none=False)
        for inputs, wanted in self.data:
            (model.loss_of(self.whole(inputs), wanted) / len(self.data)).backward()
        for k, (got, right) in enumerate(zip(ours, self.stage.parameters(), strict=True)):
            if (error := model.far(got, right.grad)) > _TOLERANCE:
                return f"gradient {k} is off by {error:.2g} of its largest element"
        return ""

    def facts(self) -> dict[str, Any]:
        """Bytes that go from one stage to the next for a micro-batch."""
        batch, length, width = self.shape
        return {"exchange_B": 4 * batch * length * width}

    def _received(self, source: int) -> tuple[torch.Tensor, int]:
        """Activations or gradients of another stage, and how long they were waited for, ns."""
        tensor = torch.empty(self.shape, device=self.group.device)
        begin = perf_counter_ns()
        dist.recv(tensor, source)
        self.group.wait()
        return tensor, perf_counter_ns() - begin

    def _sent(self, tensor: torch.Tensor, target: int) -> tuple[Any, torch.Tensor]:
        """A send that is under way; its tensor must live until it is done."""
        tensor = tensor.contiguous()
        return dist.isend(tensor, target), tensor
