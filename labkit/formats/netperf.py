"""netperf's ``-k`` output: one ``KEY=VALUE`` a line, below a heading.

netperf counts round trips (its manual, "TCP_RR") and prints bits: 10^6 bits/s is 0.125 MB/s. Latencies are whole
microseconds of one transaction, or in a stream test of one call of ``send``. It writes -1 for what it did not measure
and, in some stream tests, -2147483648 for a percentile it could not compute: both are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from labkit.formats import _netperf_rows, malformed, metric
from labkit.formats.reading.log import HEAD_MISSING, NUMBER, SIZE_UNKNOWN, Lines, Log, Run, setting_name
from labkit.point.notes import note
from labkit.point.spec import Reported

CLOCK_NS = 1000.0  # its histogram counts whole µs

_WHAT = "netperf -k output"
_LATENCIES = {
    "MIN_LATENCY": "min",
    "MEAN_LATENCY": "mean",
    "P50_LATENCY": "p50",
    "P90_LATENCY": "p90",
    "P99_LATENCY": "p99",
    "MAX_LATENCY": "max",
    "STDDEV_LATENCY": "stddev",
}
_NETPERF_NAMES = {
    "LOCAL_CPU_UTIL": ("%", "mean"),
    "REMOTE_CPU_UTIL": ("%", "mean"),
    "LOCAL_TRANSPORT_RETRANS": ("", "total"),
    "REMOTE_TRANSPORT_RETRANS": ("", "total"),
    "ELAPSED_TIME": ("s", "total"),
}
# the order of the command line; PROTOCOL, which is never empty, closes it and so proves the output whole
SELECTORS = ("THROUGHPUT", "THROUGHPUT_UNITS", *_LATENCIES, *_NETPERF_NAMES, "LOCAL_NODELAY", "PROTOCOL")
# datagrams that left and that arrived; and the congestion control that both ends really used
DATAGRAMS = ("LOCAL_SEND_THROUGHPUT", "REMOTE_RECV_THROUGHPUT", "LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS")
CONGESTION = ("LOCAL_CONG_CONTROL", "REMOTE_CONG_CONTROL")


def parse(text: str, congestion: str = "") -> list[Reported]:
    """Parse a request/response or a stream test.

    Parameters
    ----------
    text : the output.
    congestion : congestion control that was requested; netperf uses the system's default if it cannot be set.

    Returns
    -------
    ``transaction_rate_per_s`` with ``round_trip_us``, or ``bandwidth_MBps`` with ``send_call_us``, and of datagrams
    ``sent_MBps`` and ``lost_percent`` beside it; netperf's own names for CPU use and retransmissions.

    Raises
    ------
    DataError
        For an error that netperf printed, a line that is not a pair, missing pairs, a throughput of 0, or another
        congestion control than the one asked for.
    """
    pairs = _pairs(text)
    for key in ("THROUGHPUT", "THROUGHPUT_UNITS", "PROTOCOL"):
        if key not in pairs:
            raise malformed(_WHAT, 0, text[-200:] or "nothing", f"a line {key}=…: netperf failed, or stopped early")
    throughput, unit = _number(pairs, "THROUGHPUT"), pairs["THROUGHPUT_UNITS"][1]
    if not throughput > 0:
        raise malformed(_WHAT, pairs["THROUGHPUT"][0], f"THROUGHPUT={throughput:g}", "one above 0")
    if unit == "Trans/s":
        values, latency, latency_unit = [metric("transaction_rate_per_s", "mean", throughput)], "round_trip_us", "µs"
    elif unit == "10^6bits/s":
        values, latency, latency_unit = [metric("bandwidth_MBps", "mean", throughput / 8)], "send_call_us", "µs"
    else:
        raise malformed(_WHAT, pairs["THROUGHPUT_UNITS"][0], unit, "Trans/s or 10^6bits/s")
    for key in CONGESTION if congestion else ():
        used = pairs.get(key, (0, "none"))
        if used[1] != congestion:
            raise malformed(_WHAT, used[0], f"{key}={used[1]}", f"{congestion}, but netperf could not set it")
    values += _datagrams(pairs)
    values += [
        Reported(latency, latency_unit, statistic, value)
        for key, statistic in _LATENCIES.items()
        if key in pairs and (value := _number(pairs, key)) >= 0
    ]
    values += [
        Reported(key, key_unit, statistic, value)
        for key, (key_unit, statistic) in _NETPERF_NAMES.items()
        if key in pairs and (value := _number(pairs, key)) >= 0
    ]
    return values


def _datagrams(pairs: dict[str, tuple[int, str]]) -> list[Reported]:
    """Return the rate of datagrams sent, and the part of them that did not arrive; a stream of bytes loses none."""
    if not set(DATAGRAMS) <= set(pairs) or pairs["PROTOCOL"][1] != "UDP":
        return []
    sent, _, calls, arrived = (_number(pairs, key) for key in DATAGRAMS)
    if not 0 <= arrived <= calls or not calls:
        raise malformed(_WHAT, pairs[DATAGRAMS[3]][0], f"{arrived:g} of {calls:g} datagrams", "1 or more, and no more")
    return [metric("sent_MBps", "mean", sent / 8), metric("lost_percent", "mean", 100 * (1 - arrived / calls))]


def _pairs(text: str) -> dict[str, tuple[int, str]]:
    """Key → line and value."""
    pairs = {}
    for number, line in enumerate(text.splitlines(), 1):
        if pair := re.fullmatch(r"([A-Z][A-Z0-9_]*)=(.*)", line.strip()):
            pairs[pair[1]] = (number, pair[2].strip())
        elif line.strip() and " TEST from " not in line:
            raise malformed(_WHAT, number, line, "KEY=VALUE")
    return pairs


def _number(pairs: dict[str, tuple[int, str]], key: str) -> float:
    """Convert the value of a key; -1, netperf's value for nothing, for what is not finite."""
    line, text = pairs[key]
    try:
        value = float(text)
    except ValueError as error:
        raise malformed(_WHAT, line, f"{key}={text}", "a number") from error
    return value if math.isfinite(value) else -1.0


