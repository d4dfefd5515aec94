"""Imported points that do not name their library."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.store.samples.facts import MEASURED


def check(view: View) -> Iterator[Finding]:
    """Yield imported points without the name of a library."""
    origins = view.column("origin").astype(str)
    for row in view.rows(~np.isin(origins, MEASURED) & (view.column("library") == "")):
        yield RULE.found(view.subject(row), origin=str(row["origin"]))


RULE = Rule(
    code="unnamed-system",
    kind="violation",
    level="doubtful",
    source=9,
    must="imported numbers name their system and library",
    why="a number depends on the library and the machine",
    says="{origin}, without the name of a library",
    remedy="Import again with --testbed or --published.",
    check=check,
)
