"""Generate the part of the artifact appendix on the rules of measurement."""

from __future__ import annotations

from labkit.judge import rules, sentences
from labkit.judge.rule import METHOD
from labkit.judge.twelve import DUTIES
from labkit.point.notes import listed
from labkit.report import judged
from labkit.report.content import Content
from labkit.report.markdown import escape


def broken(content: Content) -> str:
    """Return a table of the broken rules with remedies, and the tasks that remain for the author."""
    found = [(source, source.found(rules.about(METHOD))) for source in content.sources]
    counts = []
    for source, findings in found:
        prefix = f"{escape(source.name)}: " if content.several else ""
        counts.append(prefix + sentences.broken(findings, len(source.summary), len(rules.about(METHOD))))
    table = judged.table(found, "Rules of measurement that the data break. {#tbl-rules}", several=content.several)
    also = judged.notes(found)
    duties = listed([str(one.number) for one in DUTIES])
    last = f"Rules {duties} of the twelve need the author's judgement; `labkit lint` lists what to check."
    return "\n\n".join(filter(None, [*counts, table, f"{also} {last}".strip()]))


BLOCKS = {"rules": broken}
