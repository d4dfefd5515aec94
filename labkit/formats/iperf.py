"""iperf 2's text with ``-e -f k``: streams over TCP and UDP, in one direction or both, and bounce-back.

``-f k`` makes every rate Kbits/sec of 10^3 bits; 8000 of them are 1 MB/s. Over TCP the output states what the client
wrote, not what the server had read by then. Over UDP it has the server's report, without which it is not a result.
Bounce-back (request, answer of the same size, next request) gives round trips, in ms with three decimals.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from labkit.formats import _iperf_csv, malformed, metric
from labkit.formats._iperf_csv import DEFAULT_TIME, MAY_BE_FIRST
from labkit.formats.reading.log import FEW_DIGITS, IN_A_MB, NUMBER, SIZE_UNKNOWN, UNTITLED, Lines, Log, Run, settings
from labkit.point.notes import note
from labkit.point.spec import Reported

CLOCK_NS = 1000.0  # prints ms with three decimals

_WHAT = "iperf output"
_MB = 8e3  # kilobits
_LINE = re.compile(r"\[ *(\*?\w+)\] +[\d.]+-(\d+\.?\d*) sec +(\d+\.?\d*) KBytes +(\d+\.?\d*) Kbits/sec *(.*)")
_WRITES = re.compile(r"\d+/\d+(?: +(\d+)(?: .*)?)?")
_LOST = re.compile(r"(\d+\.?\d*) ms +(\d{1,18})/ *(\d{1,18}) +\([\d.e+-]+%\)(?: .*)?")
_BOUNCES = re.compile(r"(\d{1,18})=(\d+\.?\d*)/(\d+\.?\d*)/(\d+\.?\d*)/(\d+\.?\d*) ms +(\d+) .* (\d+) rps")


def stream(text: str, streams: int = 1, congestion: str = "") -> list[Reported]:
    """Bandwidth of TCP streams in one direction, and each stream's if there are several; retransmissions.

    Parameters
    ----------
    text : the client's output.
    streams : streams that were requested.
    congestion : congestion control that was requested; iperf only warns if it cannot be set.

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


