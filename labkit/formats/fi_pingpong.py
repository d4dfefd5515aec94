"""The tables of fi_pingpong and of fabtests: bytes, messages, time, MB/sec, usec/xfer and more.

``usec/xfer`` is the time over the messages of both directions, half a round trip (``pingpong.c``: show_perf with 2
transfers an iteration); here it is a round trip. Its sizes and counts are cut to two digits with k, m and g of 2^10,
and its MB/sec, 10^6 B, counts both directions.

fabtests print the same with the column ``iters`` (``shared.c``: show_perf), whose k and m are 10^3 and 10^6. Their
ping-pongs have 2 transfers an iteration, all other tests one: ``total`` divided by bytes and iterations distinguishes
the two. Some tests put their name into the first column; until 2015 rates were in Gb/sec. ``-m`` prints YAML.
"""

from __future__ import annotations

import re

from labkit.formats import malformed, metric
from labkit.formats.reading.log import SIZE_CUT, Lines, Log, Run, binary
from labkit.point.notes import Note, note
from labkit.point.spec import Reported, Scalar

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


_OF_FABTESTS = r"(?:name +)?bytes +iters +total +time +(?:MB|Gb)/sec +usec/xfer(?: +Mxfers/sec)?"
_IN_YAML = r"- \{ xfer_size: "
_BEGINS = re.compile(f"[ \\t]*(?:{' +'.join(map(re.escape, _HEAD))}|{_OF_FABTESTS})$|{_IN_YAML}")
_COMMAND = re.compile(r"""\b(fi_\w+)((?: +(?:"[^"]*"|'[^']*'|[^\s|;&"']+))*)""")
_FAR = 30  # lines above a table in which its command may be
_PINGPONG = "fi_pingpong"
_OTHER = "fabtests"
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_SIZE = re.compile(r"(\d{1,12}(?:\.\d{1,3})?)([kmg]?)")
_STEP = 0.0051  # half of the last digit of MB/sec and of usec/xfer, with room for the rounding of floats
_NO_NAME = note(
    "test-unknown", "the log does not name the test (write its command, such as fi_rma_bw, above the table)"
)
_PROVIDER = note("provider-unknown", "the table does not name the provider; it is that of the command above, if any")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per size of each table: client and server print one each."""
    lines, made = Lines(text, where), []
    for head, last, begun in lines.blocks(_BEGINS):
        if begun[0].startswith("- "):
            pairs = dict(re.findall(r"([\w/]+): (\d[\d.]*)", lines.texts[head - 1]))
            cells = pairs | {"bytes": pairs.get("xfer_size", ""), "iters": pairs.get("iterations", "")}
            if not {"total", "MB/sec", "usec/xfer"} <= set(cells):
                raise lines.wrong(head, "xfer_size, iterations, total, MB/sec and usec/xfer")
            made += _of_fabtests(lines, head, [(head, cells)])
            continue
        columns = begun[0].split()
        if columns != _HEAD:
            made += _of_fabtests(lines, head, _rows(lines, head, last, columns))
            continue
        for number in range(head + 1, last + 1):
            line = lines.texts[number - 1].strip()
            row = _ROW.fullmatch(line)
            if not row:
                if re.match(r"\d[\d.]*[kmg]? +\d", line):
                    raise lines.wrong(number, "8 columns: " + " ".join(_HEAD))
                if line:
                    break
                continue
            if row[2] != row[3]:
                raise lines.wrong(number, "as many answers as messages")
            half = lines.number(row[7], number)
            values = _values(half) if half > 0 else []
            made.append(_run(lines, head, number, _PINGPONG, row[1], (half, float(row[6])), values))
    return made


def _rows(lines: Lines, head: int, last: int, columns: list[str]) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a table of fabtests, up to the first line that is none."""
    rows = []
    for number in range(head + 1, last + 1):
        cells = lines.texts[number - 1].split()
        if len(cells) != len(columns) or not re.fullmatch(r"[\d.]+", cells[-1]):
            if len(cells) > 1 and all(re.fullmatch(r"\d[\d.]*[kmgbs]?", cell) for cell in cells):
                raise lines.wrong(number, f"{len(columns)} columns: {' '.join(columns)}")
            break
        rows.append((number, dict(zip(columns, cells, strict=True))))
    return rows


