"""Interruptions of a fixed amount of work: how much, whether periodic, and what ran instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from labkit.judge import detours
from labkit.judge.detours import Detours
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value, Values
from labkit.judge.iterations import FEWEST, NOISE
from labkit.judge.rule import ITERATIONS, Rule
from labkit.judge.rules._iterations import SEEN, seen_in
from labkit.judge.view import View
from labkit.judge.view.points import Row
from labkit.stats import periodic
from labkit.store.samples import Samples
from labkit.store.samples.facts import INVOLUNTARY_SWITCHES

_LONG_NS = 1_000_000  # a detour that no interrupt explains
_TICKS = (100, 250, 300, 1000)  # Hz: what Linux can be built with (CONFIG_HZ)


def check(view: View) -> Iterator[Finding]:
    """Yield what the first launch of each point of micro.noise shows."""
    if view.launches is None or not (view.records["benchmark"] == NOISE).any():
        return
    shown: dict[str, list[tuple[int, Finding]]] = {}
    switches = view.launches.fact(INVOLUNTARY_SWITCHES, NOISE)  # a batch has those of one of its launches
    names = view.records["fingerprint"].tolist()
    for times in view.launches.times(NOISE):
        for row, one in zip(times.rows.tolist(), times.batch.each(), strict=True):
            own = replace(one, meta={**one.meta, INVOLUNTARY_SWITCHES.name: switches[row]})
            point = view.row(names[row])
            if point is not None and one.n >= FEWEST and "gap_ns" in one.phases:
                shown.setdefault(names[row], []).append((one.launch, _found(view, point, own)))
    for name, launches in shown.items():
        _, first = min(launches, key=lambda one: one[0])
        yield replace(first, evidence=(*first.evidence, *seen_in(len(launches), len(view.rows_of(name)))))


def _found(view: View, point: Row, one: Samples) -> Finding:
    """Return what a launch shows."""
    seen = detours.of(one)
    count, each = int(seen.detour.sum()), seen.excess_ns[seen.detour]
    quantum = Value(value=seen.quantum * 1e6, unit="µs", launches=1, origin="measured", of="a piece of work")
    if not count:
        return RULE.found(view.subject(point), form="none", pieces=Count(one.n, "piece"), quantum=quantum)
    spent = float(np.asarray(one.time_ns).sum())
    tick = periodic.period(seen.starts, seen.detour, seen.quantum)
    hertz = next((hz for hz in _TICKS if tick and _near(tick, hz)), 0)
    values: dict[str, Any] = {
        "share": Value(value=float(each.sum()) / spent, unit=SHARE),
        "each": Value(value=float(np.median(each)) * 1e-3, unit="µs", of="a detour"),
    }
    held: Values = {"detours": Count(count, "detour"), "pieces": Count(one.n, "piece"), "quantum": quantum}
    clues = [Evidence(code="pieces", values=held)]
    if tick:
        values["rate"] = Value(value=tick.frequency, unit="Hz")
        power: Values = {"share": Value(value=tick.share, unit=SHARE), "power": Value(value=tick.power)}
        clues.append(Evidence(code="period", values=power))
    if hertz:
        values["tick"] = Value(value=hertz, unit="Hz")
    return RULE.found(
        view.subject(point),
        form="tick" if hertz else "period" if tick else "",
        evidence=(*clues, *_long(one, seen)),
        command="labkit measure micro.noise -i 10000",
        **values,
    )


def _near(tick: periodic.Period, rate: float) -> bool:
    """Whether a period is that of a tick, within the resolution."""
    return abs(tick.frequency - rate) <= max(tick.resolution / 2, 0.01 * rate)


def _long(one: Samples, seen: Detours) -> Iterator[Evidence]:
    """Yield what ran during the long detours, by the switches that Linux counted."""
    long = seen.excess_ns[seen.excess_ns > _LONG_NS]
    if not len(long):
        return
    switches = INVOLUNTARY_SWITCHES.of(one.meta)
    virtual = str(one.host.get("virtualisation") or "none") != "none"
    code = "programs" if 2 * switches >= len(long) else "guest" if virtual else "firmware"
    values: Values = {
        "long": Count(len(long), "detour"),
        "spent": Value(value=float(long.sum()) * 1e-6, unit="ms"),
        "switches": Count(switches, "switch"),
    }
    yield Evidence(code=code, values=values)


_HEAD = "detours take {share} of the time, {each} each (median)"
_LONG = "{long} of more than 1 ms take {spent} together"
RULE = Rule(
    code="noise",
    kind="observation",
    level="note",
    about=ITERATIONS,
    must="nothing interrupts a fixed amount of work",
    why="an interruption of one rank delays all ranks that wait for it",
    says={
        "none": "none of {pieces} of work, {quantum} each, was interrupted",
        "tick": f"{_HEAD}; they come at {{rate}}: the timer tick of a kernel with {{tick}}",
        "period": f"{_HEAD}; they come at {{rate}}: no rate of a Linux tick, so a turn of the scheduler, a daemon or "
        "another guest",
        "": f"{_HEAD}, at no fixed rate",
    },
    remedy="Measure it on a quiet machine too, and on one with isolated cores.",
    clues={
        "pieces": "{detours} in {pieces} of work, {quantum} each",
        "period": "{share} of them in a tenth of the period, power {power:2}",
        "programs": f"{_LONG}: Linux gave the core to other programs ({{switches}})",
        "guest": f"{_LONG}, but Linux counted {{switches}} only: the hypervisor ran another guest",
        "firmware": f"{_LONG}, but Linux counted {{switches}} only: firmware or an interrupt held the core",
        **SEEN,
    },
    check=check,
)
