"""Small programs over verbs, as in RDMA-bench: an echo server, a sequencer, a key-value store.

Requests and answers travel over *wires*. A wire uses SEND, which needs a posted receive at the other end, or WRITE into
a slot that the other end watches. Kalia, Kaminsky, Andersen: Design Guidelines for High Performance RDMA Systems
(USENIX ATC 2016); their HERD has requests by WRITE over UC and answers by SEND over UD.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from labkit.kernels.verbs.meeting import Meeting
from labkit.kernels.verbs.objects import GRH, Device, VerbsError
from labkit.kernels.verbs.plan import PAGE, Plan

_SIZE = 16  # B; the shortest message: slot, number, body, stamp
_LIMIT_S = 30.0
Handler = Callable[[bytes], bytes]


class Wire:
    """Messages in one direction, each in its own slot; `out` is true at the end that sends.

    A message is ``slot, body, stamp``: the first byte is its slot, the last is never 0.
    """

    def __init__(
        self, device: Device, meeting: Meeting, plan: Plan, *, service: str, operation: str, out: bool
    ) -> None:
        self.operation, self.size, self.slots = operation, max(plan.size, _SIZE), plan.clients
        self.stride = -(-(self.size + GRH) // 64) * 64
        self.memory = device.memory(-(-self.slots * self.stride // PAGE) * PAGE)
        self.queue = device.queue(4 * self.slots + 16, events=False)
        inline = plan.inline if self.size <= plan.inline else 0
        self.pair = device.pair(service, self.queue, depth=2 * self.slots + 8, inline=inline)  # type: ignore[arg-type]
        self.header = GRH if service == "UD" else 0
        if not out and operation == "send":
            for slot in range(self.slots):
                self._receive(slot)
        meeting.connect(self.pair, mtu=plan.mtu, traffic_class=plan.tclass)
        remote = meeting.swap(self.memory.address)
        if out:
            self.work = [
                self.pair.request(
                    operation,
                    self.memory.part(slot * self.stride, self.size),
                    work=slot,
                    inline=bool(inline),
                    remote=remote,
                    offset=slot * self.stride,
                )
                for slot in range(self.slots)
            ]
        self._seen = 0

    def _receive(self, slot: int) -> None:
        self.pair.receive(self.memory.part(slot * self.stride, self.size + GRH), work=slot)

    def put(self, slot: int, body: bytes) -> None:
        """Send a message. Its slot must be free, and the send from it before must be complete."""
        start = slot * self.stride
        view = self.memory.view
        view[start] = slot
        view[start + 1 : start + 1 + len(body)] = body
        view[start + self.size - 1] = 1
        self.pair.post(self.work[slot])
        self.queue.poll(16)

    def take(self) -> list[tuple[int, bytes]]:
        """Return the messages that have arrived, as slot and body."""
        view, messages = self.memory.view, []
        if self.operation == "send":
            for completion in self.queue.poll(16):
                start = completion.wr_id * self.stride + self.header
                messages.append((view[start], bytes(view[start + 1 : start + self.size - 1])))
                self._receive(completion.wr_id)
            return messages
        for slot in range(self.slots):
            last = slot * self.stride + self.size - 1
            if view[last]:
                view[last] = 0
                messages.append((slot, bytes(view[last - self.size + 2 : last])))
        return messages


def _wires(device: Device, plan: Plan, meeting: Meeting, server: bool, kinds: tuple[str, str]) -> tuple[Wire, Wire]:
    """Make the wires of requests and of answers; each kind is ``operation/service``."""
    wires = []
    for kind, out in zip(kinds, (not server, server), strict=True):
        operation, _, service = kind.partition("/")
        wires.append(Wire(device, meeting, plan, service=service, operation=operation, out=out))
    return wires[0], wires[1]


def _serve(requests: Wire, answers: Wire, handle: Handler, meeting: Meeting) -> dict[str, Any]:
    """Answer requests until the client says that it is done."""
    end, served = time.monotonic() + _LIMIT_S, 0
    while True:
        messages = requests.take()
        for slot, body in messages:
            answers.put(slot, handle(body))
        served += len(messages)
        if messages:
            end = time.monotonic() + _LIMIT_S
            continue
        os.sched_yield()
        if meeting.waiting():
            meeting.hear()
            break
        if time.monotonic() > end:
            raise VerbsError(f"no request within {_LIMIT_S:g} s. Is the client alive?")
    meeting.tell(served)
    return {}


def _ask(
    requests: Wire,
    answers: Wire,
    plan: Plan,
    meeting: Meeting,
    message: Callable[[int], bytes],
    check: Callable[[int, bytes], bool],
) -> dict[str, Any]:
    """Keep `clients` requests under way, and check every answer after the clock has stopped."""
    count = plan.iterations or 100
    _requested(requests, answers, max(plan.warmup, 1), message)
    times, answered, spent = list[int](), list[tuple[int, bytes]](), 0
    while True:
        began = perf_counter_ns()
        new_times, new_answered = _requested(requests, answers, count, message)
        spent += perf_counter_ns() - began
        times += new_times
        answered += new_answered
        remaining = plan.time_cap - spent * 1e-9
        per_request = spent * 1e-9 / len(times)
        if plan.iterations or remaining <= 10 * per_request or len(times) >= 10_000:
            break
        count = min(int(remaining / per_request), 1000, 10_000 - len(times))
    wrong = sum(not check(number, body) for number, body in answered)
    meeting.tell("done")
    served = meeting.hear()
    if wrong:
        raise VerbsError(f"{wrong} of {len(answered)} answers were wrong.")
    return {
        "time_ns": times,
        "facts": {"verified": True, "served": served, "requests_per_s": len(times) / (spent * 1e-9)},
        "reported": [["transaction_rate_per_s", "1/s", "mean", len(times) / (spent * 1e-9)]],
    }


def _requested(
    requests: Wire, answers: Wire, count: int, message: Callable[[int], bytes]
) -> tuple[list[int], list[tuple[int, bytes]]]:
    """Send `count` requests; return the time of each, ns, and its number with the answer."""
    free, sent, done = list(range(requests.slots)), 0, 0
    started, number = [0] * requests.slots, [0] * requests.slots
    times, answered = list[int](), list[tuple[int, bytes]]()
    end = time.monotonic() + _LIMIT_S
    while done < count:
        while free and sent < count:
            slot = free.pop()
            number[slot], body = sent, message(sent)
            started[slot] = perf_counter_ns()
            requests.put(slot, body)
            sent += 1
        messages = answers.take()
        now = perf_counter_ns()
        for slot, body in messages:
            times.append(now - started[slot])
            answered.append((number[slot], body))
            free.append(slot)
        done += len(messages)
        if not messages:
            os.sched_yield()
            if time.monotonic() > end:
                raise VerbsError(f"{count - done} of {count} requests had no answer within {_LIMIT_S:g} s.")
    return times, answered


def echo(device: Device, plan: Plan, meeting: Meeting, server: bool) -> dict[str, Any]:
    """Run an echo server: it returns each request by SEND over RC, UC or UD, or by WRITE over RC or UC."""
    kind = f"{plan.operation}/{plan.connection}"
    requests, answers = _wires(device, plan, meeting, server, (kind, kind))
    if server:
        return _serve(requests, answers, lambda body: body, meeting)
    room = requests.size - 2

    def message(number: int) -> bytes:
        return number.to_bytes(8, "little") + bytes(room - 8)

    return _ask(requests, answers, plan, meeting, message, lambda number, body: body == message(number))


def sequencer(device: Device, plan: Plan, meeting: Meeting, server: bool) -> dict[str, Any]:
    """Run a sequencer: clients raise a counter in the server's memory by fetch-and-add; its processor does nothing."""
    memory, queue = device.memory(PAGE), device.queue(plan.clients + 16)
    pair = device.pair("RC", queue, depth=plan.clients + 8)
    meeting.connect(pair, mtu=plan.mtu, traffic_class=plan.tclass)
    remote = meeting.swap(memory.address)
    if server:
        meeting.hear()
        meeting.tell(int.from_bytes(memory.view[:8], "little"))
        return {}
    work = [
        pair.request("fetch_and_add", memory.part(8 * slot, 8), work=slot, remote=remote, add=1)
        for slot in range(plan.clients)
    ]
    times, values, started = list[int](), list[int](), [0] * plan.clients
    total, sent = plan.iterations or 200, 0
    began, free = time.monotonic(), list(range(plan.clients))
    while len(times) < total:
        while free and sent < total:
            slot = free.pop()
            started[slot] = perf_counter_ns()
            pair.post(work[slot])
            sent += 1
        for completion in queue.wait(16):
            times.append(perf_counter_ns() - started[completion.wr_id])
            values.append(int.from_bytes(memory.view[8 * completion.wr_id : 8 * completion.wr_id + 8], "little"))
            free.append(completion.wr_id)
    spent = time.monotonic() - began
    meeting.tell("done")
    counter = meeting.hear()
    if sorted(values) != list(range(total)) or counter != total:
        raise VerbsError(
            f"the counter gave {len(set(values))} different numbers to {total} requests, and is {counter}."
        )
    rate = total / spent
    return {
        "time_ns": times,
        "facts": {"verified": True, "median_us": statistics.median(times) / 1000},
        "reported": [["transaction_rate_per_s", "1/s", "mean", rate]],
    }


