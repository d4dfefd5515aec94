"""Values that causes predict, beside the measured one."""

from __future__ import annotations

from labkit.judge.cause import Case
from labkit.judge.finding import Evidence, Value
from labkit.models.inside import LINK

MISSED = {"missed": "even then it would reach {predicted}", "exceeded": "then it would reach {predicted} at most"}
_MORE = 0.05  # part by which a measurement may exceed what a cause allows


def missed(case: Case, predicted: Value) -> list[Evidence]:
    """Return the clue that a bandwidth is far below the predicted value, or above it; a clue has a key of `MISSED`."""
    values = {"predicted": predicted}
    if case.measured.value < predicted.value / LINK[1]:
        return [Evidence(code="missed", values=values)]
    return [Evidence(code="exceeded", values=values)] * (case.measured.value > predicted.value * (1 + _MORE))


def of_bandwidth(bytes_per_s: float) -> Value:
    """Return a bandwidth that a cause predicts."""
    return Value(value=bytes_per_s / 1e6, unit="MB/s", origin="computed")
