"""One end of a connection with its memory and queues, and the check of every byte before any timing."""

from __future__ import annotations

from typing import Any

from labkit.kernels.verbs.meeting import Meeting
from labkit.kernels.verbs.objects import GRH, Device, QueuePair, VerbsError
from labkit.kernels.verbs.plan import ONE_SIDED, PAGE, Plan


def pattern(seed: int, size: int) -> bytes:
    """Bytes that depend on the seed and on the place; their period of 251 divides no power of two."""
    period = bytes((seed + 7 * place) % 251 for place in range(251))
    return (period * (size // 251 + 1))[:size]


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
    overheads : time inside the calls of each iteration of `labkit.kernels.verbs.loops.host_overhead`, ns.
    """

    def __init__(self, device: Device, plan: Plan, meeting: Meeting, *, server: bool) -> None:
        self.device, self.plan, self.meeting, self.server = device, plan, meeting, server
        events, stream = plan.completion == "event", plan.program == "bandwidth"
        # some spare room, because a completion may be seen a moment before its place in the queue is free
        depth = plan.tx_depth + max(plan.cq_moderation, 16) if stream else 16
        self.stride = -(-(plan.size + GRH) // PAGE) * PAGE
        slots = plan.buffers_in_turn
        self.memory = device.memory(2 * slots * self.stride)
        self.into = slots * self.stride  # offset of the slots that messages arrive in
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
        self.received = 0
        self.requests: list[Any] = []
        self.overheads: list[int] = []

    @property
    def pair(self) -> QueuePair:
        """The first queue pair."""
        return self.pairs[0]

    @property
    def header(self) -> int:
        """Size of the header before the data of a message that arrives, B."""
        return GRH if self.plan.connection == "UD" else 0

    def post_receive(self, pair: QueuePair, slot: int = 0) -> None:
        """Post a receive for one message."""
        pair.receive(self.memory.part(self.into + slot * self.stride, self.plan.size + GRH))

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
        """Send one message each way, or make one one-sided call, untimed, and check every byte.

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
            expected = 77 if plan.operation == "compare_and_swap" else mine + 1
            self._same(bytes(view[:8]), expected.to_bytes(8, "little"))
        self.meeting.swap()

    def _same(self, data: bytes, expected: bytes) -> None:
        """Refuse wrong bytes."""
        if data != expected:
            at = next(i for i, (a, b) in enumerate(zip(data, expected, strict=True)) if a != b)
            raise VerbsError(
                f"{self.plan.operation} of {self.plan.size} B brought a wrong byte at {at}: {data[at]} instead of "
                f"{expected[at]}."
            )
