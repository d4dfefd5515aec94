"""The first page's answer: whether the numbers of a campaign are good, why not, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labkit.judge import answer
from labkit.judge.answer import Answer, Topic
from labkit.judge.sentences import cause, sentence, settings
from labkit.point.units import plural
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source

TOPICS = 12  # that the first page has room for


def of_source(content: Content, source: Source) -> Answer:
    """Return the answer about a campaign; worked out once."""
    name = f"answer {source.path}"
    if name not in content.made:
        content.made[name] = answer.answer(source.view)
    result: Answer = content.made[name]
    return result


def overall(content: Content, source: Source) -> str:
    """Say how many topics of a campaign are good, in a sentence; empty without any."""
    found = of_source(content, source)
    return escape(f"{found.counts[0].upper()}{found.counts[1:]}.") if found.topics else ""


def answers(content: Content) -> str:
    """Return what to do next, and a table with the verdict on each topic and its cause."""
    found = [(source, one) for source in content.sources if (one := of_source(content, source)).topics]
    if not found:
        return ""
    rows, left = [], 0
    for source, one in found:
        room = max(3, TOPICS // len(found))
        left += max(0, len(one.topics) - room)
        rows += [_row(topic, source.name if content.several else "") for topic in one.topics[:room]]
    caption = (
        "Whether the numbers are good. The worst benchmark of a topic decides, by its best setting; worse settings are "
        "named beside it. {#tbl-answer}"
    )
    parts = [
        *_steps(found, several=content.several),
        markdown.table(["topic", "verdict", "why"], rows, caption=caption),
    ]
    if left:
        parts.append(f"{plural(left, 'more topic')} are left out here; `labkit explain` prints all.")
    return "\n\n".join(parts)


def _steps(found: Sequence[tuple[Source, Answer]], *, several: bool) -> Iterator[str]:
    """Yield what to do next about each campaign, before the verdicts, so that it stands on the first page."""
    for source, one in found:
        if steps := [
            f"{code(step.command) if step.runnable else escape(step.command)} ({escape(step.about)})"
            for step in one.steps
        ]:
            of = f" about {escape(source.name)}" if several else ""
            yield f"To do next{of}:\n\n{markdown.bullets(steps)}"


def _row(topic: Topic, campaign: str) -> list[str]:
    name = f"{campaign}: {topic.name}" if campaign else topic.name
    return [escape(name), f"**{topic.verdict}**", escape(why(topic))]


def why(topic: Topic) -> str:
    """Return the sentences on what decides the verdict on a topic, and on what is behind it."""
    text = f"{topic.lead.subject}: {sentence(topic.lead)}."
    if topic.verdict in ("bad", "doubtful"):
        text += f" Cause: {cause(topic.lead)}."
    if topic.excluded:
        text += f" Excluded: {'; '.join(map(sentence, topic.excluded))}."
    if topic.worse:
        text += f" Worse: {settings(topic.worse)}."
    return text


BLOCKS = {"answer": answers}
