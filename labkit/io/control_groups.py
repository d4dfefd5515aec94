"""What control groups let a process take of the processors, and how often they made it wait: both versions of Linux."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_ROOT, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


class Quota(NamedTuple):
    """The quota of a control group, and what the kernel has counted in it so far.

    Parameters
    ----------
    processors : processors that its processes may use together, also fractions.
    periods : periods in which they ran.
    throttled : of these, those in which they had used up their part and waited for the next period.
    """

    processors: float
    periods: int
    throttled: int


def quotas(root: Path = _ROOT, own: Path = _OWN) -> dict[str, Quota]:
    """Return folder → quota of the control groups that limit this process: its own one and those around it.

    Parameters
    ----------
    root : folder of the control groups; in a container, it shows those of the container only.
    own : file that lists those of the process.
    """
    found = {}
    for line in _read(own).splitlines():
        _, controllers, place = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "cpu" if controllers else root
        inner = top / place.lstrip("/")
        for group in (inner, *(path for path in inner.parents if path.is_relative_to(top))):
            limit, _, period = _read(group / "cpu.max").partition(" ")
            if not limit:  # version 1 of control groups
                limit, period = _read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")
            if limit.isdecimal() and period.isdecimal():
                counts = dict(line.partition(" ")[::2] for line in _read(group / "cpu.stat").splitlines())
                periods, throttled = (int(counts.get(name) or 0) for name in ("nr_periods", "nr_throttled"))
                found[str(group)] = Quota(int(limit) / int(period), periods, throttled)
    return found


def tightest(some: Mapping[str, Quota]) -> float | None:
    """Return how many processors the tightest of some quotas allows; None without one."""
    return min((one.processors for one in some.values()), default=None)


def throttled(before: Mapping[str, Quota], after: Mapping[str, Quota]) -> float:
    """Return the share of throttled periods between two reads, of the group that was throttled most often."""
    shares = [0.0]
    for name, one in after.items():
        if (first := before.get(name)) is not None and one.periods > first.periods:
            shares.append((one.throttled - first.throttled) / (one.periods - first.periods))
    return max(shares)


def _read(path: Path) -> str:
    """Return the text of a file of the kernel; empty if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