_BEGINS = re.compile(
    r"[ \t]*(?:Client connecting to|Server listening on) .*(?:TCP|UDP) port \d+|\d{14},[\d.a-f:]+,\d+,[\d.a-f:]+,\d+,"
)
_BANNER = re.compile(r"(Client connecting to|Server listening on) .*(TCP|UDP) port (\d+)")
_ANY = re.compile(
    rf"\[ *(?P<way>\*?\d+|SUM|FD\d+)\] +(?P<start>{NUMBER}) *- *(?P<end>{NUMBER}) +sec +{NUMBER} +[KMGT]?Bytes +"
    rf"(?P<rate>{NUMBER}) +(?P<unit>[KMGT]?(?:bits|Bytes))/sec *(?P<rest>.*)$"
)
# of an excerpt; iperf3 prints two decimals
_ROW = re.compile(r"\s*\[ *(?:\d+|SUM)\] +\d+\.\d(?:\d{3})?- *\d+\.\d(?:\d{3})? sec +[\d.]+ [KMGT]?Bytes ")
_SIZE = re.compile(r"(?:Write buffer size: *|Sending )(\d{1,9})(?:\.0)? [Bb]yte")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test: a client's output in any unit, what a server received, or the CSV of ``-y C``.

    Prefixes of bits are of 10^3, of bytes (``-f M``) of 2^10. The client counts what it wrote, the server what arrived.
    A client with ``-d`` or ``-r`` is a server too: with ``-d`` both ways are one test.
    """
    lines = Lines(text, where)
    lines.texts = [line.lstrip() for line in lines.texts]
    if not any(_BANNER.match(line) for line in lines.texts):
        return _excerpt(lines) if any(map(_ROW.match, lines.texts)) else _iperf_csv.runs(lines)
    if csv := next((number for number, line in lines if _iperf_csv.LINE.match(line)), 0):
        raise lines.wrong(csv, "text or CSV, not both: split the file")
    made, blocks = list[Run](), list(lines.blocks(_BANNER))
    listening = ""  # port of a server that served nothing: of a client with -d or -r
    for first, last, head in blocks:
        if head[1].startswith("Server"):
            served = _server(lines, first, last, head[2])
            made += served
            listening = "" if served else head[3]
        elif listening:
            made += _dual(lines, first, last, head[2], listening)
            listening = ""
        else:
            made.append(_client(lines, first, last, head[2], head[3]))
    return made


Rows = Sequence[tuple[int, re.Match[str]]]


def _excerpt(lines: Lines) -> list[Run]:
    """Read lines without a head: a line from 0 on is a separate test, unless the next interval begins at its end."""
    rows = _rows(lines, 1, len(lines))
    ways = {row["way"] for _, row in rows}
    rows = [one for one in rows if one[1]["way"] == "SUM"] if "SUM" in ways else rows
    if len(ways - {"SUM"}) > 1 and "SUM" not in ways:
        raise lines.wrong(rows[0][0], "above it the head of the test ('Client connecting to …'), for several streams")
    made: list[Run] = []
    for (number, row), (_, after) in itertools.pairwise([*rows, (0, None)]):
        if not row or float(row["start"]) != 0 or (after and float(after["start"]) == float(row["end"])):
            continue
        rate, lost = _rate(lines, number, row), _LOST.match(row["rest"])
        if lost and made and made[-1].test == "iperf TCP" and number - made[-1].line <= _REPORT_BELOW:
            made.pop()  # what the client sent
        made.append(
            Run(
                test=f"iperf {'UDP' if lost else 'TCP'}",
                values=tuple(v for v in _arrived(lines, [(number, row)], 0.0) if v.name != "sent_MBps")
                if lost
                else (metric("bandwidth_MBps", "mean", rate),),
                line=number,
                options={"row": "sum"} if row["way"] == "SUM" else {},
                remarks=(FEW_DIGITS,),
                doubts=(UNTITLED, SIZE_UNKNOWN, *(() if lost else (_TCP,))),
                source=lines.source(number, number),
            )
        )
    if not made:
        raise lines.wrong(rows[-1][0], "a line from 0 to the end of the test")
    return made


_REPORT_BELOW = 4  # lines from the client's line of a UDP test to that of the server's report
_TCP = note("protocol-unknown", "the log does not name the protocol: TCP is assumed")


def _rows(lines: Lines, first: int, last: int) -> Rows:
    """Return the lines with rates; refuse those of other units."""
    rows = []
    for number in range(first, last + 1):
        line = lines.texts[number - 1]
        if row := _ANY.match(line):
            rows.append((number, row))
        elif re.match(r"\[ *(?:\*?\d+|SUM)\].* sec .*Bytes", line):
            raise lines.wrong(number, "a line with an interval, bytes, and bits/sec or Bytes/sec")
    return rows


def _rate(lines: Lines, number: int, row: re.Match[str]) -> float:
    return lines.number(row["rate"], number) / IN_A_MB[row["unit"]]


def _client(lines: Lines, first: int, last: int, protocol: str, port: str) -> Run:
    """Read one run of a client, which connects to a port."""
    reverse = _unstarred(lines, first, last)
    rows = _rows(lines, first, last)
    if own := lines.find(rf"\[ *\*?\d+\] local \S+ port {port} connected with \S+ port (?!{port} )", first, last):
        raise lines.wrong(own[0], "the output of the client: this is a server that sent too (-d, -r, --full-duplex)")
    report = next((number for number in range(first, last + 1) if "Server Report" in lines.texts[number - 1]), last)
    whole: dict[str, tuple[int, re.Match[str]]] = {}  # way → its longest interval from the beginning
    for number, row in rows:
        if float(row["start"]) == 0 and number <= report:
            former = whole.get(row["way"])
            if not former or float(row["end"]) >= float(former[1]["end"]):
                whole[row["way"]] = number, row
    doubts = [MAY_BE_FIRST] if _whole(lines, first, last, rows) else []
    ways = [way for way in whole if way.isdecimal()]
    back = [way for way in whole if way.startswith("*")]
    if not ways:
        raise lines.wrong(last, "the line of a stream from 0 to its end")
    size = next((match[1] for line in lines.texts[first - 1 : last] if (match := _SIZE.search(line))), "")
    number, row = whole[ways[0]]
    rates = {way: _rate(lines, *whole[way]) for way in (*ways, *back)}
    values, test = [metric("bandwidth_MBps", "mean", sum(rates.values()))], f"iperf {protocol}"
    if bounce := _BOUNCES.match(row["rest"]):
        names = zip(("mean", "min", "max", "stddev"), bounce.groups()[1:5], strict=True)
        values = [metric("round_trip_us", s, float(v) * 1e3) for s, v in names]
        values.append(metric("transaction_rate_per_s", "mean", float(bounce[7])))
        test = "iperf bounce-back"
        hold = re.search(r"\(size= *(\d{1,9})(?:\.0)? Byte\)", "\n".join(lines.texts[first - 1 : last]))
        size = hold[1] if hold else size
    elif protocol == "UDP" and reverse:
        values = [value for value in _arrived(lines, [whole[ways[0]]], 0.0) if value.name != "sent_MBps"]
    elif protocol == "UDP":
        values = _arrived(lines, [one for one in rows if one[0] > report], sum(rates.values()))
    elif back:
        test += " both"
        values += [
            metric("bandwidth_MBps", "mean", sum(rates[way] for way in group), {"direction": name})
            for name, group in (("forward", ways), ("reverse", back))
        ]
    doubts += [] if size else [SIZE_UNKNOWN]
    if protocol == "UDP" and len(values) == 1:
        doubts.append(note("sent-only", "there is no report of the server: this is what was sent, not what arrived"))
    return Run(
        test=test,
        values=tuple(values),
        line=number,
        size=int(size or 0),
        options={
            "streams": len(ways),
            "nodelay": "nodelay (Nagle off)" in "\n".join(lines.texts[first - 1 : last]),
            **_to_group(lines, first, last),
        },
        stated=_stated(lines, first, last) | ({"reverse": "1"} if reverse else {}),
        remarks=(FEW_DIGITS,),
        doubts=tuple(doubts),
        source=lines.source(first, last),
    )


def _unstarred(lines: Lines, first: int, last: int) -> bool:
    """Whether the server sends to the client (``-R``); then take the stars off the client's streams, which read."""
    reverse = any(map(_REVERSE.match, _opening(lines, first, last)))
    if reverse:
        lines.texts[first - 1 : last] = [_STARRED.sub(r"[ \1]", line) for line in lines.texts[first - 1 : last]]
    return reverse