_BEGINS = re.compile(
    r"(?:MIGRATED )?(?P<protocol>TCP|UDP|SCTP|OMNI) "
    r"(?P<what>REQUEST/RESPONSE|STREAM|MAERTS|Request/Response|Send\|Recv|Send|Receive|Connect/Request/Response)"
    r" TEST from "
)
_TESTS = {
    "REQUEST/RESPONSE": "RR",
    "Request/Response": "RR",
    "Send|Recv": "RR",
    "STREAM": "STREAM",
    "Send": "STREAM",
    "MAERTS": "MAERTS",
    "Receive": "MAERTS",
    "Connect/Request/Response": "CRR",
}
_NAMES = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Remote Recv Throughput": "REMOTE_RECV_THROUGHPUT",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "Protocol": "PROTOCOL",
    "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Direction": "DIRECTION",
    "Socket Type": "SOCKET_TYPE",
    "Initial Burst Requests": "BURST_SIZE",
    "Confidence Level Percent": "CONFIDENCE_LEVEL",
    **{
        f"{side} {name}": f"{side.upper()}_{selector}"
        for side in ("Local", "Remote")
        for name, selector in (
            ("Congestion Control Algorithm", "CONG_CONTROL"),
            ("NODELAY", "NODELAY"),
            ("Cork", "CORK"),
            ("Socket TOS", "SOCKET_TOS"),
            *(
                (f"{way} {what}", f"{way.upper()}_{short}")
                for way in ("Send", "Recv")
                for what, short in (("Size", "SIZE"), ("Alignment", "ALIGN"), ("Offset", "OFFSET"))
            ),
        )
    },
    **{
        f"{side} {way} Socket Size {when}": f"{side[0]}S{way[0]}_SIZE{end}"
        for side in ("Local", "Remote")
        for way in ("Send", "Recv")
        for when, end in (("Requested", "_REQ"), ("Initial", ""))
    },
}
# MB/s of a unit that -f sets; small letters are bits of 10^3, capitals bytes of 2^10 (the manual, "-f")
_UNITS = {
    **{f"10^{power}bits/{second}": 10**power / 8e6 for power in (3, 6, 9) for second in ("s", "sec")},
    **{f"{prefix}Bytes/{end}": 1024**k / 1e6 for k, prefix in ((1, "K"), (2, "M"), (3, "G")) for end in ("s", "sec")},
}
_PROTOCOL_UNKNOWN = note("protocol-unknown", "the log does not name the protocol: TCP is assumed, as without -T")
_NOT_REACHED = note("confidence-not-reached", "netperf did not reach the confidence that its options -I and -i ask for")
_CELLS = rf"{NUMBER}(?: +{NUMBER})*"


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test, from classic tables and the output of ``-t omni``, ``-k``, ``-o`` and ``-O``."""
    lines = Lines(text, where)
    made = [_run(lines, first, last, head) for first, last, head in lines.blocks(_BEGINS)]
    if made:
        return made
    for number, protocol, what, pairs in _netperf_rows.tests(lines):
        run = _of_pairs(lines, (number, number), pairs, protocol, what)
        made.append(replace(run, doubts=(*run.doubts, HEAD_MISSING)))
    return made


def _run(lines: Lines, first: int, last: int, head: re.Match[str]) -> Run:
    """Read one test."""
    layouts = (_keys(lines, first, last), _csv(lines, first, last), _omni(lines, first, last, _TESTS[head["what"]]))
    pairs = next((one for one in layouts if one), None) or _classic(lines, first, last, _TESTS[head["what"]])
    if "THROUGHPUT" not in pairs and "TRANSACTION_RATE" in pairs:
        pairs |= {"THROUGHPUT": pairs["TRANSACTION_RATE"], "THROUGHPUT_UNITS": "Trans/s"}
    _check(lines, first, last, pairs, layouts[0], head["protocol"])
    protocol = pairs.get("PROTOCOL", head["protocol"] if head["protocol"] != "OMNI" else "")
    run = _of_pairs(lines, (first, last), pairs, protocol, _TESTS[head["what"]])
    closing = "COMMAND_LINE" if next(iter(layouts[0]), "") == "SOCKET_TYPE" else "PROTOCOL"  # the former of -k all
    words = f"the log may be truncated: {closing}, the last selector, is missing"
    doubts = [note("cut", words)] if layouts[0] and closing not in pairs else []
    doubts += [_NOT_REACHED] if lines.find(r"!!! Desired confidence was not achieved", first, last) else []
    return replace(run, doubts=(*run.doubts, *doubts))


def _of_pairs(lines: Lines, place: tuple[int, int], pairs: Mapping[str, str], protocol: str, test: str) -> Run:
    """Return the run of a test from its selectors; `place` is its first and last line."""
    first, last = place
    doubts = [] if protocol else [_PROTOCOL_UNKNOWN]
    protocol, unit = protocol or "TCP", pairs.get("THROUGHPUT_UNITS", "")

    def number(key: str) -> float:
        text = pairs.get(key, "-1")
        return lines.number(text, first) if text else -1.0

    request, response = int(number("REQUEST_SIZE")), int(number("RESPONSE_SIZE"))
    values: list[Reported] = []
    rate = number("THROUGHPUT")
    if unit == "Trans/s" and rate > 0:
        values.append(metric("transaction_rate_per_s", "mean", rate))
    elif unit in _UNITS and rate > 0:
        values.append(metric("bandwidth_MBps", "mean", rate * _UNITS[unit]))
    elif "THROUGHPUT" in pairs:
        raise lines.wrong(first, f"a throughput above 0 in Trans/s, bits/s or Bytes/s, not {rate:g} {unit[:20]}")
    latency = "round_trip_us" if test in ("RR", "CRR") else "send_call_us"
    values += [Reported(latency, "µs", s, number(key)) for key, s in _LATENCIES.items() if number(key) >= 0]
    if (sent := number("SENT")) > 0 and unit in _UNITS and protocol == "UDP":
        values += [metric("sent_MBps", "mean", sent * _UNITS[unit])]
        values += [metric("lost_percent", "mean", number("LOST"))]
    if not values:
        raise lines.wrong(first, "a throughput or a latency in this test")
    if test == "RR" and request != response:
        test = "RR with other response sizes"
    size = request if test.startswith(("RR", "CRR")) else int(number("LOCAL_SEND_SIZE"))
    words = lines.texts[first - 1].split(" : ")
    if size < 0:
        doubts.append(SIZE_UNKNOWN)
    if protocol == "UDP" and test == "STREAM" and sent <= 0:
        values = [replace(v, name="sent_MBps") if v.name == "bandwidth_MBps" else v for v in values]
        doubts.append(note("sent-only", "netperf printed what was sent, not what arrived"))
    return Run(
        test=f"netperf {protocol}_{test}",
        values=tuple(values),
        line=first,
        size=max(size, 0),
        options={"nodelay": any(word.startswith("nodelay") for word in words)},
        stated=_stated(pairs, words),
        parameters={"request": str(request), "response": str(response)} if request >= 0 else {},
        doubts=tuple(doubts),
        source=lines.source(first, last),
    )


def _check(
    lines: Lines, first: int, last: int, pairs: Mapping[str, str], keys: Mapping[str, str], protocol: str
) -> None:
    """Refuse a test without a throughput, or without a fact that would have to be guessed, as in a truncated log."""
    lacking = [] if "THROUGHPUT" in pairs and "THROUGHPUT_UNITS" in pairs else ["THROUGHPUT and THROUGHPUT_UNITS"]
    if keys and protocol == "OMNI" and "PROTOCOL" not in pairs:
        lacking.append("PROTOCOL")
    if len({"REQUEST_SIZE", "RESPONSE_SIZE"} & set(pairs)) == 1:
        lacking.append("both REQUEST_SIZE and RESPONSE_SIZE")
    if lacking:
        raise lines.wrong(last, f"{lacking[0]}: the log is cut, or its selectors do not name them")


_ASKED = re.compile(
    r"(?:LOCAL|REMOTE)_(?:SEND|RECV)_SIZE|(?:LSS|RSR|RSS|LSR)_SIZE(?:_REQ)?|(?:LOCAL|REMOTE)_(?:NODELAY|CORK|SEND_ALIGN"
    r"|RECV_ALIGN|SEND_OFFSET|RECV_OFFSET|CONG_CONTROL|INTERFACE_NAME|SOCKET_TOS)|BURST_SIZE|INTERVAL_\w+|REQUEST_SIZE"
    r"|RESPONSE_SIZE|DIRECTION|(?:LOCAL|REMOTE)_(?:SSL|ENABLE)\w*|SOCKET_TYPE|FILL_FILE|CONFIDENCE_LEVEL"
)


def _stated(pairs: Mapping[str, str], words: Sequence[str]) -> dict[str, str]:
    """Return the settings among the selectors, and those that the test's head lists after its colons."""
    found = {name.lower(): value for name, value in pairs.items() if _ASKED.fullmatch(name)}
    named = (word.strip() for word in words[1:])
    return found | {setting_name(word): "true" for word in named if re.fullmatch(r"[a-z][\w +/%-]{1,60}", word)}


