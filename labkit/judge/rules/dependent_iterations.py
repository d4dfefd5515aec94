"""Iterations with a low number of equivalent independent ones."""

from __future__ import annotations

from collections.abc import Iterator

from labkit import stats
from labkit.judge.finding import Count, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.point.units import format_share


def check(view: View) -> Iterator[Finding]:
    """Yield points with a low number of equivalent independent iterations."""
    worth, n = view.column("n_eff"), view.column("n")
    for row in view.rows(view.random & (worth < stats.DEPENDENT * n)):
        yield RULE.found(view.subject(row), n=Count(int(row["n"]), "iteration"), worth=Value(value=row["n_eff"]))


RULE = Rule(
    code="dependent-iterations",
    kind="violation",
    level="note",
    must=f"at least {format_share(stats.DEPENDENT)} of the iterations count as independent",
    why="iterations that resemble their neighbours add little information",
    says="{n} count as {worth:2} independent ones",
    remedy="Run more launches instead of more iterations; trust tails less than their number of samples suggests.",
    imported="Trust tails less than their number of samples suggests.",
    check=check,
)
