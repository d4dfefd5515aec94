"""Points that move more bytes per time than their emulated link lets through."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.judge.finding import TIMES, Evidence, Finding, Value
from labkit.judge.rule import PLAUSIBILITY, Rule
from labkit.judge.rules._deciding import IMPORTED, REMEDY, level_of, over
from labkit.judge.view import View
from labkit.judge.view.points import PER_BYTE, TIMED, Point, Table
from labkit.point.adapters import links_of
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.notes import has
from labkit.point.testbed import amount, parse
from labkit.read.records.factors import coded
from labkit.store.samples.facts import TESTBED


def check(view: View) -> Iterator[Finding]:
    """Yield points that move more bytes per time than their emulated link lets through."""
    for table in view.tables.values():
        for place, metric, rate, bound in _fast(view, table):
            point = table.point(place, metric, "measured")
            assert point is not None
            decision = over(_inverse(point), 1 / bound) if metric in TIMED else over(point, bound)
            if decision:
                yield RULE.found(
                    view.points(point.row, setting=view.setting(point.row)),
                    level=level_of(decision.decided),
                    form="time" if metric in TIMED else "rate",
                    cost=decision.times,
                    decided=decision.decided,
                    evidence=(Evidence(code="of", values={"statistic": STATISTICS[point.statistic].label}),),
                    command=view.again(point.row),
                    label=METRICS[metric].label,
                    measured=point.value,
                    limit=Value(value=bound, unit=METRICS[metric].unit, origin="computed", of="the link"),
                    rate=Value(value=rate / 1e6, unit="Mbit/s", origin="stated", of="the link"),
                    times=Value(value=decision.times, unit=TIMES),
                )


def _fast(view: View, table: Table) -> Iterator[tuple[int, str, float, float]]:
    """Yield points with a median beyond the limit of their link: metric, rate, bit/s, and the metric's limit."""
    rows, size = table.rows, table.rows["message_size_B"].to_numpy()
    rate = _rates(view, table)
    if not rate.any():
        return
    chosen, metrics = table.headlines((*PER_BYTE[:1], *TIMED[:1]))
    found: list[tuple[int, str, float, float]] = []
    for number, metric in enumerate(metrics):
        values = table.values(metric)
        if metric in TIMED:  # a message cannot arrive before its bytes have crossed
            bound = np.divide(size * 8, rate, out=np.zeros(len(rows)), where=rate > 0) * 1e6
            beyond = values.centre < bound
        else:
            bound = rate / 8e6  # MB/s
            beyond = values.centre > bound
        places = np.flatnonzero((chosen == number) & (rate > 0) & (size > 0) & (values.statistic >= 0) & beyond)
        found += [(place, metric, float(rate[place]), float(bound[place])) for place in places.tolist()]
    yield from sorted(found)


def _inverse(point: Point) -> Point:
    """Return a point with the inverse of its values: messages per time."""
    return Point(point.row, 1 / point.values, point.metric, point.statistic, point.where, point.at)


def _rates(view: View, table: Table) -> NDArray[np.float64]:
    """Return the rate of the link that all bytes of a point cross one after the other, bit/s; 0 if unknown."""
    rows = table.rows
    codes, testbeds = coded(rows["testbed"])
    benchmark = benchmarks.runnable(table.benchmark)
    if benchmark is None or not benchmark.one_flow:
        return np.zeros(len(rows))
    rates = np.array([_rate(one) for one in testbeds])[codes]
    emulated = np.array([has(badges, "emulated-link") for badges in rows["badges"]], bool)
    for code in np.unique(codes[emulated & (rates == 0)]):  # a job's command does not name the links of its hosts
        of_job = emulated & (codes == code)
        rates[of_job] = _noted(view, str(rows["fingerprint"].iloc[np.flatnonzero(of_job)[0]]))
    several = (rows["transport"] == "shm") | ((rows["ranks"] > 1) & ~rows["ppn"].isin((0, 1)))
    rates[several.to_numpy(bool)] = 0.0
    return rates


def _rate(testbed: str) -> float:
    """Return the rate that was requested of the links of a testbed, bit/s; 0 if none was."""
    try:
        _, _, options = parse(testbed)
    except SpecError:
        return 0.0
    value = amount(options.get("rate", ""))
    return value if value > 0 else 0.0


def _noted(view: View, fingerprint: str) -> float:
    """Return the rate of the links that a launch of a point notes, bit/s; 0 without one."""
    launches = view.first_launches([fingerprint]).values()
    return next((rate for one in launches if (rate := links_of(TESTBED.of(one.meta)).shaped) > 0), 0.0)


RULE = Rule(
    code="above-link",
    kind="violation",
    level="bad",
    about=PLAUSIBILITY,
    must="no flow is faster than the rate of its link",
    why="every byte crosses the link",
    says={
        "time": "the {label} of {measured:interval} is below the {limit} that the link of {rate} allows; {times:2}",
        "rate": "the {label} of {measured:interval} is above the {limit} that the link of {rate} allows; {times:2}",
    },
    clues={"of": "{statistic} over launches"},
    remedy=REMEDY,
    imported=IMPORTED,
    check=check,
)