def _keys(lines: Lines, first: int, last: int) -> dict[str, str]:
    """Return the pairs of ``-k``; empty for another layout."""
    pairs: dict[str, str] = {}
    for number in range(first + 1, last + 1):
        if pair := re.fullmatch(r"([A-Z][A-Z0-9_]*)=(.*)", lines.texts[number - 1]):
            if pair[1] in pairs:
                raise lines.wrong(number, f"{pair[1]} once: another test without a head (-P 0) follows")
            pairs[pair[1]] = pair[2].strip()
    if {"LOCAL_SEND_THROUGHPUT", "LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS"} <= set(pairs):
        calls, arrived = (lines.number(pairs[name], first) for name in ("LOCAL_SEND_CALLS", "REMOTE_RECV_CALLS"))
        if calls > 0 and 0 <= arrived <= calls:
            pairs |= {"SENT": pairs["LOCAL_SEND_THROUGHPUT"], "LOST": f"{100 * (1 - arrived / calls)}"}
    return pairs if len(pairs) > 1 else {}


def _csv(lines: Lines, first: int, last: int) -> dict[str, str]:
    """Return the pairs of ``-o``; empty for another layout."""
    for number in range(first + 1, last):
        names = lines.texts[number - 1].split(",")
        if set(names) & set(_NAMES):
            while lines.texts[number] and number + 1 < last and not re.match(r"-?\d", lines.texts[number]):
                names = f"{','.join(names)} {lines.texts[number].strip()}".split(",")  # a head that was folded
                number += 1
            cells = lines.texts[number].split(",")
            if len(cells) != len(names):
                raise lines.wrong(number + 1, f"{len(names)} values, as the head has")
            for more in range(number + 2, last + 1):
                if lines.texts[more - 1].count(",") == len(names) - 1:
                    raise lines.wrong(more, "one row of values: another test without a head (-P 0) follows")
            return {_NAMES.get(name, name): cell for name, cell in zip(names, cells, strict=True)}
    return {}


