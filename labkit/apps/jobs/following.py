"""Follow a job through its campaign folder, from any machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from labkit.point.units import plural
from labkit.run import estimate
from labkit.run.measuring import Progress
from labkit.store import lease
from labkit.store.campaign import Campaign


@dataclass(frozen=True)
class Look:
    """A campaign at one moment.

    Parameters
    ----------
    done, planned : points; `planned` is 0 before a job has begun.
    label : the point that is being measured.
    measuring : host and process that measure; empty if none do.
    """

    done: int
    planned: int
    label: str
    measuring: str

    @classmethod
    def at(cls, campaign: Campaign) -> Look:
        """Look at a campaign now."""
        lock_holder, state = lease.holder(campaign.path), Progress.at(campaign)
        measuring = f"process {lock_holder['pid']} on {lock_holder['host']}" if lock_holder else ""
        return cls(
            len(campaign.done()), int(campaign.facts.get("planned", 0)), str(state.label) if state else "", measuring
        )

    def words(self, *, live: bool = True) -> str:
        """Return the state as a line of text.

        Parameters
        ----------
        live : whether the job runs; the process of a job that ended may seem to measure for some seconds.
        """
        first = f"{self.done} of " if self.planned else ""
        text = f"{first}{plural(self.planned or self.done, 'point × launch')} there"
        if self.measuring and live:
            text += f", {self.label}; measured by {self.measuring}"
        return text


class Follower:
    """Report the progress of a campaign to a listener, as if it were measured here."""

    def __init__(self, campaign: Campaign, report: Callable[[Progress], None]) -> None:
        self._campaign, self._report, self._start, self._done_at_start = campaign, report, time.monotonic(), -1
        self._last: Look | None = None

    def look(self) -> None:
        """Report the progress now, if the job has begun to measure and it has changed."""
        now = Look.at(self._campaign)
        if not now.planned or not now.measuring or now == self._last:
            return
        self._last = now
        if self._done_at_start < 0:
            self._done_at_start, self._start = now.done, time.monotonic()
        elapsed, new_points = time.monotonic() - self._start, now.done - self._done_at_start
        remaining = estimate.left(elapsed, new_points, now.planned - now.done)
        self._report(Progress(now.done, max(now.planned, now.done), now.label, elapsed, remaining))
