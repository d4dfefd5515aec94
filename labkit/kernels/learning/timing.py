"""The timed loop: every iteration of every rank, and the loop as a whole as nccl-tests times it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter, perf_counter_ns

import torch

from labkit.kernels.learning.group import Group
from labkit.kernels.learning.plan import Plan

MIN_ITERATIONS, MAX_ITERATIONS = 5, 20_000  # timed iterations where their number is left to labkit
_PROBES = 2


@dataclass(frozen=True)
class Times:
    """Times of the iterations.

    Parameters
    ----------
    slowest : the slowest rank's time of each iteration, (iterations,), ns.
    phases : what the call reported of that rank and iteration, each (iterations,), ns.
    mean : time of the whole loop over its iterations, mean over ranks, ns: what nccl-tests prints.
    """

    slowest: list[int]
    phases: list[list[int]]
    mean: float


def timed(plan: Plan, group: Group, call: Callable[[], Sequence[int]]) -> Times:
    """Time a call.

    On a GPU the iterations of ``streaming`` are the gaps between events in the stream, so that the host waits once,
    after the last call. The clock of ``isolated`` runs from the barrier until the GPU is done.

    Parameters
    ----------
    call : one iteration; returns the times of its phases, ns, always the same number.
    """
    for _ in range(plan.warmup):
        call()
    count = plan.iterations or _fitting(plan, group, call)
    group.barrier()
    begin = perf_counter_ns()
    if plan.cadence == "isolated":
        times, phases = _isolated(count, group, call)
        whole = sum(times)
    elif group.cuda:
        times, phases = _events(count, group, call)
        whole = perf_counter_ns() - begin
    else:
        times, phases = _streaming(count, call)
        whole = perf_counter_ns() - begin
    rows = group.rows([whole, *times])
    slowest = [max(range(group.ranks), key=lambda rank: rows[rank][k + 1]) for k in range(count)]
    kept = [group.rows([one[phase] for one in phases]) for phase in range(len(phases[0]))]
    return Times(
        slowest=[rows[rank][k + 1] for k, rank in enumerate(slowest)],
        phases=[[phase[rank][k] for k, rank in enumerate(slowest)] for phase in kept],
        mean=sum(row[0] for row in rows) / group.ranks / count,
    )


def _fitting(plan: Plan, group: Group, call: Callable[[], Sequence[int]]) -> int:
    """Iterations that fit into the time cap on the slowest rank; the same number on all."""
    group.barrier()
    begin = perf_counter()
    for _ in range(_PROBES):
        call()
    group.wait()
    each = group.most(perf_counter() - begin) / _PROBES
    return max(MIN_ITERATIONS, min(MAX_ITERATIONS, int(plan.time_cap / each)))


def _streaming(count: int, call: Callable[[], Sequence[int]]) -> tuple[list[int], list[Sequence[int]]]:
    ends, phases = [0] * (count + 1), list[Sequence[int]]()
    ends[0] = perf_counter_ns()
    for k in range(count):
        phases.append(call())
        ends[k + 1] = perf_counter_ns()
    return [after - before for before, after in pairwise(ends)], phases


def _isolated(count: int, group: Group, call: Callable[[], Sequence[int]]) -> tuple[list[int], list[Sequence[int]]]:
    times, phases = [], list[Sequence[int]]()
    for _ in range(count):
        group.barrier()
        begin = perf_counter_ns()
        phases.append(call())
        group.wait()
        times.append(perf_counter_ns() - begin)
    return times, phases


def _events(count: int, group: Group, call: Callable[[], Sequence[int]]) -> tuple[list[int], list[Sequence[int]]]:
    marks, phases = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)], list[Sequence[int]]()
    marks[0].record()
    for k in range(count):
        phases.append(call())
        marks[k + 1].record()
    group.wait()
    return [round(a.elapsed_time(b) * 1e6) for a, b in pairwise(marks)], phases