def _omni(lines: Lines, first: int, last: int, test: str) -> dict[str, str]:
    """Return the pairs of the table that ``-t omni`` prints by itself; empty for another layout."""
    row = lines.find(rf" *({_CELLS}) +(\S+/s)(?: .*)?$", first + 1, last)
    if not row:
        numbers = lines.find(rf" *{_CELLS}$", first + 1, last)
        heads = " ".join(lines.texts[first : numbers[0] - 1]) if numbers else ""
        return _stacked(lines, first, numbers[0]) if numbers and re.search(r"\bTransaction\b", heads) else {}
    number, cells, unit = row[0], row[1][1].split(), row[1][2]
    heads = " ".join(lines.texts[first : number - 1])
    pairs = {"THROUGHPUT": cells[-1], "THROUGHPUT_UNITS": unit}
    if test == "RR" and len(cells) == 8 and "Request Response Elapsed Throughput" in heads:
        return pairs | {"REQUEST_SIZE": cells[4], "RESPONSE_SIZE": cells[5]}
    if test != "RR" and len(cells) == 5 and "Elapsed Throughput" in heads:
        return pairs | {"LOCAL_SEND_SIZE": cells[2]}
    return _stacked(lines, first, number)


def _stacked(lines: Lines, first: int, number: int) -> dict[str, str]:
    """Return the pairs of ``-O``: a column begins where its name does, and each word of the name has a line."""
    heads = [line for line in lines.texts[first : number - 1] if line.strip()]
    starts = [word.start() for word in re.finditer(r"\S+", heads[0])] if heads else []
    cells = lines.texts[number - 1].split()
    if not cells or len(cells) != len(starts):
        raise lines.wrong(number, "a value for each name in the head")
    ends = [*starts[1:], None]
    names = [" ".join(" ".join(line[a:b] for line in heads).split()) for a, b in zip(starts, ends, strict=True)]
    return {_NAMES.get(name, name): cell for name, cell in zip(names, cells, strict=True)}


