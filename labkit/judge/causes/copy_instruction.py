"""The processor copies byte by byte: its own instruction for copies is slow for some addresses.

At 2 KiB and above, memcpy of glibc uses ``rep movsb`` if the processor reports that it is fast. On some processors (AMD
Zen 3 and 4) it moves only about one byte per cycle for unsuitable addresses.
"""

from __future__ import annotations

import math

import numpy as np

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import CLUES, others
from labkit.judge.causes._sizes import curve
from labkit.judge.finding import Evidence, Finding, Value, Wanted
from labkit.models import bounds
from labkit.models.inside import MACHINE
from labkit.point.units import KiB
from labkit.read.records import statistic_of

_VARIABLE = "GLIBC_TUNABLES"
_OTHERWISE = "glibc.cpu.x86_rep_movsb_threshold=1073741824"  # no message is as large
_GETS = {"mpi.put_bandwidth": "mpi.get_bandwidth", "mpi.put_latency": "mpi.get_latency"}
_LEAST = 2 * KiB  # of a copy by this instruction
_A_CYCLE = (0.8, 1.8)  # bytes in each cycle of the nominal frequency; processors run faster at times


def test(case: Case) -> Finding | None:
    """Copies without that instruction are faster, or these move about one byte in each cycle."""
    if bounds.inside(case.samples) != "shared-memory" or not case.metric:
        return None
    other = others(case, f"env_{_VARIABLE}".__eq__)
    clues = other.evidence
    if not clues and not other.against and (clues := _a_cycle(case)):
        clues = (*clues, *_of_get(case))
    return CAUSE.found(case, clues, other.against, without=other.without, command=other.command)


def _a_cycle(case: Case) -> tuple[Evidence, ...]:
    """Return the clue that two ranks move about one byte per cycle, on a processor that may have the instruction."""
    frequency = case.samples.host.get("frequency_nominal_MHz")
    x86 = case.samples.host.get("architecture") == "x86_64"
    if not x86 or not isinstance(frequency, int | float) or not frequency > 0:
        return ()
    if case.spec.ranks != 2 or (case.spec.size or 0) < _LEAST:
        return ()
    least, most = (each * frequency for each in _A_CYCLE)  # MB/s
    if not least <= (rate := _rate(case)) <= most or _larger(case) > most:
        return ()
    clock = Value(value=frequency, unit="MHz", origin="host")
    return (Evidence(code="cycle", values={"count": Value(value=rate / frequency, unit="bytes"), "clock": clock}),)


def _rate(case: Case) -> float:
    """Return the rate of the bytes, MB/s; of a latency, without the time of the smallest message. NaN if unknown."""
    if case.rate:
        return case.measured.value
    sizes, values = curve(case, case.metric)
    more = case.measured.value - values[0] if len(values) and sizes[0] < _LEAST else math.nan
    return bounds.crosses(case.samples)[1] * (case.spec.size or 0) / more if more > 0 else math.nan


def _larger(case: Case) -> float:
    """Return the rate, MB/s, of the bytes that the next larger size has more; NaN without such a size."""
    sizes, values = curve(case, case.metric)
    place, carrying = int(np.searchsorted(sizes, case.spec.size or 0)), bounds.crosses(case.samples)[1]
    if place + 1 >= len(sizes) or not (values[place : place + 2] > 0).all():
        return math.nan
    both = slice(place, place + 2)
    times = sizes[both] / values[both] if case.rate else values[both] / carrying
    more = float(times[1] - times[0])
    return float(sizes[place + 1] - sizes[place]) / more if more > 0 else math.inf


def _of_get(case: Case) -> tuple[Evidence, ...]:
    """Return a clue if gets of equal size are much faster than puts: memory and window then do not slow puts down."""
    if case.spec.benchmark not in _GETS:
        return ()
    row = case.view.measured(Wanted(case.spec.replace(benchmark=_GETS[case.spec.benchmark])))
    if row is None or statistic_of(row, case.metric) != statistic_of(case.row, case.metric):
        return ()
    value = case.view.value(row, case.metric, statistic_of(row, case.metric))
    (least, most), (low, high) = case.measured.ends, value.ends
    much = low > MACHINE[0] * most if case.rate else MACHINE[0] * high < least
    return (Evidence(code="get" if case.rate else "time of get", values={"value": value}),) if much else ()


def points(case: Case) -> list[Wanted]:
    """Return the point with copies that do not use the instruction."""
    if not benchmarks.get(case.spec.benchmark).mpi:  # a tool gets no variables
        return []
    return [Wanted(case.spec.replace(environment=dict(case.spec.environment) | {_VARIABLE: _OTHERWISE}))]


CAUSE = Cause(
    code="copy-instruction",
    name="copies byte by byte",
    seen="messages in shared memory are faster without the copy instruction (rep movsb), or move about one byte in "
    "each cycle, and larger ones no more; gets much faster than such puts make it likely",
    excluded="they are no faster without it",
    decides=f"{_VARIABLE}={_OTHERWISE}",
    clues={
        **CLUES,
        "cycle": "it is {count:2} in each cycle of {clock}",
        "get": "a get of as many bytes reaches {value:interval}, over the same memory",
        "time of get": "a get of as many bytes takes {value:interval}, over the same memory",
    },
    remedy=f"Set {_VARIABLE}={_OTHERWISE}, or use a glibc that avoids rep movsb on this processor.",
    test=test,
    weak=("cycle",),
    points=points,
)
