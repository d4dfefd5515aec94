"""A few iterations wait for a timeout, and the median hides them."""

from __future__ import annotations

import math

from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding, Value
from labkit.judge.view.points import headline
from labkit.point.columns import METRICS, statistic_column


def test(case: Case) -> Finding | None:
    """The means have the expected order, although the medians do not."""
    rows = case.rows
    if len(rows) < 2:
        return None
    metric = headline(rows[0])
    odd, other = (float(row.get(statistic_column(metric, "mean"), math.nan)) for row in rows[:2])
    if math.isnan(odd) or math.isnan(other) or (odd - other) * (case.measured.value - case.other.value) >= 0:
        return None
    one, two = (Value(value=value, unit=METRICS[metric].unit) for value in (other, odd))
    return CAUSE.found(case, [Evidence(code="means", values={"one": one, "two": two})])


CAUSE = Cause(
    code="stalls",
    name="loss stalls few iterations, and the median hides them",
    seen="the means are in the expected order",
    excluded="the means are in the same order as the medians",
    decides="enough iterations to show the tail",
    clues={"means": "the means are in order: {one} and {two}"},
    remedy="Report the mean and the tail beside the median.",
    test=test,
    explains=("loss-order",),
)
