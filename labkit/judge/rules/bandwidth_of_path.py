"""Whether a bandwidth is as high as its path allows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from labkit.judge.finding import SHARE, Count, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.rules import _paths
from labkit.judge.rules._paths import TOLERANCE, Chosen, ends_of
from labkit.judge.view import View
from labkit.models import bounds
from labkit.models.bounds import Bound
from labkit.models.inside import LINK, MACHINE
from labkit.point.columns import METRICS
from labkit.point.units import format_share


def check(view: View) -> Iterator[Finding]:
    """Yield a verdict for each setting of the benchmarks whose bandwidth a path bounds."""
    for one in _paths.chosen(view, bounds.directions_of, ("bandwidth_MBps",), bounds.of_bandwidth):
        yield _judged(one, view)


def _judged(one: Chosen, view: View) -> Finding:
    bound, factor = one.bound, METRICS[one.metric].factor
    low, _ = ends_of(one.measured)
    if bound is not None and low > bound.ends[1] * factor * (1 + TOLERANCE):
        wrong = "the measured bound" if bound.measured else "the rate that the path is said to have"
        values = _values(one, bound.value, bound.name, bound) | {"wrong": wrong}
        return RULE.found(one.subject, form="defect", level="bad", decided=one.decided, **values)
    if (best := bounds.best_rate(one.samples, view.costs)) is not None:
        return _beside(one, best, view)
    if bound is None or not bound.judges:
        return _paths.no_reference(RULE, one, view)
    found, size = _found(one, bound, view), one.samples.spec.size or 0
    excess = size * (factor / one.measured.value - 1 / bound.reference) if one.measured.value else math.inf
    if bounds.inside(one.samples) and _paths.sleeps(one, view, found, excess):
        return _paths.no_reference(RULE, one, view, "micro.wake_up")
    return replace(found, form="functional", level="unknown", measure=()) if one.functional else found


def _values(one: Chosen, limit: float, what: str, bound: Bound) -> dict[str, Value | Count | str]:
    """Return the values of a sentence that compares with a limit, B/s."""
    return {
        "measured": one.measured,
        "limit": one.limit(limit, what, bound.source),
        "share": Value(value=one.measured.value / (limit * METRICS[one.metric].factor), unit=SHARE),
        "what": what,
        "path": one.path,
        "how": bound.formula,
    }


def _found(one: Chosen, bound: Bound, view: View) -> Finding:
    """Judge a bandwidth by what its path allows."""
    factor = METRICS[one.metric].factor
    values = _values(one, bound.reference, bound.reference_name, bound)
    cost = bound.reference * factor / one.measured.value if one.measured.value else math.nan
    level, values["unsure"] = _paths.leveled(one.measured, bound.good * factor, bound.bad * factor, rate=True)
    wanted = _paths.more(view, level, one)
    return RULE.found(one.subject, level=level, cost=cost, decided=one.decided, measure=wanted, **values)


def _beside(one: Chosen, best: Bound, view: View) -> Finding:
    """Judge ranks that share a host but not its memory by what shared memory allows: what is not good is bad."""
    found, own = _found(one, replace(best, bad=best.good), view), one.bound
    if own is None or not own.judges:
        return replace(found, form="other path")
    beside = _values(one, own.reference, own.reference_name, own)
    values = {"own": beside["limit"], "own_share": beside["share"], "own_what": own.reference_name}
    return replace(found, form="other path, own bound", values={**found.values, **values})


RULE = Rule(
    code="bandwidth-of-path",
    kind="verdict",
    level="unknown",
    about="path",
    must=f"a bandwidth reaches {format_share(1 / LINK[0])} of what a link allows, or {format_share(1 / MACHINE[0])} of "
    "two copies, or of what one thread passes to itself over the loopback interface; below "
    f"{format_share(1 / LINK[1])} and {format_share(1 / MACHINE[1])} it is bad",
    why="a good library nearly reaches what a link allows; within a host, it cuts messages into pieces, ranks wait for "
    "one another, and the kernel adds its own work",
    says={
        "": "{measured:interval} is {share} of {limit} ({what}){unsure}",
        "other path": "{measured:interval} is {share} of {limit}, which shared memory allows on this host ({what})",
        "other path, own bound": "{measured:interval} is {share} of {limit}, which shared memory allows on this host "
        "({what}), and {own_share} of {own}, the reference of its own path ({own_what})",
        "defect": "{measured:interval} is {share} of {limit} ({what}): {wrong}, or the measurement, is wrong",
        "no reference": "{measured:interval}; no reference, because {reason}",
        "functional": "{measured:interval} is {share} of {limit} ({what}); the device shows function, not performance",
    },
    check=check,
)
