"""The conclusion from the records: established results, open questions, and how to settle them."""

from __future__ import annotations

import math

from labkit.judge import sentences
from labkit.judge.finding import Finding
from labkit.judge.rules.setting_matters import APART
from labkit.point.notes import listed
from labkit.point.units import plural
from labkit.report import judged
from labkit.report.campaigns import all_members, members
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.topics import finding
from labkit.stats.shift import least_launches


def topics(content: Content) -> str:
    """Return a paragraph for each campaign on the chapters with a certain answer."""
    parts = []
    several = len(all_members(content)) > 1
    for source in content.sources:
        chapters = [one for one in content.every.values() if one.path in source.notebooks]
        for member in members(source):
            if len(member.summary):
                findings = [(c.title, one) for c in chapters if (one := finding(c, member))]
                parts.append((f"**{escape(member.name)}**: " if several else "") + _paragraph(findings))
    return "\n\n".join(parts)


def _paragraph(findings: list[tuple[str, Finding]]) -> str:
    """Say how many chapters have a certain answer, which one is largest, and which have none and why."""
    if not findings:
        return "No chapter compares settings that were measured."
    sound = [(topic, one) for topic, one in findings if one.claims]
    certain = [one for _, one in sound if math.isfinite(one.cost)]
    open_ = [topic for topic, one in sound if one.form in ("same", "open") and one.certain]
    few = [topic for topic, one in sound if not one.certain]
    apart = [topic for topic, one in sound if one.form.endswith(APART)]
    none = {*open_, *apart}
    alone = [topic for topic, one in sound if one.certain and one not in certain and topic not in none]
    text = f"In {len(certain)} of {plural(len(findings), 'chapter')} the launches show a difference."
    if certain:
        text += f" The largest difference: {judged.told(max(certain, key=lambda one: one.cost))}"
    if open_:
        text += f" No difference is shown in: {listed([escape(one) for one in open_])}."
    if apart:
        text += (
            f" Measured at different times, so the machine may have changed: {listed([escape(one) for one in apart])}."
        )
    if few:
        text += f" Without a claim, because there are too few launches: {listed([escape(one) for one in few])}."
    if alone:
        text += f" Without a comparison: {listed([escape(one) for one in alone])}."
    for reason in filter(None, dict.fromkeys(sentences.no_claim(one) for _, one in findings)):
        topics = listed([escape(topic) for topic, one in findings if sentences.no_claim(one) == reason])
        text += f" Without a claim, because {reason}: {topics}."
    if few:
        fewest = plural(least_launches(1), "launch")
        text += f" A single difference needs at least {fewest} on each side, and several at once need more."
    return text


BLOCKS = {"conclusion": topics}
