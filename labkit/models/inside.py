"""Bounds of paths that leave no host: shared memory and the loopback interface, from measured costs of the machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from labkit import benchmarks
from labkit.models.costs import Cost, Costs
from labkit.point.units import format_number, format_size
from labkit.store.samples import Samples
from labkit.store.samples.facts import badges

INSIDE = ("shared-memory", "loopback", "unix-socket")  # codes of badges of points whose bytes left no host
TWICE = "two copies, one after the other"
THREAD = "a thread that sends to itself over loopback"
WOKEN = f"{THREAD}, and a wake-up"
AND_COPIES = ", and two copies"  # end of the name of a reference to which the copies add something
THERE_AND_BACK = "a message there and one back"
PIPE = "a wake-up through a pipe, with its calls"
LINK = (1 / 0.9, 1 / 0.7)  # times what links need: up to the first it is good, beyond the second it is bad
MACHINE = (2.5, 5.0)  # the same of what hosts need at least, on which every library and kernel puts its own work
LIBRARY_S = 0.25e-6  # work of MPICH and UCX for a message: HLP_post + HLP_rx_prog, Zambre et al. 2019, section 6
_LIBRARY = f"up to {format_number(LIBRARY_S * 1e6)} µs for"
OWN_WORK = f"{_LIBRARY} the library"
OWN_WORK_OF = f"{_LIBRARY} an MPI library (26.56 + 224.66 ns on a ThunderX2, Zambre et al. 2019)"
_COUNTS = 0.01  # part of a floor from which its formula names the copy
_TELLS = 0.05  # part of what a message needs from which its name tells of the copy
_UNITS = {  # name of a floor → what its cost is of
    "line of cache": "line of cache from core to core",
    "wake-up": "wake-up of a thread",
    "system calls": "system call: one sends, one receives",
}


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One limit of a path.

    Parameters
    ----------
    name : what limits.
    value : B/s of payload, or s. What is beyond it is a defect of the bound or of the measurement.
    formula : how it follows.
    source : where its facts are from: ``testbed``, ``host``, ``stated`` or ``measured``.
    low, high : interval of a measured bound over launches; NaN of a computed one, and of a single launch.
    usual : what a good implementation comes near, as two copies where one is needed; NaN: `value`.
    usual_name : what that is; empty: `name`.
    usual_low, usual_high : interval of `usual`, where measurements went into it.
    good, bad : values from which, and up to which, a measurement is good and bad; NaN if the bound judges nothing.
    soft : whether a measurement may lie beyond it, because it only tells what a similar program reaches.
    wakes : whether what a measurement is compared with contains waking up a thread that sleeps.
    missing : benchmark that would make it judge; empty if it does.
    given : rate or delay that was set on an emulated link, in words; empty for others.
    """

    name: str
    value: float
    formula: str
    source: str
    low: float = math.nan
    high: float = math.nan
    usual: float = math.nan
    usual_name: str = ""
    usual_low: float = math.nan
    usual_high: float = math.nan
    good: float = math.nan
    bad: float = math.nan
    soft: bool = False
    wakes: bool = False
    missing: str = ""
    given: str = ""

    @property
    def words(self) -> str:
        """What a measurement is compared with, and what was set."""
        return ", ".join(filter(None, (self.reference_name, self.given)))

    @property
    def measured(self) -> bool:
        """Whether it is a measurement itself."""
        return self.source == "measured"

    @property
    def reference(self) -> float:
        """What a measurement is compared with."""
        return self.value if math.isnan(self.usual) else self.usual

    @property
    def reference_ends(self) -> tuple[float, float]:
        """Ends of its interval; NaN without one."""
        return (self.low, self.high) if math.isnan(self.usual) else (self.usual_low, self.usual_high)

    @property
    def reference_name(self) -> str:
        """What that is."""
        return self.usual_name or self.name

    @property
    def judges(self) -> bool:
        """Whether it defines what is good and what is bad."""
        return not math.isnan(self.good)

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of its interval; both the value if it has none."""
        return (self.value, self.value) if math.isnan(self.low) else (self.low, self.high)


def inside(samples: Samples) -> str:
    """One of `INSIDE` if the bytes of a point left no host; else empty."""
    return next((badge.code for badge in badges(samples.meta) if badge.code in INSIDE), "")


def of_host(samples: Samples, costs: Mapping[str, Costs] | None) -> Costs:
    """Costs of the host of a point; none if they were not measured there."""
    return (costs or {}).get(str(samples.host.get("name") or samples.host.get("hostname") or ""), Costs())


def copied(samples: Samples, directions: int, costs: Costs, place: str = "") -> tuple[Bound, ...]:
    """A core copies every byte at least once; each direction, pair of ranks, thread and stream may have its own core.

    Libraries usually copy twice, one after the other: into memory that both processes share, and out of it. The second
    copy is of what another core wrote; without its rate, the bound does not judge. Their own work for each message is
    in what they are compared with. Options of samples from elsewhere that are not counts bound nothing.

    Parameters
    ----------
    place : as in `handed_over`.
    """
    spec, size = samples.spec, samples.spec.size
    near, each = costs.copy(size), math.prod(map(spec.count, ("threads", "senders", "streams")))
    if near is None or not size or not each:
        return ()
    cores = directions * max(1, spec.ranks // 2) * each
    copied, cost = near
    call = costs.system_call if benchmarks.get(samples.spec.benchmark).ends.one_call else None

    def rate(copy: float, call: float) -> float:
        return cores * size / (size / copy + call)

    ends = (rate(low, cost_of_call) for low, cost_of_call in zip(_ends(cost), reversed(_ends(call)), strict=True))
    low, high = ends if cost.launches > 1 else (math.nan, math.nan)
    formula = f"{f'{cores} × ' if cores > 1 else ''}{cost} for copies of {format_size(copied)} by one core"
    if call:
        formula += f", and {call} for each send"
    bound = Bound(
        name="copy by one core",
        value=rate(cost.value, call.value if call else 0.0),
        formula=formula,
        source="measured",
        low=low,
        high=high,
    )
    if (place or inside(samples)) == "loopback":
        wake_up = costs.slowest_wake_up if benchmarks.get(samples.spec.benchmark).ends.sockets else None
        return (_of_thread(bound, cores, size, costs, wake_up),)
    crossing = costs.crossing(size)
    if crossing is None:
        return (replace(bound, missing="micro.core_to_core_copy"),)
    usual, *both = (
        rate(1 / (1 / first + 1 / second), LIBRARY_S)
        for first, second in zip((cost.value, *_ends(cost)), (crossing[1].value, *_ends(crossing[1])), strict=True)
    )
    usual_low, usual_high = both if min(cost.launches, crossing[1].launches) > 1 else (math.nan, math.nan)
    formula += f"; {TWICE}, the second of what another core wrote, and {OWN_WORK} for each message: "
    formula += f"{format_number(usual / 1e6)} MB/s, by which it is judged"
    good, bad = usual / MACHINE[0], usual / MACHINE[1]
    name = f"{TWICE}, and {OWN_WORK}"
    named = replace(bound, formula=formula, usual=usual, usual_name=name, usual_low=usual_low, usual_high=usual_high)
    return (replace(named, good=good, bad=bad),)


def _of_thread(bound: Bound, cores: int, size: int, costs: Costs, wake_up: Cost | None) -> Bound:
    """Judge a rate over the loopback interface by the rate of one thread that sends and receives.

    A program that sleeps until bytes come may have to be woken for each message.
    """
    near = costs.passing(size)
    if near is None:
        return replace(bound, missing="micro.loopback")
    words, cost = near
    sleeping = _ends(wake_up)
    usual, name = cores * size / (cost.value + (wake_up.value if wake_up else 0.0)), WOKEN if wake_up else THREAD
    high, low = (cores * size / (end + woken) for end, woken in zip((cost.low, cost.high), sleeping, strict=True))
    formula = f"{bound.formula}; {f'{cores} × ' if cores > 1 else ''}{THREAD}: {words} in {cost}"
    formula += f", and {wake_up} for a {_UNITS['wake-up']}" if wake_up else ""
    formula += f": {format_number(usual / 1e6)} MB/s, by which it is judged"
    good, bad = usual / MACHINE[0], usual / MACHINE[1]
    named = replace(bound, formula=formula, usual=usual, usual_name=name, usual_low=low, usual_high=high)
    return replace(named, good=good, bad=bad)


def handed_over(samples: Samples, crosses: tuple[int, int], costs: Costs, place: str = "") -> tuple[Bound, ...]:
    """What a message needs to reach another process of its host: a line of cache, or the kernel and a wake-up.

    A call that reads or writes the memory of another process may need no message; then it is faster.

    Parameters
    ----------
    crosses : times that the message crosses, and how many of them carry bytes: fewer for such a call.
    place : one of `INSIDE`; where the bytes of the point were, if left out.
    """
    size, place, (crossings, carrying) = samples.spec.size or 0, place or inside(samples), crosses
    if place == "unix-socket":
        return _of_pipe(size, crossings, costs)
    if place == "loopback" and (near := costs.message(size)):
        return (_of_itself(samples, crossings, *near, costs.slowest_wake_up),)
    calls, times, name = costs.line, 1, "line of cache"
    if place == "loopback":
        wakes = benchmarks.get(samples.spec.benchmark).ends.sockets  # an MPI library polls, and does not sleep
        calls, times, name = (costs.wake_up, 1, "wake-up") if wakes and costs.wake_up else (None, 1, "")
        if calls is None:
            calls, times, name = costs.system_call, 2, "system calls"
    if calls is None:
        return ()
    count, copy = crossings * times, costs.copy(size)
    copied, direct = carrying * size / copy[1].value if copy else 0.0, carrying < crossings
    low, high = (count * end + copied for end in (calls.low, calls.high))
    formula = f"{count} × {calls} for a {_UNITS[name]}"
    if copy and copied > _COUNTS * calls.value:
        formula += f" + {format_number(copied * 1e6)} µs to copy the bytes once{'' if direct else ' on each way'}"
    waiting = count * calls.value
    bound = Bound(name=name, value=waiting + copied, formula=formula, source="measured", low=low, high=high)
    if place == "loopback":  # the work of TCP and IP is left out
        return (replace(bound, missing="micro.loopback"),)
    own = crossings * LIBRARY_S
    crossing = costs.crossing(size)
    second = carrying * size / crossing[1].value if crossing else copied
    more = own + second  # libraries usually copy twice, one after the other: the second time what another core wrote
    good, bad = (times * (bound.value + more) for times in MACHINE)
    usual_name = f"a line of cache and {OWN_WORK}" + (AND_COPIES if copied > _TELLS * (waiting + own) else "")
    usual_name = f"{THERE_AND_BACK}, each with {usual_name}" if direct else usual_name
    named = replace(
        bound, usual=bound.value + more, usual_name=usual_name, usual_low=low + more, usual_high=high + more
    )
    return (replace(named, good=good, bad=bad, soft=direct),)


def _of_pipe(size: int, crossings: int, costs: Costs) -> tuple[Bound, ...]:
    """Judge a Unix socket by a byte through a pipe, with the same calls and wake-up, plus two copies.

    Where both processes share a core, the wake-up takes less than the slowest one that was measured.
    """
    wake_up, copy = costs.slowest_wake_up, costs.copy(size)
    if wake_up is None:
        return ()
    copied = 2 * size / copy[1].value if copy else 0.0
    value, low, high = (crossings * (end + copied) for end in (wake_up.value, wake_up.low, wake_up.high))
    formula = f"{crossings} × {wake_up} for a {_UNITS['wake-up']} through a pipe"
    if copied > _COUNTS * wake_up.value:
        formula += f" + {format_number(crossings * copied * 1e6)} µs to copy the bytes in and out"
    good, bad = (times * value for times in MACHINE)
    bound = Bound(name=PIPE, value=value, formula=formula, source="measured", low=low, high=high, good=good, bad=bad)
    return (replace(bound, usual=value, usual_name=PIPE, usual_low=low, usual_high=high, soft=True, wakes=True),)


def _of_itself(samples: Samples, crossings: int, size: str, cost: Cost, wake_up: Cost | None) -> Bound:
    """Judge by a thread that sends to itself; a program that sleeps until a message comes must also be woken."""
    value, low, high = (crossings * each for each in (cost.value, cost.low, cost.high))
    formula = f"{crossings} × {cost} for a message of {size} from a thread to itself"
    usual, usual_low, usual_high, name = value, low, high, THREAD
    if wake_up is not None and benchmarks.get(samples.spec.benchmark).ends.sockets:
        usual, name = value + crossings * wake_up.value, WOKEN
        usual_low, usual_high = low + crossings * wake_up.low, high + crossings * wake_up.high
        formula += f" + {crossings} × {wake_up} for a {_UNITS['wake-up']}"
    good, bad = (times * usual for times in MACHINE)
    return Bound(
        name=THREAD,
        value=value,
        formula=formula,
        source="measured",
        low=low,
        high=high,
        usual=usual,
        usual_name=name,
        usual_low=usual_low,
        usual_high=usual_high,
        good=good,
        bad=bad,
        soft=True,  # two threads share the work that one does alone
        wakes=name == WOKEN,
    )


def _ends(cost: Cost | None) -> tuple[float, float]:
    """Interval of a cost; the value twice for a single launch, 0 without a cost."""
    if cost is None:
        return 0.0, 0.0
    return (cost.value, cost.value) if math.isnan(cost.low) else (cost.low, cost.high)
