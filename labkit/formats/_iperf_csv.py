"""The lines of iperf 2's ``-y C``: date, addresses and ports, connection, interval, bytes and bits/s."""

from __future__ import annotations

import re
from collections.abc import Sequence

from labkit.formats import metric
from labkit.formats.reading.log import NUMBER, SIZE_UNKNOWN, Lines, Run

LINE = re.compile(
    r"(?P<year>\d{4})\d{4}(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d),"
    rf"(?P<connection>[\d.a-f:]+,\d+,[\d.a-f:]+,\d+,(?P<id>-?\d+)),(?P<begin>{NUMBER})-(?P<end>{NUMBER}),"
    r"(?P<bytes>\d{1,18}),(?P<rate>\d{1,18})(?:,(?P<rest>.*))?$"
)
_NO_TIME = "1970"  # year that iperf 2 prints where it prints no intervals
_CSV_LOST = re.compile(rf"({NUMBER}),(\d{{1,18}}),(\d{{1,18}}),")  # jitter, datagrams that were lost, and all


def runs(lines: Lines) -> list[Run]:
    """Read the lines of ``-y C``: the last line of each connection, from 0 to its end, is the whole."""
    whole: list[tuple[int, re.Match[str]]] = []
    open_: dict[str, list[tuple[int, re.Match[str]]]] = {}  # addresses, ports and number → lines of a connection
    for number, line in lines:
        if not line.strip():
            continue
        row = LINE.match(line)
        if not row:
            raise lines.wrong(number, "date, addresses and ports, connection, interval, bytes and bits/s")
        before = open_.setdefault(row["connection"], [])
        if float(row["begin"]) > 0:
            if not before:
                raise lines.wrong(number, "the interval of this connection that begins at 0")
            before.append((number, row))
        elif before and _closes(row, [one for _, one in before]):
            whole.append((number, row))
            before.clear()
        else:
            whole += _alone(lines, before, number)
            before[:] = [(number, row)]
    for before in open_.values():
        whole += _alone(lines, before, len(lines))
    return [run for number, row in sorted(whole, key=lambda one: one[0]) if (run := _of_csv(lines, number, row))]


def _closes(row: re.Match[str], before: Sequence[re.Match[str]]) -> bool:
    """Return whether a line from 0 on sums up the intervals above it; else another connection begins with it."""
    last = before[-1]
    if float(row["end"]) < float(last["end"]) or int(row["bytes"]) < sum(int(one["bytes"]) for one in before):
        return False
    if len(before) > 1:
        return True
    # a single interval ends with its test; a second test of the same length ends that much later
    began, ended = (3600 * int(one["hour"]) + 60 * int(one["minute"]) + int(one["second"]) for one in (last, row))
    return row["year"] != _NO_TIME and (ended - began) % 86400 < max(1.0, float(row["end"]))


def _alone(
    lines: Lines, before: Sequence[tuple[int, re.Match[str]]], number: int
) -> Sequence[tuple[int, re.Match[str]]]:
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
