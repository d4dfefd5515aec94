"""Put measured values beside published ones: only those of the same arguments, size, quantity, statistic and unit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from labkit import benchmarks
from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.units import format_size, parse_size, plural
from labkit.read.records import Value, by_benchmark, value_of
from labkit.read.records.factors import differing, level, named
from labkit.read.reference import ANY, Number
from labkit.read.reference.comparing import measured
from labkit.report.campaigns import Member
from labkit.report.choosing import dropped, hard, interval, path_name
from labkit.report.literature import Experiment, Literature
from labkit.report.markdown import code, escape

_SHOWN = 3  # settings of a benchmark that a cell shows
_PATH = ("transport", "testbed")


def groups(one: Experiment, paper: Literature) -> list[list[Number]]:
    """Return the numbers of an experiment in lists; all numbers of a list are compared with the same points."""
    parts: dict[Any, list[Number]] = {}
    for number in paper.numbers_of(one):
        same = (number.benchmarks, number.metric, number.statistic, number.arguments, number.size)
        parts.setdefault((*same, number.unit, number.processes), []).append(number)
    return list(parts.values())


def compared(number: Number, members: Sequence[Member]) -> bool:
    """Return whether a campaign has a point that a number may be compared with."""
    return any(len(measured(number, member.of(name))) for member in members for name in number.benchmarks)


def cell(number: Number, members: Sequence[Member]) -> str:
    """Return the values that a number may be compared with, each with its setting; else what is missing."""
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
        return f"not compared with {names}: the paper does not say which statistic it is"
    ends = [format_size(parse_size(size)) for size in number.sizes]
    size = f"{number.size} messages" if number.size and not ends else " to ".join(ends)
    arguments = ", ".join(filter(None, [size, number.arguments]))
    wanted = f" with the paper's arguments ({escape(arguments)})" if arguments else ""
    words = f" ({number.statistic_words})" if number.statistic_words else ""
    return f"not measured: {escape(METRICS[number.metric].label)}{words} of {names}{wanted}"


def command(number: Number) -> str:
    """Return a command line that measures what a number may be compared with."""
    name = number.benchmarks[0]
    known = {field.name for field in dataclasses.fields(benchmarks.get(name).options)}  # others are of other benchmarks
    size = f" -m {number.size}" if number.sizes else ""
    given = {option: value for option, value in number.options.items() if value != ANY and option in known}
    options = "".join(f" -o {option}={value}" for option, value in given.items())
    return f"labkit measure {name}{size}{options} --launches 6"


def _values(number: Number, rows: pd.DataFrame) -> Iterator[str]:
    """Yield a text for each setting of a benchmark, those with the number of processes nearest the paper's first."""
    if rows.empty:
        return
    name = str(rows["benchmark"].iloc[0])
    rows, parts, others = _settings(number, rows)
    for part in parts[:_SHOWN]:
        first = part.iloc[0]
        where = [path_name(str(first["transport"]), str(first["testbed"]))]
        if number.processes and first["ranks"] != number.processes:
            where.append(f"{plural(int(first['ranks']), 'rank')}, the paper {number.processes}")
        where += [f"{named(key)}={level(first[key])}" for key in others]
        place = ", ".join(filter(None, where))
        yield f"{code(name)}{f' ({escape(place)})' if place else ''}: {_text(number, part)}"
    if len(parts) > _SHOWN:
        missing = dropped(rows, pd.concat(parts[:_SHOWN]))
        yield f"{code(name)}: {plural(len(parts) - _SHOWN, 'more setting')} ({escape(missing)})"


def _settings(number: Number, rows: pd.DataFrame) -> tuple[pd.DataFrame, list[pd.DataFrame], list[str]]:
    """Return the rows, their settings (those with the paper's number of processes first), and what these differ in."""
    rows = by_benchmark(rows)[str(rows["benchmark"].iloc[0])]
    others = [one for one in differing(rows) if one not in (*_PATH, "ranks", "fingerprint")]
    keys = [*_PATH, "ranks", *others]
    settings = [rows[key] if key == "ranks" else rows[key].map(level) for key in keys]
    parts = [part for _, part in rows.groupby(settings, sort=False)]
    parts.sort(key=lambda part: abs(math.log(part["ranks"].iloc[0] / (number.processes or part["ranks"].iloc[0]))))
    return rows, parts, others


@dataclasses.dataclass(frozen=True)
class Pair:
    """A published number and a measured one.

    Parameters
    ----------
    number : that is published.
    value : of one point, in the unit of the number.
    member : the campaign of the point.
    where : its path.
    """

    number: Number
    value: Value
    member: Member
    where: str


def pair(number: Number, members: Sequence[Member]) -> Pair | None:
    """Return the measured value to print beside a number, from the first campaign that has one; None without any.

    Of several settings, the one whose number of processes is nearest to the paper's is taken; of several sizes, the
    smallest.
    """
    for member in members:
        for name in number.benchmarks:
            if len(rows := measured(number, member.of(name))):
                first = _settings(number, rows)[1][0].sort_values("message_size_B").iloc[0]
                where = path_name(str(first["transport"]), str(first["testbed"]))
                return Pair(number, _in_unit(number, first.to_dict()), member, where)
    return None


def _text(number: Number, rows: pd.DataFrame) -> str:
    """Return the value of one point in the unit of a number, or the lowest and highest of several sizes."""
    values = sorted((_in_unit(number, row) for row in rows.to_dict("records")), key=lambda one: one.value)
    words = number.statistic_words
    sizes = sorted({int(size) for size in rows["message_size_B"]})
    at = f" at {format_size(sizes[0])}" if number.size and not number.sizes else ""
    if len(values) > 1:
        text = hard(f"**{values[0].text} to {values[-1].text}** {number.unit}")
        at = f" from {format_size(sizes[0])} to {format_size(sizes[-1])}"
    else:
        text = hard(f"**{values[0].text}** {number.unit}{interval(values[0])}")
    return f"{text}{hard(at)}{f', {words}' if words else ''}"


def _in_unit(number: Number, row: dict[str, Any]) -> Value:
    """Return the number's statistic of a row in the number's unit."""
    value = value_of(row, number.metric, number.statistic)
    factor = 1 / number.in_unit(METRICS[number.metric].unit, 1.0)
    numbers = {name: getattr(value, name) * factor for name in ("value", "low", "high", "step")}
    return dataclasses.replace(value, **numbers)
