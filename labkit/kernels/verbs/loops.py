"""Timed loops of two ends: ping-pong, one-sided calls, streams.

The timed loops consist of posts, polls and clock reads only. Every call goes through Python: `python_share` says how
long an empty call takes. State it with every number of these loops.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from time import perf_counter_ns
from typing import Any

from pyverbs.pyverbs_error import PyverbsRDMAError

from labkit.kernels.verbs.ends import End
from labkit.kernels.verbs.objects import Device, Memory, VerbsError
from labkit.kernels.verbs.plan import ONE_SIDED, Plan, turns

BATCH = 16  # completions taken at once
_MOST = 10_000  # samples of a point
Block = tuple[Callable[[Any], None], list[Any]]  # how a queue pair posts, and requests that give one completion
Windows = Callable[[End, int, Iterator[Block], int], list[int]]


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
    return ping_pong(end, slots, work)


def pingping(end: End, count: int) -> list[int]:
    """Times of `count` messages, ns, each with a message in the opposite direction; empty in the server.

    Both ends send at once. A time ends when the other end's message is here and the message sent is complete.
    """
    post, sent, arrived, times = end.pair.post, end.sent.wait, end.arrived.wait, list[int]()
    work, pair, again = end.request(), end.pair, end.post_receive
    end.meeting.swap()
    for _ in range(count):
        began = perf_counter_ns()
        post(work)
        arrived()
        sent()
        times.append(perf_counter_ns() - began)
        again(pair)
    return [] if end.server else times


def _slots(end: End, count: int) -> list[int]:
    """The buffer of each iteration, the same at both ends."""
    return list(islice(cycle(turns(end.plan)), count))


def _calls(end: End, slots: list[int], work: dict[int, Any]) -> list[int]:
    post, wait, times = end.pair.post, end.sent.wait, []
    for slot in slots:
        began = perf_counter_ns()
        post(work[slot])
        wait()
        times.append(perf_counter_ns() - began)
    return times


def ping_pong(end: End, slots: list[int], work: dict[int, Any]) -> list[int]:
    """Times of round trips through the slots, ns; empty in the server."""
    post, sent, arrived, times = end.pair.post, end.sent.wait, end.arrived.wait, []
    pair, again = end.pair, end.post_receive
    if end.server:
        for slot in slots:
            arrived()
            post(work[slot])
            again(pair)
            sent()
        return []
    for slot in slots:
        began = perf_counter_ns()
        post(work[slot])
        arrived()
        times.append(perf_counter_ns() - began)
        again(pair)
        sent()
    return times


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


def stream(end: End, count: int, windows: Windows | None = None) -> list[int]:
    """Times of `count` windows of `tx_depth` messages on each queue pair, ns; empty in the server.

    A window ends when all its messages are complete; they follow one another without a pause.

    Parameters
    ----------
    windows : the timed loop of the client, if it does more than post and wait.
    """
    plan = end.plan
    total = count * plan.tx_depth * plan.qps
    blocks = cycle([] if end.server else _blocks(end))
    end.meeting.swap()
    if not end.server:
        times = (windows or _windows)(end, count, blocks, plan.tx_depth // plan.cq_moderation * plan.qps)
        end.meeting.tell("sent")
        return times
    end.received = _drained(end, total) if plan.operation.startswith(("send", "write_with")) else total
    if end.received == total:
        end.meeting.hear()
    return []


def _blocks(end: End) -> list[Block]:
    """Requests that cycle through the queue pairs and the buffers, until both cycles begin again."""
    plan, order = end.plan, turns(end.plan)
    moderation, posted = plan.cq_moderation, plan.post_list
    slots = cycle(order)
    blocks = list[Block]()
    for number in range(math.lcm(len(order), moderation * plan.qps) // moderation):
        pair, places, heads = end.pairs[number % plan.qps], list(islice(slots, moderation)), list[Any]()
        for first in range(0, moderation, posted):
            head = None
            for place in reversed(range(first, min(first + posted, moderation))):
                head = end.request(places[place], pair=pair, signalled=place == moderation - 1, following=head)
                end.requests.append(head)
            heads.append(head)
        blocks.append((pair.post, heads))
    return blocks


def _windows(end: End, count: int, blocks: Iterator[Block], each: int) -> list[int]:
    """Post the blocks of a window, wait for their completions, and time each window."""
    wait, times = end.sent.wait, list[int]()
    for _ in range(count):
        remaining = each
        began = perf_counter_ns()
        for post, heads in islice(blocks, each):
            for head in heads:
                post(head)
        while remaining:
            remaining -= len(wait(BATCH))
        times.append(perf_counter_ns() - began)
    return times


def _drained(end: End, total: int) -> int:
    """Number of messages that arrived: all with RC, else those that come until the sender is silent for a while."""
    pairs = {pair.number: pair for pair in end.pairs}
    arrived, quiet = 0, 0.0
    while arrived < total:
        completions = end.arrived.wait(BATCH) if end.plan.connection == "RC" else end.arrived.poll(BATCH)
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


def measured(plan: Plan, loop: Callable[[int], list[int]], agree: Callable[[int], int], *, server: bool) -> list[int]:
    """Warm up, then take the number of samples of the plan, or as many as fit into its time.

    Parameters
    ----------
    loop : returns the times of a number of iterations, ns.
    agree : tells the other end how many iterations follow; in a server, returns what the client tells.

    Returns
    -------
    ns; empty in the server.
    """
    times = list[int]()
    if plan.warmup:
        loop(plan.warmup)
    count, spent = plan.iterations or 5, 0.0
    while count:
        began = perf_counter_ns()
        times += loop(count)
        spent += (perf_counter_ns() - began) * 1e-9
        count = 0
        if not server and not plan.iterations:
            remaining, median = plan.time_cap - spent, statistics.median(times) * 1e-9
            count = min(int(remaining / median), 1000, _MOST - len(times)) if remaining > 3 * median else 0
        if not plan.iterations:
            count = agree(count)
    return times


def python_share(device: Device, peer: Mapping[str, Any], memory: Memory, *, calls: int = 300) -> dict[str, int]:
    """Cost of Python: median time of a poll that finds nothing and of a post that a full queue refuses, ns.

    The refused post also makes an exception, so its time is an upper bound.

    Parameters
    ----------
    device, memory : device and memory of this end.
    peer : address of a queue pair of the other end.
    """
    queue = device.queue(16)
    pair = device.pair("RC", queue, depth=4)
    pair.ready_to_receive({**peer, "number": 0xFFFFF0})  # no such peer: requests stay in the queue
    pair.ready_to_send()
    part = memory.part(0, min(memory.size, 8))
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
