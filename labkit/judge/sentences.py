"""The sentences about findings: made here, and nowhere else, from their codes and values."""

from __future__ import annotations

from labkit.judge import causes, rules
from labkit.judge.finding import Evidence, Finding
from labkit.point.notes import joined


def sentence(one: Finding) -> str:
    """Return what a finding claims, without its subject and without a full stop."""
    if one.kind == "cause":
        clues = joined(clue(one, each) for each in (one.against or one.evidence))
        return f"{causes.every()[one.code].name} ({clues})"
    return rules.every()[one.code].template(one.form).format_map(one.values)


def clue(one: Finding, evidence: Evidence) -> str:
    """Return what a piece of evidence of a finding says."""
    known = causes.every()[one.code].clues if one.kind == "cause" else rules.every()[one.code].clues
    return known[evidence.code].format_map(evidence.values)
