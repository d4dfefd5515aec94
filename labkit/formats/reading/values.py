"""What the parser of any format needs: a reported value of a metric, and the error for a line that does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from labkit.errors import DataError
from labkit.point.columns import METRICS
from labkit.point.spec import Reported, Scalar

_LONGEST = 500  # characters of what is wanted


def metric(
    name: str, statistic: str, value: float, labels: Mapping[str, Scalar] | None = None, *, t: float | None = None
) -> Reported:
    """Make a reported value of one of labkit's own metrics; its unit follows from its name.

    Examples
    --------
    >>> metric("round_trip_us", "p99", 7.0).unit
    'µs'
    """
    return Reported(name, METRICS[name].unit, statistic, value, t=t, labels=labels or {})


class CutError(DataError):
    """The text ends where more must follow, or inside its last line.

    Parameters
    ----------
    message : as of any error.
    line : where the text ends, from 1.
    wanted : what must follow; empty if the last line itself is incomplete.
    """

    def __init__(self, message: DataError, line: int, wanted: str) -> None:
        super().__init__(str(message))
        self.line, self.wanted = line, wanted


_COMMA = re.compile(r"(?<!\S)\d{1,18}(?:[.,]\d{3}){0,5},\d{1,18}(?:\.\d{1,18})?(?!\S)")


def malformed(what: str, line: int, text: str, wanted: str, remedy: str = "") -> DataError:
    """Return the error for a line that is not what it must be; `line` counts from 1, 0 is the output as a whole."""
    place = f"{what}, line {line}" if line else what
    wanted = wanted if len(wanted) <= _LONGEST else f"{wanted[:_LONGEST]}…"  # it may quote the output
    if comma := _COMMA.search(text[:_LONGEST]):
        wanted += f"; {comma[0]} has a comma, which may be decimal or between thousands: write a decimal point alone"
    return DataError(f"{place}: found {text.strip()[:200]!r}, wanted {wanted}.{remedy and f' {remedy}'}")
