"""sockperf's text of ping-pong and under-load, and the log of every packet (``--full-log``).

sockperf reports half the round trip and calls it latency, unless ``--full-rtt`` is given, when it says ``rtt``. Here
everything is a round trip, as netperf counts it. The log holds when a packet left and when its answer came, in ns:
the difference is the sample, so that nothing is halved and doubled.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
from numpy.typing import NDArray

from labkit.formats import malformed, metric
from labkit.formats.reading.log import NUMBER, SIZE_UNKNOWN, UNTITLED, Lines, Log, Run, inside, setting_name
from labkit.formats.reading.wrapped import COLOUR
from labkit.point.notes import note
from labkit.point.spec import Reported

CLOCK_NS = 1.0  # prints µs with three decimals
_WHAT = "sockperf output"
_LOG = "sockperf full log"
_HEAD = re.compile(r"packet, txTime\(sec\), rxTime\(sec\), (latency|rtt)\(usec\)")
_ROW = re.compile(r"\d+, \d+\.\d{9}, \d+\.\d{9}, +\d+\.\d{3}")
_VALID = r"\[Valid Duration\] RunTime=(\d+\.?\d*) sec;.*ReceivedMessages=(\d{1,18})"
_TOTAL = r"\[Total Run\].*SentMessages=(\d{1,18})"
_COUNTS = r"dropped messages = (\d{1,18}); # duplicated messages = (\d{1,18}); # out-of-order messages = (\d{1,18})"
_GOES_ON = re.compile(r"[.,' \u00a0\u202f]?\d")  # a number that a pattern took in part
_SHARE = re.compile(r"sockperf: -+(?:> (?:<(?:MAX|MIN)> observation|percentile [\d.]+) *= *[\d.,]+)?")
_RULE = "------------------------------"  # closes the log
_STEP_US = 0.0011  # the log rounds latencies to 1 ns and halves before it does


def parse(text: str) -> list[Reported]:
    """Parse round trips and transaction rate over sockperf's valid duration.

    Returns
    -------
    ``round_trip_us`` with p50, p99, p999, min, max, mean and sockperf's further percentiles (``p25``, ``p90``);
    ``transaction_rate_per_s``; counts of dropped, duplicated and out-of-order messages.

    Raises
    ------
    DataError
        If sockperf printed an error or its usage, or an expected line is missing.
    """
    lines = _plain(text)
    for number, line in enumerate(lines, 1):
        if "ERROR" in line or re.match(r"sockperf: '-.*' Invalid", line):
            raise malformed(_WHAT, number, line, "statistics")
        if re.match(r"sockperf: -", line) and not _SHARE.fullmatch(line.rstrip()):
            raise malformed(_WHAT, number, line, "<MAX>, <MIN> or a percentile, and its time")
    plain = "\n".join(lines)
    rtt = r"avg-(lat|latency|rtt)= *(\d+\.?\d*) \(std-dev=(\d+\.?\d*)"
    kind, mean, deviation = _find(plain, rtt, "a line 'avg-latency=…'")
    double = 1.0 if kind == "rtt" else 2.0
    runtime, received = _find(plain, _VALID, "'[Valid Duration]'")
    values = {"mean": mean, "stddev": deviation, "max": _find(plain, r"<MAX> observation = +(\d+\.?\d*)", "<MAX>")[0]}
    for percent, value in re.findall(r"percentile (\d+\.?\d*) = +(.*)", plain):
        values["p" + percent.rstrip("0").rstrip(".").replace(".", "")] = value
    values["min"] = _find(plain, r"<MIN> observation = +(\d+\.?\d*)", "<MIN>, the last line")[0]
    reported = [metric("round_trip_us", name, double * _number(value)) for name, value in values.items()]
    if float(runtime) > 0:
        reported.append(metric("transaction_rate_per_s", "mean", int(received) / float(runtime)))
    counts = _find(plain, _COUNTS, "'dropped messages'")
    names = ("dropped_messages", "duplicated_messages", "out_of_order_messages")
    return reported + [Reported(name, "", "total", float(n)) for name, n in zip(names, counts, strict=True)]


def messages(text: str) -> int:
    """Return how many messages were sent in all, with the warm-up, which is in no statistic.

    Raises
    ------
    DataError
        If sockperf does not tell.
    """
    return int(_find("\n".join(_plain(text)), _TOTAL, "'[Total Run]'")[0])


def log(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Parse every round trip of a full log.

    Returns
    -------
    round_trip_ns : (packets,), ns
    start_ns : (packets,), ns since the first packet left

    Raises
    ------
    DataError
        If a line is malformed, lines are missing, or the log contradicts itself.
    """
    lines = _plain(text)
    head = next((number for number, line in enumerate(lines) if _HEAD.fullmatch(line.strip())), None)
    if head is None:
        raise malformed(_LOG, 0, lines[-1] if lines else "nothing", "the head 'packet, txTime(sec), rxTime(sec), …'")
    rows = [line for line in lines[head + 1 :] if line.strip() not in ("", _RULE)]
    wanted = int(_find("\n".join(lines[:head]), r"Total (\d{1,18}) observations", "'Total … observations'")[0])
    for number, line in enumerate(rows, head + 2):
        if not _ROW.fullmatch(line.strip()):
            raise malformed(_LOG, number, line, "packet, two times in s with 9 decimals, and µs")
    if len(rows) != wanted:
        raise malformed(_LOG, 0, f"{len(rows)} packets", f"{wanted}, as its head says: the log is cut off")
    table = np.array([line.split(",") for line in rows], np.float64).reshape(-1, 4)
    start, trip = (np.rint(column * 1e9).astype(np.int64) for column in (table[:, 1], table[:, 2] - table[:, 1]))
    share = 0.5 if "latency" in lines[head] else 1.0
    wrong = np.flatnonzero((trip < 0) | (np.abs(table[:, 3] - share * trip * 1e-3) > _STEP_US))
    if len(wrong):
        row = int(wrong[0])
        raise malformed(_LOG, head + 2 + row, rows[row], f"{share:g} × the time from sending to answer at its end")
    return trip, start - (start[0] if len(start) else 0)


