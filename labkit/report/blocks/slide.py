"""The first and the last slide."""

from __future__ import annotations

from labkit.judge.answer import Topic
from labkit.judge.sentences import cause_name, claim
from labkit.point.units import plural
from labkit.report import abstract, answered, markdown
from labkit.report.campaigns import all_members
from labkit.report.content import Content
from labkit.report.markdown import escape

_ROWS = 6  # that a page has room for


def verdicts(content: Content) -> str:
    """Return the most important facts: whether a network was measured, the verdicts, and the next steps."""
    members = [one for one in all_members(content) if len(one.summary)]
    parts = [abstract.no_network(members), _table(content), answered.steps(content)]
    return "\n\n".join(filter(None, parts))


def _table(content: Content) -> str:
    """Return a row for each topic: verdict, and in a clause why; empty without topics."""
    found = [(source, topic) for source in content.sources for topic in answered.of_source(content, source).topics]
    rows = [
        [
            escape(f"{source.name}: {topic.name}" if content.several else topic.name),
            f"**{topic.verdict}**",
            escape(_why(topic)),
        ]
        for source, topic in found[:_ROWS]
    ]
    more = f"\n\n{plural(len(found) - _ROWS, 'more topic')} in the report." if len(found) > _ROWS else ""
    return markdown.table(["topic", "verdict", "why"], rows) + more if rows else ""


def _why(topic: Topic) -> str:
    cause = cause_name(topic.lead) if topic.verdict in ("bad", "doubtful") else ""
    return f"{topic.lead.subject}: {claim(topic.lead)}" + (f". Likely cause: {cause}" if cause else "")


def summary(content: Content) -> str:
    """Return a paragraph for each campaign on its machine and number of points."""
    parts = [
        f"{abstract.machine(member)} {abstract.asked(member)}" for member in all_members(content) if len(member.summary)
    ]
    return "\n\n".join(parts)


BLOCKS = {"slide-verdicts": verdicts, "slide-summary": summary}
