"""Interruptions of a fixed amount of work: their share, their period, and what ran instead."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import stats
from labkit.judge import detours
from labkit.judge.detours import Detours
from labkit.judge.finding import SHARE, Count, Evidence, Finding, Value, Values
from labkit.judge.iterations import FEWEST_OF_STEP, NOISE
from labkit.judge.rule import ITERATIONS, Rule
from labkit.judge.rules._iterations import SEEN, seen_in
from labkit.judge.view import View
from labkit.judge.view.points import Row
from labkit.stats import periodic
from labkit.store.samples import Samples
from labkit.store.samples.facts import INVOLUNTARY_SWITCHES

_LONG_NS = 1_000_000  # a detour that no interrupt explains
_TICKS = (100, 250, 300, 1000)  # Hz: what Linux can be built with (CONFIG_HZ)


@dataclass(frozen=True)
class _Launch:
    """What a launch shows."""

    samples: Samples
    seen: Detours

    @cached_property
    def each_ns(self) -> NDArray[np.int64]:
        """(detours,), length of each, ns."""
        return self.seen.excess_ns[self.seen.detour]

    @cached_property
    def share(self) -> float:
        """Share of time that detours take."""
        return float(self.each_ns.sum()) / float(np.asarray(self.samples.time_ns).sum())

    @cached_property
    def tick(self) -> periodic.Period | None:
        """Their period."""
        return periodic.period(self.seen.starts, self.seen.detour, self.seen.quantum) if len(self.each_ns) else None

    def rate(self, hertz: int) -> float:
        """Rate of the timer tick if their rate is a multiple of it, Hz; else NaN.

        The spectrum of short pulses has equal peaks at all multiples of their rate.
        """
        if self.tick is None or not (times := round(self.tick.frequency / hertz)):
            return math.nan
        within = max(self.tick.resolution / 2, 0.01 * hertz)
        return self.tick.frequency / times if abs(self.tick.frequency - times * hertz) <= within else math.nan


def check(view: View) -> Iterator[Finding]:
    """Yield the common result of the launches of each point of micro.noise."""
    if view.launches is None or not (view.records["benchmark"] == NOISE).any():
        return
    shown: dict[str, list[_Launch]] = {}
    switches = view.launches.fact(INVOLUNTARY_SWITCHES, NOISE)  # a batch has those of one of its launches
    names = view.records["fingerprint"].tolist()
    for times in view.launches.times(NOISE):
        for row, one in zip(times.rows.tolist(), times.batch.each(), strict=True):
            own = replace(one, meta={**one.meta, INVOLUNTARY_SWITCHES.name: switches[row]})
            if one.n >= FEWEST_OF_STEP and "gap_ns" in one.phases:
                shown.setdefault(names[row], []).append(_Launch(own, detours.of(own)))
    for name, launches in shown.items():
        if (point := view.row(name)) is not None:
            yield _found(view, point, launches)


def _found(view: View, point: Row, launches: Sequence[_Launch]) -> Finding:
    """Return what the launches of a point show."""
    quantum = _over([one.seen.quantum * 1e6 for one in launches], "µs", "a piece of work")
    pieces = Count(sum(one.samples.n for one in launches), "piece")
    hit = [one for one in launches if len(one.each_ns)]
    if not hit:
        return RULE.found(view.subject(point), form="none", pieces=pieces, quantum=quantum)
    values: dict[str, Any] = {
        "share": _over([one.share for one in launches], SHARE),
        "each": _over([float(np.median(one.each_ns)) * 1e-3 for one in hit], "µs", "a detour"),
    }
    held: Values = {"detours": Count(sum(len(one.each_ns) for one in hit), "detour"), "pieces": pieces}
    clues = [Evidence(code="pieces", values={**held, "quantum": quantum})]
    hertz, rates = _rates(hit)
    if periodic_ := 2 * len(rates) > len(launches):
        values["rate"] = Value(value=float(np.median([*rates.values()])), unit="Hz")
        share, power = (float(np.median([getattr(hit[n].tick, name) for n in rates])) for name in ("share", "power"))
        of_rate: Values = {"share": Value(value=share, unit=SHARE), "power": Value(value=power)}
        clues += [Evidence(code="period", values=of_rate), *seen_in(len(rates), len(launches))]
        values |= {"tick": Value(value=hertz, unit="Hz")} if hertz else {}
    else:
        clues += seen_in(len(hit), len(launches))
    return RULE.found(
        view.subject(point),
        form="" if not periodic_ else "tick" if hertz else "period",
        evidence=(*clues, *_long(hit)),
        command="labkit measure micro.noise -i 10000",
        **values,
    )


def _over(values: Sequence[float], unit: str, of: str = "") -> Value:
    """Return the median over launches with its interval."""
    one = stats.headline(values)
    low, high = (one.low, one.high) if len(values) > 1 else (math.nan, math.nan)
    return Value(value=one.centre, unit=unit, low=low, high=high, launches=len(values), origin="measured", of=of)


def _rates(launches: Sequence[_Launch]) -> tuple[int, dict[int, float]]:
    """Return the tick of Linux that most launches show, Hz, and their rates.

    Without a tick, 0 and the largest group of equal rates.
    """
    ticks = {hz: {n: one.rate(hz) for n, one in enumerate(launches) if one.rate(hz) > 0} for hz in _TICKS}
    periods = {n: one.tick for n, one in enumerate(launches) if one.tick}
    shown = [hz for hz in _TICKS if any(round(one.frequency / hz) == 1 for n, one in periods.items() if n in ticks[hz])]
    if shown:  # one launch at least shows the tick itself, and not a multiple
        hertz = max(shown, key=lambda hz: (len(ticks[hz]), hz))
        return hertz, ticks[hertz]
    alike = ({n: two.frequency for n, two in periods.items() if abs(two.frequency - one.frequency) <= one.resolution}
             for one in periods.values())  # fmt: skip
    return 0, max(alike, key=len, default={})


def _long(launches: Sequence[_Launch]) -> Iterator[Evidence]:
    """Yield what ran during the long detours, by the switches that Linux counted."""
    found: dict[str, list[tuple[NDArray[np.int64], int]]] = {}
    for one in launches:
        long = one.each_ns[one.each_ns > _LONG_NS]
        if len(long):
            switches = INVOLUNTARY_SWITCHES.of(one.samples.meta)
            virtual = str(one.samples.host.get("virtualisation") or "none") != "none"
            code = "programs" if 2 * switches >= len(long) else "guest" if virtual else "firmware"
            found.setdefault(code, []).append((long, switches))
    for code, some in found.items():
        values: Values = {
            "long": Count(sum(len(long) for long, _ in some), "detour"),
            "spent": Value(value=sum(float(long.sum()) for long, _ in some) * 1e-6, unit="ms"),
            "switches": Count(sum(switches for _, switches in some), "switch"),
        }
        yield Evidence(code=code, values=values)


_HEAD = "detours take {share:interval} of the time, {each:interval} each"
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
