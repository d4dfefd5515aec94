"""Parts of the sentences of studies: lists from parameters, numbers, statements with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from labkit.errors import SpecError
from labkit.point.columns import METRICS
from labkit.point.units import format_number, format_size, parse_sizes
from labkit.read import records
from labkit.read.records.factors import UNSTATED

if TYPE_CHECKING:
    import pandas as pd


def words(text: str | Sequence[str]) -> list[str]:
    """A list from ``a, b`` or from a list."""
    parts = text.split(",") if isinstance(text, str) else list(text)
    return [part.strip() for part in parts if part.strip()]


def counts(text: str, what: str) -> list[int]:
    """Whole numbers from ``2,4`` or ``1:1024:*4``.

    Raises
    ------
    SpecError
        If the text names none; it calls them by the parameter's name.
    """
    try:
        return list(parse_sizes(text)) if text.strip() else []
    except SpecError:
        raise SpecError(f"{what}={text!r}, but it must be whole numbers, as in 2,4,8 or 1:64:*4.") from None


def number(value: float) -> str:
    """Format a number for people: three digits, a power of ten only if there is no other way.

    Examples
    --------
    >>> number(0.26), number(12345.6), number(17.04)
    ('0.26', '12,346', '17')
    """
    return format_number(value, digits=3)


def centre(row: Mapping[str, Any], metric: str) -> float:
    """Median of a summary row; the mean if a tool reports no median, NaN if it reports neither."""
    median = row.get(f"{metric}_p50", float("nan"))
    return float(row.get(f"{metric}_mean", float("nan")) if math.isnan(median) else median)


def bare(row: Mapping[str, Any], metric: str) -> str:
    """Value of a summary row without its unit, for lists in one unit: ``0.260``, or ``≤ 0.070`` for a bound."""
    return records.value_of(row, metric).text


def amount(row: Mapping[str, Any], metric: str) -> str:
    """Value and unit of a summary row, without the interval: ``0.260 µs``, or ``≤ 0.070 µs`` for a bound."""
    value = records.value_of(row, metric)
    return f"{value.text} {value.unit}"


def statement(row: Mapping[str, Any], metric: str) -> str:
    """Value, unit and interval of a summary row: ``0.260 µs (95 % interval of 6 launches: 0.250 to 0.270)``."""
    value = records.value_of(row, metric)
    how = " on average" if value.statistic == "mean" else ""
    about = "" if math.isnan(value.low) else f" ({value.label}: {value.range})"
    return f"{value.text} {value.unit}{how}{about}"


def tail(row: Mapping[str, Any], metric: str, what: str = "") -> str:
    """The 99th percentile, the median over launches, as the end of a sentence; empty if unknown.

    Examples
    --------
    >>> tail({"latency_us_p99": 2.5}, "latency_us", "iterations"), tail({}, "latency_us")
    ('; 99 of 100 iterations take at most 2.5 µs', '')
    >>> tail({"latency_us_p99": 2.5, "launches": 6}, "latency_us")
    '; in the median launch, 99 of 100 take at most 2.5 µs'
    """
    value = float(row.get(f"{metric}_p99", float("nan")))
    if math.isnan(value):
        return ""
    named = f" {what}" if what else ""
    where = "in the median launch, " if row.get("launches", 1) > 1 else ""
    return f"; {where}99 of 100{named} take at most {number(value)} {METRICS[metric].unit}"


def ends(rows: pd.DataFrame, metric: str) -> list[dict[str, Any]]:
    """The rows with the least and the greatest value of a metric, without bounds; none if fewer than two have one."""
    rows = records.sound(rows, metric)
    known = sorted((row for row in rows.to_dict("records") if centre(row, metric) > 0), key=lambda r: centre(r, metric))
    return [known[0], known[-1]] if len(known) > 1 else []


def unresolved(rows: pd.DataFrame, metric: str, name: str) -> str:
    """The operations that cost less than the clock resolves, as the start of a sentence on the others.

    Empty without any.

    Parameters
    ----------
    name : column with the names of the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"way": ["a"], "latency_us_p50": [0.05], "latency_us_step": [0.01]})
    >>> unresolved(rows, "latency_us", "way")
    'a takes at most 0.05 µs (below what the clock resolves); of those that it resolves, '
    """
    known = [(row[name], records.value_of(row, metric)) for row in rows.to_dict("records")]
    most = [f"{one} takes at most {value.text[2:]} {value.unit}" for one, value in known if value.coarse]
    return f"{', '.join(most)} (below what the clock resolves); of those that it resolves, " if most else ""


def resolved(rows: pd.DataFrame, metric: str) -> str:
    """The restriction of a highest value; empty if no row is a bound.

    Examples
    --------
    >>> import pandas as pd
    >>> resolved(pd.DataFrame({"latency_us_p50": [0.05], "latency_us_step": [0.01]}), "latency_us")
    ' that the clock resolves'
    """
    return " that the clock resolves" if len(records.sound(rows, metric)) < len(rows) else ""


def path_words(transport: str) -> str:
    """Path of messages for a sentence.

    Examples
    --------
    >>> path_words("shm"), path_words("tcp"), path_words("rc")
    ('shared memory', 'TCP', 'rc')
    """
    return {
        "shm": "shared memory",
        "tcp": "TCP",
        "auto": "the path that the library chooses",
        UNSTATED: "a path that the log does not state",
    }.get(transport, transport)


def size_words(size: float) -> str:
    """Size for a sentence."""
    return format_size(int(size))
