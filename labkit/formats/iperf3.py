"""iperf3's JSON (``-J``), of TCP and UDP, in one direction or both.

Bits per second become MB/s (10^6 B). The bandwidth is what the receiver got, as in netperf's stream test, whose
clock stops when everything has arrived; ``sent_MBps`` is what left the sender. With ``-J`` iperf3 ends with status 0
even if it failed; only the key ``error`` shows it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from labkit.errors import DataError
from labkit.formats import malformed, metric
from labkit.spec import Reported

_WHAT = "iperf3 -J output"
_MB = 8e6  # bits
_PER_WAY = ("bandwidth_MBps", "sent_MBps", "retransmits", "jitter_us", "lost_percent")
_CPU = ("host_total", "remote_total")


def parse(text: str) -> list[Reported]:
    """Parse bandwidth in total, per stream where there are several, per interval; retransmissions, loss and CPU use.

    Returns
    -------
    ``bandwidth_MBps`` with `t` (end of the interval, s) for intervals, with `rank` for streams, and with neither for
    the whole. The label ``direction`` is there only with ``--bidir``, for the way back.

    Raises
    ------
    DataError
        If the output has the key ``error``, is not JSON, or lacks its end.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise malformed(_WHAT, error.lineno, text[error.pos : error.pos + 80] or "its end", "JSON") from error
    if not isinstance(document, dict):
        raise malformed(_WHAT, 1, text[:80], "a JSON object")
    if "error" in document:
        raise DataError(f"iperf3 failed: {document['error']}.")
    try:
        return [*_whole(document["end"]), *_streams(document["end"]), *_intervals(document["intervals"])]
    except (KeyError, TypeError) as error:
        raise malformed(_WHAT, 0, f"no {error.args[0]!r}", "intervals and end with their sums") from error


def received(text: str) -> int:
    """B that the receiver got, of output that `parse` takes."""
    return int(json.loads(text)["end"]["sum_received"]["bytes"])


def both(text: str) -> list[Reported]:
    """Values of ``--bidir``: the sum of both ways without a label, each way with the label ``direction``.

    Raises
    ------
    DataError
        As `parse`, or if the way back is missing.
    """
    values = [
        replace(v, labels={"direction": "forward"}) if v.name in _PER_WAY and not v.labels else v for v in parse(text)
    ]
    ways = [v for v in values if v.name == "bandwidth_MBps" and v.t is None and v.rank is None]
    if len(ways) != 2:
        raise malformed(_WHAT, 0, f"{len(ways)} directions", "two: run iperf3 with --bidir")
    return [metric("bandwidth_MBps", "mean", sum(v.value for v in ways)), *values]


def moved(text: str) -> dict[str, int]:
    """Return the B that the receivers got and that the senders wrote, from text that `parse` accepts.

    Returns
    -------
    ``received_B`` and ``written_B`` of the direction that moved more; empty for UDP, where iperf3 does not tell them
    apart.
    """
    sums = {name: value for name, value in json.loads(text)["end"].items() if name.startswith("sum_")}
    totals = {}
    for key, prefix in (("received_B", "sum_received"), ("written_B", "sum_sent")):
        if ways := [int(value["bytes"]) for name, value in sums.items() if name.startswith(prefix)]:
            totals[key] = max(ways)
    return totals if len(totals) == 2 and "sum" not in json.loads(text)["end"] else {}


def _labels(sum_name: str) -> dict[str, str]:
    """Return the label of the direction back; the other direction has none."""
    return {"direction": "reverse"} if sum_name.endswith("_reverse") else {}


def _whole(end: Mapping[str, Any]) -> list[Reported]:
    values = []
    for suffix in ("", "_bidir_reverse"):
        if suffix and f"sum_received{suffix}" not in end:
            continue
        received, sent, labels = end[f"sum_received{suffix}"], end[f"sum_sent{suffix}"], _labels(suffix)
        values.append(metric("bandwidth_MBps", "mean", received["bits_per_second"] / _MB, labels))
        values.append(metric("sent_MBps", "mean", sent["bits_per_second"] / _MB, labels))
        if "retransmits" in sent:
            values.append(Reported("retransmits", "", "total", float(sent["retransmits"]), labels=labels))
        if "lost_percent" in received:
            values.append(metric("jitter_us", "mean", received["jitter_ms"] * 1e3, labels))
            values.append(metric("lost_percent", "mean", received["lost_percent"], labels))
    use = end["cpu_utilization_percent"]
    return values + [Reported(f"cpu_{name}", "%", "mean", use[name]) for name in _CPU]


def _streams(end: Mapping[str, Any]) -> list[Reported]:
    """TCP's own round-trip time, and the bandwidth of each of several streams."""
    values, several = [], len(end["streams"]) > 1
    for number, stream in enumerate(end["streams"]):
        sender, receiver = stream.get("sender", {}), stream.get("receiver", {})
        rank = number if several else None
        if several and receiver:
            labels = {"direction": "forward" if receiver.get("sender", True) else "reverse"}
            rate = receiver["bits_per_second"] / _MB
            values.append(Reported("bandwidth_MBps", "MB/s", "mean", rate, rank=rank, labels=labels))
        for key, statistic in (("min_rtt", "min"), ("mean_rtt", "mean"), ("max_rtt", "max")):
            if sender.get(key):
                values.append(Reported("tcp_rtt_us", "µs", statistic, float(sender[key]), rank=rank))
    return values


def _intervals(intervals: list[Mapping[str, Any]]) -> list[Reported]:
    return [
        metric("bandwidth_MBps", "mean", part["bits_per_second"] / _MB, _labels(name), t=float(part["end"]))
        for interval in intervals
        for name, part in interval.items()
        if name.startswith("sum") and not part["omitted"]
    ]
