"""What other settings gave: points of the benchmark that differ from that of a verdict in settings of one kind only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.judge import effects
from labkit.judge.cause import Case
from labkit.judge.comparison.judging import BETWEEN
from labkit.judge.finding import Evidence, Value
from labkit.read.records import rerun, statistic_of
from labkit.read.records.factors import NONE, differing, named, text

CLUES = {
    "better": "{setting} gives {value}",
    "better later": "{setting} gives {value}, in another session",
    "better in ranges": "{setting} gives {value}, in launches too few for a test",
    "no better": "{setting} gives {value}, which is no better",
}


@dataclass(frozen=True)
class Others:
    """What other settings of a kind gave.

    Parameters
    ----------
    evidence : the best setting, if it is better.
    against : a setting that is no better, if none is better.
    without : the value with the best setting.
    command : that measures the best setting again.
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
    allowed : whether a row may explain the point; every one if left out.
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
        if how := _better(case, effect, value):
            better.append((value, setting, how))
        elif effect.same or effect.claimed or _beyond(effect, up=not case.rate):
            no_better.append((value, setting, "no better"))
    chosen = better or no_better
    if not chosen:
        return Others()
    value, setting, code = (max if case.rate else min)(chosen, key=lambda one: one[0].value)
    clue = (Evidence(code=code, values={"setting": setting, "value": value}),)
    if not better:
        return Others(against=clue)
    samples = case.view.first_launches([value.fingerprint]).get(value.fingerprint)
    return Others(evidence=clue, without=value, command=rerun.command(samples.spec) if samples else "")


def _alike(case: Case, kind: Callable[[str], bool]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows that differ from that of a point in settings of a kind only, and these settings in words."""
    rows = case.view.summary
    rows = rows[rows["benchmark"] == case.about.subject.benchmark]
    columns = differing(rows, skip=("fingerprint", "campaign"))
    own = {name: text(case.row, name) for name in columns}
    for row in rows[rows["message_size_B"] == case.row["message_size_B"]].to_dict("records"):
        levels = {name: text(row, name) for name in columns}
        changed = [name for name in columns if levels[name] != own[name]]
        if changed and all(map(kind, changed)):
            words = [
                f"{named(name)}={levels[name]}" if levels[name] != NONE else f"no {named(name)}" for name in changed
            ]
            yield {str(name): value for name, value in row.items()}, ", ".join(words)


def _better(case: Case, effect: effects.Effect, value: Value) -> str:
    """Return how it is known that a value is better, as a key of `CLUES`; empty if it is not."""
    own = case.measured
    if effect.more if case.rate else effect.less:
        return "better"
    improved = value.value > own.value if case.rate else value.value < own.value
    if effect.judgement.verdict == BETWEEN and improved:
        return "better later"
    return "better in ranges" if effect.judgement.reason and _beyond(effect, up=case.rate) else ""


def _beyond(effect: effects.Effect, *, up: bool) -> bool:
    """Return whether all launches of a value are beyond all of those that it is compared with, if there are several."""
    other, own = effect.value.launches, effect.base.launches
    if min(len(other), len(own)) < 2:
        return False
    return min(other) > max(own) if up else max(other) < min(own)
