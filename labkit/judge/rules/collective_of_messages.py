"""Whether a collective takes as little time as the messages that it needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labkit import benchmarks
from labkit.judge.finding import EMULATED, TIMES, Finding, Value, Wanted
from labkit.judge.rule import Rule
from labkit.judge.rules import _paths
from labkit.judge.rules._paths import Chosen
from labkit.judge.view import View
from labkit.models import schedules
from labkit.models.bounds import Bound, Stated, inside, path
from labkit.models.inside import INSIDE, LIBRARY_S, MACHINE, OWN_WORK
from labkit.models.links import SHAPED_FRAME, ethernet
from labkit.point.adapters import links_of
from labkit.point.columns import METRICS, statistic_column
from labkit.point.notes import has
from labkit.point.spec import Spec
from labkit.point.units import KiB, format_number, format_size
from labkit.read.records import headline_statistic, rerun, sound
from labkit.read.records.factors import OPEN
from labkit.store.samples import Samples
from labkit.store.samples.facts import LIBRARY, RANK_HOSTS, TESTBED, badges

_LATENCY, _BANDWIDTH = ("mpi.latency", "latency_us"), ("mpi.bandwidth", "bandwidth_MBps")
LARGE = 64 * KiB  # B, from which the bytes take most of the time of a message
OF_LINKS = (1.5, 2.5)  # times the bytes of one rank on a link, where no algorithm moves more: good, bad
_LINE = 64  # B of a line of cache
_NEAR = 4  # times the size of the message from which the time of a byte is taken, at most


@dataclass(frozen=True)
class _Message:
    """A message between two ranks: its benchmark, its size in B, its time in s, and the interval of this, if known."""

    benchmark: str
    size: int
    time: float
    low: float = math.nan
    high: float = math.nan


def check(view: View) -> Iterator[Finding]:
    """Yield a verdict for each setting of the collectives: at the smallest or the largest size, the worse of them."""
    messages = _messages(view)
    worst: dict[tuple[str, str], Finding] = {}
    for one in _paths.chosen(view, schedules.bounded, ("latency_us",), partial(_bounds, messages), ends=True):
        if one.samples.spec.ranks < 2 or benchmarks.threads(one.samples.spec) > 1:
            continue
        key, found = (str(one.row["benchmark"]), one.setting), _judged(one, view)
        if key not in worst or _times(found) > _times(worst[key]):
            worst[key] = found
    yield from worst.values()


def _times(one: Finding) -> float:
    value = one.values.get("times")
    return value.value if isinstance(value, Value) else 0.0


def _messages(view: View) -> Mapping[tuple[str, ...], list[_Message]]:
    """Return the messages between two ranks by library, host and path, the smallest size first."""
    found: dict[tuple[str, ...], list[_Message]] = {}
    for name, metric in (_LATENCY, _BANDWIDTH):
        if (part := view.parts.get(name)) is None:
            continue
        rows = part.rows[part.columns["origin"] != "simulated"]
        column = statistic_column(metric, headline_statistic(rows, metric))
        rows = sound(rows[rows[column].notna()], metric) if column in rows else rows[:0]
        for row in rows.to_dict("records"):
            factor, value, size = METRICS[metric].factor, float(row[column]), int(row["message_size_B"])
            if value > 0:
                if METRICS[metric].kind == "cost":
                    ends = (float(row[f"{metric}_{end}"]) / factor for end in ("low", "high"))
                    message = _Message(name, size, value / factor, *ends)
                else:
                    ends = (_quotient(size * factor, float(row[f"{metric}_{end}"])) for end in ("high", "low"))
                    message = _Message(name, size, size * factor / value, *ends)
                found.setdefault(_place(row), []).append(message)
    return {place: sorted(some, key=lambda one: (one.size, one.time)) for place, some in found.items()}


def _quotient(one: float, other: float) -> float:
    return one / other if other else math.inf


def _place(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return library, host and path of a point."""
    inside_host = next((note.code for note in row["badges"] if note.code in INSIDE), "")
    chosen = "" if inside_host and row["transport"] in (*OPEN, "shm", "tcp") else str(row["transport"])
    return (str(row["library"]), str(row["host"]), str(row["testbed"]), str(row["device"]), chosen, inside_host)