def _of_fabtests(lines: Lines, head: int, rows: list[tuple[int, dict[str, str]]]) -> list[Run]:
    """Return one run per row of a table of fabtests, whose cells have the names of the columns."""
    transfers = set[int]({1, 2}).intersection(*(_transfers(lines, number, cells) for number, cells in rows))
    made = []
    for number, cells in rows:
        time, per_s = lines.number(cells["usec/xfer"], number), cells.get("MB/sec") or cells["Gb/sec"]
        rate = lines.number(per_s, number) * (1.0 if "MB/sec" in cells else 125.0)
        speed = time, rate if "MB/sec" in cells else 0.0  # Gb/sec has too few digits to tell the size
        name = cells.get("name") or next(iter(_command(lines, head)), "")
        if len(transfers) != 1 and not name:
            wanted = "above it the command (fi_rdm_pingpong): bytes, iters and total do not tell the test"
            raise lines.wrong(number, wanted)
        if name.endswith("pingpong") or (not name and transfers == {2}):
            values = _values(time) if time > 0 else []
            made.append(_run(lines, head, number, _PINGPONG, cells["bytes"], speed, values, name))
            continue
        values = [metric("message_rate_per_s", "mean", 1e6 / time)] if time > 0 else []
        values += [metric("bandwidth_MBps", "mean", rate)] if rate else []
        made.append(_run(lines, head, number, _OTHER, cells["bytes"], speed, values, name))
    return made


def _transfers(lines: Lines, number: int, cells: dict[str, str]) -> set[int]:
    """Return the transfers of an iteration, 1 or 2, that fit bytes, iterations and total of a row; all are cut."""
    count = re.fullmatch(r"(\d{1,12})([kmb]?)", cells["iters"])
    size, total = (_SIZE.fullmatch(cells[name]) for name in ("bytes", "total"))
    if not (size and total and count):
        raise lines.wrong(number, "bytes, iters, total, time, a rate and usec/xfer")
    (least, most), (low, high) = _within(*size.groups()), _within(*total.groups())
    fewest, unit = int(count[1]) * _COUNTS[count[2]], _COUNTS[count[2]]
    return {n for n in (1, 2) if least * fewest * n < high and most * (fewest + unit) * n > low}


def _within(number: str, prefix: str) -> tuple[float, float]:
    """Return the least and the most bytes that a truncated size may mean."""
    step = binary("0.1" if float(number) < 10 else "1", prefix) if prefix else 1.0
    least = binary(number, prefix)
    return least, least + step


def _size(printed: re.Match[str], flags: str, time: float, rate: float) -> tuple[int, list[Note]]:
    """Return the size of a message, and a doubt if the printed size is truncated.

    The command states it (``-S``); otherwise the rate and the time of a transfer, µs, show whether digits are missing.
    """
    least, beyond = _within(*printed.groups())
    for stated in re.findall(r"-S *(\d{1,12})\b", flags):
        if least <= int(stated) < beyond:
            return int(stated), []
    if not printed[2] or not rate or abs(rate * time - least) <= _STEP * time + _STEP * rate:
        return round(least), []
    words = f"the size is printed with two digits: it is {least:.0f} B or up to {beyond - least:.0f} B more"
    return round(least), [note(SIZE_CUT, words, least=round(least))]


def _command(lines: Lines, head: int) -> tuple[str, str] | tuple[()]:
    """Return name and options of the last command above a table, if there is one."""
    above = [found for line in lines.texts[max(0, head - _FAR) : head - 1] for found in _COMMAND.findall(line)]
    return above[-1] if above else ()


def _run(
    lines: Lines,
    head: int,
    number: int,
    test: str,
    size: str,
    speed: tuple[float, float],
    values: list[Reported],
    name: str = "",
) -> Run:
    """Return the run of a row, which must have a size and a time above 0.

    Parameters
    ----------
    speed : usec/xfer, and MB/sec of 10^6 B; 0 if it is not printed.
    """
    parts, command = _SIZE.fullmatch(size), _command(lines, head)
    if not speed[0] > 0 or not parts:
        raise lines.wrong(number, "a size, and usec/xfer above 0")
    count, doubts = _size(parts, command[1] if command else "", *speed)
    given = dict(re.findall(r""" -([pe]) *("[^"]*"|'[^']*'|\S+)""", command[1])) if command else {}
    options: dict[str, Scalar] = {
        key: given[letter].strip("'\"") for key, letter in (("provider", "p"), ("endpoint", "e")) if letter in given
    }
    if test == _OTHER:
        options["test"] = name or "unknown"
    doubts += [] if "provider" in options else [_PROVIDER]
    return Run(
        test=test,
        values=tuple(values),
        line=number,
        size=count,
        options=options,
        doubts=(*doubts, *([] if test == _PINGPONG or name else [_NO_NAME])),
        source=lines.source(head, head) + (lines.source(number, number) if number > head else ""),
    )


LOG = Log("fi_pingpong", ("usec/xfer",), _BEGINS, runs)
