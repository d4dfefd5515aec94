"""Points that do not record how they were measured."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.store.samples.facts import DEFINITION


def check(view: View) -> Iterator[Finding]:
    """Yield points that do not record their timing or the definition of their numbers."""
    column = view.column
    undefined = view.of_kinds(lambda one: not DEFINITION.of(one.meta))
    unsaid = (column("n") > 0) & ((column("cadence") == "") | (column("timing") == ""))
    for row in view.rows(unsaid | ((column("n") == 0) & (column("origin") == "reported") & undefined)):
        yield RULE.found(view.subject(row), form="timing" if row["n"] else "definition")


RULE = Rule(
    code="unsaid-method",
    kind="violation",
    level="doubtful",
    source=10,
    must="timing, synchronisation and definition are recorded",
    why="times of parallel programs differ much between ways to measure them",
    says={
        "timing": "cadence or timing is not recorded",
        "definition": "the tool's definition of its numbers is not recorded",
    },
    remedy="Measure again with this labkit, or cite the tool's definition.",
    check=check,
)
