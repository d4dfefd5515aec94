"""Generate the part of the artifact appendix on the rules of measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from labkit.judge.lint import JUDGEMENT, LEVELS, Group, lint
from labkit.point.units import plural
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.findings import listed
from labkit.report.markdown import code, escape
from labkit.report.sources import Source

_WIDTH = 64  # characters
_LEAST = LEVELS[-1]  # rules of this level share a sentence


def rules(content: Content) -> str:
    """Return a table of the rules that the data break, with remedies, and what only the author can judge."""
    found: dict[str, list[tuple[Source, Group]]] = {}
    sentences = []
    for source in content.sources:
        result = lint(source.evidence)
        prefix = f"{escape(source.name)}: " if content.several else ""
        sentences.append(prefix + result.sentence)
        for group in result.groups:
            found.setdefault(group.first.rule.code, []).append((source, group))
    head = ["rule, places", "first place: what is", "what must be, and the remedy"]
    ordered = sorted(found.values(), key=lambda places: LEVELS.index(_level(places)))
    rows = [_row(places, content.several) for places in ordered if _level(places) != _LEAST]
    least = [f"{code(one[0][1].first.rule.code)} ({_count(one)})" for one in ordered if _level(one) == _LEAST]
    also = f"Of less weight: {', '.join(least)}." if least else ""
    caption = "Rules of measurement that the data break. {#tbl-rules}"
    table = markdown.table(head, rows, caption=caption) if rows else ""
    duties = listed([str(one.number) for one in JUDGEMENT if one.author])
    last = f"Rules {duties} of the twelve ask for the author's judgement; `labkit lint` says what data cannot show."
    return "\n\n".join(filter(None, ["\n\n".join(sentences), table, f"{also} {last}".strip()]))


def _level(places: Sequence[tuple[Source, Group]]) -> str:
    return places[0][1].first.rule.level


def _count(places: Sequence[tuple[Source, Group]]) -> str:
    """Return how often a rule is broken, with its level."""
    return plural(sum(len(group.findings) for _, group in places), _level(places)).replace(" ", "\u00a0")


def _row(places: Sequence[tuple[Source, Group]], several: bool) -> list[str]:
    """Return the row of a rule: how often each campaign breaks it, and where first."""
    first = places[0][1].first
    counts: Counter[str] = Counter()
    for source, group in places:
        counts[escape(source.name)] += len(group.findings)
    each = f": {', '.join(f'{name} {count}' for name, count in counts.items())}" if several else ""
    what = _short(f"{first.breach.benchmark} {first.breach.what}".strip())
    remedies = dict.fromkeys(one.remedy for _, group in places for one in group.findings)
    must = f"{first.rule.must}. {' '.join(remedies)}"
    return [f"{code(first.rule.code)} {_count(places)}{each}", escape(what), escape(must)]


def _short(text: str) -> str:
    """Return a text cut to the width of a column; `labkit lint` prints all of it."""
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


BLOCKS = {"rules": rules}