def _bounds(
    messages: Mapping[tuple[str, ...], list[_Message]], samples: Samples, stated: Stated | None, costs: object
) -> tuple[Bound, ...]:
    """Return the time that the messages of a collective need; nothing where too little is known of them."""
    row = {
        "library": LIBRARY.of(samples.meta),
        "host": str(samples.host.get("name") or samples.host.get("hostname") or ""),
        "badges": badges(samples.meta),
    }
    spec = samples.spec
    known = messages.get(_place({**row, **{name: getattr(spec, name) for name in _SETTING}}), [])
    first = next((one for one in known if one.benchmark == _LATENCY[0]), None)
    if first is None or _mixed(samples):
        return ()
    rounds, count = schedules.least(spec.benchmark, spec.ranks, spec.size)
    of_bytes = first.size >= LARGE / 4  # nearly all of its time is that of its bytes, and says nothing of the latency
    if of_bytes and not count:
        return ()
    waiting = 0.0 if of_bytes else rounds * first.time
    ends = (rounds * first.low, rounds * first.high)
    how = f"{rounds} × {format_number(first.time * 1e6)} µs ({first.benchmark}, {format_size(first.size)})"
    latencies = "1 latency" if rounds == 1 else f"{rounds} latencies, one after the other"
    if not count:
        return (_bound(latencies, waiting, how, ends),)
    # of single messages if they are known: a collective does not send a window of them at once
    rates = (one for name in (_LATENCY[0], _BANDWIDTH[0]) if (one := _rate(known, name, first, spec.size)))
    if (found := next(rates, None)) is None:
        if first.size < spec.size or spec.size > _LINE:
            return ()
        return (_bound(latencies, waiting, how, ends),)  # so few bytes cost nothing beside the latency
    rate, (low, high), best = found
    wire = path(samples, stated or Stated())
    if wire is not None:  # a bucket that saved up bytes lets single messages pass faster
        most = wire.rate / 8 * wire.efficiency.share
        if most < rate:
            rate, low, high, best = most, math.nan, math.nan, wire.name
    moving = count / rate
    how = f"the longer of {how} and {format_size(math.ceil(count))} at {format_number(rate / 1e6)} MB/s ({best})"
    if (shared := _shared(samples)) is not None and shared[1] > max(waiting, moving):
        return (_bound(shared[0], shared[1], shared[0], limits=OF_LINKS),)
    if waiting >= moving:
        return (_bound(latencies, waiting, how, ends),)
    straight = spec.benchmark in schedules.STRAIGHT and not inside(samples)
    single = " in single messages" if best.startswith(_LATENCY[0]) else ""
    moved = f"{format_size(math.ceil(count))} that one rank moves{single}, at {format_number(rate / 1e6)} MB/s"
    ends = (count / high, count / low) if high > 0 < low and math.isfinite(high) else (math.nan, math.nan)
    return (_bound(moved, moving, how, ends, OF_LINKS if straight else MACHINE),)


def _shared(samples: Samples) -> tuple[str, float] | None:
    """Return in words which bytes pass each uplink of an emulated tree, and their time, s; None without one."""
    links, spec, hosts = links_of(TESTBED.of(samples.meta)), samples.spec, RANK_HOSTS.of(samples.meta)
    crossing = _CROSSING.get(spec.benchmark)
    first = {*[*dict.fromkeys(hosts)][: links.per_leaf]}
    inside_leaf = sum(host in first for host in hosts)
    if crossing is None or not links.uplink or not 0 < inside_leaf < len(hosts):
        return None
    size = crossing(inside_leaf, len(hosts), spec.size)
    share = ethernet(links.mtu or _MTU, "tcp", frame=SHAPED_FRAME).share
    words = f"{format_size(size)} that must pass each uplink, rate set to {format_number(links.uplink / 1e6)} Mbit/s"
    return words, size * 8 / links.uplink / share


_MTU = 1500  # B, where the metadata have none that can be true
_CROSSING: Mapping[str, Callable[[int, int, int], int]] = {  # → bytes that must leave a leaf switch
    "mpi.alltoall": lambda inside, ranks, size: inside * (ranks - inside) * size,
    "mpi.allgather": lambda inside, ranks, size: inside * size,
}


def _rate(
    known: list[_Message], benchmark: str, first: _Message, size: int
) -> tuple[float, tuple[float, float], str] | None:
    """Return at what rate (B/s) messages of about a size pass after their latency, its interval, and which messages.

    None if it is unknown. Larger messages may pass more slowly, because they do not fit into a cache.
    """
    some = [one for one in known if one.benchmark == benchmark and one.size > first.size]
    if first.size >= LARGE / 4 and benchmark == _LATENCY[0]:
        some, first = [one for one in known if one.benchmark == benchmark], _Message(benchmark, 0, 0.0)
    fitting = [one.size for one in some if one.size <= max(size, LARGE)]
    chosen = fitting[-1] if fitting else some[0].size if some else 0
    if chosen * _NEAR < size or chosen < (LARGE if benchmark == _BANDWIDTH[0] else 1):
        return None
    best = next(one for one in some if one.size == chosen)  # the fastest of this size
    before = first.time if benchmark == _LATENCY[0] else 0.0
    if not best.time > before:
        return None
    moved = best.size - first.size
    rate, ends = moved / (best.time - before), (math.nan, math.nan)
    if before < best.low <= best.high:
        ends = moved / (best.high - before), moved / (best.low - before)
    return rate, ends, f"{benchmark}, {format_size(best.size)}"