def _dual(lines: Lines, first: int, last: int, protocol: str, listening: str) -> list[Run]:
    """Read a client with ``-d`` (both directions at the same time) or ``-r`` (one after the other)."""
    rows = _rows(lines, first, last)
    begun = {match[1]: n for n in range(first, last + 1) if (match := _STREAM.match(lines.texts[n - 1]))}
    back = {way for way, n in begun.items() if re.search(rf" port {listening} connected", lines.texts[n - 1])}
    if protocol != "TCP" or len(begun) != 2 or len(back) != 1:
        raise lines.wrong(first, "one TCP stream each way of -d or -r: import the output of each side by itself")
    alone = _closed(lines, last, rows, begun)
    whole = {row["way"]: (number, row) for number, row in rows if float(row["start"]) == 0}
    (backward,), (forward,) = back, set(begun) - back
    rates = {"forward": _rate(lines, *whole[forward]), "reverse": _rate(lines, *whole[backward])}
    shared = Run(
        test="iperf TCP",
        values=(metric("bandwidth_MBps", "mean", rates["forward"]),),
        line=whole[forward][0],
        options={"streams": 1},
        stated=_stated(lines, first, last),
        remarks=(FEW_DIGITS,),
        doubts=(*([MAY_BE_FIRST] if alone else []), SIZE_UNKNOWN),
        source=lines.source(first, last),
    )
    if max(begun.values()) > min(number for number, _ in rows):
        values = (metric("bandwidth_MBps", "mean", rates["reverse"]),)
        other = replace(shared, values=values, line=whole[backward][0], stated={**shared.stated, "reverse": "1"})
        return [shared, other]
    each = [metric("bandwidth_MBps", "mean", rate, {"direction": way}) for way, rate in rates.items()]
    total = metric("bandwidth_MBps", "mean", sum(rates.values()))
    return [replace(shared, test="iperf TCP both", values=(total, *each))]


