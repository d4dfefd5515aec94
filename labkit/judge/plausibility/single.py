"""Rules on single points: below the link's rate, tails above medians, lossless links, alike launches, one mode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks, stats
from labkit.errors import SpecError
from labkit.judge import evidence
from labkit.judge.plausibility.deciding import APART, FAR, LEAST, Point, over, slowest
from labkit.judge.plausibility.oddity import Oddity, Reading
from labkit.judge.plausibility.orders import amount
from labkit.judge.plausibility.view import (
    HEADLINE_METRICS,
    PER_BYTE,
    TIMED,
    Row,
    Table,
    View,
    holding,
    in_files,
    worse,
)
from labkit.point import notes
from labkit.point.columns import METRICS, STATISTICS, split, statistic_column
from labkit.point.testbed import parse
from labkit.point.units import format_share, plural
from labkit.read.records import HEADLINES
from labkit.read.records.factors import coded
from labkit.stats.modes import Modes
from labkit.store.samples.facts import EVIDENCE

_ORDER = ("p50", "p95", "p99", "p999")


def above_link(view: View) -> Iterator[Oddity]:
    """Yield points that move more bytes per time than their emulated link lets through."""
    for table in view.tables.values():
        for place, metric, rate, bound in _fast(table):
            point = table.point(place, metric, "measured")
            assert point is not None
            decision = over(_inverse(point), 1 / bound) if metric in TIMED else over(point, bound)
            if decision:
                unit = METRICS[metric].unit
                side = "below the time" if metric in TIMED else "above the rate"
                limit = Reading("the link's limit", bound, float("nan"), float("nan"), unit, 0)
                yield Oddity(
                    rule="above-link",
                    benchmark=table.benchmark,
                    setting=view.setting(point.row),
                    what=f"the {METRICS[metric].label} is {side} that the link of {rate / 1e6:g} Mbit/s allows",
                    readings=(point.reading, limit),
                    times=decision.times,
                    confidence=decision.confidence,
                    evidence=(f"{STATISTICS[point.statistic].label} over launches",),
                    again=view.again(point.row),
                )


def _fast(table: Table) -> Iterator[tuple[int, str, float, float]]:
    """Yield points with a median beyond the limit of their link: metric, rate, bit/s, and the metric's limit."""
    rows, size = table.rows, table.rows["message_size_B"].to_numpy()
    rate = _rates(table)
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


def _rates(table: Table) -> NDArray[np.float64]:
    """Return the rate of the link that all bytes of a point cross one after the other, bit/s; 0 where none is known."""
    rows = table.rows
    codes, testbeds = coded(rows["testbed"])
    benchmark = benchmarks.runnable(table.benchmark)
    if benchmark is None or not benchmark.one_flow:
        return np.zeros(len(rows))
    rates = np.array([_rate(one) for one in testbeds])[codes]
    several = (rows["transport"] == "shm") | ((rows["ranks"] > 1) & ~rows["ppn"].isin((0, 1)))
    rates[several.to_numpy(bool)] = 0.0
    return rates


def _rate(testbed: str) -> float:
    """Return the rate of the links of a testbed, bit/s; 0 where none is known."""
    try:
        _, _, options = parse(testbed)
    except SpecError:
        return 0.0
    value = amount(options.get("rate", ""))
    return value if value > 0 else 0.0


def tail_order(view: View) -> Iterator[Oddity]:
    """Yield points whose percentiles are not in their order, and values of tools that labkit ignored for that."""
    for table in view.tables.values():
        wrong = _wrong_tails(table)
        noted = holding(table.columns["warnings"], lambda cell: any(one.code == "contradiction" for one in cell))
        for place in sorted({*wrong, *np.flatnonzero(noted).tolist()}):
            row = table.row(place)
            for metric, pair in wrong.get(place, ()):
                yield _tail(view, row, metric, pair, ())
            for note in row["warnings"]:
                if note.code == "contradiction" and (parts := split(str(note.value("column")))):
                    value = float(note.value("value") or 0.0)
                    median = float(row.get(statistic_column(parts[0], "p50"), np.nan))
                    yield _tail(view, row, parts[0], ((parts[1], value), ("p50", median)), (note.text,))


