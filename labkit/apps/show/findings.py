"""Write findings: as a table of rules, as the places of each rule with what must hold and what to do, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labkit.apps.show.texttable import text_table
from labkit.judge import rules, sentences
from labkit.judge.finding import by_rule, grouped
from labkit.judge.rule import LINTED
from labkit.judge.twelve import DUTIES

if TYPE_CHECKING:
    from labkit.judge.finding import Finding
    from labkit.judge.view import View

_LINES = 4  # benchmarks that are shown for a rule
_MARGIN = 5 * " "  # before what belongs to a place


def linted(view: View, findings: Sequence[Finding]) -> str:
    """Return the output of `labkit lint`: broken rules with places and remedies, and duties of the author."""
    duties = [f"  {one.number}. {one.text} {one.author}" for one in DUTIES]
    parts = [
        *([table(findings)] if findings else []),
        sentences.broken(findings, len(view.summary), len(rules.about(*LINTED))),
        *places(findings),
        "\n".join(["not checkable here, for the author (rules of Hoefler and Belli):", *duties]),
    ]
    return "\n\n".join(parts)


def linted_json(view: View, findings: Sequence[Finding]) -> str:
    """Return ``{"campaign", "sound", "points", "findings", "rules", "not_checkable", …}``."""
    whole = {
        "campaign": view.name,
        "sound": not any(one.level == "bad" for one in findings),
        "points": len(view.summary),
        "findings": map(as_dict, findings),
        "rules": [rule.code for rule in rules.about(*LINTED)],
        "not_checkable": [{"rule": one.number, "text": one.text, "author": one.author} for one in DUTIES],
        "warnings": [],
    }
    return written(whole, "findings")


def written(document: Mapping[str, Any], listed: str) -> str:
    """Return a document as JSON, with each entry of one of its lists on a line: indented, many entries take long.

    Examples
    --------
    >>> print(written({"a": 1, "b": [{"c": [2]}, {}]}, "b"))
    {
     "a": 1,
     "b": [
      {"c": [2]},
      {}
     ]
    }
    """
    text = json.dumps({**document, listed: []}, indent=1, allow_nan=False)
    lines = ",\n  ".join(json.dumps(one, allow_nan=False) for one in document[listed])
    # in the values of a document, a line end is written as an escape
    return text.replace(f'\n "{listed}": []', f'\n "{listed}": [\n  {lines}\n ]', 1) if lines else text


def as_dict(one: Finding) -> dict[str, Any]:
    """Return a finding for JSON with its sentence; a finding of a rule also has what must hold and what to do."""
    plain = one.as_dict() | {"sentence": sentences.sentence(one), "causes": [as_dict(cause) for cause in one.causes]}
    if one.kind == "cause":
        return plain
    rule = rules.every()[one.code]
    return plain | {"must": rule.must, "remedy": rule.remedy_for([one]), "source": rule.origin}


def table(findings: Sequence[Finding]) -> str:
    """Return a table of the rules that findings are of, with the number of benchmarks and places of each."""
    rows = []
    for some in by_rule(findings):
        first, benchmarks = some[0], {one.subject.benchmark for one in some}
        origin = rules.every()[first.code].origin
        rows.append((first.level, first.code, origin, str(len(benchmarks)), str(len(some))))
    return text_table(("level", "rule", "from", "benchmarks", "places"), rows, right=(3, 4))


def places(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield for each rule what must hold, what to do, and the first place in each of the first benchmarks."""
    for some in by_rule(findings):
        rule, groups = rules.every()[some[0].code], [*grouped(some)]
        lines = [f"{some[0].level} {rule.code}. Required: {rule.must}. {rule.remedy_for(some)}".rstrip()]
        for group in groups[:_LINES]:
            lines.append(f"  {_line(sentences.first(group))}")
            lines += [f"{_MARGIN}{_line(text)}" for text in reasons(group[0])]
        if len(groups) > _LINES:
            lines.append(f"  … and {len(groups) - _LINES} more benchmarks; --format json lists every place")
        yield "\n".join(lines)


def how_likely(cause: Finding) -> str:
    """Return in a word whether a cause is likely, only possible, or excluded."""
    return "cause" if cause.likely else "possible" if cause.supported else "excluded"


def reasons(one: Finding) -> Iterator[str]:
    """Yield the evidence for and against a finding, its possible causes, and the command that confirms it."""
    yield from (f"evidence: {sentences.clue(one, each)}" for each in one.evidence)
    yield from (f"against: {sentences.clue(one, each)}" for each in one.against)
    for cause in one.causes:
        yield f"{how_likely(cause)}: {sentences.sentence(cause)}"
        if cause.supported and cause.command:
            yield f"run: {cause.command}"
    if one.command:
        yield f"run: {one.command}"


def _line(text: str) -> str:
    """Return a text on one line; its indentation stays."""
    return text[: len(text) - len(text.lstrip(" "))] + " ".join(text.split())
