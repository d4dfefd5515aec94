"""wrk's and wrk2's text: requests per second and the latencies of HTTP requests.

wrk waits for each response before the next request on a connection, so its latencies are round trips with coordinated
omission. wrk2 (``-R``) sends at a fixed rate and counts from the moment a request was due (``wrk.c``:
``expected_latency_timing``): its latencies are `response_us`, as are those of ``Recorded Latency``. What its
``--u_latency`` prints beside, uncorrected, is a round trip. Mean, standard deviation, extremes and the 95th percentile
come from the spectrum, in ms with three decimals; the other times have three to five digits, each with a unit. wrk2
first calibrates its threads for 10 s; its latencies come from the time after that (``wrk.c``: calibrate). A shorter run
has no rate for a thread, so it prints ``-nan`` there, where wrk prints a number.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from labkit.formats import metric
from labkit.formats.reading.log import UNTITLED, Lines, Log, Run, settings
from labkit.point.notes import note
from labkit.point.spec import Reported

CLOCK_NS = 1000.0  # counts whole µs

_BEGINS = re.compile(r" *Running \S+ test @ (\S+)$")
_AGAIN = re.compile(r" *Thread Stats +Avg ")
_CONNECTIONS = r" *(\d{1,9}) threads? and (\d{1,9}) connections?$"
_TIME = r"(\d+\.\d+)(us|ms|s|m|h)"
_STATS = re.compile(rf" *Latency +{_TIME} +{_TIME} +{_TIME} +(?:[\d.]+|-?nan)%$")
_NO_STATS = r" *Latency(?! +Distribution)(?: |$)"
_TITLE = re.compile(r" *Latency Distribution(?: \(HdrHistogram - (.+)\))?$")
_SPECTRUM = re.compile(r" *Detailed Percentile spectrum:$")
_PLACE = re.compile(r" *(\d+\.\d+) +0\.950000 +\d+ +20\.00 *$")  # in ms; the list above has no 95th percentile
_LEAST = re.compile(r" *(\d+\.\d+) +0\.000000 +\d+ +1\.00 *$")
_MEAN = re.compile(r"#\[Mean += +(\d+\.\d+), StdDeviation += +(\d+\.\d+)\]$")
_MOST = re.compile(r"#\[Max += +(\d+\.\d+), Total count += +(\d{1,18})\]$")
_END = re.compile(r"#\[Buckets = ")
_UNCALIBRATED = r" *Req/Sec +-?nan +-?nan "
_SHARE = re.compile(rf" *(\d+(?:\.\d+)?)% +{_TIME}$")
_DONE = re.compile(rf" *(\d{{1,18}}) requests in {_TIME}, (\S+)B read$")
_RATE = re.compile(r" *Requests/sec: +(\d+\.\d+)$")
_ERRORS = re.compile(r" *(Socket errors: [a-z]+ \d+(?:, [a-z]+ \d+)*|Non-2xx or 3xx responses: \d+)$")
_US = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 6e7, "h": 3.6e9}


def runs(text: str, where: str) -> list[Run]:
    """Return one run per test; of wrk2 with ``--u_latency`` one run has both.

    Statistics that follow without a heading are another run of the same test.
    """
    lines = Lines(text, where)
    made = []
    if not any(map(_BEGINS.match, lines.texts)):  # an excerpt
        return [_excerpt(lines, first, last) for first, last, _ in lines.blocks(_AGAIN)]
    for head, last, match in lines.blocks(_BEGINS):
        again = [number for number in range(head, last + 1) if _AGAIN.match(lines.texts[number - 1])][1:]
        for first, beyond in itertools.pairwise([head, *again, last + 1]):
            made.append(_run(lines, head, first, beyond - 1, match[1]))
    return made


def _excerpt(lines: Lines, first: int, last: int) -> Run:
    """Read a run without its first line; the line with threads and connections may be above the statistics."""
    counts = re.match(_CONNECTIONS, lines.texts[first - 2]) if first > 1 else None
    options = {"threads": int(counts[1]), "connections": int(counts[2])} if counts else {}
    return replace(_run(lines, 0, first, last, ""), options=options)


def _run(lines: Lines, head: int, first: int, last: int, url: str) -> Run:
    """Read one run of the test whose head is given; 0 if it is missing."""
    counts = lines.need(_CONNECTIONS, head, last, "a line '… threads and … connections'")[1] if head else None
    end, rate = lines.need(_RATE.pattern, first, last, "a line 'Requests/sec: …'")
    at, done = lines.need(_DONE.pattern, first, last, "a line '… requests in …, … read'")
    stats = lines.find(_STATS.pattern, first, end)
    if not stats and (damaged := lines.find(_NO_STATS, first, end)):
        raise lines.wrong(damaged[0], "'Latency', three times with units, and a share in %")
    titles = [(number, match[1]) for number in range(first, end) if (match := _TITLE.match(lines.texts[number - 1]))]
    paced = any(kind for _, kind in titles) or bool(
        lines.find(rf" *Thread calibration: mean lat\.: |{_UNCALIBRATED}", first, end)
    )
    quantity = "response_us" if paced else "round_trip_us"
    values = [metric("transaction_rate_per_s", "mean", lines.number(rate[1], end))]
    if not values[0].value or not int(done[1]):
        raise lines.wrong(at, "one request or more")
    precise = [(kind, _spectrum(lines, number + 1, end)) for number, kind in titles]
    if stats and not any(told and not _uncorrected(kind) for kind, told in precise):
        mean, deviation, most = (_us(stats[1][k], stats[1][k + 1]) for k in (1, 3, 5))
        values += [metric(quantity, s, v) for s, v in (("mean", mean), ("stddev", deviation), ("max", most))]
    for (number, kind), (_, told) in zip(titles, precise, strict=True):
        name = "round_trip_us" if _uncorrected(kind) else quantity
        values += _percentiles(lines, number + 1, end, name)
        values += [metric(name, statistic, value) for statistic, value in told.items()]
    failed = [match[1] for number in range(first, last + 1) if (match := _ERRORS.match(lines.texts[number - 1]))]
    doubts = [note("failed-requests", f"requests failed: {text}") for text in failed]
    doubts += [] if head else [UNTITLED]
    values.append(Reported("requests", "", "total", float(done[1])))
    return Run(
        test="wrk2" if paced else "wrk",
        values=tuple(values),
        line=first,
        options={"threads": int(counts[1]), "connections": int(counts[2])} if counts else {},
        stated={"path": re.sub(r"^\w+://[^/]*", "", url) or "/"} | settings(lines.texts[head : head + 1])
        if head
        else {},
        parameters={"url": url} if url else {},
        doubts=tuple(doubts),
        source=lines.source(first, last),
    )


def _percentiles(lines: Lines, start: int, end: int, name: str) -> list[Reported]:
    """Read the percentiles below a title."""
    values = []
    for number in range(start, end):
        row = _SHARE.match(lines.texts[number - 1])
        if not row:
            if re.match(r" *\d+(?:\.\d+)?(?:%|$)", lines.texts[number - 1]):
                raise lines.wrong(number, "a percentile and its time")
            break
        if float(row[1]) < 100 and float(row[2]):  # 0.00us where wrk found none
            digits = row[1].rstrip("0").rstrip(".") if "." in row[1] else row[1]
            values.append(metric(name, "p" + digits.replace(".", ""), _us(row[2], row[3])))
    return values


def _uncorrected(kind: str | None) -> bool:
    """Whether a title belongs to latencies that count from the sending of a request."""
    return bool(kind and kind.startswith("Uncorrected"))


def _spectrum(lines: Lines, start: int, end: int) -> dict[str, float]:
    """Read statistics, in µs, from HdrHistogram's spectrum below a list of percentiles; it ends at the next title."""
    found, inside = dict[str, float](), False
    for number in range(start, end):
        text = lines.texts[number - 1]
        if _TITLE.match(text) or (inside and _END.match(text)):
            break
        inside = inside or bool(_SPECTRUM.match(text))
        if not inside:
            continue
        if row := _LEAST.match(text):
            found["min"] = 1e3 * float(row[1])
        elif row := _PLACE.match(text):
            found["p95"] = 1e3 * float(row[1])
        elif row := _MEAN.match(text):
            found |= {"mean": 1e3 * float(row[1]), "stddev": 1e3 * float(row[2])}
        elif row := _MOST.match(text):
            found["max"] = 1e3 * float(row[1])
        elif text.startswith("#["):
            raise lines.wrong(
                number, "mean and standard deviation, or the greatest time and the count, of the spectrum"
            )
    return found if {"mean", "max"} <= set(found) else {}


def _us(text: str, unit: str) -> float:
    """Convert a time as wrk prints it to µs."""
    return float(text) * _US[unit]


LOG = Log("wrk", ("Running ",), _BEGINS, runs, rows=_AGAIN.match)
