"""Time of message schedules under LogGP and its relatives, without contention inside the network.

A schedule is a sequence of stages. In a stage each rank sends its messages in order, without waiting, then receives
those it expects in the order of their arrival. A rank begins a stage when it has ended the one before; nobody waits for
others otherwise. A collective algorithm, a halo exchange and an incast are such schedules (`labkit.models.schedules`).

Four functions of the message size describe the network, each a straight line in each segment of sizes (`Costs`):

- `time` from the start of the send call to the end of the receive call, if nothing obstructs the message;
- `send` and `receive`: processor time of the two ends, LogP's overheads o_s and o_r [1]_;
- `gap` between the starts of two successive messages, at the sender and at the receiver.

`loggp` makes them from L, o_s, o_r, g and G [2]_: time = o_s + L + (m-1)G + o_r, gap = g + (m-1)G. `hockney` makes them
from α and β [3]_: a message takes α + βm, and an end sends one and receives one at a time. The next message begins
max(send, gap) after the one before, as Netgauge [4]_ assumes when it measures and LogGOPSim [5]_ when it simulates.

What the engine leaves out: links that several pairs share, a receiver that the sender must wait for (rendezvous is part
of the lines of its segment), buffers that fill up. So it is a lower bound for schedules in which messages share links.

References
----------
.. [1] D. Culler et al., LogP: Towards a Realistic Model of Parallel Computation, PPoPP 1993, doi 10.1145/155332.155333.
.. [2] A. Alexandrov et al., LogGP: Incorporating Long Messages into the LogP Model, SPAA 1995,
   doi 10.1145/215399.215427.
.. [3] R. W. Hockney, The Communication Challenge for MPP, Parallel Computing 20, 1994.
.. [4] T. Hoefler, A. Lichei, W. Rehm, Low-Overhead LogGP Parameter Assessment for Modern Interconnection Networks,
   IPDPS 2007, doi 10.1109/IPDPS.2007.370593.
.. [5] T. Hoefler, T. Schneider, A. Lumsdaine, LogGOPSim: Simulating Large-Scale Applications in the LogGOPS Model,
   HPDC 2010, doi 10.1145/1851476.1851564.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.errors import SpecError

Seconds = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Line:
    """Time against message size.

    Parameters
    ----------
    fixed : s, of a message without data.
    per_byte : s more for each byte.
    """

    fixed: float
    per_byte: float = 0.0

    def at(self, size: float) -> float:
        """Time of a size, s."""
        return self.fixed + self.per_byte * size


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Costs of a message over a range of sizes.

    Parameters
    ----------
    time : from the call that sends to the end of the call that receives.
    gap : from the begin of a message to that of the next one.
    send, receive : processor time at either end.
    last : largest size, B; of the last segment it has no meaning.
    """

    time: Line
    gap: Line
    send: Line = Line(0.0)
    receive: Line = Line(0.0)
    last: int = 1 << 62


