"""Benchmarks that were measured at powers of two of ranks only."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from labkit.judge.finding import Finding, Several, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View


def check(view: View) -> Iterator[Finding]:
    """Yield benchmarks with several numbers of ranks that are all powers of two."""
    for _, rows in view.by_benchmark():
        ranks = [int(count) for count in np.unique(rows["ranks"]).tolist()]
        if len(ranks) > 2 and all(math.log2(count).is_integer() for count in ranks):
            counts = Several(tuple(Value(value=count) for count in ranks))
            yield RULE.found(view.of_rows(rows), ranks=counts)


RULE = Rule(
    code="round-ranks",
    kind="violation",
    level="note",
    source=12,
    must="some numbers of ranks are not powers of two",
    why="algorithms of collectives are often fastest at powers of two",
    says="ranks {ranks} are all powers of two",
    remedy="Measure other numbers of ranks too: algorithms differ there.",
    imported="State that other numbers of ranks were not measured; libraries may use other algorithms there.",
    check=check,
)
