"""Factors that always change together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from labkit.judge.finding import Finding
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.read.records.factors import NONE, coded, named, one_each


def check(view: View) -> Iterator[Finding]:
    """Yield pairs of factors that always change together."""
    for name, rows in view.by_benchmark():
        levels = {factor: coded(rows[factor]) for factor in view.factors[name]}
        complete = {factor: codes for factor, (codes, texts) in levels.items() if NONE not in texts}
        for first, second in combinations(complete, 2):
            if one_each(complete[first], complete[second]) and one_each(complete[second], complete[first]):
                yield RULE.found(view.of_rows(rows), factor=named(first), other=named(second))


RULE = Rule(
    code="confounded",
    kind="violation",
    level="doubtful",
    source=7,
    must="factors that are compared change one at a time",
    why="if two factors always change together, either of them may be the cause",
    says="{factor} and {other} always change together",
    remedy="Measure the missing combinations, or name both as the cause.",
    imported="Name both factors as possible causes, or import outputs of the missing combinations.",
    check=check,
)
