"""Generate the part of the artifact appendix on the rules of measurement."""

from __future__ import annotations

from labkit.analysis.lint import JUDGEMENT, lint
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source
from labkit.report.variables import plural

_WIDTH = 64  # characters


def rules(content: Content) -> str:
    """Return a table of the rules that the data break, with remedies, and what only the author can judge."""
    rows: list[tuple[Source, list[str]]] = []
    sentences = []
    for source in content.sources:
        result = lint(source.evidence)
        prefix = f"{escape(source.name)}: " if content.several else ""
        sentences.append(prefix + result.sentence)
        for rule in result.broken:
            groups = [group for group in result.groups if group.first.rule.code == rule.code]
            places = sum(len(group.findings) for group in groups)
            first = _short(f"{groups[0].first.breach.benchmark} {groups[0].first.breach.what}".strip())
            count = plural(places, rule.level).replace(" ", "\u00a0")
            cells = [code(rule.code), count, escape(first), escape(f"{rule.must}. {rule.remedy}")]
            rows.append((source, cells))
    table = content.table(
        ["rule", "places", "first place: what is", "what must be, and the remedy"],
        rows,
        align="lrll",
        caption="Rules of measurement that the data break. {#tbl-rules}",
        empty="",
    )
    duties = markdown.bullets(f"Rule {one.number}: {one.text} {one.author}" for one in JUDGEMENT if one.author)
    return "\n\n".join(
        filter(None, ["\n\n".join(sentences), table, f"Data cannot show these; the author must:\n\n{duties}"])
    )


def _short(text: str) -> str:
    """Return a text cut to the width of a column; `labkit lint` prints all of it."""
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


BLOCKS = {"rules": rules}
