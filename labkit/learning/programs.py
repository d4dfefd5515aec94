"""What the ranks of a point run, by the name in its plan; rank 0 returns the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from labkit.learning.collectives import Collective
from labkit.learning.group import Group, join, software
from labkit.learning.plan import Plan
from labkit.learning.timing import Times, timed


class RefusedError(Exception):
    """The backend cannot do what was asked, or did it wrongly."""


def run(plan: Plan, folder: Path) -> dict[str, Any] | None:
    """Join the other ranks, verify, time; the result on rank 0.

    A result that is wrong, or a call that the backend lacks, comes back as an ``error``.
    """
    group = join(plan, folder)
    try:
        result = _collective(plan, group)
    except RefusedError as error:
        result = {"error": str(error)}
    dist.destroy_process_group()
    return result if group.rank == 0 else None


def _collective(plan: Plan, group: Group) -> dict[str, Any]:
    """Time a collective after its check."""
    once = Collective(plan, group)
    verify(plan, group, once)
    times = timed(plan, group, once)
    return answer(group, times)


def verify(plan: Plan, group: Group, once: Collective) -> None:
    """Compare every element that one call brings.

    Raises
    ------
    RefusedError
        If the backend lacks the call, or an element of any rank is wrong.
    """
    try:
        mine = once.wrong()
    except RuntimeError as error:
        if "support" not in str(error):
            raise
        version = torch.__version__
        raise RefusedError(f"{group.backend} of torch {version} has no {plan.program} for this: {error}") from error
    wrong = {rank: row[0] for rank, row in enumerate(group.rows([mine])) if row[0]}
    if wrong:
        raise RefusedError(
            f"{plan.program}: wrong elements by rank {wrong}, wanted none of {once.receive.numel()} each"
        )


def answer(group: Group, times: Times, **extras: list[int]) -> dict[str, Any]:
    """The result as labkit's own programs print it."""
    return {
        "time_ns": times.slowest,
        "extras": extras,
        "reported": [["latency_us", "us", "mean", times.mean / 1e3]],
        "warnings": [],
        "facts": {"verified": True, **software(group)},
    }
