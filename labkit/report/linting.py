"""Generate the part of the artifact appendix on the rules of measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from labkit.analysis.lint import JUDGEMENT, LEVELS, Group, lint
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source
from labkit.report.variables import plural

_WIDTH = 64  # characters


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
    head = ["rule", "places", "first place: what is", "what must be, and the remedy"]
    ordered = sorted(found.values(), key=lambda places: LEVELS.index(places[0][1].first.rule.level))
    rows = [_row(places, content.several) for places in ordered]
    caption = "Rules of measurement that the data break. {#tbl-rules}"
    table = markdown.table(head, rows, align="lrll", caption=caption) if rows else ""
    duties = markdown.bullets(f"Rule {one.number}: {one.text} {one.author}" for one in JUDGEMENT if one.author)
    return "\n\n".join(
        filter(None, ["\n\n".join(sentences), table, f"Data cannot show these; the author must:\n\n{duties}"])
    )


def _row(places: Sequence[tuple[Source, Group]], several: bool) -> list[str]:
    """Return the row of a rule: how often each campaign breaks it, and where first."""
    first = places[0][1].first
    counts: Counter[str] = Counter()
    for source, group in places:
        counts[escape(source.name)] += len(group.findings)
    total = plural(sum(counts.values()), first.rule.level).replace(" ", "\u00a0")
    each = f": {', '.join(f'{name} {count}' for name, count in counts.items())}" if several else ""
    what = _short(f"{first.breach.benchmark} {first.breach.what}".strip())
    return [code(first.rule.code), total + each, escape(what), escape(f"{first.rule.must}. {first.rule.remedy}")]


def _short(text: str) -> str:
    """Return a text cut to the width of a column; `labkit lint` prints all of it."""
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


BLOCKS = {"rules": rules}
