"""The ranges of labkit's numbers: one table for the command line, suites, notebooks, forms and files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.errors import SpecError

DAY = 86400.0
WIDE = 2**63 - 1  # what a kernel, numpy and Parquet hold
POINTS = 2_000_000  # points × launches of one measurement


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`.

    Parameters
    ----------
    unit : unit of the number, for the message.
    whole : no fractions.
    between : `low` and `high` themselves are outside.
    above : `low` itself is too small.
    usual : a suitable value, for the remedy.
    """

    low: float
    high: float
    unit: str = ""
    whole: bool = True
    between: bool = False
    above: bool = False
    usual: float | None = None

    def holds(self, value: object) -> bool:
        """Whether a value is in the range and has its kind."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        if self.between:
            return self.low < value < self.high
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def __str__(self) -> str:
        kind, unit = "a whole number" if self.whole else "a number", f" {self.unit}" if self.unit else ""
        if self.between:
            return f"{kind} between {_plain(self.low)} and {_plain(self.high)}{unit}"
        low = f"above {_plain(self.low)} and at most" if self.above else f"from {_plain(self.low)} to"
        return f"{kind} {low} {_plain(self.high)}{unit}"


RANGES: Mapping[str, Range] = {
    "size": Range(0, 2**50, "B", usual=8),  # of messages and of files
    "ranks": Range(1, 2**20, usual=2),
    "ppn": Range(0, 2**16, usual=0),  # 0: the launcher decides
    "ppn_of_job": Range(1, 2**16, usual=1),
    "iterations": Range(1, 10**9),
    "warmup": Range(0, 10**9),
    "launches": Range(1, 10_000, usual=6),
    "sessions": Range(1, 1000, usual=6),
    "spread": Range(0, 30 * DAY, "s", whole=False, above=True, usual=3600),
    "ci": Range(0, 1, whole=False, between=True, usual=0.02),
    "time_cap": Range(0, DAY, "s", whole=False, above=True, usual=2),
    "time_limit": Range(0, 7 * DAY, "s", whole=False, above=True, usual=60),
    "seed": Range(-WIDE, WIDE, usual=1),
    "false_alarms": Range(0, 0.5, whole=False, between=True, usual=0.01),
    "worse": Range(0, 900, "%", whole=False, above=True, usual=25),
    "repeats": Range(1, 1000),
    "nodes": Range(1, 100_000),
    "time": Range(1, 525_600, "minutes", usual=30),
    "array": Range(1, 1000),
    "relevant": Range(0, 1, whole=False, between=True, usual=0.02),
    "rounds": Range(2, 100, usual=8),
    "error": Range(0, 0.5, whole=False, between=True, usual=0.05),
    "confirm": Range(4, 1000, usual=8),
    "budget": Range(0, 10_080, "minutes", whole=False, above=True, usual=30),
    "minutes": Range(0, 10_080, whole=False, above=True, usual=20),
    "lifetime": Range(0, 30 * DAY, "s", whole=False, above=True, usual=3600),
}


def check(name: str, value: object, *, word: str = "") -> None:
    """Refuse a number outside its range.

    Parameters
    ----------
    name : key of `RANGES`.
    word : the name as the user wrote it (default: ``name=``).

    Raises
    ------
    SpecError
        If it is outside; the message has the range and a suitable value.
    """
    allowed = RANGES[name]
    if allowed.holds(value):
        return
    word = word or f"{name}="
    number = isinstance(value, int | float) and not isinstance(value, bool)
    usual = allowed.usual if allowed.usual is not None else allowed.low
    near = allowed.high if number and value > allowed.high and not allowed.between else usual  # type: ignore[operator]
    remedy = str(int(near)) if near == int(near) else f"{near:g}"
    raise SpecError(f"{word}{shown(value)}, but it must be {allowed}. Set {word}{remedy}.")


def finite(what: str, values: Mapping[str, Any]) -> None:
    """Refuse numbers that no kernel and no file can hold: nan, infinity, whole numbers of more than 64 bits.

    Raises
    ------
    SpecError
        If there is one; the message begins with `what`, whose number it is.
    """
    for name, value in values.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, float) and not math.isfinite(one):
                raise SpecError(f"{what}: {name}={one}, but it must be a finite number. Change {name}.")
            if isinstance(one, int) and abs(one) > WIDE:
                raise SpecError(f"{what}: {name}={shown(one)}, but it must have at most 64 bits. Set a smaller {name}.")


def shown(value: object, most: int = 60) -> str:
    """Write a value for a message, and cut it if it is long.

    Examples
    --------
    >>> shown("x" * 100, most=5), shown(10**5000)
    ("'xxxx…", 'a number of thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write whole numbers of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= most else f"{text[:most]}…"


def _plain(value: float) -> str:
    """Write a bound as people do."""
    powers = {2**50: "2^50", WIDE: "2^63 - 1", -WIDE: "-2^63 + 1"}
    return powers.get(int(value)) or (f"{value:,.0f}" if value == int(value) else f"{value:g}")
