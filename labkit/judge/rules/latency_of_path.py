"""Whether a latency is as low as its path allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from labkit import benchmarks
from labkit.benchmarks import OneSidedBenchmark
from labkit.judge.finding import TIMES, Count, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.rules import _paths
from labkit.judge.rules._paths import TOLERANCE, Chosen
from labkit.judge.view import View
from labkit.models import bounds
from labkit.models.bounds import Bound, Stated
from labkit.models.inside import LINK, MACHINE, OWN_WORK_OF, THERE_AND_BACK
from labkit.point.columns import METRICS
from labkit.point.units import format_number


def check(view: View) -> Iterator[Finding]:
    """Yield a verdict for each setting of the benchmarks whose latency crosses a path: on its smallest size.

    If the smallest size is good over a long path, the largest one is judged too; if that is not good, it decides.
    If it is good within a host, the size that is farthest beyond its own reference is judged too.
    """
    some = [*_paths.chosen(view, _bounded, ("round_trip_us", "latency_us"), bounds.of_latency)]
    found = [_judged(one, view) for one in some]
    rows = {place: _largest(some[place], view) for place, one in enumerate(found) if one.level == "good"}
    samples = view.first_launches([str(row["fingerprint"]) for row in rows.values() if row is not None])
    for place, one in enumerate(found):
        row = rows.get(place)
        launch = samples.get(str(row["fingerprint"])) if row is not None else None
        if row is not None and launch is not None:
            known = bounds.of_latency(launch, view.stated, view.costs)
            kept = {name: row.get(name, math.nan) for name in some[place].row}
            other = _judged(replace(some[place], row=kept, samples=launch, known=known), view)
            one = other if other.level in ("bad", "doubtful") else one
        yield one
    yield from _paths.other_sizes(some, found, view, bounds.of_latency, _judged)


def _bounded(benchmark: str) -> bool:
    """Whether a path bounds latencies of a benchmark: of messages, or of calls that access another rank's memory."""
    known = benchmarks.look_up(benchmark)
    if isinstance(known, OneSidedBenchmark):
        return known.completes is not None
    return bool(known and known.crossings)


def _largest(one: Chosen, view: View) -> Mapping[str, Any] | None:
    """Return the largest size of a setting with bytes that take no longer than the path's delay; None for others.

    Larger ones are a matter of bandwidth. Unless the delay is most of the time, hosts and adapters need an unknown
    extra time for larger messages.
    """
    wire, bound = bounds.path(one.samples, view.stated or Stated()), one.bound
    crossings = bounds.crossings_of(one.samples.spec.benchmark)
    if wire is None or bound is None or crossings * wire.delay < _LONG * bound.reference:
        return None
    table = view.parts[one.samples.spec.benchmark]
    places = table.sizes(table.places[str(one.row["fingerprint"])], one.metric)
    sizes = table.columns["message_size_B"][places]
    places = places[sizes / wire.efficiency.share * 8 / wire.rate <= wire.delay]
    return table.row(places[-1]) if len(places) > 1 else None


_LONG = 0.5  # part of what a latency is compared with, from which the delays of a path are most of it


def _judged(one: Chosen, view: View) -> Finding:
    measured, bound, factor = one.measured, one.bound, METRICS[one.metric].factor
    _, high = measured.ends
    if bound is not None and not bound.soft and high < bound.ends[0] * factor * (1 - TOLERANCE):
        limit = one.limit(bound.value, bound.name, bound.source)
        wrong = "the measured floor" if bound.measured else "the delay that the path is said to have"
        values = {"measured": measured, "limit": limit, "wrong": wrong, "what": bound.name, "path": one.path}
        return RULE.found(one.subject, form="defect", level="bad", decided=one.decided, **values)
    shared = _paths.shared(one, view)
    if shared is None and (best := bounds.best_path(one.samples, view.costs)) is not None:
        return _beside(one, best, view)
    if bound is None or not bound.judges:
        return _paths.no_reference(RULE, one, view)
    found = _found(one, bound, view)
    if shared is not None:
        found = replace(found, values={**found.values, "shared": _paths.over_memory(one, shared)})
    excess = measured.value / factor - bound.reference
    excess /= bounds.crosses(one.samples)[0]
    if _paths.sleeps(one, view, found, excess):
        return _paths.no_reference(RULE, one, view, "micro.wake_up")
    if asleep := _paths.asleep(one, view, found, excess):
        sleeps = {"asleep": Value(value=asleep * 1e6, unit="µs")}
        return replace(found, form="asleep", level="unknown", measure=(), values={**found.values, **sleeps})
    if one.functional:
        return replace(found, form="functional", level="unknown", measure=())
    several = found.level in ("bad", "doubtful") and bound.soft and not bounds.inside(one.samples)
    return replace(found, form="messages", level="unknown", measure=()) if several else found


