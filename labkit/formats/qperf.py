"""qperf's text with ``-uu``, which prints every value in ns, bytes/sec or plain numbers.

qperf's ``tcp_lat`` reports time over messages of both directions (``qperf.c``: time_real / no_msgs): half the round
trip. Here it is a round trip, as netperf counts it, and its message rate, again of both directions, a transaction
rate. The bandwidth of ``udp_bw`` is what arrived, as in netperf's UDP_STREAM. Its tests of RDMA keep the definition of
perftest and MPI: one way, half the round trip of send and write, the whole of read and atomic.
"""

from __future__ import annotations

import re

from labkit.errors import DataError
from labkit.formats import malformed, metric
from labkit.formats.reading.log import BINARY, FEW_DIGITS, SIZE_UNKNOWN, Lines, Log, Run
from labkit.point.columns import METRICS
from labkit.point.spec import Reported

_WHAT = "qperf output"
_QUANTITY = re.compile(r"latency|(send_|recv_)?bw|msg_rate")
_VERBS = re.compile(r"(rc|uc|ud|xrc)_")
_OF_VERBS = {
    "latency": ("latency_us", 1e-3),
    "bw": ("bandwidth_MBps", 1e-6),
    "recv_bw": ("bandwidth_MBps", 1e-6),
    "msg_rate": ("message_rate_per_s", 1.0),
}
_PAIR = re.compile(r"\s+(\w+)\s+=\s+([\d.,]+)\s*(.*?)\s*")


def parse(text: str) -> list[Reported]:
    """Parse all tests in the output.

    Returns
    -------
    ``round_trip_us`` and ``transaction_rate_per_s`` of ``tcp_lat`` and ``udp_lat``, ``bandwidth_MBps`` of ``tcp_bw``
    and of ``udp_bw``, which has ``sent_MBps`` and ``lost_percent`` too;
    ``latency_us``, ``bandwidth_MBps`` (of what was received) and ``message_rate_per_s`` of the tests of RDMA; the rest
    under qperf's own names and units. Where there are several tests, each value has the label ``test``.

    Raises
    ------
    DataError
        For an error that qperf printed, a test without values, or units of a run without ``-uu``.
    """
    tests: dict[str, list[Reported]] = {}
    test = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if re.fullmatch(r"\w+:\s*", line):
            test = line.strip()[:-1]
            tests[test] = []
        elif (pair := _PAIR.fullmatch(line)) and test:
            tests[test].append(_value(test, pair[1], pair[2], pair[3], number, line))
        else:
            raise malformed(_WHAT, number, line, "'test:' or 'name = value unit'")
    empty = [name for name, values in tests.items() if not values]
    if empty or not tests:
        raise malformed(_WHAT, 0, text[-100:] or "nothing", f"values of {', '.join(empty) or 'a test'}: qperf failed")
    if "udp_bw" in tests:
        tests["udp_bw"] += _lost(tests["udp_bw"])
    if len(tests) == 1:
        return tests[test]
    return [
        Reported(v.name, v.unit, v.statistic, v.value, labels={"test": name}) for name in tests for v in tests[name]
    ]


def _lost(values: list[Reported]) -> list[Reported]:
    """Return the part of the datagrams that did not arrive, where the counts are printed (``-vvs``)."""
    counts = {value.name: value.value for value in values}
    sent, arrived = counts.get("send_msgs", 0.0), counts.get("recv_msgs", 0.0)
    if not sent:
        return []
    if arrived > sent:
        raise malformed(_WHAT, 0, f"{arrived:g} of {sent:g} messages arrived", "no more than were sent")
    return [metric("lost_percent", "mean", 100 * (1 - arrived / sent))]


def _value(test: str, name: str, digits: str, unit: str, number: int, line: str) -> Reported:
    if "," in digits or (_QUANTITY.fullmatch(name) and unit not in ("ns", "bytes/sec", "/sec")):
        raise malformed(_WHAT, number, line, "ns, bytes/sec or /sec without thousands commas: run qperf with -uu")
    if digits.count(".") > 1 or not digits.strip("."):
        raise malformed(_WHAT, number, line, "a number")
    value = float(digits)
    if _VERBS.match(test) and name in _OF_VERBS:
        metric_name, factor = _OF_VERBS[name]
        return metric(metric_name, "mean", value * factor)
    if name == "latency" and test in ("tcp_lat", "udp_lat"):
        return metric("round_trip_us", "mean", 2 * value * 1e-3)
    if name == "msg_rate" and test in ("tcp_lat", "udp_lat"):
        return metric("transaction_rate_per_s", "mean", value / 2)
    if (test, name) == ("udp_bw", "send_bw"):
        return metric("sent_MBps", "mean", value * 1e-6)
    if (test, name) in (("tcp_bw", "bw"), ("udp_bw", "recv_bw")):
        return metric("bandwidth_MBps", "mean", value * 1e-6)
    return Reported(name, unit, "total" if name.endswith(("_bytes", "_msgs", "_time")) else "mean", value)


_TEST = re.compile(r" {0,3}((?:tcp|udp|sctp|rds|sdp|rc|uc|ud|xrc|ver|conf|quit)(?:_\w+)?):$")
_BEGINS = re.compile(
    r" {0,3}(?:tcp|udp|sctp|rds|sdp|rc|uc|ud|xrc)_(?:rdma_)?(?:write_|read_|compare_swap_|fetch_add_)*\w+:$"
)
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?"  # commas between thousands only
_SCALED = re.compile(rf"({_DIGITS}) *(ns|us|ms|sec|hr|min|(?:([KMGT])?(bytes|B|b|bits)?)/sec)$")
_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "sec": 1e9, "min": 6e10, "hr": 3.6e12}
_COUNTS = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_DECIMAL = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SIZE = re.compile(rf" *msg_size += +(?:({_DIGITS}) *([KMG])?i?(?:bytes|B)?)(?: \(({_DIGITS})\))?$")


