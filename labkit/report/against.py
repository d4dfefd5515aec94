"""Compare measured values with published ones of the same arguments, size, quantity, statistic and unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.units import format_size, parse_size, plural
from labkit.read.records import by_benchmark
from labkit.read.records.factors import level, named
from labkit.read.reference import Number
from labkit.read.reference.comparing import (
    PATH_WORDS,
    UNNAMED,
    Comparison,
    compare,
    first,
    measured,
    points,
    settings,
    worth,
)
from labkit.report.campaigns import Member
from labkit.report.choosing import dropped, hard, interval
from labkit.report.literature import Experiment, Literature
from labkit.report.markdown import code, escape

_SHOWN = 3  # settings of a benchmark that a cell shows


def groups(one: Experiment, paper: Literature) -> list[list[Number]]:
    """Group the numbers of an experiment: those in one list are compared with the same points."""
    parts: dict[Any, list[Number]] = {}
    for number in paper.numbers_of(one):
        same = (number.benchmarks, number.metric, number.statistic, number.arguments, number.size, number.transport)
        parts.setdefault((*same, number.unit, number.processes), []).append(number)
    return list(parts.values())


def compared(number: Number, members: Sequence[Member]) -> bool:
    """Return whether a campaign has a point that is comparable with a number."""
    return any(len(measured(number, member.of(name))) for member in members for name in number.benchmarks)


def cell(number: Number, members: Sequence[Member]) -> str:
    """Return the values that are comparable with a number, each with its setting; else what is missing."""
    texts = []
    for member in members:
        values = [text for name in number.benchmarks for text in _values(number, measured(number, member.of(name)))]
        campaign = f"**{escape(member.name)}:** " if len(members) > 1 else ""
        texts += [campaign + joined(values)] if values else []
    return joined(texts) or _missing(number)


def _missing(number: Number) -> str:
    """Say which measurement a number could be compared with."""
    names = " or ".join(map(code, number.benchmarks))
    if not number.statistic:
        return f"not compared with {names}: {UNNAMED}"
    ends = [format_size(parse_size(size)) for size in number.sizes]
    size = f"{number.size} messages" if number.size and not ends else " to ".join(ends)
    path = f"over {PATH_WORDS[number.transport]}" if number.transport else ""
    arguments = ", ".join(filter(None, [size, number.arguments, path]))
    wanted = f" with the paper's arguments ({escape(arguments)})" if arguments else ""
    words = f" ({number.statistic_words})" if number.statistic_words else ""
    return f"not measured: {escape(METRICS[number.metric].label)}{words} of {names}{wanted}"


def command(number: Number) -> str:
    """Return a command line that measures a value comparable with a number."""
    point = points(number)[0]
    size = f" -m {number.size}" if number.sizes else ""
    options = "".join(f" -o {option}={value}" for option, value in point.options.items())
    path = f" --transport {point.transport}" if point.transport != "auto" else ""
    return f"labkit measure {point.benchmark}{size}{options}{path} --launches 6"


def _values(number: Number, rows: pd.DataFrame) -> Iterator[str]:
    """Yield a text for each setting of a benchmark, those with the number of processes nearest the paper's first."""
    if rows.empty:
        return
    name = str(rows["benchmark"].iloc[0])
    parts, others = settings(number, rows)
    for one in compare(number, rows)[:_SHOWN]:
        different = [f"{named(key)}={level(one.rows[0][key])}" for key in others]
        place = ", ".join(filter(None, [one.where, one.scale, *different]))
        yield f"{code(name)}{f' ({escape(place)})' if place else ''}: {_text(one)}"
    if len(parts) > _SHOWN:
        missing = dropped(by_benchmark(rows)[name], pd.concat(parts[:_SHOWN]))
        yield f"{code(name)}: {plural(len(parts) - _SHOWN, 'more setting')} ({escape(missing)})"


def pair(number: Number, members: Sequence[Member], *, other_path: bool = False) -> tuple[Comparison, Member] | None:
    """Return the value to print beside a number, with its campaign; None without any. Simulated values do not count.

    Parameters
    ----------
    other_path : also return a value of another path, which has no ratio.
    """
    tables = [(member, [_not_simulated(member.of(name)) for name in number.benchmarks]) for member in members]
    found = [(one, member) for member, of in tables if (one := first(number, of, other_path=other_path))]
    return min(found, key=lambda each: worth(each[0]), default=None)


def _not_simulated(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["origin"] != "simulated"] if "origin" in rows else rows


def pairs(one: Experiment, paper: Literature, members: Sequence[Member]) -> list[tuple[Comparison, Member]]:
    """Return the published numbers of an experiment, each with its measured value.

    Values measured over the paper's path are preferred; others are returned only if there are none.
    """
    numbers = paper.numbers_of(one)
    same = [found for number in numbers if (found := pair(number, members))]
    return same or [found for number in numbers if (found := pair(number, members, other_path=True))]


def _text(one: Comparison) -> str:
    """Return the value of one point in the unit of a number, or the lowest and highest of several sizes."""
    number, values = one.number, one.values
    words = number.statistic_words
    sizes = [int(row["message_size_B"]) for row in one.rows]
    at = f" at {format_size(sizes[0])}" if number.size and not number.sizes else ""
    if len(values) > 1:
        text = hard(f"**{one.measured}** {number.unit}")
        at = f" from {format_size(sizes[0])} to {format_size(sizes[-1])}"
    else:
        text = hard(f"**{values[0].text}** {number.unit}{interval(values[0])}")
    return f"{text}{hard(at)}{f', {words}' if words else ''}"
