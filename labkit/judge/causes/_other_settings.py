"""Results of other settings: points of a benchmark that differ from a finding's points in one kind of setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit import benchmarks, stats
from labkit.judge import effects
from labkit.judge.cause import Case
from labkit.judge.comparison.judging import BETWEEN
from labkit.judge.finding import SHARE, Evidence, Value, Wanted
from labkit.judge.view import View, measuring
from labkit.judge.view.points import Row, headline
from labkit.point.spec import Scalar, Spec
from labkit.read.records import statistic_of
from labkit.read.records.factors import NONE, level, named

CLUES = {
    "better": "{setting} gives {value}",
    "better later": "{setting} gives {value}, in another session",
    "better in ranges": "{setting} gives {value}, in launches too few for a test",
    "no better": "{setting} gives {value}, which is no better",
    "little": "{setting} gives {value}, which removes {part} of the excess",
}
VARIED = {"gone": "it is gone with {setting}", "stays": "it is the same with {setting}"}  # of violations


@dataclass(frozen=True)
class Others:
    """Results of other settings of one kind.

    Parameters
    ----------
    evidence : the best setting, if it is better.
    against : a setting that is no better, if none is better.
    without : the value with the best setting.
    command : command that measures the best setting in more launches, if it has few.
    """

    evidence: tuple[Evidence, ...] = ()
    against: tuple[Evidence, ...] = ()
    without: Value | None = None
    command: str = ""


def others(
    case: Case, kind: Callable[[str], bool], allowed: Callable[[Mapping[str, Any]], bool] | None = None
) -> Others:
    """Compare a point with those of its size that differ in settings of one kind.

    Parameters
    ----------
    kind : whether a column of the summary is of this kind.
    allowed : whether a row may explain the point (default: every row).
    """
    if not case.metric:
        return Others()
    found = [one for one in _alike(case, kind) if allowed is None or allowed(one[0])]
    own, statistic = effects.of_row(case.row, case.metric), statistic_of(case.row, case.metric)
    better: list[tuple[Value, str, str]] = []
    no_better: list[tuple[Value, str, str]] = []
    for row, setting in found:
        if statistic_of(row, case.metric) != statistic:
            continue
        value = case.view.value(row, case.metric, statistic)
        effect = effects.Effect(effects.of_row(row, case.metric), own, tests=len(found))
        little = _little(case, effect, value)
        if how := _better(case, effect, value):
            (no_better if little else better).append((value, setting, little or how))
        elif how := _no_better(case, effect) or little:
            no_better.append((value, setting, how))
    chosen = better or no_better
    if not chosen:
        return Others()
    value, setting, code = (max if case.rate else min)(chosen, key=lambda one: one[0].value)
    part = {"part": Value(value=_part(case, value), unit=SHARE)} if code == "little" else {}
    clue = (Evidence(code=code, values={"setting": setting, "value": value, **part}),)
    if not better:
        return Others(against=clue)
    few = case.view.more(value.fingerprint) if value.launches < stats.LAUNCHES else None
    return Others(evidence=clue, without=value, command=measuring([few]) if few else "")


def _alike(case: Case, kind: Callable[[str], bool]) -> Iterator[tuple[Row, str]]:
    """Yield rows that differ from a point's row only in settings of one kind, with these settings in words."""
    for row, levels in case.table.beside(case.place, kind):
        words = [f"{named(name)}={text}" if text != NONE else f"no {named(name)}" for name, text in levels.items()]
        yield row, ", ".join(words)


def _better(case: Case, effect: effects.Effect, value: Value) -> str:
    """Return how it is known that a value is better, as a key of `CLUES`; empty if it is not."""
    own = case.measured
    if effect.more if case.rate else effect.less:
        return "better"
    improved = value.value > own.value if case.rate else value.value < own.value
    if effect.judgement.verdict == BETWEEN and improved:
        return "better later"
    return "better in ranges" if effect.judgement.reason and _beyond(effect, up=case.rate) else ""


def _no_better(case: Case, effect: effects.Effect) -> str:
    """Return how it is known that a value explains nothing, as a key of `CLUES`; empty if it is not."""
    worse = effect.same or effect.claimed or effect.judgement.verdict == BETWEEN or _beyond(effect, up=not case.rate)
    return "no better" if worse else ""


