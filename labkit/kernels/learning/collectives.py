"""The collectives of torch.distributed, with the sizes, places and check of nccl-tests.

Buffers are counted as nccl-tests does (v2.19.6): the size is that of the longest buffer of a rank. Values are small
whole numbers, so that sums are exact and every element can be compared. In place means that input and output share one
buffer: all of it for `all_reduce`, `broadcast` and `reduce`; for `all_gather` the rank's part of the result, for
`reduce_scatter` the rank's part of the input. Out of place `all_reduce`, `broadcast` and `reduce` copy their input
first, inside the timed call, because torch.distributed has no other form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.distributed as dist

from labkit.kernels.learning.group import Group
from labkit.kernels.learning.plan import Plan

POISON = 99
_EXACT = {"float16": 3, "bfloat16": 3}  # values are below this, or below _BELOW, so that sums of many ranks are exact
_BELOW = 13
_REDUCE = {"sum": lambda parts: parts.sum(0), "max": lambda parts: parts.amax(0), "min": lambda parts: parts.amin(0)}


class Collective:
    """One collective with its buffers on this rank.

    Parameters
    ----------
    plan : its `program` names the collective; options are ``dtype``, ``in_place``, ``operation`` and ``root``.
    group : group of all ranks.
    seed : seed of the data.
    waits : whether a call waits for its end; else it returns what to wait for.
    """

    def __init__(self, plan: Plan, group: Group, seed: int = 0, *, waits: bool = True) -> None:
        given = plan.options
        self.seed, self.waits = seed or plan.seed, waits
        self.plan, self.group, self.root = plan, group, int(given.get("root", 0))
        self.dtype: torch.dtype = getattr(torch, given.get("dtype", "float32"))
        self.in_place, self.reduction = bool(given.get("in_place")), str(given.get("operation", "sum"))
        self.op = getattr(dist.ReduceOp, self.reduction.upper())
        whole = plan.size // torch.empty(0, dtype=self.dtype).element_size()
        part = whole // group.ranks
        self.part = part
        sent, received = {
            "all_gather": (part, whole),
            "gather": (part, whole),
            "reduce_scatter": (whole, part),
            "scatter": (whole, part),
        }.get(plan.program, (whole, whole))
        self.send, self.receive = self._buffers(sent, received)
        self.call: Callable[[], Any] = getattr(self, "_" + plan.program)

    def __call__(self) -> tuple[int, ...]:
        """One iteration."""
        self.call()
        return ()

    def begin(self) -> Iterable[Any]:
        """Start a call; return what to wait for."""
        started = self.call()
        return started if isinstance(started, list) else [started]

    def poison(self) -> None:
        """Fill the buffers for a check."""
        self.receive.fill_(POISON)
        if self.plan.program != "barrier":
            self.send.copy_(self._values(self.group.rank, self.send.numel()))

    def wrong(self) -> int:
        """Elements of this rank that are wrong after one call on poisoned buffers."""
        self.poison()
        self.call()
        self.group.wait()
        return self.mistakes()

    def mistakes(self) -> int:
        """Elements that are wrong after a call on poisoned buffers."""
        expected = self._expected()
        return 0 if expected is None else int((self.receive != expected.to(self.group.device)).sum().item())

    def _buffers(self, sent: int, received: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Buffers to send from and to receive into; of one memory where the call is in place."""
        longest = torch.zeros(max(sent, received), dtype=self.dtype, device=self.group.device)
        if not self.in_place:
            return torch.zeros(sent, dtype=self.dtype, device=self.group.device), longest[:received]
        own = self.group.rank * self.part
        if sent < received:
            return longest[own : own + self.part], longest
        if sent > received:
            return longest, longest[own : own + self.part]
        return longest, longest

    def _values(self, rank: int, count: int) -> torch.Tensor:
        """What a rank sends, (count,)."""
        below = _EXACT.get(str(self.dtype).removeprefix("torch."), _BELOW)
        numbers = torch.arange(count, dtype=torch.int64) * 7 + rank * 31 + self.seed
        return (numbers % below).to(self.dtype)

    def _expected(self) -> torch.Tensor | None:
        """What this rank must have received; None if it receives nothing."""
        name, rank, ranks, part = self.plan.program, self.group.rank, self.group.ranks, self.part
        if name == "barrier" or (name in ("reduce", "gather") and rank != self.root):
            return None
        if name == "broadcast":
            return self._values(self.root, self.receive.numel())
        if name == "send_recv":
            return self._values((rank - 1) % ranks, self.receive.numel())
        if name == "scatter":
            return self._values(self.root, self.send.numel())[rank * part : (rank + 1) * part]
        every = torch.stack([self._values(one, self.send.numel()) for one in range(ranks)])
        if name in ("all_gather", "gather"):
            return every.flatten()
        if name == "all_to_all":
            return every[:, rank * part : (rank + 1) * part].flatten()
        total = _REDUCE[self.reduction](every.to(torch.int64)).to(self.dtype)
        return total[rank * part : (rank + 1) * part] if name == "reduce_scatter" else total

    def _parts(self, whole: torch.Tensor) -> list[torch.Tensor]:
        """A part for each rank of a buffer, without copies."""
        return list(whole[: self.part * self.group.ranks].view(self.group.ranks, self.part).unbind(0))

    def _copied(self) -> None:
        """Bring the input to where torch works in place."""
        if not self.in_place:
            self.receive.copy_(self.send)

    def _all_reduce(self) -> Any:
        self._copied()
        return dist.all_reduce(self.receive, op=self.op, async_op=not self.waits)

    def _reduce(self) -> Any:
        self._copied()
        return dist.reduce(self.receive, dst=self.root, op=self.op, async_op=not self.waits)

    def _broadcast(self) -> Any:
        if self.group.rank == self.root:
            self._copied()
        return dist.broadcast(self.receive, src=self.root, async_op=not self.waits)

    def _all_gather(self) -> Any:
        if self.group.backend == "nccl":
            return dist.all_gather_into_tensor(self.receive, self.send, async_op=not self.waits)
        # older gloo has the form with a list only
        return dist.all_gather(self._parts(self.receive), self.send, async_op=not self.waits)

    def _reduce_scatter(self) -> Any:
        if self.group.backend == "nccl":
            return dist.reduce_scatter_tensor(self.receive, self.send, op=self.op, async_op=not self.waits)
        return dist.reduce_scatter(self.receive, self._parts(self.send), op=self.op, async_op=not self.waits)

    def _all_to_all(self) -> Any:
        return dist.all_to_all_single(self.receive, self.send, async_op=not self.waits)

    def _gather(self) -> Any:
        parts = self._parts(self.receive) if self.group.rank == self.root else None
        return dist.gather(self.send, parts, dst=self.root, async_op=not self.waits)

    def _scatter(self) -> Any:
        parts = self._parts(self.send) if self.group.rank == self.root else None
        return dist.scatter(self.receive, parts, src=self.root, async_op=not self.waits)

    def _send_recv(self) -> Any:
        return ring(self.group, self.send, self.receive, waits=self.waits)

    def _barrier(self) -> None:
        self.group.barrier()


