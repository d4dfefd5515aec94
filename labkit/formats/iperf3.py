"""iperf3's JSON (``-J``), of TCP and UDP, in one direction or both.

Bits per second become MB/s (10^6 B). The bandwidth counts what the receiver got, as in netperf's stream test;
``sent_MBps`` counts what left the sender. With ``-J`` iperf3 ends with status 0 even if it failed; only the key
``error`` shows it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from labkit.errors import DataError
from labkit.formats import malformed, metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import (
    CUT,
    FEW_DIGITS,
    IN_A_MB,
    NUMBER,
    REMEDY,
    SHOWN,
    SIZE_UNKNOWN,
    Lines,
    Log,
    Run,
    flat,
    inside,
)
from labkit.io.safe_read import once, plainly
from labkit.point.spec import Reported

CLOCK_NS = 1000.0  # counts whole µs

_WHAT = "iperf3 -J output"
_MB = 8e6  # bits
_PER_WAY = ("bandwidth_MBps", "sent_MBps", "retransmits", "jitter_us", "lost_percent")
_BACK = "_bidir_reverse"
_PER_STREAM = ("sock_bufsize", "sndbuf_actual", "rcvbuf_actual")  # printed once for each, in one object
_CPU = ("host_total", "remote_total")


def parse(text: str) -> list[Reported]:
    """Parse bandwidth in total, per stream if there are several, per interval; retransmissions, loss and CPU use.

    Returns
    -------
    ``bandwidth_MBps`` with `t` (end of the interval, s) for intervals, with `rank` for streams, and with neither for
    the whole. The label ``direction`` is there only with ``--bidir``, for the way back.

    Raises
    ------
    DataError
        If the output has the key ``error``, is not JSON, or lacks its end.
    """
    whole = loaded(text)
    if "error" in whole:
        raise DataError(f"iperf3 failed: {whole['error'].value}.")
    return [*_whole(whole["end"]), *_streams(whole["end"]), *_intervals(whole["intervals"])]


def loaded(text: str) -> Entry:
    """Load the JSON; iperf3 3.7 prints both sums of ``--bidir`` under one name, the reverse direction last.

    Raises
    ------
    DataError
        If it is not JSON, or another key occurs twice.
    """
    try:
        return Entry(json.loads(text, object_pairs_hook=_ways), _WHAT)
    except json.JSONDecodeError as error:
        raise malformed(_WHAT, error.lineno, text[error.pos : error.pos + 80] or "its end", "JSON") from error
    except ValueError as error:
        raise malformed(_WHAT, 0, plainly(error)[:120], "every key once") from error


def _ways(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; if two sums have the same name, the second gets the name that later versions print."""
    seen, named = set[str](), []
    for name, value in pairs:
        back = name in seen and name.startswith("sum") and not name.endswith(_BACK)
        if name not in seen or name not in _PER_STREAM:
            named.append((name + _BACK if back else name, value))
        seen.add(name)
    return once(named)


def beside_others(text: str, margin: float) -> list[Reported]:
    """Values of a test that runs beside others with slightly different start and end.

    Bandwidths, whole and per stream, are what the receiver got while all send. For this the server runs with ``-J``,
    the client with ``--get-server-output``.

    Parameters
    ----------
    margin : time at the begin and at the end that does not count, s.

    Raises
    ------
    DataError
        As `parse`; also if the server's output is missing, or no interval lies between the margins.
    """
    here = loaded(text)["server_output_json"]
    length = here["end"]["sum_received"]["seconds"].real()
    middle = [
        one
        for one in here["intervals"].items()
        if margin <= (one["sum"]["start"].real() + one["sum"]["end"].real()) / 2 <= length - margin
    ]
    if not middle:
        raise malformed(_WHAT, 0, f"no interval within {margin:g} s to {length - margin:.3g} s", "several")
    rates = {-1: _rate(one["sum"] for one in middle)}
    for number in range(len(middle[0]["streams"].items())):
        rates[number] = _rate(one["streams"].items()[number] for one in middle)
    return [
        *(
            replace(v, value=rates[-1 if v.rank is None else v.rank]) if v.name == "bandwidth_MBps" else v
            for v in parse(text)
            if v.t is None
        ),
        *_intervals(here["intervals"]),
    ]


def _rate(parts: Iterable[Entry]) -> float:
    """MB/s of consecutive intervals."""
    every = list(parts)
    return sum(one["bytes"].whole() for one in every) / sum(one["seconds"].real() for one in every) / 1e6