def _little(case: Case, effect: effects.Effect, value: Value) -> str:
    """Return the key of `CLUES` if a value, even a better one, explains little of a verdict; empty if not."""
    if min(len(effect.value.launches), len(effect.base.launches)) < stats.LAUNCHES or not value.bounded:
        return ""
    own, cost = case.measured.value, case.about.cost
    gain = value.high / own if case.rate else own / value.low if value.low > 0 else math.inf
    return "little" if cost > 1 and max(gain, 1.0) < math.sqrt(cost) else ""


def _part(case: Case, value: Value) -> float:
    """Return the share of the unnecessary time that another setting saves, from 0 to 1."""
    limit = case.about.values["limit"]
    assert isinstance(limit, Value)
    own, other, least = (1 / each if case.rate else each for each in (case.measured.value, value.value, limit.value))
    return min(1.0, max(0.0, (own - other) / (own - least))) if own > least else 0.0


def _beyond(effect: effects.Effect, *, up: bool) -> bool:
    """Return whether all launches of a value are beyond all launches of the other one, if there are several."""
    other, own = effect.value.launches, effect.base.launches
    if min(len(other), len(own)) < 2:
        return False
    return min(other) > max(own) if up else max(other) < min(own)


def of_tool(case: Case, column: str) -> bool:
    """Return whether a column names the tool of a point, because a setting may need another tool."""
    return not benchmarks.get(case.about.subject.benchmark).mpi and column in ("library", "engine", "option_tool")


def with_options(spec: Spec, **options: Scalar) -> Spec:
    """Return a spec with some options changed."""
    return spec.replace(options={**spec.values, **options})


def on_path(spec: Spec, benchmark: str, size: int, **options: Scalar) -> Spec:
    """Return a measurement by a tool between the hosts of a point."""
    where = {name: getattr(spec, name) for name in ("hosts", "testbed", "device")}
    return Spec(benchmark=benchmark, size=size, ranks=1, options=options, **where)


def every(case: Case, change: Callable[[Spec], Spec]) -> list[Wanted]:
    """Return the points of a finding, changed."""
    return [Wanted(change(spec)) for spec in case.specs]


def varied(case: Case, points: Sequence[Wanted]) -> tuple[list[Evidence], list[Evidence]]:
    """Return whether a violation disappears at comparable points, or remains; a clue has a key of `VARIED`.

    Parameters
    ----------
    points : one for each point of the violation; without any of them, nothing is returned.
    """
    rows = [row for one in points if (row := case.view.measured(one)) is not None]
    if not rows or len(rows) < len(points) or case.about.kind != "violation" or not headline(rows[0]):
        return [], []
    names = {str(row["fingerprint"]) for row in rows}
    stays = _same_ratio(case, rows) if len(rows) > 1 else any(names <= {*one.subject.points} for one in case.others)
    values = {"setting": changes(case.spec, points[0].spec)}
    return ([], [Evidence(code="stays", values=values)]) if stays else ([Evidence(code="gone", values=values)], [])


def _same_ratio(case: Case, rows: Sequence[Row]) -> bool:
    """Return whether two points differ by a factor at least half as large as the violation's."""
    metric = headline(rows[0])
    first, second = (_centre(case.view, row, metric) for row in rows[:2])
    own = math.log(case.measured.value / case.other.value)
    return bool(own) and first > 0 and second > 0 and math.log(first / second) / own >= _HALF


def _centre(view: View, row: Row, metric: str) -> float:
    table = view.tables[str(row["benchmark"])]
    return float(table.values(metric).centre[table.places[str(row["fingerprint"])]])


_HALF = 0.5  # of the logarithm of a factor


def changes(own: Spec, other: Spec) -> str:
    """Describe the difference of a spec from another one: ``bind=core``."""
    old, new = (
        {"benchmark": one.benchmark, "size": one.size, "ranks": one.ranks, "testbed": one.testbed, **one.setting}
        | one.values
        for one in (own, other)
    )
    return ", ".join(f"{name}={level(value)}" for name, value in new.items() if old.get(name) != value)
