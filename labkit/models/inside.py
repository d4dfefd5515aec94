"""Bounds of paths that leave no host: shared memory and the loopback interface, from measured costs of the machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from labkit import benchmarks
from labkit.models.costs import Cost, Costs
from labkit.point.units import format_number, format_size
from labkit.store.samples import Samples
from labkit.store.samples.facts import badges

_INSIDE = {"shared-memory", "loopback"}  # codes of badges of points whose bytes left no host
TWICE = "two copies, one after the other"
_COUNTS = 0.01  # part of a floor from which its formula names the copy
_UNITS = {  # name of a floor → what its cost is of
    "line of cache": "line of cache from core to core",
    "wake-up": "wake-up of a thread, the cheaper of one core and two",
    "system calls": "system call: one sends, one receives",
}


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One limit of a path.

    Parameters
    ----------
    name : what limits.
    value : B/s of payload, or s.
    formula : how it follows.
    source : where its facts are from: ``testbed``, ``host``, ``stated`` or ``measured``.
    low, high : interval of a measured bound over launches; NaN of a computed one, and of a single launch.
    usual : value to judge by, where libraries usually do more than they must, as a second copy; NaN: it is `value`.
    close : whether a good implementation comes close to it; otherwise it bounds, but judges nothing.
    """

    name: str
    value: float
    formula: str
    source: str
    low: float = math.nan
    high: float = math.nan
    usual: float = math.nan
    close: bool = True

    @property
    def measured(self) -> bool:
        """Whether it is a measurement itself."""
        return self.source == "measured"

    @property
    def judging(self) -> float:
        """The value to judge a measurement by."""
        return self.value if math.isnan(self.usual) else self.usual

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of its interval; both the value where it has none."""
        return (self.value, self.value) if math.isnan(self.low) else (self.low, self.high)


def inside(samples: Samples) -> str:
    """``shared-memory`` or ``loopback`` if the bytes of a point left no host; else empty."""
    return next((badge.code for badge in badges(samples.meta) if badge.code in _INSIDE), "")


def of_host(samples: Samples, costs: Mapping[str, Costs] | None) -> Costs:
    """Costs of the host of a point; none if they were not measured there."""
    return (costs or {}).get(str(samples.host.get("name") or samples.host.get("hostname") or ""), Costs())


def copied(samples: Samples, directions: int, costs: Costs) -> tuple[Bound, ...]:
    """A core copies every byte at least once; each direction, pair of ranks, thread and stream may have its own core.

    Libraries usually copy twice, one after the other: into memory that both processes share, and out of it. The second
    copy is of what another core wrote.
    """
    size, options = samples.spec.size, samples.spec.values
    near = costs.copy(size)
    if near is None:
        return ()
    pairs = max(1, samples.spec.ranks // 2)
    cores = directions * pairs * math.prod(int(options.get(name, 1)) for name in ("threads", "senders", "streams"))
    copied, cost = near
    call = costs.system_call if benchmarks.get(samples.spec.benchmark).ends.one_call else None

    def rate(copy: float, call: float) -> float:
        return cores * size / (size / copy + call)

    ends = (rate(low, cost_of_call) for low, cost_of_call in zip(_ends(cost), reversed(_ends(call)), strict=True))
    low, high = ends if cost.launches > 1 else (math.nan, math.nan)
    formula = f"{f'{cores} × ' if cores > 1 else ''}{cost} for copies of {format_size(copied)} by one core"
    if call:
        formula += f", and {call} for each send"
    value = rate(cost.value, call.value if call else 0.0)
    crossing = costs.crossing(size)
    second = crossing[1].value if crossing else cost.value
    twice = 1 / (1 / cost.value + 1 / second)
    close = inside(samples) == "shared-memory"  # over loopback, the protocol costs more than the copies
    usual = rate(twice, call.value if call else 0.0)
    if close:
        of_what = "the second of what another core wrote" if crossing else "both in one core"
        formula += f"; {TWICE} ({of_what}): {format_number(usual / 1e6)} MB/s, by which it is judged"
    bound = Bound(
        name="copy by one core",
        value=value,
        formula=formula,
        source="measured",
        low=low,
        high=high,
        usual=usual,
        close=close,
    )
    return (bound,)


def handed_over(samples: Samples, crossings: int, costs: Costs) -> tuple[Bound, ...]:
    """What a message needs to reach another process of its host: a line of cache, or the kernel and a wake-up."""
    calls, times, name = costs.line, 1, "line of cache"
    if inside(samples) == "loopback":
        wakes = benchmarks.get(samples.spec.benchmark).ends.sockets  # an MPI library polls, and does not sleep
        calls, times, name = (costs.wake_up, 1, "wake-up") if wakes and costs.wake_up else (None, 1, "")
        if calls is None:
            calls, times, name = costs.system_call, 2, "system calls"
    if calls is None:
        return ()
    count, size, near = crossings * times, samples.spec.size or 0, costs.copy(samples.spec.size or 0)
    copied = crossings * size / near[1].value if near else 0.0
    low, high = (count * end + copied for end in (calls.low, calls.high))
    formula = f"{count} × {calls} for a {_UNITS[name]}"
    if near and copied > _COUNTS * calls.value:
        formula += f" + {format_number(copied * 1e6)} µs to copy the bytes once on each way"
    value = count * calls.value + copied
    return (Bound(name=name, value=value, formula=formula, source="measured", low=low, high=high),)


def _ends(cost: Cost | None) -> tuple[float, float]:
    """Interval of a cost; the value twice for a single launch, 0 without a cost."""
    if cost is None:
        return 0.0, 0.0
    return (cost.value, cost.value) if math.isnan(cost.low) else (cost.low, cost.high)
