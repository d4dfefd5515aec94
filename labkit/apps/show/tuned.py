"""Write the plan and the result of `labkit tune`: a table for people, JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from labkit.apps.show.texttable import text_table
from labkit.judge.comparison.judging import MOST, UNDECIDED
from labkit.point.columns import METRICS
from labkit.point.units import finite, format_duration, format_number, format_share, plural
from labkit.tuning import openmpi
from labkit.tuning.everywhere import named
from labkit.tuning.files import PARAMETERS, point

if TYPE_CHECKING:
    from labkit.judge.comparison.judging import Judgement
    from labkit.tuning import Outcome, Plan, Tuned

_STARTING = 1.5  # s that a start takes beside its timed iterations, about


def plan(plan: Plan) -> str:
    """Return the settings and the points, and the most launches."""
    points, race = len(plan.bases), len(plan.settings) * plan.rounds
    rows = [
        (
            one.name,
            ", ".join(f"{k}={v}" for k, v in (*one.environment, *one.fields) if not k.endswith(openmpi.DYNAMIC)) or "-",
        )
        for one in plan.settings
    ]
    each = plan.effort.time_cap + 0.1
    counts = len({one.ranks for one in plan.bases})
    longest = race * (points * each + counts * _STARTING)
    budget = "" if math.isinf(plan.budget) else f" The budget is {format_duration(plan.budget)}."
    return "\n".join(
        [
            text_table(("setting", "sets"), rows),
            "",
            f"{plural(points, 'point')}: {'; '.join(point(one) for one in plan.bases)}.",
            f"Race: at most {plural(plan.rounds, 'round')} of {plural(len(plan.settings), 'setting')}, about "
            f"{format_duration(longest)} if "
            f"none stops early; the chance that it stops the best setting of a point is at most "
            f"{format_share(plan.error)}.",
            f"Confirmation: {plural(plan.confirm, 'launch')} of each winner and of the default, in turns.{budget}",
        ]
    )


def text(outcome: Outcome, form: str) -> str:
    """Return the result as ``table`` or ``json``."""
    if form == "json":
        return json.dumps(_document(outcome), indent=1, allow_nan=False)
    return "\n".join([_claims(outcome), "", *_races(outcome), *_below(outcome)])


def _claims(outcome: Outcome) -> str:
    """Return the table with a row for each point."""
    metric = METRICS[outcome.plan.metric]
    proved, seen = any(one.proved for one in outcome.points), any(one.outside for one in outcome.points)
    head = ["size, ranks", "winner of the race", f"default ({metric.unit})", f"winner ({metric.unit})", "ratio", "low"]
    head += ["high", "p (Holm)", "verdict", *(["ratio with the file"] if proved else [])]
    head += [f"ratio in {outcome.program}"] if seen else []
    rows = [
        [
            point(one.base),
            outcome.plan.settings[one.winner].name,
            *_judged(one.confirmed),
            "confirmed" if one.claimed else one.reason,
            *([_whole(one.proved)] if proved else []),
            *([_whole(one.outside)] if seen else []),
        ]
        for one in outcome.points
    ]
    title = f"{outcome.plan.bases[0].benchmark} · {metric.label}: winner and default in interleaved launches"
    aside = {0, 1, 8}
    return f"{title}\n{text_table(head, rows, right=[n for n in range(len(head)) if n not in aside])}"


def _judged(judged: Judgement | None) -> list[str]:
    """Return the cells of a confirmation."""
    if judged is None:
        return ["-"] * 6
    width = abs(judged.shift_high - judged.shift_low)
    values = [format_number(value, width=width) for value in (judged.base, judged.value)]
    p = "-" if math.isnan(judged.p_adjusted) else format_number(judged.p_adjusted, digits=2)
    return [*values, *_ratio(judged), p]


def _ratio(judged: Judgement | None) -> list[str]:
    """Return the ratio to the default with its interval."""
    if judged is None:
        return ["-"] * 3
    ends = judged.ratio, judged.ratio_low, judged.ratio_high
    return [format_number(value, width=ends[2] - ends[1], none="-") for value in ends]


def _whole(judged: Judgement | None) -> str:
    """Return the ratio with its interval in one cell."""
    ratio, low, high = _ratio(judged)
    return "-" if judged is None else f"{ratio} ({low} to {high})"


def _races(outcome: Outcome) -> Iterator[str]:
    """Yield how the race of each point went, the best setting first."""
    for one in outcome.points:
        race, names = one.race, [setting.name for setting in outcome.plan.settings]
        yield f"race at {point(one.base)}, {plural(race.rounds, 'round')}:"
        order = sorted(race.behind, key=lambda k: (k in race.stopped, race.behind[k]))
        for k in order:
            how = f"stopped after {plural(race.stopped[k], 'round')}" if k in race.stopped else "not stopped"
            how = f"failed in round {race.failed[k] + 1}" if k in race.failed else how
            how = "won" if k == race.leader else how
            how = "chosen, because it leads or ties at every point" if k == one.winner != race.leader else how
            yield f"  {format_share(race.behind[k], sign=True):>8}  {names[k]}: {how}"
        for k in sorted(set(race.failed) - set(race.behind)):
            yield f"  {'-':>8}  {names[k]}: failed in round {race.failed[k] + 1}"


def _below(outcome: Outcome) -> Iterator[str]:
    """Yield what a reader must know."""
    yield ""
    share = outcome.starts / outcome.exhaustive if outcome.exhaustive else math.nan
    yield (
        f"{plural(outcome.starts, 'launch')} raced, {format_share(share)} of the {outcome.exhaustive} that all "
        "settings would "
        f"take in all rounds; chance to stop the best setting of a point: at most {format_share(outcome.plan.error)}"
    )
    yield "ratio: Hodges-Lehmann shift of the confirming launches as a factor, with its 95 % interval"
    yield (
        "race: a setting leads partly by luck, so the race shows the leader better than it is; only the ratio, from "
        "other launches, is an estimate"
    )
    undecided = [one.confirmed for one in outcome.points if one.confirmed and one.confirmed.verdict == UNDECIDED]
    needed = [one.launches_needed or MOST for one in undecided]
    if needed and max(needed) < MOST:
        yield (
            f"undecided points need about {plural(max(needed), 'launch')} per side: run the same command with "
            "--confirm N"
        )
    elif needed:
        yield f"undecided points need {MOST} launches per side or more: tune again when the machine is quiet"
    yield from (f"warning: {text}" for text in _contradictions(outcome))
    if outcome.ended:
        yield f"warning: {outcome.ended}. Give a larger --budget and run the same command again: it continues"
    if any(one.outside for one in outcome.points):
        yield (
            f"{outcome.program}: up to {plural(outcome.plan.confirm, 'run')} with the files and as many without, in "
            f"turns"
        )
    yield from _confirmed_outside(outcome)
    yield from _compromise(outcome)
    if outcome.compromise is None:
        yield from (f"not written: {text}" for text in outcome.written.left_out)
    yield from (f"written: {path}" for path in outcome.written.paths)
    if outcome.command:
        yield f"use it: {outcome.command}"
    if any(path.name == PARAMETERS for path in outcome.written.paths):
        yield f"   or add the lines of {PARAMETERS} to $HOME/.openmpi/mca-params.conf, and leave the variable out"


def _confirmed_outside(outcome: Outcome) -> Iterator[str]:
    """Yield whether a program from outside labkit confirmed the claims."""
    if not any(one.claimed for one in outcome.points):
        return
    if not any(one.outside for one in outcome.points):
        yield f"nothing outside labkit confirmed the claims: {outcome.unproved or 'no program was run'}"
    elif outcome.unproved:
        yield f"{outcome.program} did not run at every point: {outcome.unproved}"


def _compromise(outcome: Outcome) -> Iterator[str]:
    """Yield the best compromise and its cost at each point, if no value is best everywhere."""
    if outcome.compromise is None:
        return
    names = [one.name for one in outcome.plan.settings]
    values = named(outcome.compromise.variables)
    yield (
        "no value is best or tied at every point, so none was written. Best compromise, by the race (not confirmed): "
        f"{values}"
    )
    for one, k, behind in zip(outcome.points, outcome.compromise.settings, outcome.compromise.behind, strict=True):
        default = one.race.behind.get(0, math.nan)
        cost = f"{format_share(behind, sign=True)} behind {names[one.race.leader]}" if k != one.race.leader else "best"
        beside = "" if k == 0 or one.race.leader == 0 else f" (default: {format_share(default, sign=True)})"
        yield f"  {point(one.base)}: {cost}{beside}"


def _contradictions(outcome: Outcome) -> list[str]:
    """Return where ranks with the files are not faster, although the setting is."""
    return [
        f"with the file the ranks are not faster at {point(one.base)} ({judged.reason or judged.verdict}); do "
        "not rely on it there"
        for one in outcome.points
        if (judged := one.contradicted) is not None
    ]


def _document(outcome: Outcome) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "records": [_record(one, outcome) for one in outcome.points],
        "warnings": [*_contradictions(outcome), *([outcome.ended] if outcome.ended else [])],
        "tune": {
            "launches": outcome.starts,
            "launches_of_all": outcome.exhaustive,
            "error": outcome.plan.error,
            "written": [str(path) for path in outcome.written.paths],
            "left_out": list(outcome.written.left_out),
            "compromise": _compromise_values(outcome),
            "command": outcome.command,
            "program": outcome.program,
            "unproved": outcome.unproved,
        },
    }


def _compromise_values(outcome: Outcome) -> dict[str, Any] | None:
    """Return the compromise with plain values."""
    if (found := outcome.compromise) is None:
        return None
    points = [
        {"message_size_B": one.base.size, "ranks": one.base.ranks, "behind": finite(behind)}
        for one, behind in zip(outcome.points, found.behind, strict=True)
    ]
    return {"values": dict(found.variables), "points": points}


def _record(one: Tuned, outcome: Outcome) -> dict[str, Any]:
    """Return one point with plain values."""
    names = [setting.name for setting in outcome.plan.settings]
    race = [
        {
            "setting": names[k],
            "behind": finite(one.race.behind.get(k, math.nan)),
            "stopped_after": one.race.stopped.get(k),
            "failed": k in one.race.failed,
        }
        for k in range(len(names))
    ]
    return {
        "benchmark": one.base.benchmark,
        "message_size_B": one.base.size,
        "ranks": one.base.ranks,
        "metric": outcome.plan.metric,
        "unit": METRICS[outcome.plan.metric].unit,
        "winner": names[one.winner],
        "claimed": one.claimed,
        "reason": one.reason,
        "confirmed": _judgement(one.confirmed),
        "with_file": _judgement(one.proved),
        "in_program": _judgement(one.outside),
        "rounds": one.race.rounds,
        "race": race,
    }


def _judgement(judged: Judgement | None) -> dict[str, Any] | None:
    """Return a comparison with plain values."""
    if judged is None:
        return None
    numbers = ("base", "value", "ratio", "ratio_low", "ratio_high", "p", "p_adjusted")
    return {name: finite(getattr(judged, name)) for name in numbers} | {
        "verdict": judged.verdict,
        "design": judged.design,
        "basis": judged.basis,
        "launches_needed": judged.launches_needed,
    }
