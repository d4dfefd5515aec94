"""What the ranks of a point run, by the name in its plan; rank 0 returns the result."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from labkit.kernels.learning.collectives import Collective, InFlight
from labkit.kernels.learning.group import Group, join, software
from labkit.kernels.learning.pipeline import Pipeline
from labkit.kernels.learning.plan import Plan
from labkit.kernels.learning.recommendation import Recommendation
from labkit.kernels.learning.step import Step
from labkit.kernels.learning.timing import Times, timed

TRAINING = {"training_step": Step, "recommendation": Recommendation, "pipeline": Pipeline}


class RefusedError(Exception):
    """The backend cannot do what was asked, or did it wrongly."""


def run(plan: Plan, folder: Path) -> dict[str, Any] | None:
    """Join the other ranks, verify, time; the result on rank 0.

    A result that is wrong, or a call that the backend lacks, comes back as an ``error``.
    """
    group = join(plan, folder)
    try:
        result = _training(plan, group) if plan.program in TRAINING else _collective(plan, group)
    except RefusedError as error:
        result = {"error": str(error)}
    dist.destroy_process_group()
    return result if group.rank == 0 else None


def _collective(plan: Plan, group: Group) -> dict[str, Any]:
    """Time a collective after its check."""
    calls = plan.options.get("in_flight", 1)
    once = InFlight(plan, group) if calls > 1 else Collective(plan, group)
    verify(plan, group, once)
    times = timed(plan, group, once)
    return answer(group, dataclasses.replace(times, mean=times.mean / calls))


def _training(plan: Plan, group: Group) -> dict[str, Any]:
    """Time steps of training after a check of their gradients.

    Raises
    ------
    RefusedError
        If the gradients of a rank are wrong.
    """
    once: Any = TRAINING[plan.program](plan, group)
    complaint = once.complaint()
    wrong = [rank for rank, row in enumerate(group.rows([int(bool(complaint))])) if row[0]]
    if wrong:
        raise RefusedError(f"{plan.program}: wrong results on ranks {wrong}: {complaint or 'none on rank 0'}")
    times = timed(plan, group, once)
    result = answer(group, times, **dict(zip(once.phases, times.phases, strict=True)))
    result["facts"] |= once.facts()
    return result


def verify(plan: Plan, group: Group, once: Collective | InFlight) -> None:
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
