"""Write comparisons: a table for people, JSON and CSV for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from labkit.apps.show.texttable import text_table
from labkit.io import csv_export
from labkit.judge.comparison import Compared, Comparison
from labkit.judge.comparison.judging import MOST, UNDECIDED
from labkit.point.columns import METRICS, STATISTICS
from labkit.point.notes import joined
from labkit.point.units import finite, format_number, format_size, plural
from labkit.read.records import DECILES
from labkit.read.records.factors import NONE

_SHOWN = 10  # points of one side that are named


def text(comparison: Comparison, form: str) -> str:
    """Return a comparison as ``table``, ``json`` or ``csv``."""
    if form == "json":
        return json.dumps(_document(comparison), indent=1, allow_nan=False)
    if form == "csv":
        rows = [_record(one, comparison) for one in comparison.rows]
        plain = [row | {name: _line(row[name]) for name in ("setting", "badges")} for row in rows]
        return csv_export.of_rows({k: "" if v is None else v for k, v in row.items()} for row in plain).rstrip()
    return _table(comparison)


def _line(value: Any) -> str:
    """Return a mapping or a list as one text."""
    return ", ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else joined(value)


def _document(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON document: records and warnings as everywhere, and what was compared."""
    differences = [
        {"factor": one.factor, "levels": list(one.levels), "declared": one.declared, "stated": not one.unstated}
        for one in comparison.differences
    ]
    about = {
        "sides": list(comparison.sides),
        "by": comparison.by,
        "relevant": comparison.relevant,
        "forced": comparison.forced,
        "sentence": comparison.sentence,
        "differences": differences,
        "unmatched": [{"point": label, "sides": list(names)} for label, names in comparison.unmatched],
    }
    rows = [_record(one, comparison) for one in comparison.rows]
    return {"records": rows, "warnings": list(comparison.warnings), "comparison": about}


def _record(one: Compared, comparison: Comparison) -> dict[str, Any]:
    """Return one row with plain values; a number that is not known is None."""
    judged = one.judgement
    numbers = {
        "base_value": judged.base,
        "value": judged.value,
        "shift": judged.shift,
        "shift_low": judged.shift_low,
        "shift_high": judged.shift_high,
        "ratio": judged.ratio,
        "ratio_low": judged.ratio_low,
        "ratio_high": judged.ratio_high,
        "p": judged.p,
        "p_adjusted": judged.p_adjusted,
        "p_same": judged.p_same,
        "p_any": one.p_any,
    }
    deciles = judged.deciles or (math.nan,) * len(DECILES)
    numbers |= {f"ratio_d{name}": value for name, value in zip(DECILES, deciles, strict=True)}
    return {
        "benchmark": one.benchmark,
        "message_size_B": one.size,
        "setting": dict(one.setting),
        "base": comparison.sides[0],
        "side": one.side,
        "metric": one.metric,
        "statistic": one.statistic,
        "unit": METRICS[one.metric].unit,
        "base_launches": one.launches[0],
        "launches": one.launches[1],
        **{name: finite(value) for name, value in numbers.items()},
        "base_coarse": one.coarse[0],
        "coarse": one.coarse[1],
        "design": judged.design,
        "basis": judged.basis,
        "verdict": judged.verdict,
        "reason": judged.reason,
        "launches_needed": judged.launches_needed,
        "badges": [_badge(text, counts, one.counts, comparison.sides) for text, counts in one.badges.items()],
    }


def _badge(text: str, counts: Sequence[int], launches: Sequence[int], sides: Sequence[str]) -> str:
    """Return a badge; if not all launches have it, with their number on each side."""
    if tuple(counts) == tuple(launches):
        return text
    parts = (
        f"{n} of {plural(every, 'launch')} in {side}" for n, every, side in zip(counts, launches, sides, strict=True)
    )
    return f"{text} ({', '.join(parts)})"


def _table(comparison: Comparison) -> str:
    """Return a table for each benchmark, metric and statistic, and below what a reader must know."""
    parts = [
        _part(list(rows), comparison)
        for _, rows in groupby(comparison.rows, lambda one: (one.benchmark, one.metric, one.statistic))
    ]
    return "\n\n".join([*parts, "\n".join(_below(comparison))])