def received(text: str) -> int:
    """B that the receiver got, of output that `parse` takes."""
    return loaded(text)["end"]["sum_received"]["bytes"].whole()


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
    """Return the B that the receivers got, that the senders wrote, and of a segment, from text that `parse` accepts.

    Returns
    -------
    ``received_B`` and ``written_B`` of the direction that moved more, and ``segment_B``; empty for UDP, where iperf3
    does not distinguish them.
    """
    whole = loaded(text)
    end = whole["end"]
    totals = {}
    for key, prefix in (("received_B", "sum_received"), ("written_B", "sum_sent")):
        if ways := [end[name]["bytes"].whole() for name in end.table() if name.startswith(prefix)]:
            totals[key] = max(ways)
    if len(totals) < 2 or "sum" in end:
        return {}
    segment = whole["start"]["tcp_mss_default"].whole() if "tcp_mss_default" in whole["start"] else 0
    return {**totals, "segment_B": segment} if segment > 0 else totals


def _labels(sum_name: str) -> dict[str, str]:
    """Return the label of the direction back; the other direction has none."""
    return {"direction": "reverse"} if sum_name.endswith("_reverse") else {}


def _whole(end: Entry) -> list[Reported]:
    values = []
    for suffix in ("", _BACK):
        if suffix and f"sum_received{suffix}" not in end:
            continue
        received, sent, labels = end[f"sum_received{suffix}"], end[f"sum_sent{suffix}"], _labels(suffix)
        values.append(metric("bandwidth_MBps", "mean", received["bits_per_second"].real() / _MB, labels))
        values.append(metric("sent_MBps", "mean", sent["bits_per_second"].real() / _MB, labels))
        if "retransmits" in sent:
            values.append(Reported("retransmits", "", "total", sent["retransmits"].real(), labels=labels))
        if "lost_percent" in received:
            values.append(metric("jitter_us", "mean", received["jitter_ms"].real() * 1e3, labels))
            values.append(metric("lost_percent", "mean", received["lost_percent"].real(), labels))
    use = end["cpu_utilization_percent"]
    return values + [Reported(f"cpu_{name}", "%", "mean", use[name].real()) for name in _CPU]


def _streams(end: Entry) -> list[Reported]:
    """TCP's own round-trip time, and the bandwidth of each of several streams."""
    values, streams = [], end["streams"].items()
    for number, stream in enumerate(streams):
        sender, receiver = stream.get("sender", {}), stream.get("receiver", {})
        rank = number if len(streams) > 1 else None
        if len(streams) > 1 and receiver.table():
            labels = {"direction": "forward" if receiver.get("sender", True).value else "reverse"}
            rate = receiver["bits_per_second"].real() / _MB
            values.append(Reported("bandwidth_MBps", "MB/s", "mean", rate, rank=rank, labels=labels))
        for key, statistic in (("min_rtt", "min"), ("mean_rtt", "mean"), ("max_rtt", "max")):
            if time := sender.get(key, 0).real():
                values.append(Reported("tcp_rtt_us", "µs", statistic, time, rank=rank))
    return values


def _intervals(intervals: Entry) -> list[Reported]:
    parts = [(name, interval[name]) for interval in intervals.items() for name in interval.table()]
    return [
        metric(
            "bandwidth_MBps",
            "mean",
            part["bits_per_second"].real() / _MB,
            _labels(name),
            t=part["end"].real(),
        )
        for name, part in parts
        if name.startswith("sum") and not part["omitted"].value
    ]


