"""netperf's ``-k`` output: one ``KEY=VALUE`` a line, below a heading.

netperf counts round trips (its manual, "TCP_RR") and prints bits: 10^6 bits/s is 0.125 MB/s. Latencies are whole
microseconds of one transaction, or in a stream test of one call of ``send``. It writes -1 for what it did not measure
and, in some stream tests, -2147483648 for a percentile it could not compute: both are left out.
"""

from __future__ import annotations

import math
import re

from labkit.formats import malformed, metric
from labkit.spec import Reported

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
    congestion : congestion control that was asked for; netperf uses the system's default where it cannot be set.

    Returns
    -------
    ``transaction_rate_per_s`` with ``round_trip_us``, or ``bandwidth_MBps`` with ``send_call_us``, and of datagrams
    ``sent_MBps`` and ``lost_percent`` beside it; netperf's own names for CPU use and retransmissions.

    Raises
    ------
    DataError
        For an error that netperf printed, a line that is no pair, missing pairs, a throughput of 0, or another
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
    """Return the rate of datagrams sent, and the part of them that did not arrive."""
    if not set(DATAGRAMS) <= set(pairs):
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