def _bound(
    name: str,
    value: float,
    formula: str,
    ends: tuple[float, float] = (math.nan, math.nan),
    limits: tuple[float, float] = MACHINE,
) -> Bound:
    usual = value + LIBRARY_S
    low, high = (end + LIBRARY_S for end in ends)
    good, bad = (times * usual for times in limits)
    return Bound(
        name=name,
        value=value,
        formula=formula,
        source="computed",
        usual=usual,
        usual_name=f"{name}, and {OWN_WORK}",
        usual_low=low,
        usual_high=high,
        good=good,
        bad=bad,
    )


def _mixed(samples: Samples) -> bool:
    """Return whether some ranks share a host and others do not, so that their messages take two paths."""
    hosts = RANK_HOSTS.of(samples.meta)
    return 1 < len(set(hosts)) < len(hosts)


def _judged(one: Chosen, view: View) -> Finding:
    measured, bound, factor = one.measured, one.bound, METRICS[one.metric].factor
    if bound is None:
        reason = "mixed" if _mixed(one.samples) else "messages"
        wanted = () if reason == "mixed" else tuple(map(Wanted, _wanted(one.samples.spec)))
        return RULE.found(
            one.subject,
            form="no reference",
            measure=wanted,
            measured=measured,
            path=one.path,
            reason=_REASONS[reason],
        )
    level, unsure = one.leveled(bound)
    times = measured.value / (bound.reference * factor)
    found = RULE.found(
        one.subject,
        form="" if times >= 1 else "less",
        level=level,
        cost=max(times, 1.0),
        decided=one.decided,
        measured=measured,
        limit=one.reference(bound),
        goal=one.goal(bound),
        times=Value(value=times, unit=TIMES),
        what=bound.reference_name,
        how=bound.formula,
        path=one.path,
        unsure=unsure,
        measure=_paths.more(view, level, one),
    )
    if one.functional:
        return replace(found, form="functional", level="unknown", measure=())
    crowded = one.path == EMULATED and has(one.row["badges"], "oversubscription") and bound.reference < _SLICE_S
    if level in ("bad", "doubtful") and crowded:
        return replace(found, form="crowded", level="unknown", measure=())
    return found


_SLICE_S = 4e-3  # for which a scheduler lets a process run while others wait, about


def _wanted(spec: Spec) -> Iterator[Spec]:
    """Yield the messages to measure, which show what a collective needs."""
    if not rerun.imported(spec):
        between = {name: getattr(spec, name) for name in _OF_START}
        for size in sorted({8, LARGE, *([spec.size] if spec.size > LARGE else [])}):
            yield Spec(benchmark=_LATENCY[0], size=size, ranks=2, **between)


_SETTING = ("testbed", "device", "transport")
_OF_START = (*_SETTING, "launcher", "hosts", "bind")
_REASONS = {
    "messages": "no messages between two ranks of about this size were measured on the same path",
    "mixed": "some ranks share a host and others do not, so that their messages take two paths",
}
RULE = Rule(
    code="collective-of-messages",
    kind="verdict",
    level="unknown",
    about="path",
    must=f"a collective takes at most {format_number(MACHINE[0])} times the messages that every algorithm needs: "
    "⌈log₂ p⌉ latencies one after the other, or the bytes of one rank at the rate of one message, and "
    f"{OWN_WORK}; beyond {format_number(MACHINE[1])} times it is bad. If bytes on links dominate, and a plain "
    f"algorithm moves no more (alltoall, allgather, gather, scatter), the limits are {format_number(OF_LINKS[0])} and "
    f"{format_number(OF_LINKS[1])} times",
    why="messages between two ranks contain the cost of library and path, so only algorithm, reduction and waiting "
    "remain; no algorithm has both the fewest latencies and the fewest bytes (Chan et al. 2007, Thakur et al. 2005)",
    says={
        "": "{measured:interval} is {times:3} the {limit:interval} that its messages need ({what}){unsure}",
        "less": "{measured:interval} is less than the {limit:interval} of its messages between two ranks ({what})",
        "no reference": "{measured:interval}; no reference, because {reason}",
        "functional": "{measured:interval} is {times:3} the {limit} that its messages need ({what}); the device shows "
        "function, not performance",
        "crowded": "the emulated hosts share cores, so that their ranks wait for the scheduler, and the time says "
        "little of a network: {measured:interval} is {times:3} the {limit} that its messages need ({what})",
    },
    check=check,
)