_NAME = re.compile(r" *(\w+)( +)=")
_LINE = re.compile(r" *(\w+) +=(.*)$")
_KNOWN = r" *(?:latency|(?:send_|recv_)?bw|msg_(?:rate|size)|(?:loc|rem|send|recv)_\w+) +=.*\d"
_GAP = 2  # blanks behind the longest name
_RESULT = re.compile(r"bw|lat|rate|cost|cpu|msgs|bytes|_time|^time$|max_|min_")  # not settings


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test, with or without ``-uu``.

    Without ``-uu`` qperf prints three digits and a unit of its choice, prefixes of 10^3. The size of a message is
    there with ``-vc`` or ``-vvs`` only.
    """
    lines, made = Lines(text, where), []
    _check(lines)
    for first, last, head in lines.blocks(_TEST):
        if head[1] == "conf":  # nodes, processors and systems: no result
            continue
        values: list[Reported] = []
        size, scaled, stated, seen = -1, False, dict[str, str](), set[str]()
        for number in range(first + 1, last + 1):
            line = lines.texts[number - 1]
            pair = _LINE.match(line)
            if not pair:
                if re.search(r"\bfailed\b|\berror\b|timed out|unable to", line, re.IGNORECASE):
                    raise lines.wrong(number, "'name = value unit': qperf failed")
                if line.strip():
                    if further := lines.find(_KNOWN, number, last):
                        raise lines.wrong(number, f"'name = value unit', because line {further[0]} goes on with such")
                    break
                continue
            if not pair[2].strip():
                raise lines.wrong(number, "'name = value unit': the log is cut")
            if pair[1] in seen:
                raise lines.wrong(number, "each name once: write the name of the test above each of its runs")
            seen.add(pair[1])
            if sizes := _SIZE.match(line):
                size = int(sizes[3].replace(",", "")) if sizes[3] else int(_number(lines, sizes[1], number))
                size *= 1 if sizes[3] else BINARY[sizes[2] or ""]
            elif not _RESULT.search(pair[1]):
                stated[pair[1]] = pair[2].strip()
            elif _QUANTITY.fullmatch(pair[1]) or pair[1] in ("send_msgs", "recv_msgs"):
                digits, unit = _base(lines, pair[2].strip(), number)
                scaled = scaled or not pair[2].strip().endswith((" ns", " bytes/sec", " /sec"))
                values.append(_value(head[1], pair[1], digits, unit, number, line))
        if not any(value.name in METRICS for value in values):
            raise lines.wrong(first, "a latency or a bandwidth of this test: qperf failed")
        made.append(
            Run(
                test=f"qperf {head[1]}",
                values=tuple(values if head[1] != "udp_bw" else values + _arrived(values)),
                line=first,
                size=max(size, 0),
                stated=stated,
                remarks=(FEW_DIGITS,) if scaled else (),
                doubts=() if size >= 0 else (SIZE_UNKNOWN,),
                source=lines.source(first, last),
            )
        )
    return made


def _check(lines: Lines) -> None:
    """Refuse a test with fewer lines than qperf prints, as at the end of a truncated log.

    qperf aligns the lines of a test to its longest name. The column therefore shows whether lines are missing, and
    which tests had the same options (``-v``, ``-vv``).
    """
    blocks = []
    for first, last, head in lines.blocks(_TEST):
        rows = [row for line in lines.texts[first:last] if (row := _NAME.match(line))]
        blocks.append((last, head[1], [row[1] for row in rows], {len(row[1] + row[2]) for row in rows}))
    for last, test, names, columns in blocks:
        if not names:
            continue
        alike = [other for _, name, other, wide in blocks if (name, wide) == (test, columns)]
        wanted = {name for other in alike if other[: len(names)] == names for name in other}
        wanted |= {"send_bw", "recv_bw"} if "send_bw" in names else set()
        wanted |= {"send_bytes", "send_msgs", "recv_bytes", "recv_msgs"} if "send_bytes" in names else set()
        lacking = sorted(wanted - set(names))
        if len(columns) == 1 and max(columns) > max(map(len, names)) + _GAP:
            lacking.append("the longest name")
        if lacking:
            raise lines.wrong(last, f"{lacking[0]} in the lines of {test}, which end here: the log is cut")


def _number(lines: Lines, text: str, number: int) -> float:
    """Convert a number that may have commas between thousands."""
    return lines.number(text.replace(",", ""), number)


def _base(lines: Lines, text: str, number: int) -> tuple[str, str]:
    """Return a number and its unit in ns, bytes/sec or /sec, as ``-uu`` prints them; counts have no unit."""
    if count := re.fullmatch(rf"({_DIGITS})(?: *(thousand|million|billion|trillion))?", text):
        return repr(_number(lines, count[1], number) * _COUNTS.get(count[2] or "", 1.0)), ""
    match = _SCALED.fullmatch(text)
    if not match:
        raise lines.wrong(number, "a number with a unit of time, bytes/sec or /sec")
    value = _number(lines, match[1], number)
    if match[2] in _NS:
        return repr(value * _NS[match[2]]), "ns"
    what = match[4] or ""
    factor = _DECIMAL[match[3] or ""] / (8 if what in ("b", "bits") else 1)
    return repr(value * factor), "bytes/sec" if what else "/sec"


def _arrived(values: list[Reported]) -> list[Reported]:
    """Return the part of the datagrams that was lost, from their counts; none without one."""
    try:
        return _lost(values)
    except DataError:
        return []  # counts with three digits can contradict each other


LOG = Log("qperf", ("_lat:", "_bw:", "_mr:"), _BEGINS, runs)
