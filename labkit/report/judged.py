"""Write findings for the report: a row for each rule, and a sentence for notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from labkit.judge import rules, sentences
from labkit.judge.finding import LEVELS, Finding, by_rule, ordered
from labkit.judge.sentences import Detail
from labkit.point.notes import joined
from labkit.point.units import plural
from labkit.report import markdown
from labkit.report.markdown import code, escape
from labkit.report.sources import Source
from labkit.report.variables import title

_WIDTH = 64  # characters
_SPACE = re.compile(
    r"(`[^`]*`)|(?<=\d) (?!to\b|at\b|of\b|against\b)|(?<=[≥≤]) | (?=≥|\\\[)"
)  # between a number and its unit, not in code
_LEAST = LEVELS[-1]  # findings of this level share a sentence
Found = Sequence[tuple[Source, Sequence[Finding]]]  # campaigns with their findings


def table(found: Found, caption: str, *, several: bool = False) -> str:
    """Return a table with a row for each broken rule: count, first place, and what to do.

    Parameters
    ----------
    found : campaigns with their findings.
    caption : caption with its label.
    several : whether the report has several campaigns; then each count names its campaign.

    Returns
    -------
    Markdown; empty if there are only notes.
    """
    head = ["rule, places", "first place: what is", "requirement and remedy"]
    rows = [_row(some, found, several) for some in _by_rule(found) if some[0].level != _LEAST]
    return markdown.table(head, rows, caption=caption) if rows else ""


def told(one: Finding, detail: Detail = "whole") -> str:
    """Return a finding as Markdown, with its place, or the reason why it supports no claim.

    Parameters
    ----------
    detail : as in `labkit.judge.sentences.told`.
    """
    if reason := sentences.no_claim(one):
        return f"No claim, because {reason}."
    return tied(escape(f"{place(one)}: {sentences.told(one, detail)}"))


def tied(text: str) -> str:
    """Return Markdown with no line break between a number and its unit."""
    return _SPACE.sub(lambda match: match[1] or "\u00a0", text)


def place(one: Finding) -> str:
    """Return the title of a finding's benchmark, and its setting."""
    name = title(one.subject.benchmark)
    return ", ".join(filter(None, (name[:1].upper() + name[1:], one.subject.setting)))


def notes(found: Found) -> str:
    """Return a sentence on the rules with notes; empty without any."""
    least = [f"{code(some[0].code)} ({_count(some)})" for some in _by_rule(found) if some[0].level == _LEAST]
    return f"Of less weight: {', '.join(least)}." if least else ""


def _by_rule(found: Found) -> list[tuple[Finding, ...]]:
    return [*by_rule(ordered(one for _, findings in found for one in findings))]


def _count(some: Sequence[Finding]) -> str:
    """Return in how many places a rule is broken."""
    return plural(len(some), "place").replace(" ", "\u00a0")


def _row(some: Sequence[Finding], found: Found, several: bool) -> list[str]:
    """Return the row of a rule: how often each campaign breaks it, where first, and why."""
    first, rule = some[0], rules.every()[some[0].code]
    counts: Counter[str] = Counter()
    for source, findings in found if several else ():
        counts[escape(source.name)] += sum((one.code, one.level) == (first.code, first.level) for one in findings)
    each = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    what = _short(f"{first.subject.benchmark} {sentences.sentence(first)}".strip())
    causes = joined(sentences.sentence(one) for one in first.causes if one.likely)
    return [
        f"{code(rule.code)} ({first.level}): {_count(some)}{each and f' ({each})'}",
        escape(f"{what}; cause: {causes}" if causes else what),
        escape(f"{rule.must}. {rule.remedy_for(some)}") + (f" {code(first.command)}" if first.command else ""),
    ]


def _short(text: str) -> str:
    """Return a text cut to the width of a column; `labkit lint` prints all of it."""
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
