"""Two ends of a measurement: bytes checked first, then timed loops of ping-pong, one-sided calls and streams.

The timed loops hold nothing but posts, polls and clock reads. Every call goes through Python: `python_share` says how
long such a call takes when it has nothing to do, and belongs beside every number from here.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter_ns
from typing import Any

from labkit.verbs.meeting import Meeting
from labkit.verbs.objects import Device, Memory, VerbsError
from labkit.verbs.pairs import GRH, Pair
from labkit.verbs.plan import ONE_SIDED, PAGE, Plan

_BATCH = 16  # completions taken at once
_MOST = 10_000  # samples of a point


def pattern(seed: int, size: int) -> bytes:
    """Bytes that differ with the seed and from place to place, of period 251, which no power of two hides."""
    period = bytes((seed + 7 * place) % 251 for place in range(251))
    return (period * (size // 251 + 1))[:size]


class End:
    """One end of a connection with all it needs.

    Parameters
    ----------
    device : open.
    plan : the point.
    meeting : with the other end.
    server : whether this end answers.
    """

    def __init__(self, device: Device, plan: Plan, meeting: Meeting, *, server: bool) -> None:
        self.device, self.plan, self.meeting, self.server = device, plan, meeting, server
        events, stream = plan.completion == "event", plan.program == "bandwidth"
        depth = max(plan.tx_depth, 16) if stream else 16
        self.stride = -(-(plan.size + GRH) // PAGE) * PAGE
        slots = plan.buffers_in_turn
        self.memory = device.memory(2 * slots * self.stride)
        self.into = slots * self.stride  # where what arrives begins
        self.sent = device.queue(depth * plan.qps + 16, events=events)
        self.arrived = device.queue(depth * plan.qps + 16, events=events)
        self.pairs = [
            device.pair(plan.connection, self.sent, self.arrived, depth=depth, inline=plan.inline)  # type: ignore[arg-type]
            for _ in range(plan.qps)
        ]
        for pair in self.pairs:
            for _ in range(depth):
                self.post_receive(pair)
            meeting.connect(pair, mtu=plan.mtu, traffic_class=plan.tclass)
        self.remote = meeting.swap(self.memory.address)

    @property
    def pair(self) -> Pair:
        """The first queue pair."""
        return self.pairs[0]

    @property
    def header(self) -> int:
        """B before the data of a message that arrives."""
        return GRH if self.plan.connection == "UD" else 0

    def post_receive(self, pair: Pair, slot: int = 0) -> None:
        """A receive for one message."""
        pair.receive(self.memory.part(self.into + slot * self.stride, self.plan.size + GRH))

    def request(self, slot: int = 0, *, signalled: bool = True, pair: Pair | None = None, **more: Any) -> Any:
        """The piece of work of the plan's operation, from or into a slot; the peer's slot is the same."""
        plan, used = self.plan, pair or self.pair
        one_sided = plan.operation in ONE_SIDED
        offset = slot * self.stride + (0 if one_sided else self.into)
        place = slot * self.stride + (self.into if one_sided else 0)
        inline = 0 < plan.size <= plan.inline and not one_sided
        atomic = {"add": 1} if plan.operation == "fetch_and_add" else {}
        return used.request(
            plan.operation, self.memory.part(place, plan.size), signalled=signalled, inline=inline,
            remote=self.remote, offset=offset, **(atomic | more),
        )  # fmt: skip

    # ---- verification --------------------------------------------------------------------------------------

    def verify(self) -> None:
        """One message each way, or one one-sided call, with every byte checked; untimed.

        Raises
        ------
        VerbsError
            If a byte is wrong.
        """
        plan, view, size = self.plan, self.memory.view, self.plan.size
        mine, theirs = pattern(11 + self.server, size), pattern(12 - self.server, size)
        view[:size] = mine
        view[self.into : self.into + self.stride] = b"\xa5" * self.stride
        self.meeting.swap()
        if plan.operation in ONE_SIDED:
            self._verify_one_sided(theirs)
            return
        for turn in (False, True):
            if turn == self.server:
                self.pair.post(self.request())
                self.sent.wait()
                if plan.operation == "write":
                    self.meeting.tell("written")
            elif plan.operation == "write":
                self.meeting.hear()
            else:
                self.arrived.wait()
                self.post_receive(self.pair)
        self._same(bytes(view[self.into + self.header :][:size]), theirs)
        self.meeting.swap()

    def _verify_one_sided(self, theirs: bytes) -> None:
        plan, view, size = self.plan, self.memory.view, self.plan.size
        before = int.from_bytes(theirs[:8], "little")
        if not self.server:
            swaps = plan.operation == "compare_and_swap"
            more: dict[str, Any] = {"add": before, "swap": 77} if swaps else {}
            self.pair.post(self.request(**more))
            self.sent.wait()
            self._same(bytes(view[self.into : self.into + size]), theirs)
        self.meeting.swap()
        if self.server and plan.operation != "read":
            mine = int.from_bytes(pattern(12, size)[:8], "little")
            wanted = 77 if plan.operation == "compare_and_swap" else mine + 1
            self._same(bytes(view[:8]), wanted.to_bytes(8, "little"))
        self.meeting.swap()

    def _same(self, found: bytes, wanted: bytes) -> None:
        """Refuse wrong bytes."""
        if found != wanted:
            at = next(i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b)
            raise VerbsError(
                f"{self.plan.operation} of {self.plan.size} B brought a wrong byte at {at}: {found[at]} instead of "
                f"{wanted[at]}."
            )

    # ---- latency -------------------------------------------------------------------------------------------

    def latency(self, count: int) -> list[int]:
        """Times of so many iterations, ns; of the whole round trip, or of the one-sided call. Empty in the server."""
        plan = self.plan
        slots = self._slots(count)
        work = {slot: self.request(slot) for slot in set(slots)}
        self.meeting.swap()
        if plan.operation in ONE_SIDED:
            return [] if self.server else self._calls(slots, work)
        if plan.operation == "write":
            return self._writes(slots, work)
        return self._ping_pong(slots, work)

    def _slots(self, count: int) -> list[int]:
        """Which buffer each iteration uses; the same at both ends."""
        plan = self.plan
        if not plan.reuse:
            return [i % plan.buffers_in_turn for i in range(count)]
        chance = random.Random(plan.seed)
        return [
            0 if chance.random() < plan.reuse / 100 else chance.randrange(plan.buffers_in_turn) for _ in range(count)
        ]

    def _calls(self, slots: list[int], work: dict[int, Any]) -> list[int]:
        post, wait, times = self.pair.post, self.sent.wait, []
        for slot in slots:
            began = perf_counter_ns()
            post(work[slot])
            wait()
            times.append(perf_counter_ns() - began)
        return times

    def _ping_pong(self, slots: list[int], work: dict[int, Any]) -> list[int]:
        post, sent, arrived, times = self.pair.post, self.sent.wait, self.arrived.wait, []
        pair, again = self.pair, self.post_receive
        if self.server:
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

    def _writes(self, slots: list[int], work: dict[int, Any]) -> list[int]:
        """Each end watches the last byte of what the other writes, as perftest does."""
        post, sent, view, times = self.pair.post, self.sent.wait, self.memory.view, []
        out = [slot * self.stride + self.plan.size - 1 for slot in slots]
        come = [self.into + place for place in out]
        for one in set(come):
            view[one] = 0
        self.meeting.swap()
        for number, slot in enumerate(slots):
            stamp, here, there = number % 255 + 1, come[number], out[number]
            view[there] = stamp
            if self.server:
                _watch(view, here, stamp)
                post(work[slot])
            else:
                began = perf_counter_ns()
                post(work[slot])
                _watch(view, here, stamp)
                times.append(perf_counter_ns() - began)
            sent()
        return times

    # ---- bandwidth -----------------------------------------------------------------------------------------

    def stream(self, count: int) -> list[int]:
        """Times of so many times `tx_depth` messages, ns, one after the other without a pause. Empty in the server."""
        total = count * self.plan.tx_depth
        self.meeting.swap()
        if not self.server:
            times = self._streamed(total, count)
            self.meeting.tell("sent")
            return times
        self.received = self._drained(total) if self.plan.operation.startswith(("send", "write_with")) else total
        if self.received == total:
            self.meeting.hear()
        return []

    def _blocks(self) -> list[list[Any]]:
        """Of each queue pair the lists of requests that make one completion."""
        plan, found = self.plan, []
        for pair in self.pairs:
            heads = []
            for first in range(0, plan.cq_moderation, plan.post_list):
                head = None
                for place in reversed(range(first, min(first + plan.post_list, plan.cq_moderation))):
                    last = place == plan.cq_moderation - 1
                    head = self.request(pair=pair, signalled=last, following=head)
                heads.append(head)
            found.append(heads)
        return found

    def _streamed(self, total: int, count: int) -> list[int]:
        plan, blocks, posts = self.plan, self._blocks(), [pair.post for pair in self.pairs]
        each, wait = plan.cq_moderation, self.sent.wait
        room, every, ways = plan.tx_depth // each * plan.qps, plan.tx_depth, len(posts)
        posted = done = turn = 0
        marks = [perf_counter_ns()]
        while done < total:
            while posted < total and posted - done < room * each:
                for head in blocks[turn]:
                    posts[turn](head)
                turn = (turn + 1) % ways
                posted += each
            done += each * len(wait(_BATCH))
            while len(marks) <= min(done // every, count):
                marks.append(perf_counter_ns())
        return [later - earlier for earlier, later in pairwise(marks)]

    def _drained(self, total: int) -> int:
        """How many of the messages arrived: every one with RC, else those until the sender is silent for a while."""
        owner = {pair.number: pair for pair in self.pairs}
        got, quiet = 0, 0.0
        while got < total:
            found = self.arrived.wait(_BATCH) if self.plan.connection == "RC" else self.arrived.poll(_BATCH)
            for one in found:
                self.post_receive(owner[one.qp_num])
            got += len(found)
            if found:
                quiet = 0.0
            elif not quiet and self.meeting.waiting():
                self.meeting.hear()
                quiet = time.monotonic() + 0.3
            elif quiet and time.monotonic() > quiet:
                break
        return got


def _watch(view: memoryview, place: int, stamp: int, *, limit: float = 20.0) -> None:
    """Turn until a byte has a value."""
    empty, end = 0, 0.0
    while view[place] != stamp:
        empty += 1
        if empty % 256 == 0:
            os.sched_yield()
            end = end or time.monotonic() + limit
            if time.monotonic() > end:
                raise VerbsError(f"nothing was written within {limit:g} s. Is the peer alive?")


def measured(end: End, loop: Callable[[int], list[int]]) -> list[int]:
    """Warm-up, then as many samples as the plan asks for or fit into its time; both ends agree on every count.

    Returns
    -------
    ns; empty in the server.
    """
    plan, times = end.plan, list[int]()
    loop(plan.warmup) if plan.warmup else None
    count, spent = plan.iterations or 5, 0.0
    while count:
        began = perf_counter_ns()
        times += loop(count)
        spent += (perf_counter_ns() - began) * 1e-9
        count = 0
        if not end.server and not plan.iterations:
            left, each = plan.time_cap - spent, statistics.median(times) * 1e-9
            count = min(int(left / each), 1000, _MOST - len(times)) if left > 3 * each else 0
        if not plan.iterations:
            count = end.meeting.hear() if end.server else _told(end.meeting, count)
    return times


def _told(meeting: Meeting, count: int) -> int:
    meeting.tell(count)
    return count


def python_share(end: End, *, calls: int = 300) -> dict[str, int]:
    """Median time of a poll that finds nothing and of a post that a full queue refuses, ns: what Python adds.

    The refused post holds the making of an exception as well, so it is an upper bound.
    """
    device, plan = end.device, end.plan
    queue = device.queue(16)
    pair = device.pair("RC", queue, depth=4)
    pair.ready_to_receive({**end.pair.peer, "number": 0xFFFFF0})  # nobody: what is posted stays
    pair.ready_to_send()
    part = end.memory.part(0, min(plan.size, 8))
    work, posts, polls = pair.request("send", part), list[int](), list[int]()
    for _ in range(64):
        try:
            pair.post(work)
        except Exception:
            break
    for _ in range(calls):
        began = perf_counter_ns()
        queue.cq.poll(1)
        polls.append(perf_counter_ns() - began)
        began = perf_counter_ns()
        try:
            pair.post(work)
        except Exception:
            posts.append(perf_counter_ns() - began)
    share = {"pyverbs_empty_poll_ns": int(statistics.median(polls))}
    return share | ({"pyverbs_refused_post_ns": int(statistics.median(posts))} if posts else {})


__all__ = ["End", "Memory", "measured", "pattern", "python_share"]