def _whole(lines: Lines, first: int, last: int, rows: Rows) -> bool:
    """Refuse a test of a client without the lines that end it; return whether its only line may be an interval."""
    plain = "\n".join(lines.texts[first - 1 : last])
    streams = [match[1] for line in _opening(lines, first, last) if (match := _STREAM.match(line))]
    wanted = {*streams, *(row["way"] for _, row in rows), *(["SUM"] if len(streams) > 1 else [])}
    if "(full-duplex)" in plain:
        closing = [f"FD{way}" for way in streams if len(streams) == 1 and " with pid " in plain]  # of -e
        wanted |= {*(f"*{way}" for way in streams), *closing}
    alone = _closed(lines, last, rows, sorted(wanted))
    if "Bounce-back test" in plain and "-PDF: bin(" not in plain:
        raise lines.wrong(last, "the histogram of the round trips (BB-PDF): the log is cut")
    return alone


def _opening(lines: Lines, first: int, last: int) -> list[str]:
    """Return the lines of a test; a stream may connect before iperf prints the head of the test."""
    above = itertools.takewhile(
        lambda line: _STREAM.match(line) or set(line) == {"-"}, reversed(lines.texts[: first - 1])
    )
    return [*above, *lines.texts[first - 1 : last]]


def _closed(lines: Lines, last: int, rows: Rows, wanted: Iterable[str]) -> bool:
    """Refuse streams without a line for the whole test, as in a log that was cut.

    Intervals end at whole seconds (``1.0000``). The whole test ends a little later (``10.0123``).

    Returns
    -------
    Whether the log ends with these rows, and a stream's only line may be an interval: versions before 2.1 print one
    decimal (``1.0``). A line of the default time of a test, or more, is taken for the whole test.
    """
    alone = list[str]()
    for way in wanted:
        own = [row for _, row in rows if row["way"] == way]
        first_only = len(own) == 1 and way.strip("*").isdecimal() and re.fullmatch(r"\d+\.0000", own[0]["end"])
        if not own or float(own[-1]["start"]) != 0 or first_only:
            raise lines.wrong(last, f"the line [{way}] from 0 to the end of the test: the log is cut")
        alone += [own[0]["end"]] if len(own) == 1 else []
    return last == len(lines) and any(re.fullmatch(r"\d+\.[05]", end) and float(end) < DEFAULT_TIME for end in alone)


_GROUP = re.compile(r"Joining multicast |Client connecting to (?:22[4-9]|23\d)\.|\[ *\d+\] local (?:22[4-9]|23\d)\.")
_REVERSE = re.compile(r"\[ *\d+\] local .* connected with .*\(reverse\)")
_STARRED = re.compile(r"^\[ *\*(\d+)\]")
_STREAM = re.compile(r"\[ *(\d+)\] local .* connected with ")
_CONGESTION = re.compile(r".*\bcongestion control (?:using|set to) (\w+)")
_TOS = re.compile(r".*\bTOS (?:set to |\()?(0x[0-9a-fA-F]+|\w+=\w+)")


