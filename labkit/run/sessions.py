"""When the sessions of a measurement begin: groups of launches that are spread over time.

labkit stores only what a schedule did: each launch keeps its session, and an event records the start of each session. A
run that was killed therefore continues where it stopped: the next session begins at its time in the schedule, or at
once if that time has passed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from labkit.errors import DataError
from labkit.point.spec import Effort
from labkit.point.units import format_duration
from labkit.store import events
from labkit.store.campaign import Campaign

PIECE = 30.0  # s of waiting after which the clock is read again: a machine that slept must not wait longer

Tell = Callable[[str, float], None]


def now() -> float:
    """Return the time, s since the epoch."""
    return time.time()


def pause(seconds: float) -> None:
    """Wait; a signal interrupts it."""
    time.sleep(seconds)


def reached(launches: int, sessions: int, session: int) -> int:
    """Return how many launches belong to the sessions up to one, counted from 0.

    Examples
    --------
    >>> [reached(7, 3, session) for session in range(3)]
    [3, 5, 7]
    """
    return min(launches, -(-(session + 1) * launches // sessions))


class Sessions:
    """The sessions of one measurement.

    Parameters
    ----------
    campaign : campaign to measure into; its events tell when the last session began.
    effort : its sessions, and the time between two of them.
    tell : called with a text and the seconds to wait before each wait.
    begun : number of sessions that an earlier run began.
    """

    def __init__(self, campaign: Campaign, effort: Effort, tell: Tell, *, begun: int = 0) -> None:
        self._campaign, self._tell = campaign, tell
        self._count, self._apart = effort.schedule
        self._number, self._start = begun - 1, _last(campaign) if begun else math.nan
        self._current = ""

    def enter(self, number: int) -> str:
        """Wait until a session may begin, and return its name: the time at which it began; empty without a schedule.

        A session that an earlier run began continues under its name until the next one is due, and then as a new one.
        """
        if self._count == 1:
            return ""
        ahead = number - self._number
        if ahead > 0 and not math.isnan(self._start):
            self._wait(number, self._start + ahead * self._apart)
        elif self._current or now() < self._start + self._apart:
            self._current = self._current or _name(self._start)
            return self._current
        self._number, self._start = max(number, self._number), now()
        self._current = _name(self._start)
        self._campaign.tell("session", number=number + 1, sessions=self._count, start=self._current)
        return self._current

    def _wait(self, number: int, due: float) -> None:
        """Wait for a moment, and say when it is."""
        left = due - now()
        if left <= 0:
            return
        text = f"session {number + 1} of {self._count} starts at {_local(due)}, in {format_duration(round(left, 1))}"
        self._campaign.tell("waiting", text=text, until=_name(due))
        self._tell(text, left)
        while (left := due - now()) > 0:
            pause(min(left, PIECE))


def place(launch: int, launches: Sequence[int], effort: Effort) -> int:
    """Return the session of a launch.

    Parameters
    ----------
    launches : numbers of all launches, ascending.

    Examples
    --------
    >>> [place(launch, range(7), Effort(launches=7, sessions=3)) for launch in range(7)]
    [0, 0, 0, 1, 1, 2, 2]
    """
    sessions, index = effort.schedule[0], launches.index(launch)
    return next(session for session in range(sessions) if index < reached(len(launches), sessions, session))


def begun(done: Collection[int], launches: Sequence[int], effort: Effort) -> int:
    """Return how many sessions have begun, by the launches that are there."""
    return 1 + max((place(launch, launches, effort) for launch in done), default=-1)


def _last(campaign: Campaign) -> float:
    """Return when the last session of a campaign began, s since the epoch; NaN if no event tells."""
    with suppress(DataError):
        for event in reversed(events.read(campaign.path, "session")):
            with suppress(ValueError):
                return datetime.fromisoformat(str(event["start"])).timestamp()
    return math.nan


def _name(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")


def _local(moment: float) -> str:
    """Return a moment by the clock of this machine; with the date if it is on another day."""
    when, today = datetime.fromtimestamp(moment).astimezone(), datetime.fromtimestamp(now()).astimezone()
    return f"{when:%H:%M:%S}" if when.date() == today.date() else f"{when:%Y-%m-%d %H:%M:%S}"
