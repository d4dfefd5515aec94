"""A number has another unit than stated: bits for bytes, or decimal for binary prefixes."""

from __future__ import annotations

import math

from labkit.judge.cause import Case, Cause
from labkit.judge.causes._agreeing import agreeing
from labkit.judge.finding import Count, Evidence, Finding, Value
from labkit.read.records import rerun
from labkit.store.samples.facts import BROUGHT

_CLOSE = 0.005  # part by which a ratio differs from that of two units at most
_UNITS = {  # ratio → units that are taken for each other
    8.0: "bits and bytes",
    1.024: "kB and KiB",
    1.048576: "MB and MiB",
    1.073741824: "GB and GiB",
    8 * 1.048576: "Mbit and MiB",
    1e3: "prefixes",
    1e6: "prefixes",
}


def test(case: Case) -> Finding | None:
    """The ratio to another benchmark on the path is that of two units; only brought numbers can have a wrong unit."""
    mine, path = case.measured, case.about.values.get("path")
    for one in case.others:
        other = one.values.get("measured")
        if not isinstance(other, Value) or one.values.get("path") != path or other.unit != mine.unit:
            continue
        if one.subject.benchmark == case.about.subject.benchmark or not {mine.origin, other.origin} & {*BROUGHT}:
            continue
        if not (mine.value > 0 and other.value > 0 and mine.of == other.of):
            continue
        ratio = max(mine.value / other.value, other.value / mine.value)
        for factor, units in _UNITS.items():
            if abs(math.log(ratio / factor)) <= _CLOSE:
                values: dict[str, Value | Count | str] = {
                    "other": one.subject.benchmark,
                    "value": other,
                    "units": units,
                }
                predicted = Value(
                    value=other.value * factor ** math.copysign(1, mine.value - other.value), unit=mine.unit
                )
                clues = [Evidence(code="ratio", values=values)]
                command = rerun.IMPORT if mine.origin in BROUGHT else ""
                return CAUSE.found(case, clues, agreeing(case), predicted=predicted, command=command)
    return None


CAUSE = Cause(
    code="units",
    name="a wrong unit",
    seen="the ratio to another benchmark on the path is exactly that of two units",
    excluded="another benchmark on the path has the same value",
    decides="the unit in the tool's own output",
    clues={
        "ratio": "{other} has {value}, and the ratio is that of {units}",
        "agrees": "{other} reaches the same, {value}",
    },
    remedy="Compare the unit in the tool's output with the imported number.",
    test=test,
)
