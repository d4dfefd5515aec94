"""The stop rule: when a point has been measured enough."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.point.spec import Effort

CHUNK = 0.25  # s; a call into a kernel is sized to take no longer, so that a stop is heard
ENOUGH = 1000  # samples that make p99 reliable; the stop rule waits for them while they are cheap
MOST = 10_000  # samples that allow p99.9; none of the stop rules needs more


class Stop:
    """Decides after every chunk how many iterations the next one has; 0 ends the point.

    Stops at the exact count, if there is one. Otherwise it stops when the interval inside the launch is narrow enough
    and the 99th percentile is reliable (or would cost more than a quarter of the time), or at the time cap.
    """

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._seen: list[NDArray[Any]] = []
        self.n, self.spent, self.width, self.reason = 0, 0.0, None, ""  # type: int, float, float | None, str

    def first(self, each: float) -> int:
        """Iterations of the first chunk, if each takes about this many s."""
        most = self._effort.iterations or ENOUGH
        return max(1, min(int(min(CHUNK, self._effort.time_cap) / each), most))

    def after(self, times: NDArray[Any], count: int, elapsed: float) -> int:
        """Add a chunk, which took this many s with its warm-up; return the count of the next.

        Parameters
        ----------
        times : (count,) ns: of each iteration the slowest rank's, or the mean over ranks; one value of a whole chunk.
        """
        effort = self._effort
        self._seen.append(times)
        self.n += count
        self.spent += elapsed
        each = max(elapsed / count, 1e-9)
        if effort.iterations is not None:
            self.reason = "iterations"
            return min(max(int(CHUNK / each), 1), effort.iterations - self.n)
        values = np.concatenate(self._seen)
        interval = stats.within(values * 1e-9)
        self.width = interval.relative_width
        narrow = self.width is not None and self.width <= effort.ci
        for reason, reached in (
            ("ci", narrow and (self.n >= ENOUGH or self.spent >= effort.time_cap / 4)),
            ("cap", self.spent >= effort.time_cap),
            ("count", self.n >= MOST),
        ):
            if reached:
                self.reason = reason
                return 0
        remaining = max(effort.time_cap - self.spent, 0.0)
        next_stop = ENOUGH - self.n if self.n < ENOUGH else MOST - self.n
        return max(1, min(int(min(CHUNK, remaining) / each), next_stop))