def _classic(lines: Lines, first: int, last: int, test: str) -> dict[str, str]:
    """Return the pairs of a classic table."""
    number, row = lines.need(rf" *({_CELLS})$", first + 1, last, "a row of numbers below the head")
    cells, heads = row[1].split(), " ".join(lines.texts[first : number - 1])
    for more in range(number + 1, last + 1):
        other = re.fullmatch(_CELLS, lines.texts[more - 1].strip())
        if other and len(other[0].split()) == len(cells):
            raise lines.wrong(more, "one row of values: another test without a head (-P 0) follows")
    if test == "RR" and "RoundTrip" in heads and len(cells) >= 6:  # of -v 2 and -v 3: alignments and offsets, no sizes
        return {"MEAN_LATENCY": cells[4], "THROUGHPUT": cells[5], "THROUGHPUT_UNITS": "Trans/s"}
    if test in ("RR", "CRR") and "per sec" in heads and len(cells) >= 6:
        return {
            "REQUEST_SIZE": cells[2],
            "RESPONSE_SIZE": cells[3],
            "THROUGHPUT": cells[5],
            "THROUGHPUT_UNITS": "Trans/s",
        }
    unit = next((word for word in heads.split() if word in _UNITS), "")
    if not unit:
        raise lines.wrong(number, "a head with the unit of the throughput")
    if "Okay" in heads and len(cells) >= 6:
        _, arrived = lines.need(rf" *({_CELLS})$", number + 1, last, "the row of the receiver")
        below = arrived[1].split()
        if len(below) < 4 or float(cells[3]) <= 0:
            raise lines.wrong(number, "messages sent, and a row of the receiver")
        lost = 100 * (1 - float(below[2]) / float(cells[3]))
        pairs = {"THROUGHPUT": below[3], "SENT": cells[5], "LOST": str(max(lost, 0.0)), "LOCAL_SEND_SIZE": cells[1]}
        return pairs | {"THROUGHPUT_UNITS": unit}
    if len(cells) < 5:
        raise lines.wrong(number, "sizes, time and throughput")
    return {"LOCAL_SEND_SIZE": cells[2], "THROUGHPUT": cells[4], "THROUGHPUT_UNITS": unit}


LOG = Log("netperf", (" TEST from ",), _BEGINS, runs, rows=_netperf_rows.flags_of)
