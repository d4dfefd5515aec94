"""Possible reasons of odd results: each is a rule that the data must speak for; else a result stays unexplained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pandas as pd

from labkit import benchmarks
from labkit.formats import ycsb
from labkit.judge.plausibility.oddity import Explanation, Oddity
from labkit.judge.plausibility.view import PER_BYTE, View, headline
from labkit.point.columns import METRICS, statistic_column
from labkit.point.testbed import parse
from labkit.point.units import format_number, format_size, plural
from labkit.read.records.factors import level

_CROWDED = {"busy-machine": "busy machine", "oversubscription": "more ranks than cores", "stolen-time": "stolen time"}
_CACHE = 256 * 1024  # B in flight from which a core's own cache is too small on any processor of this decade
_TIMERS = {4e3: "a tick of the scheduler, 4 ms", 40e3: "TCP's delayed acknowledgement, 40 ms",
           200e3: "TCP's least timeout, 200 ms"}  # µs  # fmt: skip
_NEAR = 0.1  # of a timer's time
_SWITCHES = 0.01  # of the iterations
_PAUSE, _CLOSE = 60.0, 15.0  # s
Rows = Sequence[Mapping[str, Any]]


def crowded(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """Other tasks had the processor: badges of the point say so."""
    badges = view.records["badges"]
    for code, words in _CROWDED.items():
        launches = [launch for row in rows for launch in view.rows_of(str(row["fingerprint"])).tolist()]
        marked = sum(any(note.code == code for note in badges[launch]) for launch in launches)
        if marked:
            return Explanation(
                "other tasks took processor time",
                f"{words} in {marked} of {plural(len(launches), 'launch')}",
            )
    return None


def switched(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The rank lost its processor during the timed iterations."""
    points = {str(row["fingerprint"]): view.switches(str(row["benchmark"])) for row in rows}
    lost = sum(counts[launch] for name, counts in points.items() for launch in view.rows_of(name).tolist())
    samples = sum(int(row["n"]) for row in rows)
    if samples and lost > _SWITCHES * samples:
        return Explanation("rank 0 waits for its processor", f"it lost it {lost:,} times in {samples:,} iterations")
    return None


