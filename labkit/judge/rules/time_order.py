"""Levels of a factor that were measured one after the other, or that changed too rarely."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby, pairwise

import pandas as pd

from labkit.judge.finding import Count, Decided, Finding, Several, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.read.records.factors import NONE, level, named
from labkit.stats.sessions import few_changes, usual_changes

_NAMED = 3  # levels
_CHANCE = 0.05  # of a finding about levels in random order, over all pairs of a factor
_TESTED = Decided(how="tested", test="runs", correction="Bonferroni", error=_CHANCE)


def check(view: View) -> Iterator[Finding]:
    """Yield factors whose levels were measured one after the other, so that a drift looks like an effect."""
    records = view.records
    factors = [c for c in dict.fromkeys(c for some in view.factors.values() for c in some) if c in records]
    columns = list(dict.fromkeys(["benchmark", "fingerprint", "origin", "start", "launch", *factors]))
    timed = records.loc[records["start"].astype(bool), columns] if len(records) else records
    for name, rows in timed.groupby("benchmark", sort=True) if len(timed) else ():
        for factor in (one for one in view.factors[str(name)] if one in factors):
            levels = rows[factor].map(level)
            spans = rows["start"].groupby(levels).agg(["min", "max"]).sort_values("min")
            spans = spans[spans.index != NONE]
            ends = list(zip(spans["min"], spans["max"], strict=True))
            if len(ends) > 1 and all(before[1] < after[0] for before, after in pairwise(ends)):
                first = Several(tuple(map(str, spans.index[:_NAMED])))
                yield RULE.found(view.of_rows(rows), form="before", factor=named(factor), levels=first)
            elif found := _rarest(_in_time(rows, levels)):
                pair, order, test = found
                counts = [order.count(one) for one in pair]
                yield RULE.found(
                    view.of_rows(rows),
                    form="crossings",
                    decided=Decided(how="tested", test="runs", correction="Bonferroni", error=_CHANCE)
                    if test
                    else Decided(),
                    factor=named(factor),
                    levels=Several(pair),
                    changes=Count(_changes(order), "time"),
                    launches=Count(len(order), "launch"),
                    usual=Value(value=usual_changes(*counts)),
                )


def _in_time(rows: pd.DataFrame, levels: pd.Series) -> list[str]:
    """Return the level of each launch in the order of time; all points of a launch with one level count once."""
    first = rows["start"].groupby([levels.rename("level"), rows["launch"]]).min().reset_index()
    timely = first[first["level"] != NONE].sort_values(["start", "launch", "level"])
    return [str(one) for one in timely["level"]]


def _rarest(order: Sequence[str]) -> tuple[tuple[str, str], list[str], bool] | None:
    """Return the two levels that changed most rarely, what their launches were in order, and whether a test shows it.

    None if no two levels changed more rarely than random order would have it.
    """
    found = []
    pairs = list(combinations(dict.fromkeys(order), 2))
    for pair in pairs:
        both = [one for one in order if one in pair]
        n, m = (both.count(one) for one in pair)
        p = len(pairs) * few_changes(n, m, _changes(both))
        if p <= _CHANCE or _apart(both):
            found.append((p, pair, both))
    if not found:
        return None
    p, pair, both = min(found)
    return pair, both, p <= _CHANCE


def _changes(order: Sequence[str]) -> int:
    """Return how often the level changes from one launch to the next."""
    return sum(one != other for one, other in pairwise(order))


def _apart(order: Sequence[str]) -> bool:
    """Return whether one of two levels ran in one stretch, inside the other, and no launch stands alone: A A B B A A.

    Few launches show this in no test. Levels that are measured alternately never break this rule, because the first
    launch stands alone.
    """
    stretches = [len([*some]) for _, some in groupby(order)]
    return len(stretches) == 3 and min(stretches) > 1


RULE = Rule(
    code="time-order",
    kind="violation",
    level="doubtful",
    source=7,
    must="compared levels are measured alternately",
    why="a change of the machine looks like an effect of the factor",
    says={
        "before": "{factor}: all points of {levels: before }",
        "crossings": "{factor}: {levels: and } changed {changes} in {launches} in order of time; random order changes "
        "{usual:2} times",
    },
    remedy="Measure both in one run: --factor takes the levels in random order.",
    imported="State the order of the runs, and that a drift over time would look like a difference.",
    check=check,
)
