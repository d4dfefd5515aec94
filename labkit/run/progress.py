"""How far measuring has come: counted, told to a listener, and published in the campaign for other processes."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from labkit import benchmarks
from labkit.errors import DataError
from labkit.io import safe_read
from labkit.run import estimate
from labkit.run.point import Point
from labkit.store.campaign import Campaign
from labkit.store.lease import HEARTBEAT

PROGRESS = "progress.json"  # in the campaign, while somebody measures


@dataclass(frozen=True)
class Progress:
    """How far measuring has come.

    Parameters
    ----------
    done, total : points of this call; those that were there already are not counted.
    label : the point in flight or just ended.
    elapsed, remaining : s; the latter is NaN before the first point has ended.
    n, ci : samples so far of the point in flight, and width of its interval as a part of the median.
    waits : s to wait for the next session; 0 while something is measured.
    most : s that the points that are left take at most on an idle machine; infinite if unknown.
    """

    done: int
    total: int
    label: str
    elapsed: float
    remaining: float
    n: int = 0
    ci: float | None = None
    waits: float = 0.0
    most: float = math.inf

    @property
    def slow(self) -> bool:
        """Whether the points take longer than they do at most on an idle machine."""
        return self.remaining > self.most

    @classmethod
    def at(cls, campaign: Campaign) -> Progress | None:
        """Read what another process that measures into a campaign published last; None if it published nothing."""
        try:
            progress = cls(**safe_read.json_object(campaign.path / PROGRESS))
        except (DataError, TypeError):
            return None
        numbers = (progress.done, progress.total, progress.elapsed, progress.remaining, progress.n, progress.most)
        return progress if all(isinstance(number, int | float) for number in numbers) else None


Report = Callable[[Progress], None]


class Counter:
    """Counts points and tells a listener.

    Parameters
    ----------
    most : s that all points take at most on an idle machine.
    """

    def __init__(self, total: int, listener: Report | None, most: float = math.inf) -> None:
        self._total, self._listener, self._began = total, listener, time.monotonic()
        self._each = most / max(total, 1)
        self._lock = threading.Lock()
        self.done = 0

    def note(self, text: str, waits: float = 0.0) -> None:
        """Inform the listener of other work than points, and of its duration."""
        if self._listener is not None:
            elapsed = time.monotonic() - self._began
            self._listener(Progress(min(self.done, self._total), self._total, text, elapsed, math.nan, waits=waits))

    def tell(self, point: Point, *, n: int = 0, ci: float | None = None) -> None:
        """Tell the listener how far measuring has come."""
        if self._listener is not None:
            elapsed = time.monotonic() - self._began
            missing = max(self._total - self.done, 0)
            remaining, most = estimate.left(elapsed, self.done, missing), self._each * missing if missing else 0.0
            label = f"{benchmarks.label(point.spec)}, launch {point.launch + 1}"
            done = min(self.done, self._total)
            with self._lock:
                self._listener(Progress(done, self._total, label, elapsed, remaining, n, ci, most=most))


def published(campaign: Campaign, listener: Report | None) -> Report:
    """A listener that also writes `PROGRESS` and heartbeats into the campaign, for other processes."""
    last_write = last_beat = 0.0

    def tell(progress: Progress) -> None:
        nonlocal last_write, last_beat
        if listener is not None:
            listener(progress)
        if time.monotonic() - last_beat > HEARTBEAT:
            last_beat = time.monotonic()
            campaign.tell("heartbeat", done=progress.done, total=progress.total, label=progress.label)
        if time.monotonic() - last_write > 0.2 or progress.done == progress.total or progress.waits:
            last_write = time.monotonic()
            campaign.put(PROGRESS, json.dumps(dataclasses.asdict(progress)))

    return tell