def _stated(lines: Lines, first: int, last: int) -> dict[str, str]:
    """Return the settings in the head of a test: window and buffer sizes, congestion control, type of service."""
    head = list(itertools.takewhile(lambda line: not line.startswith("["), lines.texts[first - 1 : last]))
    found = settings(line for line in head if ":" in line)
    for line in head:
        for name, pattern in (("congestion", _CONGESTION), ("tos", _TOS)):
            if match := pattern.match(line):
                found[name] = match[1]
    return found


def _to_group(lines: Lines, first: int, last: int) -> dict[str, bool]:
    """Return the option of datagrams that went to a multicast group; nothing for others."""
    return {"multicast": True} if any(map(_GROUP.match, lines.texts[first - 1 : last])) else {}


def _arrived(lines: Lines, rows: list[tuple[int, re.Match[str]]], sent: float) -> list[Reported]:
    """Return the datagrams of the server's report; without a report only the sent rate."""
    reports = [(number, row, lost) for number, row in rows if (lost := _LOST.match(row["rest"]))]
    if not reports and rows:
        raise lines.wrong(rows[-1][0], "jitter, and datagrams lost of those sent, in the report of the server")
    if not reports:
        return [metric("sent_MBps", "mean", sent)]
    number, row, lost = reports[-1]
    jitter, missing, total = lines.number(lost[1], number), int(lost[2]), int(lost[3])
    if not 0 <= missing <= total or not total:
        raise lines.wrong(number, "datagrams lost of those sent")
    values = [metric("bandwidth_MBps", "mean", _rate(lines, number, row)), metric("sent_MBps", "mean", sent)]
    return [*values, metric("jitter_us", "mean", jitter * 1e3), metric("lost_percent", "mean", 100 * missing / total)]


def _server(lines: Lines, first: int, last: int, protocol: str) -> list[Run]:
    """Read what a server received: a run for each connection; those that ran together are not joined."""
    made = []
    rows = [(number, row) for number, row in _rows(lines, first, last) if row["way"].isdecimal()]
    begun = [(n, match[1]) for n in range(first, last + 1) if (match := _STREAM.match(lines.texts[n - 1]))]
    connections = dict[tuple[str, int], list[tuple[int, re.Match[str]]]]()
    for number, row in rows:  # a server uses the number of a closed connection again
        before = sum(at < number for at, way in begun if way == row["way"])
        connections.setdefault((row["way"], before), []).append((number, row))
    for (way, _), every in connections.items():
        number, row = every[-1]
        later = {way for at, way in begun if at > number} & {other["way"] for n, other in rows if n > number}
        doubts = [MAY_BE_FIRST] if _closed(lines, last, every, [way]) and not later else []
        values = [metric("bandwidth_MBps", "mean", _rate(lines, number, row))]
        if _LOST.match(row["rest"]):
            values = [v for v in _arrived(lines, [(number, row)], 0.0) if v.name != "sent_MBps"]
        source, remark = lines.source(number, number), note("at-the-server", "counted at the server")
        opened = [lines.texts[n - 1] for n, other in begun if other == way and n < number][-1:]
        back = {"reverse": "1"} if any(map(_REVERSE.match, opened)) else {}  # what the server sent
        doubts.append(SIZE_UNKNOWN)
        run = Run(test=f"iperf {protocol}", values=tuple(values), line=number, source=source, doubts=tuple(doubts))
        options = _to_group(lines, first, last)
        stated = _stated(lines, first, last) | back
        made.append(replace(run, options=options, stated=stated, remarks=(FEW_DIGITS, remark)))
    return made


LOG = Log("iperf", (" port ", ","), _BEGINS, runs, rows=_ROW.match)
