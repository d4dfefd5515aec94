"""Write what `labkit.models.verdict` says: as a table with what to check next, as JSON or as CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from labkit.apps.show.texttable import text_table
from labkit.io import csv_export
from labkit.judge.inspector import Observation
from labkit.models import bounds, verdict
from labkit.models.verdict import Judged, Step
from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.units import format_number, format_range, format_share, format_size, plural

_NAMED = 6  # settings of a benchmark in a line
_AT_MANY = ("two modes", "warm-up", "drift")  # kinds that a busy machine shows at many points


def table(judged: Sequence[Judged], observed: Sequence[Observation] = ()) -> str:
    """Return what has a bound as tables, why the rest has none, what to check next, and what else was observed."""
    rates = [one for one in judged if one.bound and bounds.directions_of(one.benchmark)]
    costs = [one for one in judged if one.bound and bounds.crossings_of(one.benchmark)]
    parts = [*_table(rates, "bound", "share"), *_table(costs, "floor", "times")]
    if rates:
        parts.append(f"rule: {verdict.RULE}.")
    if rates or costs:
        parts.append("interval: 95 % interval of the median over 6 launches or more, else the range of the launches.")
    parts += [verdict.sentence(one) for one in verdict.defects(judged)]
    known = [bound for one in judged for bound in (one.bound, *one.others) if bound]
    if formulas := dict.fromkeys(f"  {bound.name}: {bound.formula} ({bound.source})" for bound in known):
        parts.append("\n".join(["bounds:", *formulas]))
    parts += _unbounded(judged)
    if steps := _steps(judged):
        parts.append("\n".join(["check next:", *steps]))
    if observed:
        parts.append("\n".join(["observed:", *(line for alike in _alike(observed) for line in _observed(alike))]))
    return "\n\n".join(parts)


def _observed(alike: Sequence[Observation]) -> Iterator[str]:
    """Lines of the observations of one kind: the first with evidence and command, and the points of all."""
    one, many = alike[0], len(alike) > 1
    count = f" at {plural(len(alike), 'point')}, for example" if many else ":"
    yield f"  {one.kind}{count} {one.subject}. {one.sentence}"
    yield f"     evidence: {one.evidence}"
    if one.command:
        yield f"     {one.command}"
    if many:
        yield f"     all points: {joined(each.subject for each in alike)}"


def _alike(observed: Sequence[Observation]) -> list[list[Observation]]:
    """Group what a busy machine shows at many points by its kind; anything else is an observation of its own."""
    groups: dict[object, list[Observation]] = {}
    for number, one in enumerate(observed):
        groups.setdefault(one.kind if one.kind in _AT_MANY else number, []).append(one)
    return [*groups.values()]


def _table(judged: Sequence[Judged], limit: str, part: str) -> list[str]:
    head = f"benchmark setting size quantity measured interval launches {limit} {part} binds verdict".split()
    rows = [(*_place(one), one.quantity, *_numbers(one), one.verdict) for one in judged]
    return [text_table(head, rows, right=(2, 4, 6, 7, 8))] if rows else []


def _place(one: Judged) -> tuple[str, str, str]:
    return one.benchmark, one.setting or "-", format_size(one.size)


def _numbers(one: Judged) -> tuple[str, ...]:
    """Measured value with its interval and launches, limit, its share or multiple, and what binds."""
    unit = METRICS[one.metric].unit
    rate = bounds.directions_of(one.benchmark)
    part = format_share(one.share) if rate else format_number(1 / one.share)
    assert one.bound is not None
    ends = "-" if math.isnan(one.low) else format_range(one.low, one.high)
    value, limit = (f"{format_number(number)} {unit}" for number in (one.value, one.limit))
    return value, ends, str(one.launches), limit, part, one.binds


def _unbounded(judged: Sequence[Judged]) -> list[str]:
    """Why settings have no bound: a line for each reason, with the benchmarks and their settings."""
    by_reason: dict[str, list[Judged]] = {}
    for one in judged:
        if one.bound is None:
            by_reason.setdefault(one.reason, []).append(one)
    if not by_reason:
        return []
    return ["\n".join(["no bound:", *(f"  {reason}: {_places(some)}" for reason, some in by_reason.items())])]


def _places(some: Sequence[Judged], *, sizes: bool = False) -> str:
    """Return benchmarks with those of their settings that are meant."""
    settings: dict[str, dict[str, None]] = {}
    for one in some:
        words = filter(None, (one.setting, format_size(one.size) if sizes else ""))
        settings.setdefault(one.benchmark, {})[", ".join(words)] = None
    parts = []
    for name, own in settings.items():
        known = [text for text in own if text]
        more = f"; {len(known) - _NAMED} more settings" if len(known) > _NAMED + 1 else ""
        shown = joined(known[:_NAMED] if more else known)
        parts.append(f"{name} ({shown}{more})" if known else name)
    return ", ".join(parts)


def _steps(judged: Sequence[Judged]) -> list[str]:
    """What to check, most frequent first within the order of likelihood, each once."""
    where: dict[Step, list[Judged]] = {}
    for one in judged:
        for step in one.steps:
            where.setdefault(step, []).append(one)
    lines = []
    for number, (step, some) in enumerate(where.items(), 1):
        lines.append(f"  {number}. {step.what}: {step.why}")
        lines.append(f"     at: {_places(some, sizes=True)}")
        lines.append(f"     {step.command}")
    return lines


def _record(one: Judged) -> dict[str, Any]:
    """One setting with plain values; a number that is not known is None."""
    numbers = {"value": one.value, "low": one.low, "high": one.high, "bound": one.limit, "share": one.share}
    return {
        "benchmark": one.benchmark,
        "setting": one.setting,
        "message_size_B": one.size,
        "metric": one.metric,
        "quantity": one.quantity,
        "statistic": one.statistic,
        "unit": METRICS[one.metric].unit,
        "launches": one.launches,
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "binds": one.binds,
        "formula": one.bound.formula if one.bound else "",
        "source": one.bound.source if one.bound else "",
        "verdict": one.verdict,
        "reason": one.reason,
    }


def as_json(judged: Sequence[Judged], observed: Sequence[Observation] = ()) -> str:
    """Return ``{"records", "rule", "observations", "warnings"}``; each record with its steps."""
    records = [
        _record(one) | {"steps": [{"what": step.what, "why": step.why, "command": step.command} for step in one.steps]}
        for one in judged
    ]
    warnings = [verdict.sentence(one) for one in verdict.defects(judged)]
    observations = [asdict(one) for one in observed]
    document = {"records": records, "rule": verdict.RULE, "observations": observations, "warnings": warnings}
    return json.dumps(document, indent=1, allow_nan=False)


def as_csv(judged: Sequence[Judged], observed: Sequence[Observation] = ()) -> str:
    """Return a row for each setting; observations are sentences, which the other formats have."""
    rows = ({name: "" if value is None else value for name, value in _record(one).items()} for one in judged)
    return csv_export.of_rows(rows).rstrip()


FORMATS: Mapping[str, Callable[[Sequence[Judged], Sequence[Observation]], str]] = {
    "table": table,
    "json": as_json,
    "csv": as_csv,
}
