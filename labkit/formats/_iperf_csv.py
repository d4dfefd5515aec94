"""The lines of iperf 2's ``-y C``: date, addresses and ports, connection, interval, bytes and bits/s."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from labkit.formats import metric
from labkit.formats.reading.log import CUT, NUMBER, SIZE_UNKNOWN, Lines, Run
from labkit.point.notes import note

LINE = re.compile(
    r"(?P<when>\d{14}),"
    rf"(?P<connection>[\d.a-f:]+,\d+,[\d.a-f:]+,\d+,(?P<id>-?\d+)),(?P<begin>{NUMBER})-(?P<end>{NUMBER}),"
    r"(?P<bytes>\d{1,18}),(?P<rate>\d{1,18})(?:,(?P<rest>.*))?$"
)
MAY_BE_FIRST = note(
    CUT.code, "the only line of this test may be its first interval, if the log is cut: compare it with iperf's output"
)
_FIELDS = 3  # fewer commas, even in a damaged line
DEFAULT_TIME = 10.0  # s that a test lasts without -t; an interval of -i is rarely as long
_NO_TIME = "19700101000000"  # what iperf 2 prints where it prints no intervals
_CSV_LOST = re.compile(rf"({NUMBER}),(\d{{1,18}}),(\d{{1,18}}),")  # jitter, datagrams that were lost, and all
Row = tuple[int, re.Match[str]]


def runs(lines: Lines) -> list[Run]:
    """Read the lines of ``-y C``: the last line of each connection, from 0 to its end, is the whole."""
    whole = list[Row]()
    newest = datetime.min  # of the lines that begin at 0
    open_: dict[str, list[Row]] = {}  # addresses, ports and number → lines of a connection
    for number, line in lines:
        if not line.strip():
            continue
        row = LINE.match(line)
        if not row and line.count(",") < _FIELDS:
            continue  # of another program
        if not row:
            raise lines.wrong(number, "date, addresses and ports, connection, interval, bytes and bits/s")
        before = open_.setdefault(row["connection"], [])
        newest = newest if float(row["begin"]) else max(newest, _when(lines, number, row))
        if float(row["begin"]) > 0:
            if not before:
                raise lines.wrong(number, "the interval of this connection that begins at 0")
            before.append((number, row))
        elif before and _closes(lines, (number, row), before):
            whole.append((number, row))
            before.clear()
        else:
            whole += _alone(lines, before, number)
            before[:] = [(number, row)]
    ends = [one for before in open_.values() for one in _alone(lines, before, len(lines))]
    first = {
        number
        for number, row in ends
        if row["when"] != _NO_TIME
        and float(row["end"]) < DEFAULT_TIME
        and newest - _when(lines, number, row) < timedelta(seconds=float(row["end"]))
    }  # no test began after it
    made = []
    for number, row in sorted([*whole, *ends], key=lambda one: one[0]):
        if run := _of_csv(lines, number, row):
            made.append(replace(run, doubts=(*run.doubts, MAY_BE_FIRST)) if number in first else run)
    return made


def _when(lines: Lines, number: int, row: re.Match[str]) -> datetime:
    """Return the time at which a line was printed."""
    try:
        return datetime.strptime(row["when"], "%Y%m%d%H%M%S")
    except ValueError as error:
        raise lines.wrong(number, "year, month, day, hour, minute and second in 14 digits") from error


def _closes(lines: Lines, place: Row, before: Sequence[Row]) -> bool:
    """Return whether a line that starts at 0 sums up the intervals above it; otherwise it begins another connection."""
    (number, row), (at, last) = place, before[-1]
    if float(row["end"]) < float(last["end"]) or int(row["bytes"]) < sum(int(one["bytes"]) for _, one in before):
        return False
    if len(before) > 1:
        return True
    # a single interval ends with its test; a second test of the same length ends that much later
    between = _when(lines, number, row) - _when(lines, at, last)
    return row["when"] != _NO_TIME and between < timedelta(seconds=max(1.0, float(row["end"])))


def _alone(lines: Lines, before: Sequence[Row], number: int) -> Sequence[Row]:
    """Return the only line of a connection; refuse intervals without a line that sums them up."""
    if len(before) > 1:
        raise lines.wrong(number, "the line of this connection from 0 to its end: the log is cut")
    return before


def _of_csv(lines: Lines, number: int, row: re.Match[str]) -> Run | None:
    """Return the run of a connection; None if it moved nothing."""
    protocol = "UDP" if row["rest"] else "TCP"
    values = [metric("bandwidth_MBps", "mean", lines.number(row["rate"], number) / 8e6)]
    if values[0].value <= 0:
        return None
    if (lost := _CSV_LOST.match(row["rest"] or "")) and int(lost[3]):
        values.append(metric("jitter_us", "mean", lines.number(lost[1], number) * 1e3))
        values.append(metric("lost_percent", "mean", 100 * int(lost[2]) / int(lost[3])))
    source, test = lines.source(number, number), f"iperf {protocol}"
    stated = {"row": "sum"} if row["id"] == "-1" else {}  # of older versions: no launch of the same point as its parts
    return Run(test=test, values=tuple(values), line=number, stated=stated, source=source, doubts=(SIZE_UNKNOWN,))
