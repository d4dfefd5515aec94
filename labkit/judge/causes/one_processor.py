"""One processor at an end, with system calls, copies and interrupts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import Any

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import EVEN, even
from labkit.judge.causes._other_settings import CLUES, of_tool, others, with_options
from labkit.judge.finding import Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.models.inside import of_host
from labkit.point.columns import METRICS
from labkit.point.spec import Spec
from labkit.read.records import rerun

_NAMES = ("streams", "threads", "senders")  # options that use more processors
_LESS = 1.1  # times as slow that fewer streams are if a processor is the limit
_NEAR = (0.5, 2.0)  # times what one thread passes to itself: it does the work of both ends, and no network's
_FAST = 1e8  # B/s: a processor that copies through a kernel is the limit of no slower path


def test(case: Case) -> Finding | None:
    """More streams raise the bandwidth, or it equals the loopback rate of one thread."""
    if case.about.code != "bandwidth-of-path" or case.about.form.startswith("other path"):
        return None
    more, still = _with_more(case)
    alone = _alone(case.spec)
    lacking = alone and CAUSE.lacking(case)
    command = rerun.command(_one_stream(case.spec), "--factor", "streams=1,2,4") if lacking else ""
    near, far, predicted = _beside_thread(case)
    fast = case.measured.value * 1e6 >= _FAST
    single = [Evidence(code="single")] if alone and fast and not more and not still else []
    clues = [*more, *near, *single]
    against = still or ([] if more else [*far, *even(case)])
    return CAUSE.found(case, clues, against if clues or still else [], predicted=predicted, command=command)


def points(case: Case) -> list[Wanted]:
    """Return the point with two and with four streams."""
    return [Wanted(with_options(case.spec, streams=number)) for number in (2, 4)] if _alone(case.spec) else []


def _alone(spec: Spec) -> bool:
    """Whether a point has one stream, and could have more."""
    known = benchmarks.get(spec.benchmark)
    return known.ends.one_call and hasattr(known.options(), "streams") and spec.values.get("streams", 1) == 1


def _with_more(case: Case) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Return the clue that more streams or threads raise the bandwidth, or that they do not.

    Of a point that already has the most, fewer of them show it.
    """
    for name in _NAMES:
        own, column = case.samples.spec.values.get(name), f"option_{name}"
        if not isinstance(own, int):
            continue
        more = others(case, partial(_either, case, column), partial(_beyond, column, own, 1))
        if more.evidence or more.against:
            return more.evidence, more.against
        fewer = others(case, partial(_either, case, column), partial(_beyond, column, own, -1))
        slower = [one for one in fewer.against if _slower(one, case.measured)]
        return tuple(Evidence(code="fewer", values=one.values) for one in slower), () if slower else fewer.against
    return (), ()


def _either(case: Case, option: str, column: str) -> bool:
    """Return whether a column is that of an option, or names the tool."""
    return column == option or of_tool(case, column)


def _beyond(column: str, own: int, sign: int, row: Mapping[str, Any]) -> bool:
    """Return whether a row has more of an option than a point, or with the sign -1 fewer."""
    value = row.get(column)
    return isinstance(value, Real) and sign * (float(value) - own) > 0


def _slower(one: Evidence, than: Value) -> bool:
    value = one.values["value"]
    return isinstance(value, Value) and value.value < than.value / _LESS


def _beside_thread(case: Case) -> tuple[list[Evidence], list[Evidence], Value | None]:
    """Compare with what one thread passes to itself: near it, far below it, and that rate; of shared memory nothing."""
    costs, size = of_host(case.samples, case.view.costs), case.samples.spec.size or 0
    passing = costs.passing(size)
    if passing is None or bounds.inside(case.samples) == "shared-memory":
        return [], [], None
    _, cost = passing
    unit = METRICS["bandwidth_MBps"]
    rate = Value(value=size / cost.value * unit.factor, unit=unit.unit, origin="computed")
    ratio = case.measured.value / rate.value if rate.value else math.nan
    said = [Evidence(code="near" if ratio >= _NEAR[0] else "far", values={"rate": rate})]
    if _NEAR[0] <= ratio <= _NEAR[1]:
        return said, [], rate
    return [], said if ratio < _NEAR[0] else [], None


def _one_stream(spec: Spec) -> Spec:
    """Return a spec without its number of streams."""
    return spec.replace(options={name: value for name, value in spec.values.items() if name != "streams"})


CAUSE = Cause(
    code="one-processor",
    name="one processor is the limit",
    seen="more streams or threads raise the bandwidth, or it is near the loopback rate of one thread",
    excluded="more streams do not raise the bandwidth, or the loopback rate of one thread is far higher",
    decides="streams=1,2,4",
    clues={
        **CLUES,
        "fewer": "{setting} gives {value} only",
        "near": "one thread passes {rate} to itself over loopback",
        "far": "one thread passes {rate} to itself over loopback",
        "single": "one stream runs on one core at each end",
        **EVEN,
    },
    remedy="Measure with more streams, threads or pairs of ranks.",
    test=test,
    weak=("single",),
    points=points,
)
