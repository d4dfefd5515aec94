"""One end of a connection with all it needs, and the check of every byte that comes before any timing."""

from __future__ import annotations

from typing import Any

from labkit.verbs.meeting import Meeting
from labkit.verbs.objects import GRH, Device, QueuePair, VerbsError
from labkit.verbs.plan import ONE_SIDED, PAGE, Plan


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

    Attributes
    ----------
    received : messages of the last stream that arrived here.
    held : requests that others point to, which pyverbs does not keep.
    """

    def __init__(self, device: Device, plan: Plan, meeting: Meeting, *, server: bool) -> None:
        self.device, self.plan, self.meeting, self.server = device, plan, meeting, server
        events, stream = plan.completion == "event", plan.program == "bandwidth"
        # some room beyond, for a completion may be seen a moment before its place in the queue is free
        depth = plan.tx_depth + max(plan.cq_moderation, 16) if stream else 16
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
        self.received = 0
        self.held: list[Any] = []

    @property
    def pair(self) -> QueuePair:
        """The first queue pair."""
        return self.pairs[0]

    @property
    def header(self) -> int:
        """B before the data of a message that arrives."""
        return GRH if self.plan.connection == "UD" else 0

    def post_receive(self, pair: QueuePair, slot: int = 0) -> None:
        """A receive for one message."""
        pair.receive(self.memory.part(self.into + slot * self.stride, self.plan.size + GRH))

    def request(self, slot: int = 0, *, signalled: bool = True, pair: QueuePair | None = None, **more: Any) -> Any:
        """The piece of work of the plan's operation, from or into a slot; the peer's slot is the same."""
        plan, used = self.plan, pair or self.pair
        one_sided = plan.operation in ONE_SIDED
        offset = slot * self.stride + (0 if one_sided else self.into)
        place = slot * self.stride + (self.into if one_sided else 0)
        inline = 0 < plan.size <= plan.inline and not one_sided
        atomic = {"add": 1} if plan.operation == "fetch_and_add" else {}
        return used.request(
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
