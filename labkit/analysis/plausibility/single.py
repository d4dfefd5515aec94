"""Rules on single points: below the link's rate, tails above medians, lossless links, alike launches, one mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from labkit import notes, stats
from labkit.analysis import evidence
from labkit.analysis.plausibility.deciding import Point, over, slowest
from labkit.analysis.plausibility.oddity import Oddity, Reading
from labkit.analysis.plausibility.orders import amount
from labkit.analysis.plausibility.view import PER_BYTE, TIMED, View, worse
from labkit.columns import METRICS, STATISTICS, split, statistic_column
from labkit.errors import SpecError
from labkit.samples.facts import FINGERPRINT
from labkit.testbeds import parse
from labkit.units import format_share, plural

_ORDER = ("p50", "p95", "p99", "p999")
_ONE_FLOW = (  # benchmarks whose payload crosses one link, in one direction at a time
    "mpi.latency", "mpi.bandwidth", "sockets.tcp_stream", "sockets.udp_stream", "sockets.tcp_rr", "sockets.udp_rr",
    "verbs.write_bandwidth", "verbs.read_bandwidth", "verbs.send_bandwidth", "verbs.write_latency",
    "verbs.read_latency", "verbs.send_latency",
)  # fmt: skip


def above_link(view: View) -> Iterator[Oddity]:
    """Yield points that move more bytes per time than their emulated link lets through."""
    for row in view.rows:
        rate = _rate(row)
        metric = view.headline(row, (*PER_BYTE[:1], *TIMED[:1])) if rate else ""
        point = view.point(row, metric, "measured") if metric else None
        if not point or not row["message_size_B"]:
            continue
        bound = rate / 8e6  # MB/s
        if metric in TIMED:  # a message cannot arrive before its bytes have crossed
            bound = row["message_size_B"] * 8 / rate * 1e6
            times = bound / point.ends[1] if point.ends[1] < bound else 0.0
            decision = over(_inverse(point), 1 / bound) if times else None
        else:
            decision = over(point, bound)
        if decision:
            unit = METRICS[metric].unit
            side = "below the time" if metric in TIMED else "above the rate"
            limit = Reading("the link's limit", bound, float("nan"), float("nan"), unit, 0)
            yield Oddity(
                rule="above-link",
                benchmark=str(row["benchmark"]),
                setting=view.setting(row),
                what=f"the {METRICS[metric].label} is {side} that the link of {rate / 1e6:g} Mbit/s allows",
                readings=(point.reading, limit),
                times=decision.times,
                confidence=decision.confidence,
                evidence=(f"{STATISTICS[point.statistic].label} over launches",),
                again=view.again(row),
            )


def _inverse(point: Point) -> Point:
    """Return a point with the inverse of its values: messages per time."""
    return Point(point.row, 1 / point.values, point.metric, point.statistic, point.where, point.at)


def _rate(row: Mapping[str, Any]) -> float:
    """Return the rate of the link that all bytes of a point cross one after the other, bit/s; 0 where none is known."""
    if row["benchmark"] not in _ONE_FLOW or row["transport"] == "shm":
        return 0.0
    try:
        _, _, options = parse(str(row["testbed"]))
    except SpecError:
        return 0.0
    if row["ranks"] > 1 and row["ppn"] not in (0, 1):
        return 0.0
    value = amount(options.get("rate", ""))
    return value if value > 0 else 0.0


def tail_order(view: View) -> Iterator[Oddity]:
    """Yield points whose percentiles are not in their order, and values of tools that labkit ignored for that."""
    for row in view.rows:
        metrics = dict.fromkeys(parts[0] for name in row if (parts := split(str(name))))
        for metric in metrics:
            values = [(s, float(row.get(statistic_column(metric, s), np.nan))) for s in _ORDER]
            known = [(s, value) for s, value in values if value == value]
            sign = worse(metric) if METRICS[metric].kind != "share" else 1
            wrong = [(a, b) for a, b in pairwise(known) if sign * b[1] < sign * a[1]]
            for (low, first), (high, last) in wrong[:1]:
                yield _tail(view, row, metric, ((high, last), (low, first)), ())
        for note in row["warnings"]:
            if note.code == "contradiction" and (parts := split(str(note.value("column")))):
                value = float(note.value("value") or 0.0)
                median = float(row.get(statistic_column(parts[0], "p50"), np.nan))
                yield _tail(view, row, parts[0], ((parts[1], value), ("p50", median)), (note.text,))


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
    rows = {str(row["fingerprint"]): row for row in view.rows}
    counted: dict[str, list[tuple[int, dict[str, int]]]] = {}
    for one in view.points:
        counts = {name: evidence.total(one, name) or 0 for name in evidence.AGAIN}
        if any(counts.values()) and "loss=" not in one.spec.testbed:
            counted.setdefault(FINGERPRINT.of(one.meta), []).append((evidence.total(one, "sent_pkts") or 0, counts))
    for fingerprint, launches in counted.items():
        row = rows.get(fingerprint)
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
    for row in view.rows:
        metric = view.headline(row)
        point = view.point(row, metric) if metric else None
        found = slowest(point.values, worse(metric)) if point else None
        if point is None or found is None:
            continue
        slow, times = found
        launches = view.launches[str(row["fingerprint"])]
        launch, others = launches[slow], launches[:slow] + launches[slow + 1 :]
        usual_codes = {one.code for other in others for one in (*other["badges"], *other["warnings"])}
        own = notes.once([launch["badges"], launch["warnings"]])
        alone = [one.text for one in own if one.code not in usual_codes]
        usual = [v for place, v in enumerate(point.values) if place != slow]
        rest_reading = Reading(
            "the others", float(np.median(usual)), min(usual), max(usual), METRICS[metric].unit, len(usual)
        )
        yield Oddity(
            rule="slow-launch",
            benchmark=str(row["benchmark"]),
            setting=view.setting(row),
            what=f"launch {int(launch['launch'])} is slower than all {len(usual)} others",
            readings=(
                Reading(
                    f"launch {int(launch['launch'])}", float(point.values[slow]), float("nan"), float("nan"),
                    METRICS[metric].unit, 1, str(row["fingerprint"]),
                ),
                rest_reading,
            ),
            times=times,
            confidence=_apart_inside(view, row, metric, slow),
            evidence=tuple([f"it started at {launch['start']}"] * bool(launch["start"]) + alone[:2]),
            again=view.again(row, launches=2 * stats.LAUNCHES),
        )  # fmt: skip


def _apart_inside(view: View, row: Mapping[str, Any], metric: str, slow: int) -> Any:
    """Return ``observed`` if the interval of the slow launch lies beyond those of all others, else ``indicated``."""
    columns = [statistic_column(metric, end) for end in ("ci_low", "ci_high")]
    launches = view.launches[str(row["fingerprint"])]
    ends = np.array([[launch.get(column, np.nan) for column in columns] for launch in launches], np.float64)
    if np.isnan(ends).any():
        return "indicated"
    others = np.delete(ends, slow, axis=0)
    apart = ends[slow, 0] > others[:, 1].max() if worse(metric) > 0 else ends[slow, 1] < others[:, 0].min()
    return "observed" if apart else "indicated"


def two_modes(view: View) -> Iterator[Oddity]:
    """Yield points whose iterations lie around two times, in more than half of the launches."""
    for row in view.rows:
        name = str(row["fingerprint"])
        rows = view.launches.get(name, [])
        modes = [
            (one["launch"], view.modes[name, one["launch"]]) for one in rows if (name, one["launch"]) in view.modes
        ]
        if not modes or 2 * len(modes) <= len(rows):
            continue
        # of the launch in the middle: modes of different launches need not be the same
        launch, two = sorted(modes, key=lambda one: one[1].high / one[1].low)[(len(modes) - 1) // 2]
        nothing, part = float("nan"), format_share(two.share)
        yield Oddity(
            rule="two-modes",
            benchmark=str(row["benchmark"]),
            setting=view.setting(row),
            what="the iterations lie around two times, with a valley between them",
            readings=(
                Reading(f"{part} of launch {launch}", two.high * 1e6, nothing, nothing, "µs", 1, name),
                Reading("the rest of it", two.low * 1e6, nothing, nothing, "µs", 1),
            ),
            times=two.high / two.low,
            confidence="observed" if len(modes) > 1 else "undecided",
            evidence=(f"in {len(modes)} of {plural(len(rows), 'launch')}", plural(int(row["n"]), "sample")),
            again=view.again(row),
        )
