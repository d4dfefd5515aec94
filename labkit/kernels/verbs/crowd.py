"""Hot spots: a hub, and processes around it that all send to it, or that it sends to, at the same time.

Each process around the hub opens the device and has a separate queue pair. The hub has a queue pair for each of them,
two completion queues, and optionally one shared receive queue.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter_ns
from typing import Any

from labkit.kernels.verbs.ends import differing, pattern
from labkit.kernels.verbs.loops import BATCH, measured, python_share
from labkit.kernels.verbs.meeting import Meeting, listening
from labkit.kernels.verbs.objects import Device, VerbsError, place
from labkit.kernels.verbs.plan import LIMIT_S, PAGE, Plan

_ANSWER = 8  # B


class Side:
    """The hub, or a process around it.

    Parameters
    ----------
    device : the open device.
    plan : the point.
    meetings : connections to the other processes: to all around the hub, or to the hub.
    hub : whether this is the hub.

    Attributes
    ----------
    sends : whether the messages leave here, and the answers arrive here.
    """

    def __init__(self, device: Device, plan: Plan, meetings: Sequence[Meeting], *, hub: bool) -> None:
        self.plan, self.meetings, self.others = plan, meetings, len(meetings)
        self.sends = hub == (plan.program == "hotspot_send")
        window, messages, depth = plan.window, self.others * plan.window, plan.window + 4
        events = plan.completion == "event"
        self.stride = -(-plan.size // PAGE) * PAGE
        self.memory, self.answers = device.memory(messages * self.stride), device.memory(2 * self.others * _ANSWER)
        self.sent = device.queue(self.others * depth + 16, events=events)
        self.arrived = device.queue(self.others * depth + 16, events=events)
        shared = device.shared_receives(messages) if plan.srq and not self.sends else None
        options: dict[str, Any] = {"shared": shared, "depth": depth, "inline": plan.inline}
        self.pairs = [device.pair("RC", self.sent, self.arrived, **options) for _ in meetings]
        self._again = {pair.number: pair.post_receive for pair in self.pairs}
        self.places = [self._place(k) for k in range(self.others if self.sends else messages)]
        for k, receive in enumerate(self.places):
            self.pairs[k if self.sends else k // window].post_receive(receive)
        for meeting, pair in zip(meetings, self.pairs, strict=True):
            meeting.connect(pair, mtu=plan.mtu, traffic_class=plan.tclass)
        # the number of each process around the hub, which its messages depend on
        named = [meeting.swap(number if hub else None) for number, meeting in enumerate(meetings)]
        self.names: list[int] = list(range(self.others)) if hub else named
        self._work = [(pair.post, one) for k, pair in enumerate(self.pairs) for one in self._requests(k)]

    def _place(self, k: int) -> Any:
        """A receive for a message, or for an answer."""
        if self.sends:
            return place(self.answers.part((self.others + k) * _ANSWER, _ANSWER), k)
        return place(self.memory.part(k * self.stride, self.plan.size), k)

    def _requests(self, number: int) -> list[Any]:
        """The messages to another process (the last one gives a completion), or the answer to it."""
        plan, pair = self.plan, self.pairs[number]
        if not self.sends:
            return [pair.request("send", self.answers.part(number * _ANSWER, _ANSWER))]
        inline, first = plan.size <= plan.inline, number * plan.window
        return [
            pair.request(
                "send",
                self.memory.part((first + k) * self.stride, plan.size),
                signalled=k == plan.window - 1,
                inline=inline,
            )
            for k in range(plan.window)
        ]

    def run(self, count: int) -> list[int]:
        """Times of `count` rounds, ns, one after another without a pause.

        A round is a window of messages to or from each other process, and an answer of each receiver.
        """
        for meeting in self.meetings:
            meeting.swap()
        rounds = self._out if self.sends else self._in
        times, began = list[int](), perf_counter_ns()
        for _ in range(count):
            rounds()
            ended = perf_counter_ns()
            times.append(ended - began)
            began = ended
        return times

    def _out(self) -> None:
        """Send a window to each, and take an answer from each."""
        for post, request in self._work:
            post(request)
        self._take(self.others)
        self._complete()

    def _in(self) -> None:
        """Take a window from each, post its receives again, and answer each, which allows new messages."""
        self._take(self.others * self.plan.window)
        for post, request in self._work:
            post(request)
        self._complete()

    def _take(self, remaining: int) -> None:
        """Take messages or answers, and post their receives again."""
        arrived, again, places = self.arrived, self._again, self.places
        while remaining:
            completions = arrived.wait(BATCH)
            for completion in completions:
                again[completion.qp_num](places[completion.wr_id])
            remaining -= len(completions)

    def _complete(self) -> None:
        remaining = self.others
        while remaining:
            remaining -= len(self.sent.wait(BATCH))

    def verify(self) -> None:
        """Send a window to or from each other process, untimed, and check every byte.

        Raises
        ------
        VerbsError
            If a byte is wrong.
        """
        plan, view = self.plan, self.memory.view
        view[:] = b"\xa5" * len(view)
        for number, name in enumerate(self.names if self.sends else ()):
            for k in range(plan.window):
                view[(number * plan.window + k) * self.stride :][: plan.size] = _message(plan, name, k)
        for meeting in self.meetings:
            meeting.swap()
        if self.sends:
            self._out()
        else:
            self._check()
            for post, request in self._work:
                post(request)
            self._complete()
        for meeting in self.meetings:
            meeting.swap()

    def _check(self) -> None:
        """Compare each message with what its sender has sent, in order."""
        plan, counts = self.plan, [0] * self.others
        numbers = {pair.number: number for number, pair in enumerate(self.pairs)}
        for _ in range(self.others * plan.window):
            (completion,) = self.arrived.wait()
            number = numbers[completion.qp_num]
            message = bytes(self.memory.view[completion.wr_id * self.stride :][: plan.size])
            differing("send", message, _message(plan, self.names[number], counts[number]))
            counts[number] += 1
            self.pairs[number].post_receive(self.places[completion.wr_id])


def _message(plan: Plan, name: int, k: int) -> bytes:
    """Message `k` between the hub and a process around it."""
    return pattern(11 + name * plan.window + k, plan.size)


def hub(device: str, gid: int, port: int, address: str, plan: Plan) -> dict[str, Any]:
    """Run the hub.

    Returns
    -------
    ``time_ns`` of the rounds, and ``facts``.
    """
    with ExitStack() as stack:
        meetings = [stack.enter_context(Meeting(port, address)) for _ in range(plan.peers)]
        opened = stack.enter_context(Device(device, gid=gid))
        side = Side(opened, plan, meetings, hub=True)
        side.verify()

        def agree(count: int) -> int:
            for meeting in meetings:
                meeting.tell(count)
            return count

        began = time.perf_counter()
        times = measured(plan, side.run, agree, server=False)
        facts = {"verified": True, "timed_s": time.perf_counter() - began, "gid": opened.gid, "active_mtu": opened.mtu}
        for meeting in meetings:
            meeting.swap()
        return {"time_ns": times, "facts": facts | python_share(opened, side.pairs[0].peer, side.memory)}


def around(device: str, gid: int, port: int, plan: Plan) -> None:
    """Run the processes around the hub. Each is forked before any device is open, and returns from here, too.

    Raises
    ------
    VerbsError
        If one of them failed; its own error is in standard error.
    """
    children = []
    with listening(port, backlog=plan.peers) as listener:
        for _ in range(plan.peers):
            if child := os.fork():
                children.append(child)
                continue
            signal.alarm(round(LIMIT_S))  # the thread that ends the parent after this time does not survive the fork
            with Meeting(port, listener=listener) as meeting, Device(device, gid=gid) as opened:
                side = Side(opened, plan, [meeting], hub=False)
                side.verify()
                measured(plan, side.run, lambda _: int(meeting.hear()), server=True)
                meeting.swap()
            return
    failed = [child for child in children if os.waitpid(child, 0)[1]]
    if failed:
        raise VerbsError(f"{len(failed)} of {plan.peers} processes around the hot spot failed; see their errors above.")
