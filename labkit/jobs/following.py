"""Follow a job through its campaign folder, from any machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from labkit.campaign import Campaign, lease
from labkit.measuring import Progress


@dataclass(frozen=True)
class Look:
    """A campaign at one moment.

    Parameters
    ----------
    done, planned : points; the latter is 0 before a job has begun.
    label : the point in flight.
    measuring : who measures: host and process; empty where nobody does.
    """

    done: int
    planned: int
    label: str
    measuring: str

    @classmethod
    def at(cls, held: Campaign) -> Look:
        """How it is now."""
        holder, state = lease.holder(held.path), Progress.at(held)
        who = f"process {holder['pid']} on {holder['host']}" if holder else ""
        return cls(len(held.done()), int(held.facts.get("planned", 0)), str(state.label) if state else "", who)

    def words(self) -> str:
        """In a line."""
        of = f" of {self.planned}" if self.planned else ""
        return f"{self.done}{of} points there" + (
            f", {self.label}; measured by {self.measuring}" if self.measuring else ""
        )


class Follower:
    """Tells a listener how far a campaign is, as if it were measured here."""

    def __init__(self, held: Campaign, tell: Callable[[Progress], None]) -> None:
        self._held, self._tell, self._began, self._first = held, tell, time.monotonic(), -1
        self._before: Look | None = None

    def look(self) -> None:
        """Tell how it is now; nothing before the job has begun to measure."""
        now = Look.at(self._held)
        if not now.planned or not now.measuring or now == self._before:
            return
        self._before = now
        if self._first < 0:
            self._first, self._began = now.done, time.monotonic()
        elapsed, new = time.monotonic() - self._began, now.done - self._first
        left = elapsed / new * (now.planned - now.done) if new else float("nan")
        self._tell(Progress(now.done, max(now.planned, now.done), now.label, elapsed, left))