def key_value(device: Device, plan: Plan, meeting: Meeting, server: bool) -> dict[str, Any]:
    """Run a key-value store like HERD: requests by WRITE into slots that the server watches, answers by SEND over UD.

    Of 20 requests 19 get and one puts, among 128 keys. Every value contains its key.
    """
    requests, answers = _wires(device, plan, meeting, server, (f"write/{plan.connection}", "send/UD"))
    room = requests.size - 3

    def value(key: int) -> bytes:
        return bytes([key]) * room

    if server:
        store = {key: value(key) for key in range(128)}

        def handle(body: bytes) -> bytes:
            key, put = body[0] & 127, body[0] & 128
            if put:
                store[key] = body[1 : 1 + room]
            return bytes([key]) + store[key]

        return _serve(requests, answers, handle, meeting)
    chance = random.Random(plan.seed)
    keys = [chance.randrange(128) | (128 if chance.random() < 0.05 else 0) for _ in range(10_000)]

    def message(number: int) -> bytes:
        key = keys[number % len(keys)]
        return bytes([key]) + (value(key & 127) if key & 128 else bytes(room))

    def check(number: int, body: bytes) -> bool:
        key = keys[number % len(keys)] & 127
        return body[0] == key and body[1 : 1 + room] == value(key)

    return _ask(requests, answers, plan, meeting, message, check)