def _part(rows: Sequence[Compared], comparison: Comparison) -> str:
    """Return the table of one benchmark."""
    first, base = rows[0], comparison.sides[0]
    metric, several = METRICS[first.metric], len(comparison.sides) > 2
    factors = [name for name in first.setting if len({one.setting.get(name, NONE) for one in rows}) > 1]
    other = "side" if several else comparison.sides[1]
    head = ["size", *factors, *(["side"] if several else [])]
    head += [f"{base} ({metric.unit})", f"{other} ({metric.unit})", _share_or_ratio(first), "low", "high", "p (Holm)"]
    head += [*(["p (all sides)"] if several else []), "d10", "d90", "launches", "verdict", "needed"]
    body = []
    for one in rows:
        judged, effect = one.judgement, _effect(one)
        cells = [format_size(one.size), *(one.setting.get(name, NONE) for name in factors)]
        cells += [one.side] if several else []
        cells += [*one.texts, *effect]
        cells.append("-" if math.isnan(judged.p_adjusted) else format_number(judged.p_adjusted, digits=2))
        cells += ["-" if math.isnan(one.p_any) else format_number(one.p_any, digits=2)] if several else []
        ends = (judged.deciles[0], judged.deciles[-1]) if judged.deciles else (math.nan, math.nan)
        cells += [format_number(end, digits=4) for end in ends]
        cells += [f"{one.launches[0]} + {one.launches[1]}", judged.verdict, _needed(one)]
        body.append([cell.replace("–", "-") for cell in cells])
    label = STATISTICS[first.statistic].label
    title = f"{first.benchmark} · {metric.label}: median over launches of the {label} of each launch"
    aside = {len(head) - 2, *range(1, 1 + len(factors) + several)}
    return f"{title}\n{text_table(head, body, right=[n for n in range(len(head)) if n not in aside])}"


def _share_or_ratio(one: Compared) -> str:
    """Return the head of the column with the effect."""
    return "shift (points)" if METRICS[one.metric].kind in ("share", "loss") else "ratio"


def _effect(one: Compared) -> list[str]:
    """Return the effect with the ends of its interval."""
    judged = one.judgement
    centre, low, high = judged.ratio, judged.ratio_low, judged.ratio_high
    if METRICS[one.metric].kind in ("share", "loss"):
        centre, low, high = judged.shift, judged.shift_low, judged.shift_high
    return [format_number(value, width=high - low) for value in (centre, low, high)]


def _needed(one: Compared) -> str:
    """Return how many launches per side would decide."""
    needed = one.judgement.launches_needed
    if needed is None:
        return f"> {MOST}"
    return str(needed) if needed else "-"


def _below(comparison: Comparison) -> list[str]:
    """Return the lines below the tables."""
    lines = [
        comparison.sentence,
        "ratio: Hodges-Lehmann shift of the launches as a factor; low, high: its 95 % interval; d10, d90: ratio of the "
        "10th and the 90th percentile of the iterations (median over launches, the slow side last), no interval",
    ]
    judged = [one.judgement for one in comparison.rows]
    if alone := sum(math.isfinite(one.shift) and not math.isfinite(one.shift_low) for one in judged):
        lines.append(f"no interval (-): {alone} of {plural(len(judged), 'ratio')}, which have too few launches for one")
    if any(one.judgement.verdict == UNDECIDED for one in comparison.rows):
        lines.append(
            "needed: launches per side that would decide with 80 %, if shift and scatter stay as they are (an estimate)"
        )
    for one in comparison.differences:
        how = "declared" if one.declared else "NOT DECLARED, the points are not comparable"
        lines.append(f"differs: {one} ({'not stated by a side' if one.unstated and one.declared else how})")
    return [*lines, *_badges(comparison), *_unmatched(comparison), *(f"warning: {one}" for one in comparison.warnings)]


def _badges(comparison: Comparison) -> Iterator[str]:
    """Return a line for each badge: how many launches of each side have it, at the points that have it."""
    for name in dict.fromkeys(name for one in comparison.rows for name in one.badges):
        rows = [one for one in comparison.rows if name in one.badges]
        points = {(one.benchmark, one.size, *one.setting.values()): one for one in rows}.values()
        counts, launches = (
            [sum(column) for column in zip(*columns, strict=True)]
            for columns in ([one.badges[name] for one in points], [one.counts for one in points])
        )
        yield f"badge: {_badge(name, counts, launches, comparison.sides)}, {plural(len(points), 'point')}"


def _unmatched(comparison: Comparison) -> Iterator[str]:
    """Return lines that name points which not all sides have."""
    if comparison.unmatched:
        yield f"{plural(len(comparison.unmatched), 'point')} not on all sides, and therefore not compared:"
    for label, names in comparison.unmatched[:_SHOWN]:
        yield f"  only in {', '.join(names)}: {label}"
    if (more := len(comparison.unmatched) - _SHOWN) > 0:
        yield f"  and {more} more; --format json lists all"
