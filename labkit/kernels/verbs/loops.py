"""Timed loops of two ends: ping-pong, one-sided calls, streams.

The timed loops consist of posts, polls and clock reads only. Every call goes through Python: `python_share` says how
long an empty call takes. State it with every number of these loops.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from pyverbs.pyverbs_error import PyverbsRDMAError

from labkit.kernels.verbs.ends import End
from labkit.kernels.verbs.objects import Queue, VerbsError
from labkit.kernels.verbs.plan import ONE_SIDED

_BATCH = 16  # completions taken at once
_MOST = 10_000  # samples of a point


def latency(end: End, count: int) -> list[int]:
    """Times of `count` iterations, ns, each of a whole round trip or of a one-sided call; empty in the server."""
    plan = end.plan
    slots = _slots(end, count)
    work = {slot: end.request(slot) for slot in set(slots)}
    end.meeting.swap()
    if plan.operation in ONE_SIDED:
        return [] if end.server else _calls(end, slots, work)
    if plan.operation == "write":
        return _writes(end, slots, work)
    return _ping_pong(end, slots, work)


def _slots(end: End, count: int) -> list[int]:
    """The buffer of each iteration, which is the same at both ends."""
    plan = end.plan
    if not plan.reuse:
        return [i % plan.buffers_in_turn for i in range(count)]
    chance = random.Random(plan.seed)
    return [0 if chance.random() < plan.reuse / 100 else chance.randrange(plan.buffers_in_turn) for _ in range(count)]


def _calls(end: End, slots: list[int], work: dict[int, Any]) -> list[int]:
    post, wait, times = end.pair.post, end.sent.wait, []
    for slot in slots:
        began = perf_counter_ns()
        post(work[slot])
        wait()
        times.append(perf_counter_ns() - began)
    return times


def _ping_pong(end: End, slots: list[int], work: dict[int, Any]) -> list[int]:
    post, sent, arrived, times = end.pair.post, end.sent.wait, end.arrived.wait, []
    pair, again = end.pair, end.post_receive
    if end.server:
        for slot in slots:
            arrived()
            post(work[slot])
            again(pair, slot)
            sent()
        return []
    for slot in slots:
        began = perf_counter_ns()
        post(work[slot])
        arrived()
        times.append(perf_counter_ns() - began)
        again(pair, slot)
        sent()
    return times


def host_overhead(end: End, count: int) -> list[int]:
    """Times of `count` whole iterations of a ping-pong, ns; the calls' part of each is in `End.overheads`.

    The calls are the post of the message and of the next receive, and the two polls that find something. Polls that
    find nothing are waiting.
    """
    work = {0: end.request()}
    end.meeting.swap()
    if end.server:
        return _ping_pong(end, [0] * count, work)
    post, again, pair, times = end.pair.post, end.post_receive, end.pair, list[int]()
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
        end.overheads.append(spent)
    return times


def _finding(queue: Queue, *, limit: float = 20.0) -> int:
    """Time of the poll that finds a completion, ns.

    Raises
    ------
    VerbsError
        If there is none within the limit, s, or it failed.
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


def _writes(end: End, slots: list[int], work: dict[int, Any]) -> list[int]:
    """Ping-pong by writes: each end watches the last byte that the other end writes, as in perftest."""
    post, sent, view, times = end.pair.post, end.sent.wait, end.memory.view, []
    out = [slot * end.stride + end.plan.size - 1 for slot in slots]
    come = [end.into + place for place in out]
    for place in set(come):
        view[place] = 0
    end.meeting.swap()
    for number, slot in enumerate(slots):
        stamp, here, there = number % 255 + 1, come[number], out[number]
        view[there] = stamp
        if end.server:
            _watch(view, here, stamp)
            post(work[slot])
        else:
            began = perf_counter_ns()
            post(work[slot])
            _watch(view, here, stamp)
            times.append(perf_counter_ns() - began)
        sent()
    return times


def stream(end: End, count: int) -> list[int]:
    """Times of `count` windows of `tx_depth` messages on each queue pair, ns; empty in the server.

    A window ends when all its messages are complete; they follow one another without a pause.
    """
    total = count * end.plan.tx_depth * end.plan.qps
    end.meeting.swap()
    if not end.server:
        times = _windows(end, count)
        end.meeting.tell("sent")
        return times
    end.received = _drained(end, total) if end.plan.operation.startswith(("send", "write_with")) else total
    if end.received == total:
        end.meeting.hear()
    return []


