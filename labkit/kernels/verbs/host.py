"""What communication leaves of the host's processor: overhead of a message, and a stream beside a computation."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cache
from itertools import islice
from time import perf_counter_ns

from labkit.kernels.verbs.ends import End
from labkit.kernels.verbs.loops import BATCH, Block, ping_pong, stream
from labkit.kernels.verbs.objects import Queue, VerbsError

_STEPS = 20_000  # of the computation for calibration


def overhead(end: End, count: int) -> list[int]:
    """Times of `count` whole iterations of a ping-pong, ns; the calls' part of each is the phase ``overhead_ns``.

    The calls are the post of the message and of the next receive, and the two polls that find something. Polls that
    find nothing are waiting.
    """
    work = {0: end.request()}
    end.meeting.swap()
    if end.server:
        return ping_pong(end, [0] * count, work)
    post, again, pair, times = end.pair.post, end.post_receive, end.pair, list[int]()
    overheads = end.phases.setdefault("overhead_ns", [])
    for _ in range(count):
        began = perf_counter_ns()
        post(work[0])
        spent = perf_counter_ns() - began
        spent += _finding(end.arrived)
        posting = perf_counter_ns()
        again(pair)
        spent += perf_counter_ns() - posting
        spent += _finding(end.sent)
        times.append(perf_counter_ns() - began)
        overheads.append(spent)
    return times


def _finding(queue: Queue, *, limit: float = 20.0) -> int:
    """Time of the poll that finds a completion, ns.

    Raises
    ------
    VerbsError
        If no completion comes within the limit, s, or the operation failed.
    """
    end, empty = 0.0, 0
    while True:
        began = perf_counter_ns()
        if queue.poll():
            return perf_counter_ns() - began
        empty += 1
        if empty % 64 == 0:
            os.sched_yield()  # as `Queue.wait`
            end = end or time.monotonic() + limit
            if time.monotonic() > end:
                raise VerbsError(f"no completion within {limit:g} s. Is the peer alive?")


def availability(end: End, count: int) -> list[int]:
    """Times of `count` windows, ns, as `stream`, with a computation between the posts of a window and the wait for it.

    The computation is a fixed number of steps, so another program that takes the processor makes it longer. Its time in
    each window is the phase ``compute_ns``.
    """
    steps = steps_for(end.plan.compute_ns) if not end.server and end.plan.compute_ns else 0

    def windows(end: End, count: int, blocks: Iterator[Block], each: int) -> list[int]:
        wait, times = end.sent.wait, list[int]()
        computing = end.phases.setdefault("compute_ns", [])
        for _ in range(count):
            remaining = each
            began = perf_counter_ns()
            for post, heads in islice(blocks, each):
                for head in heads:
                    post(head)
            computed = perf_counter_ns()
            compute(steps)
            computing.append(perf_counter_ns() - computed)
            while remaining:
                remaining -= len(wait(BATCH))
            times.append(perf_counter_ns() - began)
        return times

    return stream(end, count, windows)


def compute(steps: int) -> float:
    """Multiply and add `steps` times in Python."""
    state = 0.5
    for _ in range(steps):
        state = state * 0.999 + 0.001
    return state


@cache
def steps_for(time_ns: int) -> int:
    """Steps of `compute` that take a time, ns, when nothing else runs: by the shortest of some runs."""
    shortest = min(_timed(_STEPS) for _ in range(5))
    return max(1, round(time_ns * _STEPS / shortest))


def _timed(steps: int) -> int:
    began = perf_counter_ns()
    compute(steps)
    return perf_counter_ns() - began