_SUM = re.compile(
    rf"\[(?P<way> *\d+|SUM)\](?:\[(?P<role>[TR]X-[CS])\])? +(?P<start>{NUMBER}) *- *(?P<end>{NUMBER}) *sec +{NUMBER} +"
    rf"[KMGT]?Bytes +(?P<rate>{NUMBER}) +(?P<unit>[KMGT]?(?:bits|Bytes))/sec *(?P<rest>.*?) +(?P<side>sender|receiver)$"
)
_BEGINS = re.compile(
    r"Connecting to host \S+, port \d+|Server listening on \d+|\s*\"tcp_mss_default\"|\s*\"sum_received\"|"
    rf"[^\n]{{0,2000}}\"tcp_mss_default\"|{re.sub(r'[?]P<[a-z]+>', '?:', _SUM.pattern)}"
)
_HOST = re.compile(r"(?:Connecting to host \S+, port \d+|Accepted connection from \S+, port \d+)")
_STREAM = re.compile(r"\[ *(\d+)\] local .* connected to ")
_JITTER = re.compile(rf"({NUMBER}) ms +(\d{{1,18}})/(\d{{1,18}}) \({NUMBER}%\)$")
_START = re.compile(r"Starting Test: protocol: (\w+), (\d{1,9}) streams?, (\d{1,12}) byte blocks")


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test, from the text of a client or a server, or from a client's JSON.

    The text has three digits, with prefixes of 10^3 for bits and of 2^10 for bytes (``-f M``). It names block size and
    protocol only with ``-V``; a UDP test shows by its datagrams. A server knows its own side only: what it received,
    or what it sent.
    """
    if re.search(r"^[\[{]", text, re.MULTILINE) and '"intervals"' in text:
        return _json(document(text, where, _ways), text, where)
    lines = Lines(text, where)
    blocks = [(first, last) for first, last, _ in lines.blocks(_HOST)]
    if not blocks and lines.find(_SUM.pattern, 1, len(lines)):
        blocks = [(1, len(lines))]
    if not blocks:
        raise lines.wrong(1, "the output of an iperf3 client, or of a server that served one")
    return [_text(lines, first, last) for first, last in blocks]


def _json(whole: Entry, text: str, where: str) -> list[Run]:
    """Read the JSON of a client."""
    if "error" in whole:
        why = str(whole["error"].value)[:200]
        raise DataError(f"{where}: iperf3 failed: {why}. Name the output of a test that succeeded.")
    start = whole["start"]["test_start"]
    lines = Lines(text, where)
    values = [v for v in inside(lines, 1, len(lines), parse) if v.t is None]
    way_back = any("direction" in value.labels and value.rank is None for value in values)
    if way_back:
        values = [v for v in inside(lines, 1, len(lines), both) if v.t is None]
    protocol = str(start["protocol"].value).upper()
    if protocol not in ("TCP", "UDP"):
        raise malformed(where, 0, protocol[:40], "a test over TCP or UDP", REMEDY)
    return [
        Run(
            test=f"iperf3 {protocol}{' both' if way_back and protocol == 'TCP' else ''}",
            values=tuple(values),
            line=1,
            size=start["blksize"].whole(),
            options={"streams": start["num_streams"].whole()},
            stated=_stated(whole, start),
            parameters={name: str(start.get(name, "").value) for name in ("reverse", "duration")},
            version=str(whole["start"].get("version", "").value).removeprefix("iperf "),
            source=json.dumps(start.value)[:SHOWN],
        )
    ]


def _stated(whole: Entry, test: Entry) -> dict[str, str]:
    """Return the settings of a test: its parameters, buffers, segment size, and congestion control of both ends."""
    start = whole["start"].table()
    asked: dict[str, Any] = {k: start[k] for k in ("sock_bufsize", "tcp_mss", "target_bitrate") if k in start}
    ends = {k: v for k, v in whole["end"].table().items() if k.endswith("_tcp_congestion")}
    return flat({**asked, **test.table(), **ends}, "num_streams", "blksize", "protocol")


Row = tuple[int, re.Match[str]]


def _text(lines: Lines, first: int, last: int) -> Run:
    """Read one test."""
    server = lines.texts[first - 1].startswith("Accepted")
    rows = _summary(lines, first, last)
    sums = [one for one in rows if one[1]["way"] == "SUM"]
    streams = {row["way"] for _, row in rows if row["way"] != "SUM" and (row["role"] or "TX")[:2] == "TX"}
    by_side: dict[tuple[str, str], Row] = {}
    for number, row in sums or rows:
        if (row["role"] or "", row["side"]) in by_side:
            raise lines.wrong(number, "one line of sender and receiver each: another test, or the sum, is missing")
        by_side[row["role"] or "", row["side"]] = number, row
    old = any(side == "" for _, side in by_side)
    if server:  # the other side's line is there in some versions, with a rate of 0
        by_side = {key: (n, row) for key, (n, row) in by_side.items() if float(row["rate"])}
    received = {role: one for (role, side), one in by_side.items() if side == "receiver"}
    sent = {role: one for (role, side), one in by_side.items() if side != "receiver"}
    opened = {match[1] for line in lines.texts[first - 1 : last] if (match := _STREAM.match(line))}
    whole = by_side if server or old else received and set(received) == set(sent)
    if not whole or not _ended(rows, opened, () if server or old else ("sender", "receiver")):
        raise lines.wrong(last, "the lines of sender and receiver of each stream, and their sum: the log is cut")
    rates, written = (
        {role: lines.number(row["rate"], n) / IN_A_MB[row["unit"]] for role, (n, row) in side.items()}
        for side in (received, sent)
    )
    number, row = next(iter((received or sent).values()))
    lost = _JITTER.match(row["rest"])
    values = [metric("bandwidth_MBps", "mean", sum(rates.values()))] if rates else []
    values += [metric("sent_MBps", "mean", sum(written.values()))] if written else []
    if len(rates) > 1:
        names = ("forward", "reverse")
        values += [
            metric("bandwidth_MBps", "mean", r, {"direction": d}) for d, r in zip(names, rates.values(), strict=False)
        ]
    if lost and int(lost[3]):
        values.append(metric("jitter_us", "mean", lines.number(lost[1], number) * 1e3))
        values.append(metric("lost_percent", "mean", 100 * int(lost[2]) / int(lost[3])))
    told = lines.find(_START.pattern, first, last)
    above = itertools.takewhile(lambda line: not _OTHER.match(line), reversed(lines.texts[: first - 1]))
    version = next((line.split()[1] for line in above if re.match(r"iperf 3\.", line)), "")
    protocol = "UDP" if lost else "TCP"
    doubts = [] if told else [SIZE_UNKNOWN]
    if not server and not (_HOST.match(lines.texts[first - 1]) and lines.find("iperf Done", first, last)):
        doubts.append(CUT)
    return Run(
        test=f"iperf3 {protocol}{' both' if len(rates) > 1 and protocol == 'TCP' else ''}",
        values=tuple(values),
        line=number,
        size=int(told[1][3]) if told else 0,
        options={"streams": len(streams)},
        stated=_stated_in_text(lines, first, last),
        version=version,
        remarks=(FEW_DIGITS,),
        doubts=tuple(doubts),
        source=lines.source(first, last),
    )


def _ended(rows: Sequence[Row], opened: Iterable[str], sides: Sequence[str]) -> bool:
    """Return whether all streams have their lines of the whole test, of all `sides`, and several have their sum."""
    ends = {(row["way"].strip(), side) for _, row in rows for side in ("", row["side"])}
    if {(way, side) for way in opened for side in sides or [""]} - ends:
        return False
    counts = Counter((row["role"], row["side"]) for _, row in rows if row["way"] != "SUM")
    sums = {(row["role"], row["side"]) for _, row in rows if row["way"] == "SUM"}
    return all(count == 1 or key in sums for key, count in counts.items())


def _summary(lines: Lines, first: int, last: int) -> list[Row]:
    """Return the lines of sender and receiver over the whole test.

    Versions before 3.2 print one line of a UDP test, with the sender's rate and the receiver's loss, and below it how
    many datagrams were sent.
    """
    numbers = range(first, last + 1)
    rows = [(n, row) for n in numbers if (row := _SUM.match(lines.texts[n - 1]))]
    if rows:
        return rows
    sent = [n for n in numbers if re.match(r"\[ *\d+\] Sent \d+ datagrams$", lines.texts[n - 1])]
    plain = re.compile(_SUM.pattern.replace(" +(?P<side>sender|receiver)$", "(?P<side>)$"))
    return [(n - 1, row) for n in sent if (row := plain.match(lines.texts[n - 2])) and _JITTER.match(row["rest"])]


_OTHER = re.compile(rf"{_HOST.pattern}|iperf Done")  # lines of the run above
_CONGESTION = re.compile(r"(snd|rcv)_tcp_congestion (\w+)$")
_ASKED = re.compile(r"Starting Test: .*byte blocks, (.*)$")


def _stated_in_text(lines: Lines, first: int, last: int) -> dict[str, str]:
    """Return the settings that the text states: with ``-V`` those of the test, and congestion control."""
    found: dict[str, str] = {}
    for line in lines.texts[first - 1 : last]:
        if pair := _CONGESTION.match(line):
            side = "sender" if pair[1] == "snd" else "receiver"
            found[f"{side}_tcp_congestion"] = pair[2]
        if asked := _ASKED.match(line):
            found |= {"test": asked[1]}
        if line.startswith("Reverse mode"):
            found["reverse"] = "1"
    return found


_MARKS = ("Connecting to host", "Server listening on ", " sender", " receiver", "tcp_mss_default", "sum_received")
LOG = Log("iperf3", _MARKS, _BEGINS, runs)