def _wrong_tails(table: Table) -> dict[int, list[tuple[str, tuple[tuple[str, float], tuple[str, float]]]]]:
    """Return for each point with percentiles in the wrong order the metrics, with the first two of these."""
    wrong: dict[int, list[tuple[str, tuple[tuple[str, float], tuple[str, float]]]]] = {}
    for metric in dict.fromkeys(parts[0] for name in table.rows if (parts := split(str(name)))):
        sign = worse(metric) if METRICS[metric].kind != "share" else 1
        last, name_of_last = np.full(len(table), np.nan), np.zeros(len(table), np.intp)
        new = np.ones(len(table), bool)
        for number, name in enumerate(_ORDER):
            if statistic_column(metric, name) not in table.columns:
                continue
            values = table.columns[statistic_column(metric, name)]
            for place in np.flatnonzero(new & (sign * values < sign * last)).tolist():
                pair = ((name, float(values[place])), (_ORDER[name_of_last[place]], float(last[place])))
                wrong.setdefault(place, []).append((metric, pair))
                new[place] = False
            known = ~np.isnan(values)
            last[known], name_of_last[known] = values[known], number
    return wrong


def _tail(
    view: View, row: Mapping[str, Any], metric: str, pair: Sequence[tuple[str, float]], texts: tuple[str, ...]
) -> Oddity:
    """Return the record of two statistics in the wrong order."""
    unit, launches = METRICS[metric].unit, int(row["launches"])
    readings = tuple(
        Reading(STATISTICS[s].label, value, float("nan"), float("nan"), unit, launches, str(row["fingerprint"]))
        for s, value in pair
    )
    values = sorted(value for _, value in pair)
    return Oddity(
        rule="tail-order",
        benchmark=str(row["benchmark"]),
        setting=view.setting(row),
        what=f"the {METRICS[metric].label} of the tail contradicts its other statistics",
        readings=readings,
        times=values[1] / values[0] if values[0] > 0 else float("nan"),
        confidence="observed",
        evidence=texts,
        again=view.again(row),
    )


def lossless(view: View) -> Iterator[Oddity]:
    """Yield points of an adapter that retransmitted although its emulated link loses no packet."""
    testbeds, names = (view.records[name] for name in ("testbed", "fingerprint"))
    counted: dict[str, list[tuple[int, dict[str, int]]]] = {}
    counters = view.launches.fact(EVIDENCE) if view.launches else []
    counting = np.array([place for place, counts in enumerate(counters) if counts], np.intp)
    for place in in_files(view.records, counting).tolist():
        counts = {name: evidence.sum_of(counters[place], name) or 0 for name in evidence.AGAIN}
        if any(counts.values()) and "loss=" not in testbeds[place]:
            sent = evidence.sum_of(counters[place], "sent_pkts") or 0
            counted.setdefault(str(names[place]), []).append((sent, counts))
    for fingerprint, launches in counted.items():
        row = view.row(fingerprint)
        if row is None:
            continue
        packets = sum(sent for sent, _ in launches)
        total = {name: sum(counts[name] for _, counts in launches) for name in evidence.AGAIN}
        events = sum(total.values())
        share = format_share(events / packets) if packets else "an unknown share"
        yield Oddity(
            rule="lossless",
            benchmark=str(row["benchmark"]),
            setting=view.setting(row),
            what="the adapter retransmitted although the link loses nothing",
            readings=(
                Reading("counters", float(events), float("nan"), float("nan"), "events", len(launches), fingerprint),
            ),
            times=float("nan"),
            confidence="observed",
            evidence=(
                f"{share} of {packets:,} packets",
                *(f"{evidence.AGAIN[name]}: {count}" for name, count in total.items() if count),
            ),
            again=view.again(row),
        )


def slow_launch(view: View) -> Iterator[Oddity]:
    """Yield points of which one launch is far from all others, which agree."""
    for table in view.tables.values():
        for place, metric in _perhaps_slow(table):
            point = table.point(place, metric)
            assert point is not None
            if found := slowest(point.values, worse(metric)):
                yield _slow(view, table, place, point, *found)


