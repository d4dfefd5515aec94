"""The tables of fi_pingpong and of the ping-pongs of fabtests: bytes, messages, time, MB/sec, usec/xfer and more.

``usec/xfer`` is the time over the messages of both directions, half a round trip (``pingpong.c``: show_perf with 2
transfers an iteration); here it is a round trip. Its sizes and counts are cut to two digits with k, m and g of 2^10,
and its MB/sec, 10^6 B, counts both directions. The ping-pongs of fabtests print the same with the column ``iters``
(``shared.c``: show_perf); their table names the test in its first column, if at all.
"""

from __future__ import annotations

import re

from labkit.formats import malformed, metric
from labkit.formats.reading.log import Lines, Log, Run, binary
from labkit.point.notes import note
from labkit.point.spec import Reported

CLOCK_NS = 10.0  # prints µs with two decimals
_WHAT = "fi_pingpong output"
_HEAD = ["bytes", "#sent", "#ack", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec"]
_COUNT = r"(\d+(?:\.\d+)?[kmg]?)"
_DECIMAL = r"(\d{1,18}\.\d{1,6})"
_ROW = re.compile(rf"{_COUNT} +{_COUNT} +=?{_COUNT} +{_COUNT} +{_DECIMAL}s +{_DECIMAL} +{_DECIMAL} +{_DECIMAL}")


def parse(text: str) -> list[Reported]:
    """Round trip and transaction rate of a run over one size.

    Raises
    ------
    DataError
        For an error that fi_pingpong printed, a table of other columns, several sizes, or answers that are missing.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or lines[0].split() != _HEAD:
        raise malformed(_WHAT, 1, lines[0] if lines else "nothing", " ".join(_HEAD))
    if len(lines) != 2:
        raise malformed(_WHAT, 3, lines[2] if len(lines) > 2 else "nothing", "the line of one size")
    row = _ROW.fullmatch(lines[1].strip())
    if not row:
        raise malformed(_WHAT, 2, lines[1], "8 columns: " + " ".join(_HEAD))
    if row[2] != row[3]:
        raise malformed(_WHAT, 2, lines[1], "as many answers as messages")
    half = float(row[7])
    if not half > 0:
        raise malformed(_WHAT, 2, lines[1], "usec/xfer above 0")
    return _values(half)


def _values(half: float) -> list[Reported]:
    """Return round trip and rate, from half a round trip, µs."""
    return [metric("round_trip_us", "mean", 2 * half), metric("transaction_rate_per_s", "mean", 0.5e6 / half)]


_OF_FABTESTS = r"(?:name +)?bytes +iters +total +time +MB/sec +usec/xfer +Mxfers/sec"
_BEGINS = re.compile(f"(?:{' +'.join(map(re.escape, _HEAD))}|{_OF_FABTESTS})$")
_ITERATED = re.compile(
    rf"(?:([a-z]\w*)\s+)?{_COUNT} +{_COUNT} +{_COUNT} +{_DECIMAL}s +{_DECIMAL} +{_DECIMAL} +{_DECIMAL}"
)
_COMMAND = re.compile(r"\bfi_\w+")
_FAR = 30  # lines above a table in which its command may be
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)([kmg]?)")
_PROVIDER = note("provider-unknown", "the table does not name the provider; it is that of the command above, if any")


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each size of each table: client and server print one each."""
    lines, made = Lines(text, where), []
    for head, last, _ in lines.blocks(_BEGINS):
        if "#sent" not in lines.texts[head - 1]:
            made += _of_fabtests(lines, head, last)
            continue
        for number in range(head + 1, last + 1):
            line = lines.texts[number - 1]
            row = _ROW.fullmatch(line)
            if not row:
                if re.match(r"\d[\d.]*[kmg]? +\d", line):
                    raise lines.wrong(number, "8 columns: " + " ".join(_HEAD))
                if line.strip():
                    break
                continue
            if row[2] != row[3]:
                raise lines.wrong(number, "as many answers as messages")
            made.append(_run(lines, head, number, "fi_pingpong", row[1], row[7]))
    return made


def _of_fabtests(lines: Lines, head: int, last: int) -> list[Run]:
    """Make a run of each size of a table of fabtests, up to the first line that is none."""
    above = [name for line in lines.texts[max(0, head - _FAR) : head - 1] for name in _COMMAND.findall(line)]
    made = []
    for number in range(head + 1, last + 1):
        row = _ITERATED.fullmatch(lines.texts[number - 1].strip())
        if not row:
            break
        name = row[1] or (above[-1] if above else "")
        test = "fi_pingpong" if name.endswith("pingpong") else f"fabtests {name or _NAMELESS}"
        made.append(_run(lines, head, number, test, row[2], row[7]))
    return made


def _run(lines: Lines, head: int, number: int, test: str, size: str, half: str) -> Run:
    """Make a run of a row, from its size and from half its round trip, µs."""
    time, parts = lines.number(half, number), _SIZE.fullmatch(size)
    if not time > 0 or not parts:
        raise lines.wrong(number, "a size, and usec/xfer above 0")
    return Run(
        test=test,
        values=tuple(_values(time)),
        line=number,
        size=round(binary(parts[1], parts[2])),
        doubts=(_PROVIDER,),
        source=lines.source(head, head) + lines.source(number, number),
    )


_NAMELESS = "of a test that the log does not name (write its command, such as fi_rdm_pingpong, above the table)"


LOG = Log("fi_pingpong", ("usec/xfer",), _BEGINS, runs)