def stalls(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """Few iterations wait for a timeout: the mean has the expected order, the median shows those that did not wait."""
    if len(rows) < 2:
        return None
    metric = headline(rows[0])
    odd, other = (float(row.get(statistic_column(metric, "mean"), float("nan"))) for row in rows[:2])
    first, second = one.readings[0].value, one.readings[1].value
    if not math.isnan(odd) and not math.isnan(other) and (odd - other) * (first - second) < 0:
        unit = METRICS[metric].unit
        means = f"{format_number(other, unit, digits=3)} and {format_number(odd, unit, digits=3)}"
        return Explanation(
            "the loss stalls few iterations, and the median shows the others", f"the means are in order: {means}"
        )
    return None


def cache(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The messages in flight do not fit in a core's cache."""
    metric = headline(rows[0]) if rows else ""
    here = rows and rows[0]["testbed"] == "local" and not rows[0]["hosts"] and rows[0]["transport"] in ("shm", "auto")
    if metric not in PER_BYTE or not here or str(rows[0]["benchmark"]).startswith("sockets."):
        return None
    options = {c.removeprefix("option_"): v for c, v in rows[0].items() if c.startswith("option_")}
    window = options.get("window")
    apart = getattr(benchmarks.get(str(rows[0]["benchmark"])), "apart", False)  # else one buffer serves all messages
    count = int(window) if apart and isinstance(window, int | float) and pd.notna(window) else 1
    size = int(rows[0]["message_size_B"])
    if count * size < _CACHE or any(int(row["message_size_B"]) >= size for row in rows[1:]):
        return None
    what = f"{count} × {format_size(size)} = {format_size(count * size)} in flight"
    return Explanation("the data no longer fit in a cache near the core", what)


def timer(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The time is that of a well-known timer."""
    if not rows or one.readings[0].unit != "µs":
        return None
    value = one.readings[0].value
    crosses_tcp = rows[0]["transport"] == "tcp" or str(rows[0]["benchmark"]).startswith("sockets.")
    for time, words in _TIMERS.items():
        if abs(value / time - 1) <= _NEAR and (crosses_tcp or "TCP" not in words):
            share = format_number(value / time, digits=2)
            return Explanation(f"each message waits for {words}", f"{format_number(value, 'µs')} is {share} of it")
    return None


def bucket(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The link lets a burst pass that it saved up while messages went the other way."""
    time, least = one.readings[0].value, one.readings[1].value
    if one.readings[0].unit == "µs" and 2 * time >= least:
        both, needed = format_number(2 * time, "µs", digits=3), format_number(least, "µs", digits=3)
        return Explanation(
            "the link is a token bucket, which saves up bytes while messages go the other way",
            f"a round trip takes {both}, of which one direction needs {needed}",
        )
    return None


def measured_apart(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The points were not measured in turn, so the machine may have changed in between."""
    spans, column = [], view.records["start"]
    for row in rows[:2]:
        starts = [start for one in view.rows_of(str(row["fingerprint"])) if (start := str(column[one]))]
        spans.append((min(starts, default=""), max(starts, default="")))
    if len(spans) < 2 or not all(first for first, _ in spans):
        return None
    (_, end), (start, _) = sorted(spans)
    if end >= start or _seconds(start) - _seconds(end) < _PAUSE:
        return None
    return Explanation(
        "the points were not measured in turn", f"one ended at {end[11:19]}, the other began at {start[11:19]}"
    )


def _seconds(start: str) -> float:
    """Return a moment in s; NaN if it is none."""
    try:
        return datetime.fromisoformat(start).timestamp()
    except ValueError:
        return math.nan


def same_moment(view: View, slow: Sequence[Oddity]) -> Iterator[Explanation | None]:
    """Yield for each slow launch how many others were slow at about the same time: the cause is not in the point."""
    moments = [_moment(view, one) for one in slow]
    near = [0] * len(slow)
    order = sorted((place for place, (_, at) in enumerate(moments) if not math.isnan(at)), key=moments.__getitem__)
    begin = end = 0
    for place in order:
        launch, at = moments[place]
        while moments[order[begin]][0] != launch or at - moments[order[begin]][1] > _CLOSE:
            begin += 1
        end = max(end, begin)
        while end < len(order) and moments[order[end]][0] == launch and moments[order[end]][1] - at <= _CLOSE:
            end += 1
        near[place] = end - begin - 1
    for count, (launch, _) in zip(near, moments, strict=True):
        words = f"{count} more {'point was' if count == 1 else 'points were'} slow"
        evidence = f"{words} in launch {launch} within {_CLOSE:.0f} s"
        yield Explanation("a disturbance of the whole machine", evidence) if count else None


def _moment(view: View, one: Oddity) -> tuple[int, float]:
    """Return the number and the start of a slow launch."""
    launch = int(one.readings[0].where.removeprefix("launch "))
    numbers, starts = view.records["launch"], view.records["start"]
    row = next(row for row in view.rows_of(one.readings[0].fingerprint) if numbers[row] == launch)
    return launch, _seconds(str(starts[row]))


def limited(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The emulated link is slow or far, so that answers come after the adapter's timeout or queues overflow."""
    if not rows:
        return None
    options = parse(str(rows[0]["testbed"]))[2]
    if rate := options.get("rate"):
        return Explanation("the queue before the slow link overflows, or is longer than the timeout", f"rate={rate}")
    if delay := options.get("delay"):
        return Explanation("answers come after the adapter's timeout", f"delay={delay} in each direction")
    return None


def counted(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The tool counts times in classes; labkit ignores what contradicts."""
    if one.evidence:
        return Explanation("the tool counts times in classes of a histogram", "labkit ignores this value everywhere")
    return None


def rotated(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The root of a collective changes from iteration to iteration, and ranks differ."""
    if rows and rows[0].get("option_rotate") is True:
        return Explanation("the root rotates, and is not as fast on each rank", "rotate=true")
    return None


_MIXES: Mapping[str, tuple[Callable[[Any], float], str]] = {  # option → % of the iterations of one kind; both kinds
    "read_percent": (float, "reads and writes"),
    "reads": (lambda share: 100 * float(share), "reads and writes"),
    "reuse": (float, "messages from the same buffer and from others"),
    "workload": (lambda name: 100 * max(ycsb.WORKLOADS[name][0].values(), default=0.0), "kinds of operations"),
}
_SHARE = 0.05  # tolerance between the share of a mode and the share of its kind


def mixed(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The point mixes two kinds of iterations with the shares of the modes."""
    if not rows:
        return None
    uppers = view.shares[str(rows[0]["fingerprint"])]
    for option, (percent, kinds) in _MIXES.items():
        value = rows[0].get(f"option_{option}")
        if pd.isna(value) or (option == "workload" and value not in ycsb.WORKLOADS):
            continue
        share = percent(value) / 100
        if 0 < share < 1 and all(min(abs(upper - share), abs(1 - upper - share)) <= _SHARE for upper in uppers):
            return Explanation(f"the iterations are a mix of {kinds}", f"{option}={level(value)}")
    return None


_FUNCTIONAL = {
    "functional": "an emulated machine answers late or in bursts",
    "gpu-stand-in": "host memory stands in for a GPU",
}


def emulated(view: View, one: Oddity, rows: Rows) -> Explanation | None:
    """The adapter or the GPU is emulated, so its times are those of a processor that emulates another."""
    marked = [row for row in rows if any(note.code in _FUNCTIONAL for note in row["badges"])]
    if marked and len(marked) == len(rows):
        what = {note.code for row in marked for note in row["badges"]} & _FUNCTIONAL.keys()
        return Explanation(_FUNCTIONAL[min(what)], "badge: functional, not performance")
    return None


Reason = Callable[[View, Oddity, Rows], Explanation | None]
REASONS: Mapping[str, tuple[Reason, ...]] = {
    "size-order": (cache, measured_apart),
    "size-jump": (timer, switched, crowded, measured_apart),
    "rank-order": (measured_apart,),
    "loss-order": (stalls, measured_apart),
    "delay-order": (measured_apart,),
    "rate-order": (measured_apart,),
    "above-link": (bucket,),
    "tail-order": (counted,),
    "lossless": (limited, emulated),
    "slow-launch": (switched, crowded),
    "two-modes": (mixed, rotated, switched, crowded),
}


def explained(view: View, oddities: Sequence[Oddity]) -> list[Oddity]:
    """Return odd results with the reasons that the data speak for."""
    points = [[row for one in odd.readings if (row := view.row(one.fingerprint))] for odd in oddities]
    slow = [place for place, one in enumerate(oddities) if one.rule == "slow-launch"]
    shared = dict(zip(slow, same_moment(view, [oddities[place] for place in slow]), strict=True))
    shared |= _shared(oddities, points)
    done = []
    for place, (one, rows) in enumerate(zip(oddities, points, strict=True)):
        reasons = [text for reason in REASONS[one.rule] if (text := reason(view, one, rows))]
        common = shared.get(place)
        done.append(replace(one, explanations=(*reasons, *([common] if common else []))))
    return done


def _shared(oddities: Sequence[Oddity], points: Sequence[Rows]) -> dict[int, Explanation]:
    """Return common causes in a library, by the place of the result: others of it are odd between the same sizes."""
    alike: dict[tuple[str, str, tuple[int, int]], list[int]] = {}
    for place, (one, rows) in enumerate(zip(oddities, points, strict=True)):
        sizes = _sizes(rows) if one.rule in ("size-order", "size-jump") else None
        if sizes and (library := _library(rows)):
            alike.setdefault((one.rule, library, sizes), []).append(place)
    found = {}
    for (_, library, sizes), places in alike.items():
        every = sorted({oddities[place].benchmark for place in places})
        for place in places if len(every) > 1 else ():
            names = ", ".join([name for name in every if name != oddities[place].benchmark][:3])
            between = " and ".join(format_size(size) for size in sizes)
            found[place] = Explanation(
                f"{library} changes its protocol or algorithm", f"so do {names} between {between}"
            )
    return found


def _sizes(rows: Rows) -> tuple[int, int] | None:
    sizes = sorted({int(row["message_size_B"]) for row in rows})
    return (sizes[0], sizes[-1]) if len(sizes) > 1 else None


def _library(rows: Rows) -> str:
    """Return the MPI library of an odd result; empty for a benchmark without one."""
    return str(rows[0]["library"]) if rows and benchmarks.get(str(rows[0]["benchmark"])).mpi else ""