def _perhaps_slow(table: Table) -> list[tuple[int, str]]:
    """Return points of which one launch may be far from the others, up to rounding, and the metric."""
    chosen, metrics = table.headlines(HEADLINE_METRICS)
    found: list[tuple[int, str]] = []
    for number, metric in enumerate(metrics):
        statistics = np.where(chosen == number, table.values(metric).statistic, -1)
        for places, _ in table.by_count:
            for statistic in np.unique(statistics[places]).tolist():
                points = places[statistics[places] == statistic]
                if statistic < 0 or table.launches[points[0]] < LEAST:
                    continue
                values = table.of_launches(points, metric, HEADLINES[statistic])
                logs = np.sort(np.log(values) * worse(metric), axis=1)
                gap, spread = logs[:, -1] - logs[:, -2], logs[:, -2] - logs[:, 0]
                slow = gap >= np.maximum(math.log(FAR), APART * spread) - 1e-9
                found += [(place, metric) for place in points[slow].tolist()]
    return sorted(found)


def _slow(view: View, table: Table, place: int, point: Point, slow: int, times: float) -> Oddity:
    """Return the record of a slow launch."""
    launches = [Row(view.records, row) for row in table.launches_of(place).tolist()]
    launch, others = launches[slow], launches[:slow] + launches[slow + 1 :]
    usual_codes = {one.code for other in others for one in (*other["badges"], *other["warnings"])}
    own = notes.once([launch["badges"], launch["warnings"]])
    alone = [one.text for one in own if one.code not in usual_codes]
    usual = [v for number, v in enumerate(point.values) if number != slow]
    name, unit, nothing = f"launch {launch['launch']}", METRICS[point.metric].unit, float("nan")
    return Oddity(
        rule="slow-launch",
        benchmark=table.benchmark,
        setting=view.setting(point.row),
        what=f"{name} is slower than all {len(usual)} others",
        readings=(
            Reading(name, float(point.values[slow]), nothing, nothing, unit, 1, str(point.row["fingerprint"])),
            Reading("the others", float(np.median(usual)), min(usual), max(usual), unit, len(usual)),
        ),
        times=times,
        confidence="observed",
        evidence=tuple([f"it started at {launch['start']}"] * bool(launch["start"]) + alone[:2]),
        again=view.again(point.row, launches=2 * stats.LAUNCHES),
    )


def two_modes(view: View) -> Iterator[Oddity]:
    """Yield points whose iterations lie around two times, in more than half of the launches."""
    numbers, of_modes = view.records["launch"], {name for name, _ in view.modes}
    for table in view.tables.values() if of_modes else ():
        for place, name in enumerate(table.columns["fingerprint"].tolist()):
            if name in of_modes:
                launches = [int(numbers[row]) for row in table.launches_of(place).tolist()]
                modes = [(launch, two) for launch in launches if (two := view.modes.get((name, launch)))]
                if 2 * len(modes) > len(launches):
                    yield _bimodal(view, table.row(place), modes, len(launches))


def _bimodal(view: View, row: Row, modes: Sequence[tuple[int, Modes]], launches: int) -> Oddity:
    """Return the record of a point with two modes."""
    # of the launch in the middle: modes of different launches need not be the same
    launch, two = sorted(modes, key=lambda one: one[1].high / one[1].low)[(len(modes) - 1) // 2]
    nothing, part = float("nan"), format_share(two.share)
    return Oddity(
        rule="two-modes",
        benchmark=str(row["benchmark"]),
        setting=view.setting(row),
        what="the iterations lie around two times, with a valley between them",
        readings=(
            Reading(f"{part} of launch {launch}", two.high * 1e6, nothing, nothing, "µs", 1, str(row["fingerprint"])),
            Reading("the rest of it", two.low * 1e6, nothing, nothing, "µs", 1),
        ),
        times=two.high / two.low,
        confidence="observed" if len(modes) > 1 else "undecided",
        evidence=(f"in {len(modes)} of {plural(launches, 'launch')}", plural(int(row["n"]), "sample")),
        again=view.again(row),
    )
