"""Levels of a factor that were measured one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from labkit.judge.finding import Finding, Several
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.read.records.factors import NONE, level, named

_NAMED = 3  # levels


def check(view: View) -> Iterator[Finding]:
    """Yield factors whose levels were measured one after the other, so that a drift looks like an effect."""
    records = view.records
    factors = [c for c in dict.fromkeys(c for some in view.factors.values() for c in some) if c in records]
    columns = list(dict.fromkeys(["benchmark", "fingerprint", "origin", "start", *factors]))
    timed = records.loc[records["start"].astype(bool), columns] if len(records) else records
    for name, rows in timed.groupby("benchmark", sort=True) if len(timed) else ():
        for factor in (one for one in view.factors[str(name)] if one in factors):
            spans = rows["start"].groupby(rows[factor].map(level)).agg(["min", "max"]).sort_values("min")
            spans = spans[spans.index != NONE]
            ends = list(zip(spans["min"], spans["max"], strict=True))
            if len(ends) > 1 and all(before[1] < after[0] for before, after in pairwise(ends)):
                levels = Several(tuple(map(str, spans.index[:_NAMED])))
                yield RULE.found(view.of_rows(rows), factor=named(factor), levels=levels)


RULE = Rule(
    code="time-order",
    kind="violation",
    level="doubtful",
    source=7,
    must="levels that are compared are measured in turn",
    why="whatever changed in the meantime looks like an effect of the factor",
    says="{factor}: all points of {levels: before }",
    remedy="Measure both in one run: --factor takes the levels in random order.",
    imported="State the order of the runs, and that a drift over time would look like a difference.",
    check=check,
)
