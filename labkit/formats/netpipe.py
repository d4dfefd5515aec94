"""NetPIPE's file of results (``np.out``): bytes, Mbps, seconds, a line for each size.

Its Mbps are of 2^20 bits, and its time is one way, half the round trip, of the best of its trials. It is called
``value``, because it is neither the mean nor the least of all times. The time has 8 decimals, so its step is 10 ns. The
rate has more digits, so labkit computes everything from it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from labkit.formats import malformed, metric
from labkit.formats.reading.log import Lines, Log, Run
from labkit.point.notes import Note, note
from labkit.point.spec import Reported

_WHAT = "NetPIPE output"
_ROW = re.compile(r" *(\d{1,18}) +(\d+\.\d{6}) +(\d+\.\d{8})")
_MBIT = 2**20
_STEP_S = 1e-8
BEST = note("best-of", "the best of NetPIPE's trials, not their mean")


def parse(text: str) -> list[tuple[int, float]]:
    """Parse size in B and one-way time in s of every line.

    Raises
    ------
    DataError
        If a line is none of three numbers, they contradict each other, or there is none.
    """
    points = []
    for number, line in enumerate(text.splitlines(), 1):
        row = _ROW.fullmatch(line)
        if not row:
            raise malformed(_WHAT, number, line, "bytes, Mbps with 6 decimals, s with 8")
        size, rate, printed = int(row[1]), float(row[2]), float(row[3])
        time = 8 * size / (rate * _MBIT) if rate else 0.0
        if not time or abs(time - printed) > _STEP_S:
            raise malformed(_WHAT, number, line, f"{time:.8f} s at its end, which follows from size and rate")
        points.append((size, time))
    if not points or not text.endswith("\n"):
        raise malformed(_WHAT, 0, text[-80:] or "nothing", "at least one whole line")
    return points


def round_trip(text: str) -> list[Reported]:
    """Round trip and transaction rate of a run over one size.

    Raises
    ------
    DataError
        As `parse`, or for several sizes.
    """
    rows = parse(text)
    if len(rows) != 1:
        raise malformed(_WHAT, 2, f"{len(rows)} sizes", "one")
    ((_, time),) = rows
    return [metric("round_trip_us", "value", 2e6 * time), metric("transaction_rate_per_s", "value", 0.5 / time)]


def ladder(text: str, direction: str = "ping-pong") -> list[Reported]:
    """Values of every size, with the label ``block_size_B``.

    Parameters
    ----------
    text : the file.
    direction : ``ping-pong``; ``stream`` (``-s``) and ``both`` (``-2``) have no round trips, and with both NetPIPE
        prints twice the size of a message.

    Returns
    -------
    ``latency_us`` (one way) and ``round_trip_us``, if present; ``bandwidth_MBps``.
    """
    values = []
    for size, time in parse(text):
        labels = {"block_size_B": size // 2 if direction == "both" else size}
        if direction == "ping-pong":
            values.append(metric("latency_us", "value", 1e6 * time, labels))
            values.append(metric("round_trip_us", "value", 2e6 * time, labels))
        values.append(metric("bandwidth_MBps", "value", 1e-6 * size / time, labels))
    return values


_BEGINS = re.compile(
    r" *\d{1,12} +\d+\.\d{6} +\d+\.\d{8}$|(?:[ \d]{3}: )? *\d+ bytes +\d+ times --> +\d+\.\d\d Mbps in +\d+\.\d+ u?sec"
)
_SHOWN = re.compile(  # the first number looks like a rank's label, which is removed
    r"(?:[ \d]{3,6}: )? *(\d{1,12}) bytes +(\d{1,12}) times --> +(\d{1,12}\.\d\d) Mbps in +"
    r"(\d{1,12}\.\d\d(?= usec)|\d{1,9}\.\d{6,9}(?= sec)) u?sec(?: +[\d.]+% CPU load)?$"
)


_DECIMALS = 2  # of a time in µs; NetPIPE 2 prints seconds with six
_DAMAGED = re.compile(r" *\d+ +(?:\d|bytes)| {0,3}\d{1,3}: +[\d,]+(?: |$)| *[\d,]+(?: b.*)?$")
_STREAM = r" *Streaming in one direction only\."
_FEWEST = 5  # sizes that show that all are even
_DIRECTION = note(
    "direction-unknown", "NetPIPE's file does not name the direction: ping-pong is assumed, as without -s and -2"
)


def runs(text: str, where: str) -> list[Run]:
    """Return one run per size, from ``np.out`` or from what the client prints.

    ``-s`` has no latency. ``-2`` prints twice the size in ``np.out``. labkit refuses it if this shows, because all
    sizes are even: 2, 4, 6, 8, ….
    """
    lines, made = Lines(text, where), []
    stream = lines.find(_STREAM, 1, len(lines))
    for number, line in lines:
        doubts: list[Note] = []
        if _ROW.fullmatch(line):
            ((size, seconds),) = parse(f"{line}\n")
            doubts = [] if stream else [_DIRECTION]
        elif shown := _SHOWN.match(line):
            size, seconds = _shown(lines, number, shown)
        elif _DAMAGED.match(line):
            raise lines.wrong(number, "bytes, Mbps and seconds, as NetPIPE prints them")
        else:
            continue
        values = [metric("bandwidth_MBps", "value", 1e-6 * size / seconds)]
        values = values if stream else [metric("latency_us", "value", 1e6 * seconds), *values]
        run = Run(test="NetPIPE", values=tuple(values), line=number, size=size, remarks=(BEST,), source=f"{line}\n")
        made.append(replace(run, doubts=tuple(doubts)))
    sizes = {run.size for run in made}
    if len(sizes) >= _FEWEST and min(sizes) == 2 and not any(size % 2 for size in sizes):
        raise lines.wrong(made[0].line, "NetPIPE's results without -2, which prints twice the size of a message")
    return made


def _shown(lines: Lines, number: int, shown: re.Match[str]) -> tuple[int, float]:
    """Return size and time of a line of the client; the time comes from the rate or time, whichever has more digits."""
    size, rate = int(shown[1]), lines.number(shown[3], number) * _MBIT
    old = len(shown[4].partition(".")[2]) > _DECIMALS
    printed = lines.number(shown[4], number) * (1.0 if old else 1e-6)
    step = 0.5e-6 if old else 0.5e-8  # what the last digit of the time leaves open, s
    follows = 8 * size / rate if rate > 0 and size else printed
    if (
        not size
        or not printed > 0
        or abs(follows - printed) > 0.02 * printed + 2 * step + 0.005 * _MBIT / max(rate, 1.0) * printed
    ):
        raise lines.wrong(number, "a rate and a time that follow from one another, as without -2")
    return size, follows if 0.005 * _MBIT * printed < step * rate else printed


LOG = Log("NetPIPE", (" bytes ", "."), _BEGINS, runs)
