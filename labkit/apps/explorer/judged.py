"""Findings as HTML for panels: verdicts with possible causes, and what to do next."""

from __future__ import annotations

import html
from collections.abc import Iterable

from labkit.judge.answer import Step, Topic
from labkit.judge.finding import Finding
from labkit.judge.sentences import caused, purpose, sentence, settings

_SIGNS = {"bad": "✗", "doubtful": "?", "unknown": "–", "no reference": "–", "not judged": "–", "good": "✓"}


def chip(topic: Topic) -> str:
    """Return the verdict on a topic in a few words."""
    return f"{_SIGNS[topic.verdict]} {topic.name}: {topic.verdict}"


def about(topic: Topic) -> str:
    """Return what decides a verdict, as plain text."""
    return f"{topic.lead.subject}: {sentence(topic.lead)}"


def reason(topic: Topic) -> str:
    """Return why a topic has its verdict."""
    worse = f" Worse: {html.escape(settings(topic.worse))}." if topic.worse else ""
    return verdict(f"{topic.name}: {topic.verdict}", topic.lead) + worse


def verdict(head: str, one: Finding) -> str:
    """Return a verdict with its causes; a good verdict has none.

    Parameters
    ----------
    head : what is judged, and the verdict, in words.
    """
    parts = [f"<b>{html.escape(head)}</b>. {html.escape(f'{one.subject}: {sentence(one)}')}."]
    if one.level in ("bad", "doubtful"):
        parts.append(f"{html.escape(caused(one))}.")
    if excluded := [sentence(each) for each in one.causes if each.against]:
        parts.append(f"Excluded: {html.escape('; '.join(excluded))}.")
    return " ".join(parts)


def todo(step: Step) -> str:
    """Return the next steps with their topics."""
    told = html.escape(step.command)
    return f"Next: {f'<code>{told}</code>' if step.runnable else told} ({html.escape(purpose(step))})"


def items(texts: Iterable[str]) -> str:
    """Return lines of HTML as a list, each once; empty for none."""
    each = "".join(f"<li>{text}</li>" for text in dict.fromkeys(texts))
    return f"<ul>{each}</ul>" if each else ""
