"""The first page's answer: whether the numbers of a campaign are good, why not, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from labkit.judge import rules
from labkit.judge.answer import Answer, Topic
from labkit.judge.finding import EMULATED, likeliest
from labkit.judge.rules import storage_of_device
from labkit.judge.sentences import beyond, cause_name, caused, purpose, sentence, settings
from labkit.point.notes import listed
from labkit.point.units import plural
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source

TOPICS = 12  # that the first page has room for
_ALL = "sec-verdicts"  # section with what is behind the verdicts
_WORSE = 8  # settings of a topic that it names
_BAD = 3  # topics that the first sentences name


def of_source(content: Content, source: Source) -> Answer:
    """Return the answer about a campaign; computed once."""
    name = f"answer {source.path}"
    if name not in content.made:
        content.made[name] = Answer(source.name, source.found([*rules.every().values()]), source.view.argument)
    result: Answer = content.made[name]
    return result


def overall(content: Content, source: Source) -> str:
    """Return a sentence on the number of good topics of a campaign; empty without topics."""
    found = of_source(content, source)
    return escape(f"{found.counts[0].upper()}{found.counts[1:]}{asked_for(found.topics)}.") if found.topics else ""


def bad(content: Content, source: Source) -> str:
    """Return a sentence on the bad topics of a campaign with their causes; empty without any."""
    topics = [one for one in of_source(content, source).topics if one.verdict == "bad"]
    names = [
        f"{one.name} ({one.lead.subject.benchmark}: {cause_name(one.lead) or 'cause unknown'})" for one in topics[:_BAD]
    ]
    more = [plural(len(topics) - _BAD, "more topic")] if len(topics) > _BAD else []
    return escape(f"Bad: {listed([*names, *more])}.") if names else ""


def asked_for(topics: Sequence[Topic]) -> str:
    """Return the end of a sentence: the number of topics that are bad only because a slower path was requested."""
    bad = [one for one in topics if one.verdict == "bad"]
    asked = sum(any(each.code == "asked" for each in found.evidence) for one in bad if (found := likeliest(one.lead)))
    if not asked:
        return ""
    of = f"{asked} of the bad ones" if asked < len(bad) else "all bad ones" if len(bad) > 1 else "the bad one"
    return f"; {of} {'is' if max(asked, 1) == 1 else 'are'} bad because the settings requested a slower path"


def answers(content: Content) -> str:
    """Return a table with the verdict on each topic and its cause, the worst first."""
    found = [(source, one) for source in content.sources if (one := of_source(content, source)).topics]
    if not found:
        return ""
    rows, left = [], 0
    for source, one in found:
        room = max(3, TOPICS // len(found))
        left += max(0, len(one.topics) - room)
        rows += [_row(topic, source.name if content.several else "") for topic in one.topics[:room]]
    caption = (
        "Whether the numbers are good. A benchmark counts with its best setting on a system, and a topic with its "
        "worst benchmark"
        f"{markdown.needing(_ALL, f'; @{_ALL} has worse settings, and the evidence for each cause')}."
    )
    caption += exceptions(topic for _, one in found for topic in one.topics)
    if left:
        caption += f" {plural(left, 'more topic')} left out; `labkit explain` prints all."
    return markdown.table(["topic", "verdict", "why"], rows, caption=f"{caption} {{#tbl-answer}}")


def exceptions(topics: Iterable[Topic]) -> str:
    """Return sentences for a caption on references of verdicts that are set, or measured in the same campaign."""
    text, every = "", [*topics]
    if any(one.lead.values.get("path") == EMULATED for one in every):
        text += " Verdicts over an emulated link show how well programs use the configured rate and delay."
    if any(str(one.lead.values.get("what", "")).startswith(storage_of_device.BEST) for one in every):
        text += " The best rate of a device has no verdict, because it is the reference of its other settings."
    return text


def in_full(content: Content) -> str:
    """Return a table of the details of each verdict: causes with their evidence, excluded causes, worse settings."""
    rows = [
        [escape(f"{source.name}: {topic.name}" if content.several else topic.name), topic.verdict, escape(more)]
        for source in content.sources
        for topic in of_source(content, source).topics
        if (more := _behind(topic))
    ]
    caption = (
        "The cause of each verdict with its evidence, excluded causes, and settings that are worse than the best one."
    )
    if content.contract:
        caption = f"Verdicts of `labkit explain` on the same points, none of the contract. {caption}"
    empty = "" if content.contract else "No verdict has a cause or a worse setting."
    return (
        markdown.table(["topic", "verdict", "behind it"], rows, caption=f"{caption} {{#tbl-behind}}") if rows else empty
    )


def steps(content: Content) -> str:
    """Return the next steps for each campaign."""
    return "\n\n".join(_steps([(one, of_source(content, one)) for one in content.sources], several=content.several))


def _steps(found: Sequence[tuple[Source, Answer]], *, several: bool) -> Iterator[str]:
    for source, one in found:
        if steps := [
            f"{code(step.command) if step.runnable else escape(step.command)} ({escape(purpose(step))})"
            for step in one.steps
        ]:
            of = f" about {escape(source.name)}" if several else ""
            yield f"To do next{of}:\n\n{markdown.bullets(steps)}"


def _row(topic: Topic, campaign: str) -> list[str]:
    name = f"{campaign}: {topic.name}" if campaign else topic.name
    return [escape(name), f"**{topic.verdict}**", escape(_briefly(topic))]


def _briefly(topic: Topic) -> str:
    """Return what decides the verdict on a topic, with the name of its cause; of a good one what is not good."""
    text = f"{topic.lead.subject}: {sentence(topic.lead)}."
    if topic.verdict in ("bad", "doubtful"):
        text += f" {caused(topic.lead, cause_name(topic.lead))}."
    elif topic.verdict == "good" and topic.worse:
        text += f" Worse: {settings(topic.worse)}."
    return f"{text} {beyond(topic.lead)}".rstrip()


def why(topic: Topic) -> str:
    """Return the sentences on the deciding finding of a topic, and on its causes."""
    return " ".join(
        filter(None, (f"{topic.lead.subject}: {sentence(topic.lead)}.", beyond(topic.lead), _behind(topic, worse=2)))
    )


def _behind(topic: Topic, worse: int = _WORSE) -> str:
    """Return in sentences what is behind the verdict on a topic: cause, what is excluded, and worse settings."""
    parts = []
    if topic.verdict in ("bad", "doubtful"):
        parts.append(f"{caused(topic.lead)}.")
    if topic.excluded:
        parts.append(f"Excluded: {'; '.join(map(sentence, topic.excluded))}.")
    if topic.worse:
        parts.append(f"Worse: {settings(topic.worse, worse)}.")
    return " ".join(parts)


BLOCKS = {"answer": answers, "behind-verdicts": in_full, "steps": steps}
