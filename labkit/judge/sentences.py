"""The sentences about findings: made here, and nowhere else, from their codes and values."""

from __future__ import annotations

from labkit.judge import rules
from labkit.judge.finding import Evidence, Finding


def sentence(one: Finding) -> str:
    """Return what a finding claims, without its subject and without a full stop."""
    return rules.every()[one.code].template(one.form).format_map(one.values)


def clue(one: Finding, evidence: Evidence) -> str:
    """Return what a piece of evidence of a finding says."""
    return rules.every()[one.code].clues[evidence.code].format_map(evidence.values)
