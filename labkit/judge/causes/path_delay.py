"""A path that is longer than stated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import on_path
from labkit.judge.causes._sizes import curve
from labkit.judge.finding import Count, Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.models.inside import of_host
from labkit.point.columns import METRICS

_FAR_S = 100e-6  # of each crossing, s: more than the software of a host takes for a small message
_HOSTS = 10.0  # times what a host needs for a message to itself, above which it is not the host
_CONSTANT, _GROWN = 0.1, 2.0  # part by which a constant differs over sizes; times by which it has grown
_SMALL, _FEWEST = 1024, 3  # B that take no time on a link whose rate is not known; sizes


def test(case: Case) -> Finding | None:
    """Messages of all sizes exceed their floor by the same time, also in other benchmarks."""
    excess = _excess_s(case.about)
    if case.about.code != "latency-of-path" or not case.networked or excess is None:
        return None
    message = of_host(case.samples, case.view.costs).message(case.samples.spec.size or 0)
    if excess < max(_FAR_S, _HOSTS * message[1].value if message else 0.0):
        return None
    constant, grown = _over_sizes(case, excess)
    each, other = _elsewhere(case, excess)
    predicted = each[0].values["predicted"] if each else None
    return CAUSE.found(
        case, [*constant, *each], [*grown, *other], predicted=predicted if isinstance(predicted, Value) else None
    )


def points(case: Case) -> list[Wanted]:
    """Return the round trip of a small packet between the same hosts, without MPI."""
    return [] if case.spec.benchmark == _PACKET else [Wanted(on_path(case.spec, _PACKET, _BYTES))]


_PACKET, _BYTES = "sockets.udp_rr", 8


def _excess_s(one: Finding) -> float | None:
    """Return by how much a latency exceeds its floor for each crossing, s; None if it has no floor."""
    measured, limit = one.values.get("measured"), one.values.get("limit")
    crossings = bounds.crossings_of(one.subject.benchmark)
    if not isinstance(measured, Value) or not isinstance(limit, Value) or not crossings:
        return None
    return (measured.value - limit.value) * 1e-6 / crossings


def _over_sizes(case: Case, excess: float) -> tuple[list[Evidence], list[Evidence]]:
    """Return the clue that what a crossing takes more is the same at all sizes, or that it grows with the size."""
    name, crossings = case.metric, bounds.crossings_of(case.about.subject.benchmark)
    sizes, values = curve(case, name)
    seconds = values / METRICS[name].factor / crossings
    wire = bounds.path(case.samples, case.view.stated or Stated())
    near: NDArray[np.bool_] = sizes <= _SMALL
    if wire is not None and np.isfinite(wire.rate):
        seconds, near = seconds - sizes / wire.efficiency.share * 8 / wire.rate, sizes <= 64 * _SMALL
    own = sizes == case.row["message_size_B"]
    if near.sum() < _FEWEST or not own.any():
        return [], []
    # the floor of the judged size holds for the others too, once their bytes on the link are subtracted
    more = excess + (seconds[near] - seconds[own][0])
    count = Count(int(near.sum()), "size")
    if more.min() > 0 and more.max() / more.min() - 1 <= _CONSTANT:
        return [Evidence(code="constant", values={"sizes": count, "excess": _time(float(np.median(more)))})], []
    if more[-1] > _GROWN * more[0]:
        ends = {"first": _time(float(more[0])), "last": _time(float(more[-1]))}
        return [], [Evidence(code="grows", values=ends)]
    return [], []


def _time(seconds: float) -> Value:
    return Value(value=seconds * 1e6, unit="µs", origin="computed")


def _elsewhere(case: Case, excess: float) -> tuple[list[Evidence], list[Evidence]]:
    """Return another benchmark on the path with the same extra time for each crossing, or with far less."""
    path, limit = case.about.values.get("path"), case.about.values.get("limit")
    crossings = bounds.crossings_of(case.about.subject.benchmark)
    for one in case.others:
        other = _excess_s(one)
        if other is None or one.values.get("path") != path or one.subject.benchmark == case.about.subject.benchmark:
            continue
        values: dict[str, Value | str] = {"other": one.subject.benchmark, "excess": _time(max(0.0, other))}
        if abs(other / excess - 1) <= _CONSTANT and isinstance(limit, Value):
            predicted = Value(value=limit.value + crossings * other * 1e6, unit=limit.unit, origin="computed")
            return [Evidence(code="each", values={**values, "predicted": predicted})], []
        if other < excess / _GROWN:
            return [], [Evidence(code="less", values=values)]
    return [], []


CAUSE = Cause(
    code="path-delay",
    name="a longer path than stated",
    seen="each crossing exceeds its floor by the same time, at all sizes and in other benchmarks",
    excluded="the excess grows with the size, or other benchmarks on the path take far less",
    decides="the round trip of a small packet (ping, sockets.udp_rr), in both directions",
    clues={
        "constant": "{sizes} take {excess} more for each crossing",
        "each": "{other} takes {excess} more for each crossing too",
        "grows": "it is {first} too much at the smallest size, and {last} at the largest",
        "less": "{other} takes only {excess} more for each crossing",
    },
    remedy="Compare with ping; look for tc qdisc (netem), detours and far switches, and state --delay if it is known.",
    test=test,
    points=points,
)