class InFlight:
    """Several calls of a collective at once, each with its own buffers.

    Parameters
    ----------
    plan : as of `Collective`; its option ``in_flight`` says how many calls.
    group : group of all ranks.
    """

    def __init__(self, plan: Plan, group: Group) -> None:
        self.group = group
        self.calls = [Collective(plan, group, plan.seed + k, waits=False) for k in range(plan.options["in_flight"])]
        self.receive = self.calls[0].receive

    def __call__(self) -> tuple[int, ...]:
        """One iteration: start all calls, wait for all."""
        started = [request for call in self.calls for request in call.begin()]
        for request in started:
            request.wait()
        return ()

    def wrong(self) -> int:
        """Elements of this rank that are wrong after one iteration on poisoned buffers."""
        for call in self.calls:
            call.poison()
        self()
        self.group.wait()
        return sum(call.mistakes() for call in self.calls)


def ring(group: Group, send: torch.Tensor, receive: torch.Tensor, *, waits: bool = True) -> list[Any]:
    """Send to the next rank and receive from the one before, both at once (nccl-tests sendrecv)."""
    after, before = (group.rank + 1) % group.ranks, (group.rank - 1) % group.ranks
    if group.backend == "nccl":
        pair = [dist.P2POp(dist.isend, send, after), dist.P2POp(dist.irecv, receive, before)]
        requests: list[Any] = dist.batch_isend_irecv(pair)
    else:
        requests = [dist.isend(send, after), dist.irecv(receive, before)]
    for request in requests if waits else ():
        request.wait()
    return requests
