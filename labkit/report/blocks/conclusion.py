"""The conclusion from the records: established results, open questions, and how to settle them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from labkit.judge import sentences
from labkit.judge.finding import Finding
from labkit.judge.rules.setting_matters import APART
from labkit.judge.sentences import cause_name
from labkit.point.notes import joined, listed
from labkit.point.units import plural
from labkit.report import answered, judged
from labkit.report.campaigns import all_members, members
from labkit.report.content import Content
from labkit.report.markdown import escape
from labkit.report.sources import Source
from labkit.report.topics import finding, weight
from labkit.stats.shift import least_launches

_WORST = 4  # topics that are named


def topics(content: Content) -> str:
    """Return a paragraph for each campaign: which numbers are not good, and what its chapters show."""
    parts = []
    several = len(all_members(content)) > 1
    for source in content.sources:
        chapters = [one for one in content.every.values() if one.path in source.notebooks]
        for member in members(source):
            if len(member.summary):
                findings = [(c.title, one) for c in chapters if (one := finding(c, member))]
                present = {one.title for one in chapters if one in content.chapters.values()}
                said = [_verdicts(content, member.source)] if member.source else []
                said.append(_paragraph(findings, present))
                parts.append((f"**{escape(member.name)}**: " if several else "") + " ".join(filter(None, said)))
    return "\n\n".join(parts)


def _verdicts(content: Content, source: Source) -> str:
    """Say how many topics are good, and name those that are not, with their causes."""
    worse = [one for one in answered.of_source(content, source).topics if one.verdict in ("bad", "doubtful")]
    names = [f"{one.name} ({one.verdict}; {_cause(one.lead)})" for one in worse[:_WORST]]
    more = [plural(len(worse) - _WORST, "more topic")] if len(worse) > _WORST else []
    not_good = f" Not good: {escape(listed([*names, *more]))}." if names else ""
    return answered.overall(content, source) + not_good


def _cause(one: Finding) -> str:
    name = cause_name(one)
    return f"likely cause: {name}" if name else "cause unknown"


def _paragraph(findings: list[tuple[str, Finding]], present: Collection[str]) -> str:
    """Say how many chapters show a difference, which one is largest, and which show none and why.

    Parameters
    ----------
    present : titles of the chapters that the reader has before them; others are counted.
    """
    if not findings:
        return "No chapter compares settings that were measured."
    sound = [(topic, one) for topic, one in findings if one.claims]
    certain = [one for _, one in sound if math.isfinite(one.cost)]
    open_ = [topic for topic, one in sound if one.form in ("same", "open") and one.certain]
    few = [topic for topic, one in sound if not one.certain]
    apart = [topic for topic, one in sound if one.form.endswith(APART)]
    none = {*open_, *apart}
    alone = [topic for topic, one in sound if one.certain and one not in certain and topic not in none]
    text = f"{len(certain)} of {plural(len(findings), 'chapter')} show a difference between settings."
    if certain:
        largest = max(certain, key=weight)
        which = "One of them" if any(one.cost > largest.cost for one in certain) else "The largest"
        text += f" {which}: {judged.told(largest, 'brief')}"
    reasons = {"the launches leave it undecided": open_, "the settings were measured at different times": apart}
    reasons |= {"too few launches": few, "no two settings are tested": alone}
    for _, one in findings:
        if reason := sentences.no_claim(one):
            reasons.setdefault(reason, [])
    for topic, one in findings:
        if reason := sentences.no_claim(one):
            reasons[reason].append(topic)
    shown = [
        f"{_named(names, present)} ({reason})"
        for reason, names in reasons.items()
        if any(name in present for name in names)
    ]
    rest = sum(name not in present for names in reasons.values() for name in names)
    shown += [f"{plural(rest, 'other chapter')}, which {'is' if rest == 1 else 'are'} left out here"] if rest else []
    if shown:
        text += f" No difference is claimed in {joined(shown)}."
    if any(name in present for name in few):
        fewest = plural(least_launches(1), "launch")
        text += f" A single comparison needs at least {fewest} on each side, and several at once need more."
    return text


def _named(names: Sequence[str], present: Collection[str]) -> str:
    return listed([f"*{escape(one)}*" for one in names if one in present])


BLOCKS = {"conclusion": topics}
