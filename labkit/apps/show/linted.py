"""Write what `labkit.judge.lint` finds: as a table with remedies, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from labkit.apps.show.texttable import text_table
from labkit.judge import plausibility
from labkit.judge.lint import JUDGEMENT, RULES

if TYPE_CHECKING:
    from labkit.judge.lint import Group, Result

_LINES = 4  # benchmarks that are shown for a rule


def text(result: Result) -> str:
    """Return the broken rules as a table, then where each is broken and what to do, then what data cannot show."""
    by_rule: dict[str, list[Group]] = {}
    for group in result.groups:
        by_rule.setdefault(group.first.rule.code, []).append(group)
    rows = [
        (rule.level, rule.code, rule.origin, str(len(groups)), str(sum(len(group.findings) for group in groups)))
        for rule in result.broken
        for groups in [by_rule[rule.code]]
    ]
    parts = [result.sentence]
    if rows:
        head = ("level", "rule", "from", "benchmarks", "places")
        parts = [text_table(head, rows, right=(3, 4)), *parts]
    for rule in result.broken:
        lines = [f"{rule.level} {rule.code}. Required: {rule.must}. {result.remedies(rule)}"]
        groups = by_rule[rule.code]
        lines += [f"  {_line(group)}" for group in groups[:_LINES]]
        if len(groups) > _LINES:
            lines.append(f"  … and {len(groups) - _LINES} more benchmarks; --format json lists every place")
        parts.append("\n".join(lines))
    parts += _odd(result)
    duties = [f"  {one.number}. {one.text} {one.author}" for one in JUDGEMENT if one.author]
    parts.append("\n".join(["not checkable here, for the author (rules of Hoefler and Belli):", *duties]))
    return "\n\n".join(parts)


def _odd(result: Result) -> Iterator[str]:
    """Yield the odd results, each with the command that decides it."""
    if not result.odd:
        return
    yield f"odd results: {plausibility.counts(result.odd)}"
    for number, one in enumerate(result.odd, start=1):
        again = f"\n     run: {one.again}" if one.again else ""
        yield f"{number:3}. {one.rule}: {' '.join(plausibility.sentence(one).split())}{again}"


def _line(group: Group) -> str:
    """Return where a rule is broken, on one line."""
    return " ".join(f"{group.first.breach.benchmark or 'campaign'}: {group.text}".split())


def as_json(result: Result) -> str:
    """Return ``{"campaign", "sound", "points", "findings", "rules", "odd_results", "not_checkable", …}``."""
    findings = [
        {
            "rule": one.rule.code,
            "level": one.rule.level,
            "source": one.rule.origin,
            "benchmark": one.breach.benchmark,
            "point": one.breach.point,
            "is": one.breach.what,
            "must": one.rule.must,
            "remedy": one.remedy,
        }
        for one in result.findings
    ]
    duties = [{"rule": one.number, "text": one.text, "author": one.author} for one in JUDGEMENT if one.author]
    whole = {
        "campaign": result.name,
        "sound": result.sound,
        "points": result.points,
        "findings": findings,
        "rules": [rule.code for rule in RULES],
        "odd_results": [one.as_dict() for one in result.odd],
        "not_checkable": duties,
        "warnings": [],
    }
    return json.dumps(whole, indent=1, allow_nan=False)
