"""Rounds of a field kit: each runs every part once, in a random order, until the time is over."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from labkit.apps.fieldkit.parts import Part
from labkit.errors import LabkitError
from labkit.point.units import format_duration
from labkit.store.campaign import Campaign

MOST = 12  # rounds; more would hardly narrow the intervals
PATIENCE = 2  # failures of a part, after which it is not tried again
_LEAST = 2.0  # s that must be left for a part that has not run yet
_LONGER = 1.2  # times the longest runs so far, that must be left for further ones
_SHARE, ENOUGH = 1 / 6, 60.0  # of the whole time, that a run of a part may take; s that it always may
_GRACE = 2.0  # s after which a part is interrupted that did not keep its limit
_SEED = 1


@dataclass(frozen=True)
class Ran:
    """One run of a part.

    Parameters
    ----------
    part : its name.
    round : from 1.
    began : s since the first round began.
    seconds : time that it took.
    problem : why it has no result; empty if it has.
    """

    part: str
    round: int
    began: float
    seconds: float
    problem: str = ""


@dataclass
class Log:
    """What ran so far; complete also if the rounds were interrupted.

    Parameters
    ----------
    runs : in order.
    ended : why no further part was run.
    """

    runs: list[Ran] = field(default_factory=list)
    ended: str = ""

    @property
    def done(self) -> Counter[str]:
        """Name of a part → how many of its runs have a result."""
        return Counter(one.part for one in self.runs if not one.problem)

    def longest(self, part: str) -> float:
        """Return how long the longest run of a part took, s; 0 if it did not run."""
        return max((one.seconds for one in self.runs if one.part == part), default=0.0)

    def failures(self, part: str) -> list[Ran]:
        """Return the runs of a part without a result."""
        return [one for one in self.runs if one.part == part and one.problem]


def run(parts: Sequence[Part], campaign: Campaign, seconds: float, log: Log, say: Callable[[str], object]) -> None:
    """Run parts round by round, and note each run.

    No round begins that would probably end too late, so that all parts run equally often. A part that lasts too long is
    ended.

    Parameters
    ----------
    seconds : time that all rounds together may take.
    log : gets the runs.
    say : called with a message on what runs.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        If the user or the batch system ends the command. What was measured is in the campaign.
    """
    chance, begin = random.Random(_SEED), time.monotonic()
    log.ended = "interrupted"
    for number in range(1, MOST + 1):
        order = [one for one in parts if len(log.failures(one.name)) < PATIENCE]
        expected = _LONGER * sum(log.longest(one.name) for one in order)
        if not order or seconds - (time.monotonic() - begin) < max(_LEAST, expected):
            log.ended = "the time was over" if order else "every part failed"
            return
        chance.shuffle(order)
        for one in order:
            _tried(one, number, campaign, begin, seconds, log, say)
    log.ended = f"{MOST} rounds are done"


def _tried(
    part: Part, number: int, campaign: Campaign, begin: float, seconds: float, log: Log, say: Callable[[str], object]
) -> None:
    """Run a part if there is time for it, and record the result."""
    began = time.monotonic() - begin
    left = seconds - began
    if left < max(_LEAST, _LONGER * log.longest(part.name)):
        return
    say(f"round {number}: {part.name} ({format_duration(round(left))} left)")
    problem, limit = "", min(left, max(_SHARE * seconds, ENOUGH))
    with _ended_after(limit + _GRACE) as over:
        try:
            part.run(campaign, number - 1, limit)
        except LabkitError as error:
            problem = error.brief
        except KeyboardInterrupt:
            if not over.is_set():
                raise
            problem = f"did not end within {format_duration(round(limit))}"
    if problem:
        say(f"{part.name} failed: {problem}")
    log.runs.append(Ran(part.name, number, round(began, 3), round(time.monotonic() - begin - began, 3), problem))


@contextmanager
def _ended_after(seconds: float) -> Iterator[threading.Event]:
    """Interrupt the main thread as Ctrl-C does when the time is over; the event distinguishes the two.

    Another thread cannot be interrupted: there, each part gets its limit only.
    """
    over, lock, open_ = threading.Event(), threading.Lock(), True

    def end() -> None:
        with lock:
            if open_:
                over.set()
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    if threading.current_thread() is threading.main_thread():
        timer.start()
    try:
        yield over
    finally:
        with lock:
            open_ = False
        timer.cancel()
