"""The first page's answer: whether the numbers of a campaign are good, why not, and what to do next."""

from __future__ import annotations

from labkit.judge import answer
from labkit.judge.answer import Answer, Topic
from labkit.judge.sentences import sentence
from labkit.judge.view import View
from labkit.point.units import plural
from labkit.report import markdown
from labkit.report.campaigns import Member, all_members, members
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source

_TOPICS = 12  # that the first page has room for


def of_member(content: Content, source: Source, member: Member) -> Answer:
    """Return the answer about a campaign; worked out once."""
    name = f"answer {source.path} {member.name}"
    if name not in content.made:
        seen = View(member.name, member.records, member.summary, source.launches, source.failed, source.times.modes)
        content.made[name] = answer.answer(seen)
    result: Answer = content.made[name]
    return result


def every(content: Content) -> list[tuple[Member, Answer]]:
    """Return the answers about all campaigns of a report that hold points."""
    return [
        (member, of_member(content, source, member))
        for source in content.sources
        for member in members(source)
        if len(member.summary)
    ]


def overall(content: Content, member: Member) -> str:
    """Say how many topics of a campaign are good, in a sentence; empty without any."""
    found = next((one for other, one in every(content) if other is member), None)
    if found is None or not found.topics:
        return ""
    return f"Of {plural(len(found.topics), 'topic')}, {escape(found.counts)}."


def answers(content: Content) -> str:
    """Return a table with the verdict on each topic, its cause and what to do, and what to do first."""
    found = [(member, one) for member, one in every(content) if one.topics]
    if not found:
        return ""
    several = len(all_members(content)) > 1
    rows, left = [], 0
    for member, one in found:
        room = max(3, _TOPICS // len(found))
        left += max(0, len(one.topics) - room)
        rows += [_row(topic, member.name if several else "") for topic in one.topics[:room]]
    caption = "Whether the numbers are good: a verdict on each topic, by its worst setting. {#tbl-answer}"
    parts = [markdown.table(["topic", "verdict", "why"], rows, caption=caption)]
    if left:
        parts.append(f"{plural(left, 'more topic')} are left out here; `labkit explain` prints all.")
    for member, one in found:
        if steps := [f"{code(step.command)} ({escape(str(step.why[0].subject))})" for step in one.steps]:
            of = f" about {escape(member.name)}" if several else ""
            parts.append(f"To do next{of}:\n\n{markdown.bullets(steps)}")
    return "\n\n".join(parts)


def _row(topic: Topic, campaign: str) -> list[str]:
    name = f"{campaign}: {topic.name}" if campaign else topic.name
    text = f"{topic.lead.subject}: {sentence(topic.lead)}."
    if topic.verdict in ("bad", "doubtful"):
        text += f" Cause: {sentence(topic.cause) if topic.cause else 'unknown'}."
        if excluded := [sentence(one) for one in topic.lead.causes if one.against]:
            text += f" Excluded: {'; '.join(excluded)}."
    return [escape(name), f"**{topic.verdict}**", escape(text)]


BLOCKS = {"answer": answers}
