"""iperf 2's text with ``-e -f k``: streams over TCP and UDP, in one direction or both, and bounce-back.

``-f k`` makes every rate Kbits/sec of 10^3 bits; 8000 of them are 1 MB/s. Over TCP the output states what the client
wrote, not what the server had read by then. Over UDP it has the server's report; without that report it is no result.
Bounce-back (request, answer of the same size, next request) gives round trips, in ms with three decimals.
"""

from __future__ import annotations

import re

from labkit.formats import malformed, metric
from labkit.spec import Reported

_WHAT = "iperf output"
_MB = 8e3  # kilobits
_LINE = re.compile(r"\[ *(\*?\w+)\] +[\d.]+-([\d.]+) sec +([\d.]+) KBytes +([\d.]+) Kbits/sec *(.*)")
_WRITES = re.compile(r"\d+/\d+(?: +(\d+)(?: .*)?)?")
_LOST = re.compile(r"([\d.]+) ms +(\d+)/(\d+) \([\d.e+-]+%\)(?: .*)?")
_BOUNCES = re.compile(r"(\d+)=([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms +(\d+) .* (\d+) rps")


def stream(text: str, streams: int = 1, congestion: str = "") -> list[Reported]:
    """Bandwidth of TCP streams in one direction, and each stream's where there are several; retransmissions.

    Parameters
    ----------
    text : the client's output.
    streams : that were asked for.
    congestion : congestion control that was asked for; iperf only warns where it cannot be set.

    Raises
    ------
    DataError
        If a stream is missing, the server was not there, or the congestion control is not the one asked for.
    """
    _check(text, congestion)
    lines = _lines(text)
    stream_lines = [(way, rate, _WRITES.fullmatch(rest)) for way, rate, rest in lines if way.isdecimal()]
    if len(stream_lines) != streams or not all(writes for *_, writes in stream_lines):
        raise malformed(_WHAT, 0, _last(text), f"the lines of {streams} streams with Write/Err")
    if streams > 1:
        _proved(lines, text, "SUM")
    whole = sum(rate for _, rate, _ in stream_lines)
    values = [metric("bandwidth_MBps", "mean", _above(whole, text))]
    retransmits = [float(writes[1]) for *_, writes in stream_lines if writes and writes[1]]
    if retransmits:
        values.append(Reported("retransmits", "", "total", sum(retransmits)))
    if streams == 1:
        return values
    rates = [rate for _, rate, _ in sorted(stream_lines)]
    return values + [Reported("bandwidth_MBps", "MB/s", "mean", rate, rank=n) for n, rate in enumerate(rates)]


def both(text: str, streams: int = 1, congestion: str = "") -> list[Reported]:
    """Bandwidth of ``--full-duplex``: the sum of both ways, and each with the label ``direction``.

    Raises
    ------
    DataError
        If a stream is missing in one of the directions, or the congestion control is not the one asked for.
    """
    _check(text, congestion)
    lines = _lines(text)
    ways = {
        "forward": [rate for way, rate, _ in lines if way.isdecimal()],
        "reverse": [rate for way, rate, _ in lines if way.startswith("*")],
    }
    for name, rates in ways.items():
        if len(rates) != streams:
            raise malformed(_WHAT, 0, _last(text), f"{streams} lines of the way {name}, but there are {len(rates)}")
    _proved(lines, text, "SUM" if streams > 1 else "FD1")
    whole = sum(rate for rates in ways.values() for rate in rates)
    return [
        metric("bandwidth_MBps", "mean", _above(whole, text)),
        *(metric("bandwidth_MBps", "mean", sum(rates), {"direction": name}) for name, rates in ways.items()),
    ]


def datagrams(text: str) -> list[Reported]:
    """Parse a UDP stream: what was sent, what arrived by the server's report, what was lost, and jitter.

    Raises
    ------
    DataError
        If there is no report of the server.
    """
    lines = _lines(text)
    reports = [(rate, _LOST.fullmatch(rest)) for _, rate, rest in lines]
    arrived = [(rate, lost) for rate, lost in reports if lost]
    sent = [rate for rate, lost in reports if not lost]
    if len(arrived) != 1 or len(sent) != 1:
        raise malformed(_WHAT, 0, _last(text), "one stream with the Server Report")
    rate, lost = arrived[0]
    jitter, missing, total = float(lost[1]), int(lost[2]), int(lost[3])
    if not 0 <= missing <= total or not total:
        raise malformed(_WHAT, 0, lost[0], "datagrams lost of those sent")
    return [
        metric("bandwidth_MBps", "mean", rate),
        metric("sent_MBps", "mean", _above(sent[0], text)),
        metric("jitter_us", "mean", jitter * 1e3),
        metric("lost_percent", "mean", 100 * missing / total),
    ]


def bounces(text: str, congestion: str = "") -> list[Reported]:
    """Parse ``--bounceback``: statistics of the round trips, and how many there were in a second of waiting for them.

    Raises
    ------
    DataError
        If the line with the counts is missing, or the congestion control is not the one asked for.
    """
    _check(text, congestion)
    lines = [(rest, _BOUNCES.fullmatch(rest)) for _, _, rest in _lines(text)]
    reports = [bounce for _, bounce in lines if bounce]
    if not reports or "PDF: bin(" not in text:
        raise malformed(_WHAT, 0, _last(text), "BB cnt=avg/min/max/stdev, and its histogram")
    count, *times, _, rate = reports[-1].groups()
    if not int(count):
        raise malformed(_WHAT, 0, reports[-1][0], "at least one answer")
    named = zip(("mean", "min", "max", "stddev"), times, strict=True)
    values = [metric("round_trip_us", name, float(value) * 1e3) for name, value in named]
    values.append(metric("transaction_rate_per_s", "mean", float(rate)))
    return [*values, Reported("round_trips", "", "total", float(count))]


def _lines(text: str) -> list[tuple[str, float, str]]:
    """Return direction (``3``, ``*3`` or ``SUM``), MB/s and the rest of every line with a rate."""
    if not text.endswith("\n"):
        raise malformed(_WHAT, 0, _last(text), "a whole last line")
    matches = (_LINE.fullmatch(line.rstrip()) for line in text.splitlines())
    return [(line[1], float(line[4]) / _MB, line[5].rstrip()) for line in matches if line]


def _check(text: str, congestion: str) -> None:
    """Refuse the output of a client that had no server, or another congestion control."""
    confirmation = f"TCP congestion control set to {congestion}\n"
    if congestion and confirmation not in text:
        raise malformed(_WHAT, 0, _last(text), f"the line '{confirmation.strip()}': this system has no such control")


def _proved(lines: list[tuple[str, float, str]], text: str, name: str) -> None:
    """Refuse an output that lacks its last line."""
    if name not in [way for way, *_ in lines]:
        raise malformed(_WHAT, 0, _last(text), f"a line [{name}], which closes it")


def _above(rate: float, text: str) -> float:
    """The rate, which must not be 0."""
    if not rate > 0:
        raise malformed(_WHAT, 0, _last(text), "a rate above 0")
    return rate


def _last(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing")