def _found(one: Chosen, bound: Bound, view: View) -> Finding:
    """Judge a latency by what its path needs."""
    factor = METRICS[one.metric].factor
    level, unsure = one.leveled(bound)
    times = one.measured.value / (bound.reference * factor)
    awake = bound.wakes and one.measured.ends[1] < bound.reference_ends[0] * factor
    return RULE.found(
        one.subject,
        form="awake" if awake else "less" if times < 1 else "beside" if bound.usual_name or bound.soft else "",
        level=level,
        cost=times,
        decided=one.decided,
        measured=one.measured,
        limit=one.reference(bound),
        goal=one.goal(bound),
        times=Value(value=times, unit=TIMES),
        what=bound.words,
        how=bound.formula,
        path=one.path,
        quantity="a round trip of " if one.metric == "round_trip_us" else "",
        usual=_paths.usual(one, bound),
        unsure=unsure,
        shared="",
        measure=_paths.more(view, level, one),
    )


def _beside(one: Chosen, best: Bound, view: View) -> Finding:
    """Judge ranks that share a host but not its memory against shared memory: anything not good is bad."""
    found = _found(one, replace(best, bad=best.good), view)
    own, factor = one.bound, METRICS[one.metric].factor
    if own is None or not own.judges:
        return replace(found, form="other path")
    beside: dict[str, Value | Count | str] = {
        "own": one.reference(own),
        "own_times": Value(value=one.measured.value / (own.reference * factor), unit=TIMES),
        "own_what": own.reference_name,
    }
    return replace(found, form="other path, beside", values={**found.values, **beside})


RULE = Rule(
    code="latency-of-path",
    kind="verdict",
    level="unknown",
    about="path",
    must=f"the latency of the smallest size is at most {format_number(MACHINE[0])} times the cost of its hosts, plus "
    f"{format_number(LINK[0], digits=3)} times the delays of the path and the time of its bytes on the link; beyond "
    f"{format_number(MACHINE[1])} and {format_number(LINK[1], digits=3)} times it is bad. If delays dominate, "
    "this also holds for the largest size that takes no longer on the link than the delay. The cost of one host is "
    f"a cache line between cores, {OWN_WORK_OF}, and two copies; for a "
    "Unix socket a wake-up through a pipe, and two copies. A put or get that waits for its bytes is compared with "
    f"{THERE_AND_BACK}; over a link it is never bad",
    why="no message is faster than a cache line between cores, a message through the kernel, or light in the "
    "cables; a library adds its own work, and need not wait for the receiver on a long path",
    says={
        "": "{quantity}{measured:interval} is {times:3} its floor of {limit:interval} ({what}){usual}{unsure}{shared}",
        "beside": "{quantity}{measured:interval} is {times:3} its reference of {limit:interval} "
        "({what}){usual}{unsure}{shared}",
        "less": "{quantity}{measured:interval} is less than its reference of {limit:interval} ({what}){usual}{shared}",
        "awake": "{quantity}{measured:interval} is less than its reference of {limit:interval} ({what}): its program "
        "was awake, or slept less deeply than the thread of the reference{usual}{shared}",
        "asleep": "{quantity}{measured:interval} is {times:3} its reference of {limit} ({what}), but its programs "
        "sleep for {asleep} before each message, and how long they then take to wake up is not known",
        "messages": "{measured:interval} is {times:3} its reference of {limit} ({what}), but how many messages the "
        "library needs to complete the call is not known",
        "other path": "{measured:interval} is {times:3} the {limit:interval} of shared memory on this host ({what})",
        "other path, beside": "{measured:interval} is {times:3} the {limit:interval} of shared memory on this host "
        "({what}); it is {own_times:3} the {own:interval} of its own path ({own_what})",
        "defect": "{measured:interval} is below its floor of {limit} ({what}): {wrong}, or the measurement, is wrong",
        "no reference": "{measured:interval}; no reference, because {reason}",
        "functional": "{measured:interval} is {times:3} its floor of {limit} ({what}); the device shows function, not "
        "performance",
    },
    check=check,
)
