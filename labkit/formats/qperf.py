"""qperf's text with ``-uu``, which prints every value in ns, bytes/sec or plain numbers.

qperf's ``tcp_lat`` reports time over messages of both directions (``qperf.c``: time_real / no_msgs): half the round
trip. Here it is a round trip, as netperf counts it, and its message rate, again of both directions, a transaction
rate. The bandwidth of ``udp_bw`` is what arrived, as in netperf's UDP_STREAM. Its tests of RDMA keep the definition of
perftest and MPI: one way, half the round trip of send and write, the whole of read and atomic.
"""

from __future__ import annotations

import re

from labkit.formats import malformed, metric
from labkit.spec import Reported

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
