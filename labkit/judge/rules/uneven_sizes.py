"""Levels of a factor that cannot be compared at every size."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

import numpy as np

from labkit.judge.finding import SIZE, Finding, Several, Value
from labkit.judge.rule import Rule
from labkit.judge.view import View
from labkit.read.records.factors import NONE, coded, named


def check(view: View) -> Iterator[Finding]:
    """Yield levels of a factor that were measured at other sizes than the other levels."""
    for name, rows in view.by_benchmark():
        measured = rows["message_size_B"].to_numpy()
        sizes = np.unique(measured)
        for factor in view.factors[name]:
            codes, levels = coded(rows[factor])
            at = np.unique(codes * len(sizes) + np.searchsorted(sizes, measured))
            own = np.split(at % len(sizes), np.searchsorted(at, np.arange(1, len(levels)) * len(sizes)))
            texts = [*map(str, levels)]
            for place, level in sorted(enumerate(texts), key=itemgetter(1)):
                if level != NONE and len(own[place]) < len(sizes):
                    lacking = np.setdiff1d(sizes, sizes[own[place]], assume_unique=True)
                    first = [Value(value=size, unit=SIZE) for size in lacking[:3].tolist()]
                    subject = view.of_rows(rows[codes == place], f"{named(factor)}={level}")
                    yield RULE.found(subject, sizes=Several.of(first, "size", count=len(lacking)))


RULE = Rule(
    code="uneven-sizes",
    kind="violation",
    level="doubtful",
    source=2,
    must="all levels of a factor are measured at the same sizes",
    why="levels can be compared only at equal sizes",
    says="not measured at {sizes}",
    remedy="Measure the missing sizes; labkit skips what is there.",
    imported="Import the output for the missing sizes too, or compare only sizes that all levels have.",
    check=check,
)