def late(start_ns: NDArray[np.int64], rate: float) -> NDArray[np.int64]:
    """Return how much later than planned each packet left; packet n was due n / rate after the first.

    Parameters
    ----------
    start_ns : (packets,), from `log`, of a run in which none was lost: the log does not tell where one is missing.
    rate : requested packets per second.

    Returns
    -------
    (packets,), ns; 0 for the packet that was earliest against the plan.

    Examples
    --------
    >>> late(np.array([0, 1_200_000, 2_000_000]), 1000.0).tolist()
    [0, 200000, 0]
    """
    behind: NDArray[np.int64] = start_ns - np.rint(np.arange(len(start_ns)) * (1e9 / rate)).astype(np.int64)
    if len(behind):
        behind -= behind.min()
    return behind


def _plain(text: str) -> list[str]:
    """Return the lines without terminal colours."""
    return COLOUR.sub("", text).splitlines()


def _find(text: str, pattern: str, wanted: str) -> tuple[str, ...]:
    """Return the groups of a pattern that must match."""
    match = re.search(pattern, text)
    if not match:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "nothing")
        raise malformed(_WHAT, 0, last, f"{wanted} (this is its last line)")
    if _GOES_ON.match(text, match.end()):
        line = text[text.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
        raise malformed(_WHAT, 0, line, "numbers with a decimal point and nothing between their digits")
    return match.groups()


def _number(text: str) -> float:
    """Convert a number of µs."""
    if not re.fullmatch(r"\d+(?:\.\d+)?", text.strip()):
        raise malformed(_WHAT, 0, text, "a number with a decimal point and nothing between its digits")
    return float(text)


_BEGINS = re.compile(
    r"sockperf: (?:== version #|\[Total Run\]|\[CLIENT\]|====> avg-|Summary: )|sockperf\[CLIENT\] send on:"
)
_START = re.compile(
    r"sockperf: == version #|sockperf\[CLIENT\] send on:"
)  # one or both, in lines that follow one another
_MSG_RATE = rf"sockperf: Summary: Message Rate is ({NUMBER}) \[msg/sec\]"
_SUMMARY = rf"sockperf: Summary: (Latency|Round trip) is ({NUMBER}) usec"
_ALONE = note(
    "summary-alone", "only the summary is in the log: ping-pong over UDP is assumed, the defaults of sockperf"
)
_BW = rf"sockperf: Summary: BandWidth is ({NUMBER}) MBps"


def runs(text: str, where: str) -> list[Run]:
    """Return one run per output of a client: ping-pong, under-load or throughput.

    What sockperf calls MBps is 2^20 B/s. It does not print the mode: in under-load more messages leave than are
    answered, unless every one is. The size follows from throughput's bandwidth and message rate, or from the head of a
    full log; otherwise it is not known.
    """
    lines = Lines(text, where)
    begins = [number for number, line in lines if _START.match(line)]
    starts = [1, *(number for before, number in itertools.pairwise(begins) if number > before + 1)]
    if not begins:  # summaries alone
        found = [number for number, line in lines if re.match(f"{_MSG_RATE}|{_SUMMARY}", line)]
        starts = [1, *(_below(lines, number) for number in found[:-1])]
    return [_run(lines, *ends) for ends in itertools.pairwise([*starts, len(lines) + 1])]


def _below(lines: Lines, number: int) -> int:
    """Return the first line below a summary and its percentiles."""
    while number < len(lines) and re.match(r"sockperf: |$", lines.texts[number]):
        number += 1
    return number + 1


def _run(lines: Lines, first: int, after: int) -> Run:
    """Read one output, from its first line to that before the next one."""
    last, plain = after - 1, "\n".join(lines.texts[first - 1 : after - 1])

    def find(pattern: str) -> str:
        match = re.search(pattern, plain)
        return match[1] if match else ""

    protocol = find(r"PORT = +\d+ # (TCP|UDP)").lower()
    version, told = find(r"sockperf: == version #(\S+) =="), int(find(r"--msg-size=(\d{1,9})\b") or 0)
    rate = lines.find(_MSG_RATE, first, last)
    results = len(re.findall(rf"\[Valid Duration\]|{_MSG_RATE}", plain))
    if not results and (summary := lines.find(_SUMMARY, first, last)):
        return _excerpt(lines, *summary, protocol, version, plain)
    if results != 1:
        raise lines.wrong(last, "the statistics of one run of a sockperf client by here")
    if rate:
        return _throughput(lines, rate[0], last, rate[1][1], protocol, version, plain)
    values = inside(lines, first, last, parse)
    number, counts = lines.need(
        r"sockperf: \[Valid Duration\].*SentMessages=(\d{1,18}); ReceivedMessages=(\d{1,18})", first, last, "counts"
    )
    under_load = int(counts[1]) > 2 * int(counts[2])
    assumed = "ping-pong is assumed; under-load with an answer to every message prints the same"
    doubts = [] if under_load else [note("mode-unknown", assumed)]
    if not told:
        doubts.append(SIZE_UNKNOWN)
    if not protocol:
        protocol = "udp"
        doubts.append(note("protocol-unknown", "the log does not name the protocol: UDP is assumed, as without --tcp"))
    kind = "under-load" if under_load else "ping-pong"
    to_group = bool(find(r"\bIP = +(?:22[4-9]|23\d)(\.)"))
    return Run(
        test=f"sockperf {kind} {protocol}",
        values=tuple(values),
        line=number,
        size=told,
        options=({"protocol": protocol} if under_load else {}) | ({"multicast": True} if to_group else {}),
        stated=_stated(plain),
        version=version,
        doubts=tuple(doubts),
        source=lines.source(first, min(last, number + 20)),
    )


def _excerpt(lines: Lines, number: int, summary: re.Match[str], protocol: str, version: str, plain: str) -> Run:
    """Read the summary of a client whose other lines are missing."""
    factor = 2 if summary[1] == "Latency" else 1
    mean = lines.number(summary[2], number) * factor
    if not mean > 0:
        raise lines.wrong(number, "a time above 0")
    values = [metric("round_trip_us", "mean", mean)]
    for at in range(number + 1, min(_below(lines, number), len(lines) + 1)):
        line = lines.texts[at - 1]
        if row := re.fullmatch(rf"sockperf: -+> (?:<(MAX|MIN)> observation|percentile ([\d.]+)) *= *({NUMBER})", line):
            share = (row[2] or "").rstrip("0").rstrip(".") if "." in (row[2] or "") else row[2]
            name = row[1].lower() if row[1] else "p" + share.replace(".", "")
            values.append(metric("round_trip_us", name, lines.number(row[3], at) * factor))
        elif re.match(r"sockperf: -", line):
            raise lines.wrong(at, "<MAX>, <MIN> or a percentile, and its time")
    return Run(
        test=f"sockperf ping-pong {protocol or 'udp'}",
        values=tuple(values),
        line=number,
        stated=_stated(plain),
        version=version,
        doubts=(_ALONE, SIZE_UNKNOWN),
        source=lines.source(number, number),
    )


def _throughput(lines: Lines, number: int, last: int, text: str, protocol: str, version: str, plain: str) -> Run:
    """Read what the client of a throughput test sent."""
    at, bandwidth = lines.need(_BW, number, last, "'Summary: BandWidth is … MBps'")
    rate, sent = lines.number(text, number), lines.number(bandwidth[1], at) * 2**20
    if rate <= 0 or sent <= 0:
        raise lines.wrong(number, "a rate above 0")
    size, error = sent / rate, sent / rate * (0.5 / rate + 0.0005 * 2**20 / sent)
    sure = error < 0.4 and abs(size - round(size)) <= error + 1e-6
    return Run(
        test=f"sockperf throughput {protocol or 'tcp'}",
        values=(metric("sent_MBps", "mean", sent * 1e-6), metric("message_rate_per_s", "mean", rate)),
        line=number,
        size=round(size) if sure else 0,
        options={"protocol": protocol or "unknown"},
        stated=_stated(plain),
        version=version,
        doubts=(*(() if sure else (SIZE_UNKNOWN,)), *(() if re.search(_START, plain) else (UNTITLED,))),
        source=lines.source(1, at),
    )


_FLAG = re.compile(r"(?<=\s)--([a-z][a-z-]+)(?:[= ]([^\s-][^\s,]*))?")
_NO_SETTINGS = ("msg-size", "full-log", "ip", "port", "file")


def _stated(plain: str) -> dict[str, str]:
    """Return the flags of the command line, which a full log shows, and the call that waits for messages."""
    found = {setting_name(name): value or "true" for name, value in _FLAG.findall(plain) if name not in _NO_SETTINGS}
    if wait := re.search(r"using (\w+)\(\) to block", plain):
        found["block"] = wait[1]
    return found


LOG = Log("sockperf", ("sockperf",), _BEGINS, runs)
