"""One end of a connection with its memory and queues, and the check of every byte before any timing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

from labkit.kernels.verbs.meeting import Meeting
from labkit.kernels.verbs.objects import GRH, Device, QueuePair, VerbsError, place
from labkit.kernels.verbs.plan import ONE_SIDED, PAGE, STREAMS, Plan, turns

_TOGETHER = 8  # buffers that are verified at once; a queue pair has at least 16 receives


def pattern(seed: int, size: int) -> bytes:
    """Bytes that depend on the seed and on the place; their period of 251 divides no power of two."""
    period = bytes((seed + 7 * place) % 251 for place in range(251))
    return (period * (size // 251 + 1))[:size]


def differing(operation: str, data: bytes, expected: bytes) -> None:
    """Refuse wrong bytes.

    Raises
    ------
    VerbsError
        If the data are not those expected; names the first wrong byte.
    """
    if data != expected:
        at = next(i for i, (a, b) in enumerate(zip(data, expected, strict=True)) if a != b)
        raise VerbsError(
            f"{operation} of {len(expected)} B brought a wrong byte at {at}: {data[at]} instead of {expected[at]}."
        )


class End:
    """One end of a connection with its memory and queues.

    Parameters
    ----------
    device : the open device.
    plan : the point.
    meeting : connection to the other end.
    server : whether this end answers.

    Attributes
    ----------
    received : number of messages of the last stream that arrived here.
    requests : requests that other requests point to; pyverbs holds no references to them.
    phases : further times of each iteration that a loop keeps, ns.
    """

    def __init__(self, device: Device, plan: Plan, meeting: Meeting, *, server: bool) -> None:
        self.device, self.plan, self.meeting, self.server = device, plan, meeting, server
        events, stream = plan.completion == "event", plan.program in STREAMS
        # some spare room, because a completion may be seen a moment before its place in the queue is free
        depth = plan.tx_depth + max(plan.cq_moderation, 16) if stream else 16
        self.stride = -(-(plan.size + GRH) // PAGE) * PAGE
        slots = plan.buffers_in_turn
        self.memory = device.memory(2 * slots * self.stride)
        self.into = slots * self.stride  # offset of the slots that messages arrive in
        self.sent = device.queue(depth * plan.qps + 16, events=events)
        self.arrived = device.queue(depth * plan.qps + 16, events=events)
        shared = device.shared_receives(depth * plan.qps) if plan.srq else None
        options: dict[str, Any] = {"shared": shared, "depth": depth, "inline": plan.inline}
        self.pairs = [
            device.pair(plan.connection, self.sent, self.arrived, **options)  # type: ignore[arg-type]
            for _ in range(plan.qps)
        ]
        places = [
            place(self.memory.part(self.into + slot * self.stride, plan.size + GRH), slot) for slot in range(slots)
        ]
        self._places = cycle([places[slot] for slot in turns(plan)])
        for pair in self.pairs:
            for _ in range(depth):
                self.post_receive(pair)
            meeting.connect(pair, mtu=plan.mtu, traffic_class=plan.tclass)
        self.remote = meeting.swap(self.memory.address)
        self.received = 0
        self.requests: list[Any] = []
        self.phases: dict[str, list[int]] = {}

    @property
    def pair(self) -> QueuePair:
        """The first queue pair."""
        return self.pairs[0]

    @property
    def header(self) -> int:
        """Size of the header before the data of a message that arrives, B."""
        return GRH if self.plan.connection == "UD" else 0

    def post_receive(self, pair: QueuePair) -> None:
        """Post a receive for one message into the next buffer, which is the work of its completion."""
        pair.post_receive(next(self._places))

    def request(self, slot: int = 0, *, signalled: bool = True, pair: QueuePair | None = None, **more: Any) -> Any:
        """Make a request of the plan's operation, from or into a slot; the peer's slot is the same."""
        plan = self.plan
        one_sided = plan.operation in ONE_SIDED
        offset = slot * self.stride + (0 if one_sided else self.into)
        place = slot * self.stride + (self.into if one_sided else 0)
        inline = 0 < plan.size <= plan.inline and not one_sided
        atomic = {"add": 1} if plan.operation == "fetch_and_add" else {}
        return (pair or self.pair).request(
            plan.operation,
            self.memory.part(place, plan.size),
            signalled=signalled,
            inline=inline,
            remote=self.remote,
            offset=offset,
            **(atomic | more),
        )

    # ---- verification --------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Send a message from each buffer each way, or make one-sided calls on each, untimed, and check every byte.

        Raises
        ------
        VerbsError
            If a byte is wrong.
        """
        slots = range(self.plan.buffers_in_turn)
        together = 1 if self.plan.reuse else _TOGETHER  # with reuse, successive messages arrive in the same buffer
        for first in slots[::together]:
            self._verify(slots[first : first + together])

    def _verify(self, slots: Sequence[int]) -> None:
        """Verify some of the buffers. The slower end has a receive for each of their messages."""
        plan, view, size = self.plan, self.memory.view, self.plan.size
        for slot in slots:
            view[slot * self.stride :][:size] = pattern(11 + self.server + 2 * slot, size)
            view[self.into + slot * self.stride :][: self.stride] = b"\xa5" * self.stride
        self.meeting.swap()
        if plan.operation in ONE_SIDED:
            self._verify_one_sided(slots)
            return
        for turn in (False, True):
            if turn == self.server:
                for slot in slots:
                    self.pair.post(self.request(slot))
                    self.sent.wait()
                if plan.operation == "write":
                    self.meeting.tell("written")
                continue
            if plan.operation == "write":
                self.meeting.hear()
            for slot in slots:
                landed = slot
                if plan.operation != "write":
                    (completion,) = self.arrived.wait()
                    landed = slot if plan.operation == "write_with_immediate" else completion.wr_id
                at = self.into + landed * self.stride + self.header
                self._same(bytes(view[at:][:size]), pattern(12 - self.server + 2 * slot, size))
                if plan.operation != "write":
                    self.post_receive(self.pair)
        self.meeting.swap()

    def _verify_one_sided(self, slots: Sequence[int]) -> None:
        plan, view, size = self.plan, self.memory.view, self.plan.size
        swaps = plan.operation == "compare_and_swap"
        for slot in slots if not self.server else ():
            theirs = pattern(12 + 2 * slot, size)
            before = int.from_bytes(theirs[:8], "little")
            more: dict[str, Any] = {"add": before, "swap": 77} if swaps else {}
            self.pair.post(self.request(slot, **more))
            self.sent.wait()
            self._same(bytes(view[self.into + slot * self.stride :][:size]), theirs)
        self.meeting.swap()
        for slot in slots if self.server and plan.operation != "read" else ():
            mine = int.from_bytes(pattern(12 + 2 * slot, size)[:8], "little")
            expected = 77 if swaps else mine + 1
            self._same(bytes(view[slot * self.stride :][:8]), expected.to_bytes(8, "little"))
        self.meeting.swap()

    def _same(self, data: bytes, expected: bytes) -> None:
        differing(self.plan.operation, data, expected)
