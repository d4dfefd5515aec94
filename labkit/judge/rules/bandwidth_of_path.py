"""Whether a bandwidth is as high as its path allows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from labkit import benchmarks, stats
from labkit.judge import evidence
from labkit.judge.finding import SHARE, Count, Finding, Value, Wanted
from labkit.judge.rule import Rule
from labkit.judge.rules import _paths
from labkit.judge.rules._paths import TOLERANCE, Chosen
from labkit.judge.view import View
from labkit.models import bounds
from labkit.models.bounds import Bound, Stated
from labkit.models.inside import LINK, MACHINE
from labkit.point.columns import METRICS
from labkit.point.notes import has
from labkit.point.units import format_share
from labkit.read.records import rerun
from labkit.store.samples.facts import RECEIVED_B, SEGMENT_B


def check(view: View) -> Iterator[Finding]:
    """Yield a verdict for each setting of the benchmarks whose bandwidth a path bounds.

    If the highest bandwidth is good within a host, the size that is farthest from its own bound is judged too.
    """
    some = [*_paths.chosen(view, bounds.directions_of, ("bandwidth_MBps",), bounds.of_bandwidth)]
    found = [_judged(one, view) for one in some]
    yield from found
    yield from _paths.other_sizes(some, found, view, bounds.of_bandwidth, _judged)


def _judged(one: Chosen, view: View) -> Finding:
    bound, factor = one.bound, METRICS[one.metric].factor
    low, _ = one.measured.ends
    if bound is not None and low > bound.ends[1] * factor * (1 + TOLERANCE + _burst(one, view)):
        wrong = "the measured bound" if bound.measured else "the rate that the path is said to have"
        values = _values(one, one.limit(bound.value, bound.name, bound.source), bound) | {"wrong": wrong}
        return RULE.found(one.subject, form="defect", level="bad", decided=one.decided, **values)
    shared = _paths.shared(one, view)
    if shared is None and (best := bounds.best_rate(one.samples, view.costs)) is not None:
        return _beside(one, best, view)
    if bound is None or not bound.judges:
        return _paths.no_reference(RULE, one, view)
    found, size = _found(one, bound, view), one.samples.spec.size or 0
    if shared is not None:
        found = replace(found, values={**found.values, "shared": _paths.over_memory(one, shared)})
    excess = size * (factor / one.measured.value - 1 / bound.reference) if one.measured.value else math.inf
    if bounds.inside(one.samples) and _paths.sleeps(one, view, found, excess):
        return _paths.no_reference(RULE, one, view, "micro.wake_up")
    if one.functional:
        return replace(found, form="functional", level="unknown", measure=())
    if found.level == "good" and (ran := _ran(one, view)) < evidence.POLLS:
        ran_for = {"ran": Value(value=ran, unit=SHARE)}
        return replace(found, form="idle", level="doubtful", values={**found.values, **ran_for})
    if found.level == "good" and (part := _copying(one, bound, view)) < _LITTLE_COPYING:
        copying = {"copying": Value(value=part, unit=SHARE)}
        return replace(found, form="small", level="doubtful", values={**found.values, **copying})
    if found.level in ("bad", "doubtful") and (trip := _trip(one, view)):
        return _started(one, bound, trip, found, view) or _answered(one, bound, trip, found) or found
    return found


def _received(one: Chosen, view: View) -> float:
    """Return how many bytes a stream delivered, the median of its launches; 0 if nobody says."""
    every = [one.samples]
    if view.launches is not None:
        every = [*view.launches.samples(view.rows_of(one.measured.fingerprint).tolist()).values()]
    return float(np.median([RECEIVED_B.of(samples.meta) or 0 for samples in every]))


def _burst(one: Chosen, view: View) -> float:
    """Return the part of a stream that a link lets through at once, before its rate holds.

    The receiver's clock starts with the first segment, and the bucket of a shaped link holds a few more.
    """
    received = _received(one, view)
    return _BURST_SEGMENTS * (SEGMENT_B.of(one.samples.meta) or _SEGMENT) / received if received else 0.0


def _values(one: Chosen, limit: Value, bound: Bound) -> dict[str, Value | Count | str]:
    """Return the values of a sentence that compares with a limit."""
    return {
        "measured": one.measured,
        "limit": limit,
        "share": Value(value=one.measured.value / limit.value, unit=SHARE),
        "what": limit.of,
        "path": one.path,
        "how": bound.formula,
    }


def _found(one: Chosen, bound: Bound, view: View) -> Finding:
    """Judge a bandwidth by what its path allows."""
    factor = METRICS[one.metric].factor
    values = _values(one, one.reference(bound), bound) | {"what": bound.words}
    cost = bound.reference * factor / one.measured.value if one.measured.value else math.nan
    values["usual"], values["shared"] = _paths.usual(one, bound), ""
    level, values["unsure"] = one.leveled(bound)
    values["goal"] = one.goal(bound)
    more = one.measured.value / (bound.reference * factor) - 1
    if _SEEN <= more <= TOLERANCE:
        values["tolerance"] = Value(value=TOLERANCE, unit=SHARE)
    elif more > TOLERANCE and not bound.usual_name:
        within = one.measured.ends[0] <= bound.reference * factor * (1 + TOLERANCE)
        values["unsure"] = "; its interval reaches what the path allows" if within else _AT_ONCE
    wanted = _paths.more(view, level, one)
    return RULE.found(one.subject, level=level, cost=cost, decided=one.decided, measure=wanted, **values)


_AT_ONCE = "; the first segments of a short stream pass at once"
_SEEN = 0.005  # of a bound: less beyond it is 100 % where shares are printed


def _ran(one: Chosen, view: View) -> float:
    """Return the share of time in which the idlest polling rank had a processor; NaN if ranks sleep while they wait."""
    known = benchmarks.get(one.samples.spec.benchmark)
    polls = (
        known.mpi and bounds.inside(one.samples) == "shared-memory" and not has(one.row["badges"], "oversubscription")
    )
    if not polls or not evidence.idlest([one.samples]) < evidence.POLLS or view.launches is None:
        return math.nan
    rows = view.rows_of(one.measured.fingerprint).tolist()
    return evidence.idlest(view.launches.samples(rows).values())


def _copying(one: Chosen, bound: Bound, view: View) -> float:
    """Return which part of the time of its reference one copy takes; NaN if larger messages were measured."""
    table = view.tables[one.samples.spec.benchmark]
    place = table.places[one.measured.fingerprint]
    largest = table.sizes(place, one.metric)[-1] == place
    inside = largest and bounds.inside(one.samples) == "shared-memory"
    return bound.reference / bound.value if inside else math.nan


def _trip(one: Chosen, view: View) -> float:
    """Return the delays of a round trip over the path, s; 0 if nobody states them."""
    wire = bounds.path(one.samples, view.stated or Stated())
    return 2 * wire.delay if wire is not None and math.isfinite(wire.rate) else 0.0


def _started(one: Chosen, bound: Bound, trip: float, found: Finding, view: View) -> Finding | None:
    """Return the clue that a stream ended so early that its slow start explains its rate; None if it does not.

    A connection of TCP sends ten segments, and twice as many in each round trip, until they fill the path (RFC 6928).
    A buffer that was set keeps more of them back for as long as the stream lasts.
    """
    samples, fills = one.samples, bound.reference * trip
    received, spec = _received(one, view), samples.spec
    if not received or spec.count("socket_buffer", 0) or bounds.directions_of(spec.benchmark) != 1:
        return None
    first = _FIRST_SEGMENTS * (SEGMENT_B.of(samples.meta) or _SEGMENT) * max(1, spec.count("streams"))
    trips = max(0, math.ceil(math.log2(fills / first)))
    seconds = max(_STREAM_S, math.ceil(trips * trip / _LITTLE))
    longer = rerun.command(spec, "--time-cap", str(seconds), "--launches", str(stats.LAUNCHES))
    return _waited(
        one, bound, received, Count(trips, "round trip"), trip, replace(found, form="started", command=longer)
    )


def _answered(one: Chosen, bound: Bound, trip: float, found: Finding) -> Finding | None:
    """Return that windows fill the path, and that what each waits for explains a doubtful rate; None if it does not.

    The answer to each window takes a round trip. If the sender first asks whether the receiver is ready, that takes
    another one.
    """
    spec, fills = one.samples.spec, bound.reference * trip
    known = benchmarks.get(spec.benchmark)
    window = spec.count("window", 0)
    moved = bounds.directions_of(spec.benchmark) * max(1, spec.ranks // 2) * window * (spec.size or 0)
    if known.cadence != "windowed" or found.level != "doubtful" or not moved >= fills:
        return None
    larger = window * math.ceil(_TRIPS * fills / _LITTLE / moved)
    wanted = () if rerun.imported(spec) else (Wanted(spec.replace(options={**spec.values, "window": larger})),)
    return _waited(
        one, bound, moved, Count(_TRIPS, "round trip"), trip, replace(found, form="answered", measure=wanted)
    )


def _waited(one: Chosen, bound: Bound, moved: float, trips: Count, trip: float, found: Finding) -> Finding | None:
    """Return a verdict as unknown if bytes that wait for some round trips cannot reach more; else None."""
    possible = moved / (moved / bound.reference + trips.value * trip)
    if one.measured.value < possible * METRICS[one.metric].factor / LINK[0]:
        return None
    values: dict[str, Value | Count] = {
        "possible": one.limit(possible, found.form),
        "trips": trips,
        "trip": Value(value=trip * 1e6, unit="µs"),
    }
    return replace(found, level="unknown", values={**found.values, **values})


_FIRST_SEGMENTS, _SEGMENT = 10, 1448  # of a connection before the first answer (RFC 6928); B of payload in each
_BURST_SEGMENTS = 3  # that pass at once, at most
_TRIPS = 2  # that a window waits for at most
_LITTLE_COPYING = 0.1  # part of a message's time below which its bandwidth tells of the library, not of the path
_LITTLE, _STREAM_S = 0.05, 2  # part of the time that waiting may take; s of a stream that is measured again, at least


def _beside(one: Chosen, best: Bound, view: View) -> Finding:
    """Judge ranks that share a host but not its memory against shared memory: anything not good is bad."""
    found, own = _found(one, replace(best, bad=best.good), view), one.bound
    if own is None or not own.judges:
        return replace(found, form="other path")
    beside = _values(one, one.reference(own), own)
    values = {"own": beside["limit"], "own_share": beside["share"], "own_what": own.reference_name}
    return replace(found, form="other path, own bound", values={**found.values, **values})


RULE = Rule(
    code="bandwidth-of-path",
    kind="verdict",
    level="unknown",
    about="path",
    must=f"a bandwidth reaches {format_share(1 / LINK[0])} of the bound of a link, or {format_share(1 / MACHINE[0])} "
    "of two copies or of the loopback rate of one thread; below "
    f"{format_share(1 / LINK[1])} and {format_share(1 / MACHINE[1])} it is bad",
    why="a good library nearly reaches the bound of a link; within a host, it cuts messages into pieces, ranks wait "
    "for one another, and the kernel adds its own work",
    says={
        "": "{measured:interval} is {share} of {limit:interval} ({what}){usual}{unsure}{shared}",
        "other path": "{measured:interval} is {share} of {limit:interval}, which shared memory allows on this host "
        "({what})",
        "other path, own bound": "{measured:interval} is {share} of {limit:interval}, which shared memory allows on "
        "this host ({what}); it is {own_share} of {own:interval}, the reference of its own path ({own_what})",
        "defect": "{measured:interval} is {share} of {limit} ({what}): {wrong}, or the measurement, is wrong",
        "no reference": "{measured:interval}; no reference, because {reason}",
        "idle": "{measured:interval} is {share} of {limit} ({what}), although a rank had a processor for {ran} of the "
        "time only",
        "small": "{measured:interval} is {share} of {limit} ({what}), but a copy takes only {copying} of that time: "
        "such small messages do not show the bandwidth of the path",
        "started": "{measured:interval} is {share} of {limit} ({what}), but the stream is too short for a verdict: "
        "the slow start of TCP takes {trips} of {trip}, with which so few bytes reach {possible} at most",
        "answered": "{measured:interval} is {share} of {limit} ({what}), but its windows are too short for a verdict: "
        "with {trips} of {trip} to ask and to answer they reach {possible} at most",
        "functional": "{measured:interval} is {share} of {limit} ({what}); the device shows function, not performance",
    },
    check=check,
)
