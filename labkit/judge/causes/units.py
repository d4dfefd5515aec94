"""A number has another unit than stated: bits for bytes, or decimal for binary prefixes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import agreeing
from labkit.judge.finding import Evidence, Finding, Value, Values
from labkit.models import bounds
from labkit.models.inside import LINK
from labkit.read.records import rerun
from labkit.store.samples.facts import BROUGHT, ELAPSED, RECEIVED_B

_PLAIN = 7.0  # least factor between two units that is larger than what a slow path costs
_CLOSE = 0.005  # part by which a ratio differs from that of two units at most
_FAR = 2.0  # times a rate that bytes cannot reach in a longer time than the rate was measured in
_UNITS = {  # ratio → units that are taken for each other
    8.0: "bits and bytes",
    1.024: "kB and KiB",
    1.048576: "MB and MiB",
    1.073741824: "GB and GiB",
    8 * 1.048576: "Mbit and MiB",
    1e3: "prefixes, such as kB and MB",
    1e6: "prefixes, such as kB and GB",
}


def test(case: Case) -> Finding | None:
    """The ratio to another benchmark on the path equals the ratio of two units; labkit's times have the right one."""
    mine, path, counted = case.measured, case.about.values.get("path"), _counted(case)
    misread = mine.origin == "reported" and (case.beyond or counted)  # by a tool, or by labkit from what it prints
    beside: list[Evidence] = []
    for one in case.others:
        other = one.values.get("measured")
        if not isinstance(other, Value) or one.values.get("path") != path or other.unit != mine.unit:
            continue
        own = mine.origin in BROUGHT or other.origin in BROUGHT or misread
        if one.subject.benchmark == case.about.subject.benchmark or not own:
            continue
        if not (mine.value > 0 and other.value > 0 and mine.of == other.of):
            continue
        beside = beside or agreeing(case)
        if units := _units(mine.value / other.value, _CLOSE):
            values: Values = {"other": one.subject.benchmark, "value": other, "units": units[0]}
            return _found(case, [Evidence(code="ratio", values=values), *counted], other.value * units[1], beside)
    limit = case.about.values.get("limit")
    if not (mine.origin in BROUGHT or misread) or case.about.code != "bandwidth-of-path" or bounds.inside(case.samples):
        return None
    if not isinstance(limit, Value) or not (mine.value > 0 and limit.value > 0):
        return None
    # a good value reaches the limit nearly: the ratio of both tells only factors that nothing else makes
    good = limit.value / math.sqrt(LINK[0])
    if units := _units(mine.value / good, math.log(LINK[0]) / 2 + _CLOSE, least=_PLAIN):
        clue = Evidence(code="of limit", values={"limit": limit, "what": limit.of, "units": units[0]})
        return _found(case, [clue, *counted], good * units[1], beside)
    return None


def _counted(case: Case) -> list[Evidence]:
    """Return the clue that receivers got far more bytes than a rate allows, even over the whole time of a launch."""
    launches = case.launches or (case.samples,)
    rates = [(RECEIVED_B.of(one.meta) or 0) / ELAPSED.of(one.meta) for one in launches if ELAPSED.of(one.meta) > 0]
    least = float(np.median(rates)) / 1e6 if rates else 0.0
    if case.metric != "bandwidth_MBps" or least < _FAR * case.measured.value:
        return []
    return [Evidence(code="counted", values={"least": Value(value=least, unit="MB/s", origin="computed")})]


def _units(ratio: float, close: float, least: float = 1.0) -> tuple[str, float] | None:
    """Return the two units with the ratio nearest to that of two values, and this ratio; None if none is near."""
    found = [
        (abs(math.log(ratio / signed)), units, signed)
        for factor, units in _UNITS.items()
        for signed in (factor, 1 / factor)
        if factor >= least
    ]
    off, units, factor = min(found)
    return (units, factor) if off <= close else None


def _found(case: Case, clues: Sequence[Evidence], value: float, against: Sequence[Evidence]) -> Finding | None:
    predicted = Value(value=value, unit=case.measured.unit, origin="computed")
    command = rerun.IMPORT if case.measured.origin in BROUGHT else ""
    return CAUSE.found(case, clues, against, predicted=predicted, command=command)


CAUSE = Cause(
    code="units",
    name="a wrong unit",
    seen="the ratio to another benchmark on the path is exactly the ratio of two units; or the ratio to the limit "
    "of the path is close to 8, or to the ratio of two prefixes. A tool's number also exceeds the path, or is below "
    "what arrived",
    excluded="another benchmark on the path has the same value",
    decides="the unit in the tool's own output",
    clues={
        "ratio": "{other} has {value}, and the ratio is that of {units}",
        "counted": "by their counters, the receivers got at least {least:3}",
        "of limit": "its ratio to {limit} ({what}) is that of {units}",
        "agrees": "{other} reaches the same, {value}",
    },
    remedy="Compare the unit in the tool's output with that of the number.",
    test=test,
    beyond=True,
)