@dataclass(frozen=True)
class Costs:
    """What messages cost: segments from small sizes to large ones.

    Raises
    ------
    SpecError
        If there is no segment, if they do not rise, or if a cost is negative or no number.

    Examples
    --------
    >>> net = loggp(latency=2e-6, o_s=1e-6, o_r=1e-6, gap=1.5e-6, gap_per_byte=1e-9)
    >>> net.time([1, 1001]).round(9).tolist(), net.gap([1001]).round(9).tolist()
    ([4e-06, 5e-06], [2.5e-06])
    """

    segments: tuple[Segment, ...]
    _lines: dict[str, tuple[Seconds, Seconds]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lasts = [one.last for one in self.segments[:-1]]
        if not self.segments or any(b <= a for a, b in pairwise(lasts)):
            raise SpecError(f"There are {len(self.segments)} segments that end at {lasts} B, but ends must rise.")
        lines: dict[str, tuple[Seconds, Seconds]] = {}
        for name in ("time", "gap", "send", "receive"):
            each: list[Line] = [getattr(one, name) for one in self.segments]
            first = [0, *(last + 1 for last in lasts)]
            for line, begin, end in zip(each, first, [*lasts, math.inf], strict=True):
                if not _possible(line, begin, end):
                    raise SpecError(
                        f"{name} is {line.fixed} s + {line.per_byte} s/B, but from {begin} B on it must not be "
                        "negative. Correct the parameters."
                    )
            lines[name] = (np.array([one.fixed for one in each]), np.array([one.per_byte for one in each]))
        object.__setattr__(self, "_lines", lines)

    def _of(self, name: str, size: ArrayLike) -> Seconds:
        sizes = np.asarray(size, np.float64)
        fixed, per_byte = self._lines[name]
        if len(self.segments) == 1:
            return np.asarray(fixed[0] + per_byte[0] * sizes)
        which = np.searchsorted([one.last for one in self.segments[:-1]], sizes)
        return np.asarray(fixed[which] + per_byte[which] * sizes)

    def time(self, size: ArrayLike) -> Seconds:
        """Time of an unobstructed message of each size, s."""
        return self._of("time", size)

    def gap(self, size: ArrayLike) -> Seconds:
        """Time between the starts of two successive messages of each size, s."""
        return self._of("gap", size)

    def send(self, size: ArrayLike) -> Seconds:
        """Processor time of the sender, s."""
        return self._of("send", size)

    def receive(self, size: ArrayLike) -> Seconds:
        """Processor time of the receiver, s."""
        return self._of("receive", size)


def _possible(line: Line, begin: int, end: float) -> bool:
    """Return whether a line is a time, 0 or more, from a first size to a last."""
    if not (math.isfinite(line.fixed) and math.isfinite(line.per_byte)):
        return False
    return line.at(begin) >= 0 and (line.per_byte >= 0 if math.isinf(end) else line.at(end) >= 0)


def loggp(*, latency: float, o_s: float, o_r: float, gap: float, gap_per_byte: float) -> Costs:
    """Costs of the LogGP model; a message without data costs as one of 1 B.

    Parameters
    ----------
    latency : L, of the network, s.
    o_s, o_r : processor time to send and to receive, s.
    gap : g, from the begin of a message of 1 B to that of the next, s.
    gap_per_byte : G, for each further byte, s/B.

    Raises
    ------
    SpecError
        If one is negative or no number.
    """
    _check(latency=latency, o_s=o_s, o_r=o_r, gap=gap, gap_per_byte=gap_per_byte)
    first, send, receive = o_s + latency + o_r, Line(o_s), Line(o_r)
    short = Segment(time=Line(first), gap=Line(gap), send=send, receive=receive, last=1)
    time, gaps = (Line(begin - gap_per_byte, gap_per_byte) for begin in (first, gap))
    return Costs((short, Segment(time=time, gap=gaps, send=send, receive=receive)))


def hockney(*, alpha: float, beta: float) -> Costs:
    """Costs of the model α + βm, where each end has one message under way in each direction.

    Parameters
    ----------
    alpha : start-up time, s.
    beta : time for each byte, s/B.

    Raises
    ------
    SpecError
        If one is negative or no number.
    """
    _check(alpha=alpha, beta=beta)
    return Costs((Segment(time=Line(alpha, beta), gap=Line(alpha, beta)),))


def _check(**parameters: float) -> None:
    """Refuse parameters that no network has."""
    for name, value in parameters.items():
        if not (math.isfinite(value) and value >= 0):
            raise SpecError(f"{name}={value}, but it must be 0 or more. Leave out parameters that are not resolved.")


@dataclass(frozen=True)
class Stage:
    """Messages of one stage, in the order in which each source sends them.

    Parameters
    ----------
    source, target : (messages,), ranks.
    size : (messages,), B.
    combined : receivers add what they get to their own data, which takes `finish`'s `combine` for each byte.
    """

    source: Whole
    target: Whole
    size: Whole
    combined: bool = False

    @classmethod
    def of(cls, source: ArrayLike, target: ArrayLike, size: ArrayLike, *, combined: bool = False) -> Stage:
        """Make a stage of arrays or single numbers, which represent all messages."""
        arrays = np.broadcast_arrays(*(np.asarray(one, np.int64) for one in (source, target, size)))
        one, other, sizes = (np.atleast_1d(array) for array in arrays)
        return cls(one, other, sizes, combined)


def finish(
    stages: Iterable[Stage], ranks: int, costs: Costs, *, combine: float = 0.0, start: ArrayLike = 0.0
) -> Seconds:
    """Time at which each rank ends a schedule.

    Parameters
    ----------
    stages : stages of the schedule; read once, so a generator keeps memory small.
    ranks : how many.
    costs : costs of a message.
    combine : time to combine a byte that was received with a byte of the rank's own, s/B.
    start : time at which each rank begins, s: one for all, or (ranks,).

    Returns
    -------
    (ranks,), s.

    Raises
    ------
    SpecError
        If a stage names a rank that does not exist or a negative size, or `combine` is negative.

    Examples
    --------
    A message and its answer:

    >>> net = loggp(latency=2e-6, o_s=1e-6, o_r=1e-6, gap=1.5e-6, gap_per_byte=1e-9)
    >>> finish([Stage.of(0, 1, 1), Stage.of(1, 0, 1)], 2, net).round(9).tolist()
    [8e-06, 5e-06]
    """
    _check(combine=combine)
    clock = np.array(np.broadcast_to(np.asarray(start, np.float64), (ranks,)))
    sends_from, receives_from = np.full(ranks, -np.inf), np.full(ranks, -np.inf)  # when the ends of a rank are free
    for stage in stages:
        if not len(stage.source):
            continue
        ends = np.concatenate([stage.source, stage.target])
        if ends.min() < 0 or ends.max() >= ranks or stage.size.min() < 0:
            raise SpecError(
                f"A stage has ranks {ends.min()} to {ends.max()} and sizes from {stage.size.min()} B on, but ranks "
                f"must be 0 to {ranks - 1} and sizes 0 or more. Correct the schedule."
            )
        receive = costs.receive(stage.size)
        arrival = _sent(stage, costs, clock, sends_from) - receive
        _received(
            stage, costs, clock, receives_from, arrival, receive + (combine * stage.size if stage.combined else 0.0)
        )
    return clock


def _sent(stage: Stage, costs: Costs, clock: Seconds, free: Seconds) -> Seconds:
    """Send the messages of a stage; return when each would be received if its receiver waits for it, s."""
    begin = np.empty(len(stage.source))
    send, gap = costs.send(stage.size), costs.gap(stage.size)
    for turn in _turns(stage.source):
        rank = stage.source[turn]
        begin[turn] = np.maximum(clock[rank], free[rank])
        clock[rank] = begin[turn] + send[turn]
        free[rank] = begin[turn] + gap[turn]
    return begin + costs.time(stage.size)


def _received(stage: Stage, costs: Costs, clock: Seconds, free: Seconds, arrival: Seconds, busy: Seconds) -> None:
    """Receive the messages of a stage, for each target in order of arrival."""
    gap = costs.gap(stage.size)
    order = np.argsort(arrival, kind="stable")
    for turn in _turns(stage.target[order]):
        chosen = order[turn]
        rank = stage.target[chosen]
        there = np.maximum(arrival[chosen], free[rank] + gap[chosen])
        free[rank] = there
        clock[rank] = np.maximum(clock[rank], there) + busy[chosen]


def _turns(ranks: Whole) -> Sequence[Whole | slice]:
    """Split messages into the first of each rank, the second of each rank, and so on: indices that keep the order."""
    n = len(ranks)
    order = np.argsort(ranks, kind="stable")
    by_rank = ranks[order]
    first = np.r_[True, by_rank[1:] != by_rank[:-1]]
    if first.all():
        return [slice(None)]
    starts = np.flatnonzero(first)
    number = np.arange(n) - np.repeat(starts, np.diff(np.r_[starts, n]))
    by_number = np.argsort(number, kind="stable")
    return [order[part] for part in np.split(by_number, np.cumsum(np.bincount(number))[:-1])]
