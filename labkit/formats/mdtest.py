"""mdtest's summary of rates: operations on files and directories of all tasks together, per second.

The rate of an iteration is the items of all tasks over the time of the slowest (``mdtest.c``: ``summarize_results``);
the summary has greatest, least and mean of the iterations' rates. Where it also has the columns ``per Rank``, these
are left out. ``SUMMARY time`` (``-P``) shows the same in another unit, and is not read.
"""

from __future__ import annotations

import re

from labkit.formats.reading.log import MEAN_OF_RATES, NUMBER, UNTITLED, Lines, Log, Run, over_repeats, settings
from labkit.point.notes import note
from labkit.point.spec import Reported

_BEGINS = re.compile(r"mdtest-(\S+) was launched with (\d{1,9}) total task\(s\) on (\d{1,9}) node(?:\(s\)|s)")
_SUMMARY = re.compile(r"SUMMARY(?: rate(?: \(in ops/sec\))?)?: \(of (\d{1,9}) iterations\)")
_ROW = re.compile(
    rf" *([A-Z][a-z]+ (?:creation|stat|rename|read|removal)) *:?((?: +{NUMBER}){{4}}|(?: +{NUMBER}){{7}})$"
)
_NAMED = re.compile(r" *(?:File|Directory|Tree)\b(?!.*\(stonewall\))")  # begins a row, be it a damaged one
_ITEMS = r"(\d{1,9}) tasks, (\d{1,18}) files"


def runs(text: str, where: str) -> list[Run]:
    """Return one run per operation with a rate."""
    lines, made = Lines(text, where), []
    for first, last, head in lines.blocks(_BEGINS):
        made += _block(lines, first, last, head)
    if not made:
        for first, last, _ in lines.blocks(_SUMMARY):
            made += _block(lines, first, last, None)
    return made


def _block(lines: Lines, first: int, last: int, head: re.Match[str] | None) -> list[Run]:
    """Read one run of the program; `head` is missing in an excerpt that begins with its summary."""
    start, summary = lines.need(_SUMMARY.pattern, first, last, "'SUMMARY rate (in ops/sec): (of … iterations)'")
    items = lines.find(_ITEMS, first, start)
    iterations, tasks = int(summary[1]), int(head[2]) if head else 0
    if (head and not tasks) or not iterations:
        raise lines.wrong(first, "1 task or more")
    remarks = (note("repeats-in-a-start", f"{iterations} iterations inside one start", count=iterations), MEAN_OF_RATES)
    stated = settings(line for line in lines.texts[first - 1 : start - 1] if "FS" not in line and "Path" not in line)
    made = []
    for number in range(start + 1, last + 1):
        line = lines.texts[number - 1]
        row = _ROW.match(line)
        if not row:
            damaged = number > start + 3 and re.search(r": +[-+\d.]", line) and not line.startswith("--")
            if damaged or _NAMED.match(line):
                raise lines.wrong(number, "the name of an operation and 4 or 7 numbers")
            if number > start + 3 and (not line.strip() or line.startswith(("--", "SUMMARY"))):
                break
            continue
        most, least, mean, deviation = (lines.number(cell, number) for cell in row[2].split()[-4:])
        if not most:  # not asked for
            continue
        if not least * 0.99 <= mean <= most * 1.01:
            raise lines.wrong(number, "a mean between least and greatest")
        rates = over_repeats("operation_rate_per_s", "1/s", most, least, mean)
        made.append(
            Run(
                test="mdtest",
                values=(*rates, Reported("operation_rate_per_s", "1/s", "stddev", deviation)),
                line=number,
                ranks=tasks,
                options={"operation": row[1].lower(), "items": int(items[1][2]) // tasks if items and tasks else 0},
                stated=stated,
                parameters={"nodes": head[3]} if head else {},
                version=head[1] if head else "",
                doubts=() if head else (UNTITLED,),
                remarks=remarks if iterations > 1 else (),
                source=lines.source(start, number),
            )
        )
    return made


LOG = Log("mdtest", ("mdtest-",), _BEGINS, runs, rows=_SUMMARY.fullmatch)
