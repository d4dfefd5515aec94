"""A step of a recommendation model: tables are spread over ranks, perceptrons are replicated (DLRM, PARAM's dlrm.py).

Each rank has its tables for the samples of all ranks. Indices go to the tables by an all-to-all, the looked-up rows
come back by a second one, the gradients of these rows return by a third one, and the gradients of the perceptrons are
averaged by an all-reduce each.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from labkit.kernels.learning import model
from labkit.kernels.learning.group import Group
from labkit.kernels.learning.plan import Plan

_TOLERANCE = 1e-4
DENSE = 13  # continuous features of the Criteo data, as in DLRM


class Recommendation:
    """The training of a recommendation model on one rank.

    Parameters
    ----------
    plan : options ``tables`` (on each rank), ``rows``, ``width``, ``lookups``, ``batch``, ``hidden``.
    group : group of all ranks.
    """

    phases = ("all_to_all_ns", "all_reduce_ns")

    def __init__(self, plan: Plan, group: Group) -> None:
        given = plan.options
        self.group, self.tables, self.width, self.batch = group, given["tables"], given["width"], given["batch"]
        self.lookups, ranks = given["lookups"], group.ranks
        torch.manual_seed(1)
        everything = [nn.EmbeddingBag(given["rows"], self.width, mode="sum") for _ in range(self.tables * ranks)]
        self.all = nn.ModuleList(everything).to(group.device)
        self.mine = self.all[group.rank * self.tables : (group.rank + 1) * self.tables]
        hidden = given["hidden"]
        self.bottom = nn.Sequential(nn.Linear(DENSE, hidden), nn.ReLU(), nn.Linear(hidden, self.width), nn.ReLU())
        seen = (self.tables * ranks + 1) * self.width
        self.top = nn.Sequential(nn.Linear(seen, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.bottom.to(group.device)
        self.top.to(group.device)
        source = torch.Generator().manual_seed(1000 * plan.seed + group.rank)
        shape = (ranks, self.tables, self.batch, self.lookups)  # for each rank its tables
        self.indices = torch.randint(given["rows"], shape, generator=source).to(group.device)
        self.dense = torch.rand((self.batch, DENSE), generator=source).to(group.device)
        self.clicked = torch.randint(2, (self.batch, 1), generator=source).float().to(group.device)

    def __call__(self) -> tuple[int, ...]:
        """One step; times of the exchanges, ns."""
        exchanged = 0
        for one in (*self.mine, self.bottom, self.top):
            one.zero_grad(set_to_none=False)
        wanted = torch.empty_like(self.indices)
        exchanged += self._timed(lambda: dist.all_to_all_single(wanted, self.indices))
        pooled = torch.stack([table(self._of(wanted, k)) for k, table in enumerate(self.mine)])
        looked_up = pooled.view(self.tables, self.group.ranks, self.batch, self.width).transpose(0, 1).contiguous()
        received = torch.empty_like(looked_up)
        exchanged += self._timed(lambda: dist.all_to_all_single(received, looked_up.detach()))
        rows = received.requires_grad_()
        self._loss(rows).backward()
        back = torch.empty_like(received)
        exchanged += self._timed(lambda: dist.all_to_all_single(back, rows.grad))
        looked_up.backward(back / self.group.ranks)
        return exchanged, self._timed(self._reduce)

    def complaint(self) -> str:
        """What is wrong with the gradients of one step, by the same model with all tables on every rank."""
        self()
        mine = [one.weight.grad.clone() for one in self.mine]
        dense = [one.grad.clone() for one in self._replicated()]
        for one in (self.all, self.bottom, self.top):
            one.zero_grad(set_to_none=False)
        flat = self.indices.flatten(0, 1)
        rows = torch.stack([table(flat[k]) for k, table in enumerate(self.all)])
        shape = (self.group.ranks, self.tables, self.batch, self.width)
        self._loss(rows.view(shape)).backward()
        for parameter in self.all.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= self.group.ranks
        self._reduce()
        begin = self.group.rank * self.tables
        theirs = [one.weight.grad for one in self.all[begin : begin + self.tables]]
        theirs += [one.grad for one in self._replicated()]
        for k, (got, right) in enumerate(zip([*mine, *dense], theirs, strict=True)):
            if (error := model.far(got, right)) > _TOLERANCE:
                return f"gradient {k} is off by {error:.2g} of its largest element"
        return ""

    def facts(self) -> dict[str, Any]:
        """Bytes of the gradients that are reduced, and of the rows that a rank exchanges in each direction."""
        item = 4
        return {
            "gradient_B": item * sum(one.numel() for one in self._replicated()),
            "exchange_B": item * self.group.ranks * self.tables * self.batch * self.width,
        }

    def _replicated(self) -> list[torch.Tensor]:
        """Parameters that every rank has."""
        return [*self.bottom.parameters(), *self.top.parameters()]

    def _of(self, wanted: torch.Tensor, table: int) -> torch.Tensor:
        """Indices of all ranks' samples for one of this rank's tables, (ranks × batch, lookups)."""
        return wanted[:, table].reshape(self.group.ranks * self.batch, self.lookups)

    def _loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Loss of this rank's samples, from the rows of all tables, (ranks, tables, batch, width)."""
        sparse = rows.flatten(0, 1).transpose(0, 1).flatten(1)
        guess = self.top(torch.cat([self.bottom(self.dense), sparse], 1))
        return nn.functional.binary_cross_entropy_with_logits(guess, self.clicked)

    def _reduce(self) -> None:
        """Average the gradients of both perceptrons over ranks, a message each."""
        for net in (self.top, self.bottom):
            gradients = [one.grad for one in net.parameters()]
            flat = torch.cat([one.flatten() for one in gradients]) / self.group.ranks
            dist.all_reduce(flat)
            for gradient, part in zip(gradients, flat.split([one.numel() for one in gradients]), strict=True):
                gradient.copy_(part.view_as(gradient))

    def _timed(self, exchange: Any) -> int:
        """Time of an exchange, ns."""
        self.group.wait()
        begin = perf_counter_ns()
        exchange()
        self.group.wait()
        return perf_counter_ns() - begin
