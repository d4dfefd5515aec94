"""Neighbouring sizes that a line should not join."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from labkit.judge.finding import SIZE, TIMES, Finding, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View

_STEP = 8  # largest ratio of neighbouring sizes that a line may join


def check(view: View) -> Iterator[Finding]:
    """Yield neighbouring sizes so far apart that a line between them may hide a protocol change."""
    for _, rows in view.by_benchmark():
        sizes = [int(size) for size in np.unique(rows["message_size_B"]).tolist() if size > 0]
        for low, high in pairwise(sizes) if len(sizes) > 2 else ():
            if high > _STEP * low:
                below, above = (Value(value=size, unit=SIZE) for size in (low, high))
                ratio = Value(value=high / low, unit=TIMES)
                yield RULE.found(view.of_rows(rows), low=below, high=above, ratio=ratio)


RULE = Rule(
    code="sparse-sizes",
    kind="violation",
    level="note",
    source=12,
    must=f"neighbouring sizes at most {_STEP} times apart where a line joins them",
    why="a line between them may hide a protocol change",
    says="no size between {low} and {high}, {ratio:2} apart",
    remedy="Measure sizes in between, or show points without a line.",
    imported="Show points without a line.",
    check=check,
)