def _blocks(end: End) -> list[list[Any]]:
    """For each queue pair, the lists of requests that give one completion together."""
    plan, blocks = end.plan, []
    for pair in end.pairs:
        heads = []
        for first in range(0, plan.cq_moderation, plan.post_list):
            head = None
            for place in reversed(range(first, min(first + plan.post_list, plan.cq_moderation))):
                last = place == plan.cq_moderation - 1
                head = end.request(pair=pair, signalled=last, following=head)
                end.requests.append(head)
            heads.append(head)
        blocks.append(heads)
    return blocks


def _windows(end: End, count: int) -> list[int]:
    """Post blocks on the queue pairs in turn, wait for their completions, and time each window."""
    plan, wait, times = end.plan, end.sent.wait, []
    posts = [(pair.post, heads) for pair, heads in zip(end.pairs, _blocks(end), strict=True)]
    blocks = plan.tx_depth // plan.cq_moderation
    for _ in range(count):
        remaining = blocks * len(posts)
        began = perf_counter_ns()
        for _ in range(blocks):
            for post, heads in posts:
                for head in heads:
                    post(head)
        while remaining:
            remaining -= len(wait(_BATCH))
        times.append(perf_counter_ns() - began)
    return times


def _drained(end: End, total: int) -> int:
    """Number of messages that arrived: all with RC, else those that come until the sender is silent for a while."""
    pairs = {pair.number: pair for pair in end.pairs}
    arrived, quiet = 0, 0.0
    while arrived < total:
        completions = end.arrived.wait(_BATCH) if end.plan.connection == "RC" else end.arrived.poll(_BATCH)
        for completion in completions:
            end.post_receive(pairs[completion.qp_num])
        arrived += len(completions)
        if completions:
            quiet = 0.0
        elif not quiet and end.meeting.waiting():
            end.meeting.hear()
            quiet = time.monotonic() + 0.3
        elif quiet and time.monotonic() > quiet:
            break
    return arrived


def _watch(view: memoryview, place: int, stamp: int, *, limit: float = 20.0) -> None:
    """Poll a byte until it has a value."""
    empty, end = 0, 0.0
    while view[place] != stamp:
        empty += 1
        if empty % 256 == 0:
            os.sched_yield()
            end = end or time.monotonic() + limit
            if time.monotonic() > end:
                raise VerbsError(f"no data arrived within {limit:g} s. Is the peer alive?")


def measured(end: End, loop: Callable[[End, int], list[int]]) -> list[int]:
    """Warm up, then take as many samples as the plan says or as fit into its time. Both ends agree on every count.

    Returns
    -------
    ns; empty in the server.
    """
    plan, times = end.plan, list[int]()
    if plan.warmup:
        loop(end, plan.warmup)
    count, spent = plan.iterations or 5, 0.0
    while count:
        began = perf_counter_ns()
        times += loop(end, count)
        spent += (perf_counter_ns() - began) * 1e-9
        count = 0
        if not end.server and not plan.iterations:
            remaining, median = plan.time_cap - spent, statistics.median(times) * 1e-9
            count = min(int(remaining / median), 1000, _MOST - len(times)) if remaining > 3 * median else 0
        if not plan.iterations and end.server:
            count = end.meeting.hear()
        elif not plan.iterations:
            end.meeting.tell(count)
    return times


def python_share(end: End, *, calls: int = 300) -> dict[str, int]:
    """Cost of Python: median time of a poll that finds nothing and of a post that a full queue refuses, ns.

    The refused post also makes an exception, so its time is an upper bound.
    """
    device, plan = end.device, end.plan
    queue = device.queue(16)
    pair = device.pair("RC", queue, depth=4)
    pair.ready_to_receive({**end.pair.peer, "number": 0xFFFFF0})  # no such peer: requests stay in the queue
    pair.ready_to_send()
    part = end.memory.part(0, min(plan.size, 8))
    work, posts, polls = pair.request("send", part), list[int](), list[int]()
    for _ in range(64):
        try:
            pair.post(work)
        except PyverbsRDMAError:
            break
    for _ in range(calls):
        began = perf_counter_ns()
        queue.cq.poll(1)
        polls.append(perf_counter_ns() - began)
        began = perf_counter_ns()
        try:
            pair.post(work)
        except PyverbsRDMAError:
            posts.append(perf_counter_ns() - began)
    share = {"pyverbs_empty_poll_ns": int(statistics.median(polls))}
    return share | ({"pyverbs_refused_post_ns": int(statistics.median(posts))} if posts else {})
