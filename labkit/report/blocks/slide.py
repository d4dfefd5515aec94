"""The first and the last words of slides."""

from __future__ import annotations

from labkit.report import abstract
from labkit.report.campaigns import all_members
from labkit.report.content import Content


def summary(content: Content) -> str:
    """Return which machine was measured and how much, a paragraph for each campaign."""
    parts = [
        f"{abstract.machine(member)} {abstract.asked(member)}" for member in all_members(content) if len(member.summary)
    ]
    return "\n\n".join(parts)


BLOCKS = {"slide-summary": summary}
