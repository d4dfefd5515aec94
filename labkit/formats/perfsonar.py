"""Results of perfSONAR's pScheduler in JSON: throughput, one-way latency (OWAMP) and round trips.

labkit reads the result alone, the record of a run (``result-merged``), and the message that an archiver gets, which
also has the test's settings (``test.spec``). Durations are in ISO 8601.

- Throughput: ``receiver-throughput-bits`` is what the receiver got, ``throughput-bits`` what the sender sent, in
  bit/s. An older result has the second only, and jitter is in ms.
- One-way latency: a histogram, whose keys are times over ``bucket-width`` (1 ms), with two decimals. The statistics
  are over its packets. They depend on the clocks of both hosts; ``max-clock-error`` is an estimate in ms.
- Round trips: those of ping, twping or another tool. The statistics are over the single round trips.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import accumulate

from labkit import stats
from labkit.errors import DataError
from labkit.formats import malformed, metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import REMEDY, SHOWN, SIZE_UNKNOWN, Log, Run, flat
from labkit.formats.reading.series import described
from labkit.point.notes import note
from labkit.point.spec import Reported

_KINDS = {"summary": "throughput", "histogram-latency": "latency", "roundtrips": "rtt"}
_BEGINS = re.compile(r"[^\n]*\"(?:throughput-bits|histogram-latency|roundtrips)\" ?:")
_MB = 8e6  # bits
_DURATION = re.compile(
    r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:[.,]\d{1,18})?)S)?)?",
    re.ASCII,
)
_IN_S = (604800, 86400, 3600, 60, 1)
_MOST = 1 << 53  # packets
_BUCKET = 0.001  # s, the default of bucket-width
_QUANTILES = (("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p95", 0.95))
_NO_SETTING = (
    "schema",
    "source",
    "dest",
    "source-node",
    "dest-node",
    "hostnames",
    "parallel",
    "buffer-length",
    "length",
)
_SENDER = note("sender-only", "the result states what the sender sent, not what the receiver got")
_CLOCKS = note("two-clocks", "one-way: the value contains the difference of two clocks")


def runs(text: str, where: str) -> list[Run]:
    """Return the run of a result.

    Raises
    ------
    DataError
        Also if the test failed.
    """
    whole = document(text, where)
    result = next((whole[key] for key in ("result", "result-merged") if key in whole), whole)
    if result.get("succeeded", True).value is not True:
        why = str(result.get("error", "no reason is given").value)[:200]
        raise DataError(f"{where}: pScheduler's test failed: {why}. Name the result of a test that succeeded.")
    kind = next((kind for key, kind in _KINDS.items() if key in result), "")
    if not kind:
        raise malformed(where, 0, "no summary, histogram-latency or roundtrips", "one of them", REMEDY)
    about = whole.get("test", {})
    spec = about.get("spec", {}) if "spec" in about else whole.get("spec", {})
    tool = whole.get("tool", {})
    name = tool.value if isinstance(tool.value, str) else tool.get("name", "").value
    return [_READERS[kind](result, spec, str(name or "not stated")[:40])]


def seconds(entry: Entry) -> float:
    """Return an ISO 8601 duration, s; months and years have no fixed length, and are refused.

    Examples
    --------
    >>> seconds(Entry("PT1M0.25S", "result"))
    60.25
    """
    match = _DURATION.fullmatch(entry.value) if isinstance(entry.value, str) else None
    if not match or not any(match.groups()):
        raise entry.wrong("an ISO 8601 duration without years and months, such as PT0.25S")
    given = (float((part or "0").replace(",", ".")) for part in match.groups())
    return math.fsum(count * unit for count, unit in zip(given, _IN_S, strict=True))


def _stated(spec: Entry) -> dict[str, str]:
    """Return the settings of a test, without its hosts."""
    return flat(spec.table(), *_NO_SETTING)


def _throughput(result: Entry, spec: Entry, tool: str) -> Run:
    """Return the run of a test of throughput."""
    summary = result["summary"]["summary"]
    udp = spec.get("udp", False).value is True or summary.get("lost", None).value is not None
    size = spec.get("buffer-length", 0).whole()
    doubts = [] if size else [SIZE_UNKNOWN]
    sent = summary["throughput-bits"].real() / _MB
    if "receiver-throughput-bits" in summary:
        values = [metric("bandwidth_MBps", "mean", summary["receiver-throughput-bits"].real() / _MB)]
        values.append(metric("sent_MBps", "mean", sent))
    else:
        values = [metric("sent_MBps" if udp else "bandwidth_MBps", "mean", sent)]
        doubts.append(_SENDER)
    packets = summary.get("sent", 0).real()
    if "lost" in summary and packets > 0:
        values.append(metric("lost_percent", "mean", 100 * summary["lost"].real() / packets))
    if "jitter" in summary:
        values.append(metric("jitter_us", "mean", 1e3 * summary["jitter"].real()))
    if "retransmits" in summary:
        values.append(Reported("retransmits", "", "total", summary["retransmits"].real()))
    streams = len(result["summary"].get("streams", []).items())
    return Run(
        test=f"pScheduler throughput {'UDP' if udp else 'TCP'}",
        values=tuple(values),
        line=1,
        size=size,
        options={"streams": spec.get("parallel", streams or 1).whole()},
        stated=_stated(spec) | {"pscheduler_tool": tool},
        doubts=tuple(doubts),
        source=json.dumps(summary.value)[:SHOWN],
    )


def _latency(result: Entry, spec: Entry, tool: str) -> Run:
    """Return the run of a test of one-way latency."""
    width = spec.get("bucket-width", _BUCKET).real()
    histogram = result["histogram-latency"]
    counts = sorted((float(key), histogram[key].whole()) for key in histogram.table() if _is_number(histogram, key))
    counts = [(value * width, count) for value, count in counts if count]
    if not counts or width <= 0 or sum(count for _, count in counts) > _MOST:
        raise histogram.wrong("times with numbers of packets, and a bucket-width above 0")
    sent, lost = (result.get(f"packets-{name}", 0).real() for name in ("sent", "lost"))
    values = [metric("latency_us", statistic, 1e6 * value) for statistic, value in _of_histogram(counts)]
    values.append(Reported("packets", "", "total", float(sum(count for _, count in counts))))
    if sent:
        values.append(metric("lost_percent", "mean", 100 * lost / sent))
    if "max-clock-error" in result:
        values.append(Reported("clock_error_us", "µs", "max", 1e3 * result["max-clock-error"].real()))
    return Run(
        test="pScheduler latency",
        values=tuple(values),
        line=1,
        stated=_stated(spec) | {"pscheduler_tool": tool},
        remarks=(_CLOCKS,),
        source=json.dumps(histogram.value)[:SHOWN],
        clock_ns=1e9 * width / 100,
    )


def _is_number(histogram: Entry, key: str) -> bool:
    if not re.fullmatch(r"[-+]?(?:\d{1,18}(?:\.\d{1,18})?|\.\d{1,18})", key, re.ASCII):
        raise histogram.wrong(f"times instead of {key[:40]!r}")
    return True


def _of_histogram(counts: list[tuple[float, int]]) -> Iterator[tuple[str, float]]:
    """Yield statistics of a histogram in order; percentiles follow NIST, as in pScheduler."""
    n = sum(count for _, count in counts)
    yield "mean", math.fsum(value * (count / n) for value, count in counts)
    yield "min", counts[0][0]
    yield "max", counts[-1][0]
    reached = list(accumulate(count for _, count in counts))

    def of_rank(rank: int) -> float:
        return next(value for (value, _), last in zip(counts, reached, strict=True) if last >= min(max(rank, 1), n))

    for name, share in _QUANTILES:
        if stats.given(name, n):
            rank, part = divmod(share * (n + 1), 1)
            low = of_rank(int(rank))
            yield name, low + part * (of_rank(int(rank) + 1) - low)


def _round_trips(result: Entry, spec: Entry, tool: str) -> Run:
    """Return the run of a test of round trips."""
    trips = result["roundtrips"].items()
    times = [seconds(trip["rtt"]) for trip in trips if "rtt" in trip]
    if not times:
        raise result["roundtrips"].wrong("a round trip with a time (rtt)")
    values = described(times, "round_trip_us", "µs", 1e6)
    if "stddev" in result:
        values.append(metric("round_trip_us", "stddev", 1e6 * seconds(result["stddev"])))
    sent, lost = (result.get(name, 0).real() for name in ("sent", "lost"))
    share = lost / sent if sent else result["loss"].real()
    if not 0 <= share <= 1:
        raise result["loss"].wrong("a share from 0 to 1")
    values.append(metric("lost_percent", "mean", 100 * share))
    lengths = {trip["length"].whole() for trip in trips if "length" in trip}
    return Run(
        test="pScheduler rtt",
        values=tuple(values),
        line=1,
        size=spec.get("length", 0).whole() or (lengths.pop() if len(lengths) == 1 else 0),
        stated=_stated(spec) | {"pscheduler_tool": tool},
        source=json.dumps({"roundtrips": times})[:SHOWN],
    )


_READERS = {"throughput": _throughput, "latency": _latency, "rtt": _round_trips}
LOG = Log("perfSONAR", ('"throughput-bits"', '"histogram-latency"', '"roundtrips"'), _BEGINS, runs)
