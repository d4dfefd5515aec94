"""Write the verdicts on the clauses of an acceptance contract, in the formats of a gate."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from labkit.apps.show.gated import annotation, cases, in_code, line
from labkit.apps.show.texttable import text_table
from labkit.io import markdown
from labkit.judge import sentences
from labkit.point.units import format_duration, plural

if TYPE_CHECKING:
    from labkit.apps.contract_plan import Part
    from labkit.judge.finding import Finding

_HEAD = ("verdict", "clause", "requires", "points", "fulfil it", "covered")  # the last one where a clause demands it


def _outcome(one: Finding) -> str:
    return "pass" if one.level == "good" else "fail"


def _rows(verdicts: Sequence[Finding]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return heads and cells of a table."""
    count = len(_HEAD) if any("coverage" in one.values for one in verdicts) else len(_HEAD) - 1
    return _HEAD[:count], [_cells(one)[:count] for one in verdicts]


def _cells(one: Finding) -> tuple[str, ...]:
    """Return a verdict as the cells of a row."""
    covered = f"{one.values['coverage']:count}" if "coverage" in one.values else ""
    counts = [str(one.count(name)) for name in ("points", "fulfilled")]
    return _outcome(one), line(one.subject.setting), line(one.values["requires"]), *counts, covered


def sentence(verdicts: Sequence[Finding]) -> str:
    """Return how many clauses are fulfilled."""
    return f"Fulfilled: {sum(one.level == 'good' for one in verdicts)} of {plural(len(verdicts), 'clause')}."


def script(parts: Sequence[Part]) -> str:
    """Return the plan of a contract as a script for the shell: a command for each part, with comments on it."""
    lines, named = ["#!/bin/sh -e"], ""
    for one in parts:
        if one.clause.name != named:
            named = one.clause.name
            lines += ["", f"# {line(named)}: {line(one.clause.text)}"]
        if one.unset:
            lines.append(f"# no option sets {', '.join(map(line, one.unset))}: run this where it holds")
        if one.places:
            lines.append(f"# {one.places}")
        if one.problem:
            lines.append(f"# cannot be measured here: {line(one.problem)}")
        elif one.missing:
            lines.append(
                f"# {one.missing} of {plural(one.points, 'point × launch')} to measure, at most "
                f"{format_duration(one.seconds)}"
            )
        else:
            lines.append("# nothing to measure: its points are there, or part of what stands above")
        if one.words:
            lines.append(f"# {one.command}" if one.problem or not one.missing else one.command)
    missing, total = sum(one.missing for one in parts), format_duration(sum(one.seconds for one in parts))
    return "\n".join(
        [
            *lines,
            "",
            f"# {plural(missing, 'point × launch')} to measure, at most {total} of timed iterations",
        ]
    )


def text(verdicts: Sequence[Finding]) -> str:
    """Return a table, then the evidence of each clause."""
    table = text_table(*_rows(verdicts), right=(3, 4, 5))
    lines = [f"{_outcome(one)} {line(one.subject.setting)}: {line(sentences.sentence(one))}" for one in verdicts]
    return "\n\n".join([table, "\n".join(lines), sentence(verdicts)])


def as_json(verdicts: Sequence[Finding]) -> str:
    """Return ``{"failed", "clauses", "warnings"}``."""
    clauses = [
        {
            "name": one.subject.setting,
            "requires": plain["requires"],
            "verdict": _outcome(one),
            "level": one.level,
            "points": one.count("points"),
            "fulfilled": one.count("fulfilled"),
            "share": plain["share"]["value"],
            "evidence": sentences.evidence(one),
            "sentence": sentences.sentence(one),
            "not_measured": plain["coverage"]["lacking"] if "coverage" in plain else [],
        }
        for one, plain in ((one, one.as_dict()["values"]) for one in verdicts)
    ]
    failed = not all(one.level == "good" for one in verdicts)
    return json.dumps({"failed": failed, "clauses": clauses, "warnings": []}, indent=1, allow_nan=False)


def junit(verdicts: Sequence[Finding]) -> str:
    """Return JUnit's XML with a test case for each clause."""
    rows = [
        ("contract", one.subject.setting, _outcome(one), sentences.sentence(one), f"{one.values['requires']}")
        for one in verdicts
    ]
    return cases("labkit gate --contract", rows)


def as_markdown(verdicts: Sequence[Finding]) -> str:
    """Return a pipe table with the evidence; names are code."""
    head, cells = _rows(verdicts)
    rows = [[cell if place in (0, 3, 4, 5) else in_code(cell) for place, cell in enumerate(row)] for row in cells]
    table = markdown.table(head, rows, align="lllrrr"[: len(head)])
    lines = [
        f"- {_outcome(one)} {in_code(one.subject.setting)}: {in_code(sentences.sentence(one))}" for one in verdicts
    ]
    return "\n\n".join([f"**{sentence(verdicts)}**", table, "\n".join(lines)])


def github(verdicts: Sequence[Finding]) -> str:
    """Return an annotation of GitHub's workflows for each clause that is not fulfilled, and a notice."""
    unmet = [one for one in verdicts if one.level != "good"]
    lines = [annotation("error", one.subject.setting, sentences.sentence(one)) for one in unmet]
    return "\n".join([*lines, annotation("notice", "labkit gate", sentence(verdicts))])


FORMATS: Mapping[str, Callable[[Sequence[Finding]], str]] = {
    "table": text,
    "json": as_json,
    "junit": junit,
    "markdown": as_markdown,
    "github": github,
}
