"""fio's JSON and the log of every I/O that ``write_lat_log`` keeps with ``log_avg_msec=0``.

Latency is fio's total latency (``lat``), from the moment that fio starts an I/O to its completion: the same for all
engines. fio's completion latency (``clat``) begins when the submission is over (``slat``). An engine that submits and
completes in one call has no ``slat``, and its ``clat`` is the whole call. An asynchronous one has both, and the
submission can take most of the time. Percentiles of its ``clat`` alone are therefore called ``clat_us``. With
``fsync=1`` a write lands in the page cache and another call brings it to the disk. fio keeps the two apart, so the time
of one write is then the sum of the two means, and has no percentiles.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.formats import malformed, metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import NUMBER, SHOWN, SIZE_UNKNOWN, Lines, Log, Run, binary, decimal, flat
from labkit.io.safe_read import once
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

Direction = Literal["read", "write"]
_WHAT = "fio JSON output"
_LOG = "fio latency log"
_ROW = re.compile(r"(\d{1,18}), (\d{1,18}), (\d{1,18}), (\d{1,18})(, \w+)*")
_DIRECTIONS: dict[Direction, int] = {"read": 0, "write": 1}


def answered(text: str, name: str) -> list[Reported]:
    """Parse a job of the net engine that writes and waits for the answer (``pingpong``): the time of a round trip.

    Parameters
    ----------
    text : the output; other jobs in it, such as the one that answers, do not count.
    name : of the job.

    Raises
    ------
    DataError
        As `parse`, but not for EISCONN: when all is done, fio says good-bye over a Unix socket as over UDP, and fails.
    """
    values = _values(text, "write", only=name, forgiven=(errno.EISCONN,))
    named = {"latency_us": "round_trip_us", "iops_per_s": "transaction_rate_per_s"}
    return [replace(v, name=named.get(v.name, v.name)) for v in values if v.name != "bandwidth_MBps"]


def parse(text: str, direction: Direction) -> list[Reported]:
    """Rates and latencies of one direction.

    Returns
    -------
    ``iops_per_s``, ``bandwidth_MBps``, ``latency_us`` (p50, p95, p99, p999, min, max, mean, stddev and fio's further
    percentiles; ``clat_us`` holds those that fio has of ``clat`` alone), ``fsync_us`` and ``write_us`` where every
    write was followed by a fsync, CPU use in %. `rank` is the job where there are several.

    Raises
    ------
    DataError
        If fio reports an error, did no I/O, or the JSON is cut off.
    """
    return _values(text, direction)


def mixed(text: str) -> list[Reported]:
    """The values of `parse` of both directions, labelled ``direction``; a short run may have done but one of them.

    Raises
    ------
    DataError
        As `parse`, if neither did anything.
    """
    values = [replace(v, labels={"direction": way}) for way in _DIRECTIONS for v in _values(text, way, idle=True)]
    if not values:
        raise malformed(_WHAT, 0, "total_ios 0 for read and write", "at least one I/O: give it more time")
    return values


def _values(
    text: str, direction: Direction, only: str = "", forgiven: tuple[int, ...] = (), *, idle: bool = False
) -> list[Reported]:
    """Parse all jobs, or only the job of the name `only`; with `idle` jobs may do nothing in this direction."""
    if not (start := re.search(r"^\{", text, re.MULTILINE)):
        raise malformed(_WHAT, 0, text[-200:] or "nothing", "a JSON object")
    try:
        whole = Entry(json.loads(text[start.start() :], object_pairs_hook=once), _WHAT)
    except json.JSONDecodeError as error:
        raise malformed(_WHAT, error.lineno, error.doc[error.pos : error.pos + 80] or "its end", "JSON") from error
    jobs = [job for job in whole["jobs"].items() if only in ("", job["jobname"].value)]
    if only and len(jobs) != 1:
        raise malformed(_WHAT, 0, f"{len(jobs)} jobs of the name {only}", "one")
    values = []
    for number, job in enumerate(jobs):
        if (status := job["error"].whole()) and status not in forgiven:
            raise DataError(f"fio failed: error {status} ({os.strerror(status)}).")
        if not idle or job[direction]["total_ios"].whole():
            values += _job(job, direction, number if len(jobs) > 1 else None)
    return values


def _job(job: Entry, direction: Direction, rank: int | None, *, synced: bool = True) -> list[Reported]:
    """Read one direction of a job; `synced` if the time of a write includes that of the fsync behind it."""
    part = job[direction]
    if not part["total_ios"].whole():
        raise malformed(job.where, 0, f"total_ios 0 for {direction}", "at least one I/O: give it more time")
    values = [
        metric("iops_per_s", "mean", part["iops"].real()),
        metric("bandwidth_MBps", "mean", part["bw_bytes"].real() * 1e-6),
        *(Reported(name, "%", "mean", job[name].real()) for name in ("usr_cpu", "sys_cpu")),
    ]
    sync = job.get("sync", {})
    if synced and direction == "write" and sync.get("total_ios", 0).whole():
        both = part["lat_ns"]["mean"].real() + sync["lat_ns"]["mean"].real()
        values.append(metric("latency_us", "mean", both * 1e-3))
        values += _latencies("write_us", part) + _times("fsync_us", sync["lat_ns"])
    else:
        values += _latencies("latency_us", part)
    return [Reported(v.name, v.unit, v.statistic, v.value, rank=rank) for v in values]


def _latencies(name: str, part: Entry) -> list[Reported]:
    """Return the total latency of a direction; its percentiles are those of ``clat`` where fio kept no others."""
    values = _times(name, part["lat_ns"])
    if "percentile" not in part["lat_ns"]:
        values += _percentiles("clat_us" if part["slat_ns"]["N"].whole() else name, part["clat_ns"])
    return values


def _times(name: str, times: Entry) -> list[Reported]:
    """Convert one of fio's blocks of statistics from ns to µs."""
    whole = [Reported(name, "µs", one, times[one].real() * 1e-3) for one in ("min", "max", "mean", "stddev")]
    return whole + _percentiles(name, times)


def _percentiles(name: str, times: Entry) -> list[Reported]:
    """Convert the percentiles of a block from ns to µs; ``99.900000`` becomes ``p999``."""
    shares = times.get("percentile", {})
    return [
        Reported(name, "µs", f"p{whole}{part.rstrip('0')}", shares[percent].real() * 1e-3)
        for percent in shares.table()
        for whole, _, part in [percent.partition(".")]
    ]


def log(text: str, direction: Direction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Latency of every I/O of one direction.

    Returns
    -------
    latency_ns : (ios,), ns
    end_ns : (ios,), ns since the start of the job, which fio keeps to 1 ms

    Raises
    ------
    DataError
        If a line is malformed, or none is of that direction.
    """
    every = _log_table(text)
    table = every[every[:, 2] == _DIRECTIONS[direction]]
    if not len(table):
        raise malformed(_LOG, 0, f"{len(every)} lines, none a {direction}", f"a line for each {direction}")
    return table[:, 1].copy(), table[:, 0] * 10**6


def mixed_log(text: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Latency of every read and write.

    Returns
    -------
    latency_ns, end_ns : as from `log`
    write : (ios,), 1 for a write, 0 for a read

    Raises
    ------
    DataError
        If a line is malformed, or there is none.
    """
    table = _log_table(text)
    if not len(table):
        raise malformed(_LOG, 0, "no line", "a line for each I/O")
    return table[:, 1].copy(), table[:, 0] * 10**6, (table[:, 2] == _DIRECTIONS["write"]).astype(np.int64)


def _log_table(text: str) -> NDArray[np.int64]:
    """The first four columns of a log, (ios, 4): ms, ns, direction, B."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if not _ROW.fullmatch(line.strip()):
            raise malformed(_LOG, number, line, "ms, ns, direction, size, …")
    return np.array([line.split(",", 4)[:4] for line in lines], np.int64).reshape(-1, 4)


_BEGINS = re.compile(
    r"\s*\"fio version\" *:|[^\n]{0,200}\"fio version\" *:|\S.*: \(groupid=\d+, jobs=\d+\): err= *\d+: pid="
)
_JOB = re.compile(r"(?P<name>\S.*): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d{1,9})\): err= *(?P<error>\d{1,9})")
_SETUP = re.compile(
    r"(?P<name>\S.*): \(g=(?P<group>\d+)\): rw=(?P<rw>\w+), bs=(?:\(R\) )?(?P<bs>[\d.]+[KMG]?i?B?)-.*"
    r"ioengine=(?P<engine>[\w-]+), iodepth=(?P<depth>\d{1,9})"
)
_IO = re.compile(
    rf"  (?P<way>read|write) *: IOPS=(?P<iops>{NUMBER})(?P<k>[kMG]?), BW=\S+ \((?P<bw>{NUMBER})(?P<p>[kMGT]?)B/s\)"
)
_TIMES = {
    name: rf"    +{name} \((?P<unit>[nmu]sec)\): min= *(?P<min>{NUMBER})(?P<kmin>[kMG]?), "
    rf"max= *(?P<max>{NUMBER})(?P<kmax>[kMG]?), "
    rf"avg= *(?P<mean>{NUMBER})(?P<kmean>[kMG]?), stdev= *(?P<stddev>{NUMBER})(?P<kstddev>[kMG]?)$"
    for name in ("lat", "clat")
}
_TIMED = re.compile(r"    +c?lat \([nmu]sec\): ")
_SUBMISSION = r"    +slat \("  # an engine that submits and completes in one call has none
_SHARES = re.compile(r"    +(clat|lat) percentiles \(([nmu]sec)\):")
_SHARE = re.compile(r"(\d{1,2}\.\d{2})th=\[ *(\d{1,12})\]")
_US = {"nsec": 1e-3, "usec": 1.0, "msec": 1e3}
_SYNC_TIMES = rf"    +sync \(([nmu]sec)\): min=.*avg= *({NUMBER})([kMG]?),"
_NO_FILES = ("net", "netsplice", "rdma", "null", "cpuio", "nbd")  # engines that access no file
_SYNC = "  fsync/fdatasync/sync_file_range:"


def runs(text: str, where: str) -> list[Run]:
    """Make a run of each job and direction, from fio's JSON or its text.

    The cache is ``direct`` or ``unknown``: a log does not say what the page cache did. If a fsync followed every write,
    the mean latency is the sum of both, as `parse` has it.
    """
    if '"fio version"' in text and re.search(r"^\s*\{", text, re.MULTILINE):
        return _of_json(document(text, where))
    lines, made = Lines(text, where), []
    setups = [(number, match) for number, line in lines if (match := _SETUP.match(line))]
    versions = [(number, line) for number, line in lines if re.fullmatch(r"fio-\d\S*", line)]
    for first, last, job in lines.blocks(_JOB):
        if job["error"] != "0":
            raise lines.wrong(first, "a job without error")
        lines.need(r"     issued rwts:", first, last, "'issued rwts', which closes a job,")
        version = max((one for one in versions if one[0] < first), default=(0, ""))[1].removeprefix("fio-")
        made += _of_text(lines, first, last, job, _setup(lines, setups, first, job), version)
    return made


def _setup(
    lines: Lines, setups: list[tuple[int, re.Match[str]]], first: int, job: re.Match[str]
) -> re.Match[str] | None:
    """Return the settings of a job: the line of its name and group above the results of its run.

    Raises
    ------
    DataError
        If two such lines of one run differ.
    """
    above = [one for one in setups if one[0] < first]
    run = list[tuple[int, re.Match[str]]]()  # the last lines above, with no results among them
    for number, match in reversed(above):
        if run and any(_JOB.match(line) for line in lines.texts[number : run[-1][0]]):
            break
        run.append((number, match))
    named = [match for _, match in run if (match["name"], match["group"]) == (job["name"], job["group"])]
    if len({match[0] for match in named}) > 1:
        raise lines.wrong(first, f"one job of the name {job['name']} in a group: its settings are ambiguous")
    return named[0] if named else None


def _of_text(
    lines: Lines, first: int, last: int, job: re.Match[str], setup: re.Match[str] | None, version: str
) -> list[Run]:
    """Read the directions of one job of the text."""
    starts = [(n, io) for n in range(first, last + 1) if (io := _IO.match(lines.texts[n - 1]))]
    ends = [number - 1 for number, _ in starts[1:]] + [last]
    made = []
    for (number, io), end in zip(starts, ends, strict=False):  # a job may have no line of either direction
        values = [
            metric("iops_per_s", "mean", decimal(io["iops"], io["k"])),
            metric("bandwidth_MBps", "mean", decimal(io["bw"], io["p"]) * 1e-6),
        ]
        stop = next((n for n in range(number, end + 1) if lines.texts[n - 1].startswith(_SYNC)), end)
        apart = "clat_us" if lines.find(_SUBMISSION, number, stop) else "latency_us"
        whole, part = (lines.find(_TIMES[name], number, stop) for name in ("lat", "clat"))
        for n in range(number + 1, stop + 1):
            if _TIMED.match(lines.texts[n - 1]) and not any(re.match(f, lines.texts[n - 1]) for f in _TIMES.values()):
                raise lines.wrong(n, "min, max, avg and stdev with a decimal point")
        if times := whole or part:
            unit, name = _US[times[1]["unit"]], "latency_us" if whole else apart
            for statistic in ("mean", "min", "max", "stddev"):
                value = decimal(times[1][statistic], times[1][f"k{statistic}"])
                values.append(Reported(name, "µs", statistic, value * unit))
        if shares := lines.find(_SHARES.pattern, number, stop):
            unit, name = _US[shares[1][2]], "latency_us" if shares[1][1] == "lat" else apart
            for line in lines.texts[shares[0] : stop]:
                if not line.startswith("     |"):
                    break
                if line.count("th=") != len(_SHARE.findall(line)):
                    raise lines.wrong(number, f"percentiles in [ ] instead of {line.strip()[:60]!r}")
                for percent, value in _SHARE.findall(line):
                    digits = percent.rstrip("0").rstrip(".").replace(".", "")
                    values.append(Reported(name, "µs", f"p{digits.lstrip('0')}", float(value) * unit))
        if not values[0].value:
            raise lines.wrong(number, "IOPS above 0")
        synced = stop < end and io["way"] == "write"
        engine = setup["engine"] if setup else "unknown"
        unknown = ("pattern", "directory", "cache", "sync")
        options: dict[str, Scalar] = {**dict.fromkeys(unknown, "unknown"), "depth": 0}
        if setup:
            pattern = "random" if setup["rw"].startswith("rand") else "sequential"
            options |= {"pattern": pattern, "depth": int(setup["depth"])}
        if synced and (sync := lines.find(_SYNC_TIMES, stop, end)) and _each(lines, stop, end):
            mean = decimal(sync[1][2], sync[1][3]) * _US[sync[1][1]]
            values, synced = _summed(values, mean), False
            options["sync"] = "fsync"
        size = _size(setup["bs"]) if setup else 0
        made.append(
            _made(
                _with(engine, io["way"]),
                values,
                number,
                size,
                options,
                int(job["jobs"]),
                version,
                synced,
                lines.source(number, end),
            )
        )
        if setup:
            stated = {"ioengine": setup["engine"], "rw": setup["rw"], "bs": setup["bs"]}
            made[-1] = replace(made[-1], stated=stated)
    return made


def _each(lines: Lines, first: int, last: int) -> bool:
    """Return whether a fsync followed every write, by the line of the counts."""
    counts = lines.find(r"     issued rwts: total=\d+,(\d{1,18}),\d+,(\d{1,18}) ", first, last)
    return counts is not None and int(counts[1][2]) >= int(counts[1][1]) - 1


def _summed(values: list[Reported], sync_us: float) -> list[Reported]:
    """Return the values of writes that a fsync followed each: the mean latency is the sum of both, as in `parse`."""
    latencies = {v.statistic: v.value for v in values if v.name == "latency_us"}
    renamed = [replace(v, name="write_us") if v.name == "latency_us" else v for v in values]
    return [*renamed, metric("latency_us", "mean", latencies.get("mean", 0.0) + sync_us)]


def _size(text: str) -> int:
    """Convert a block size such as ``64.0KiB`` or ``4096B``."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([KMG]?)i?B?", text)
    return round(binary(match[1], match[2])) if match else 0


_NO_SETTINGS = ("rw", "readwrite", "name", "filename", "output", "output-format", "directory", "write_bw_log")


def _of_json(whole: Entry) -> list[Run]:
    """Read the jobs of the JSON."""
    shared = whole.get("global options", {}).table()
    version = str(whole["fio version"].value).removeprefix("fio-")
    made = []
    for number, job in enumerate(whole["jobs"].items(), 1):
        if error := job["error"].whole():
            name = str(job["jobname"].value)[:80]
            raise DataError(f"{whole.where}: job {name} failed: error {error}. Delete it, and import the rest.")
        told = {**shared, **job.get("job options", {}).table()}
        rw, sizes = str(told.get("rw", told.get("readwrite", ""))), str(told.get("bs", "4k")).split(",")
        ways: tuple[Direction, ...] = ("read", "write")
        for place, way in enumerate(ways):
            if not (count := job[way]["total_ios"].whole()):
                continue
            syncs = job.get("sync", {}).get("total_ios", 0).whole() if way == "write" else 0
            each = syncs >= count - 1 and syncs > 0
            values = [replace(v, rank=None) for v in _job(job, way, None, synced=each)]
            size = _size_of_option(sizes[min(place, len(sizes) - 1)])
            direct = str(told.get("direct", "0")) == "1"
            options: dict[str, Scalar] = {
                "pattern": "random" if rw.startswith("rand") else "sequential" if rw else "unknown",
                "depth": _count(told, "iodepth", whole.where),
                "directory": str(told.get("directory", "")),
                "file_size": _size_of_option(str(told.get("size", "0"))),
                "cache": "direct" if direct else "unknown",
                "sync": "direct" if direct else "osync" if str(told.get("sync", "0")) not in ("0", "none") else "none",
            }
            if each:
                options["sync"] = "fsync"
            synced = syncs > 0 and not each
            jobs = _count(told, "numjobs", whole.where) if "group_reporting" in told else 1
            way_of = _with(str(told.get("ioengine", "psync")), way)
            run = _made(way_of, values, number, size, options, jobs, version, synced, json.dumps(told)[:SHOWN])
            made.append(replace(run, stated=flat(told, *_NO_SETTINGS)))
    return made


def _count(told: Mapping[str, Any], name: str, where: str) -> int:
    """Return an option of fio that is a count, 1 if it is not given."""
    if not re.fullmatch(r"\d{1,9}", text := str(told.get(name, 1))):
        raise malformed(where, 0, f"{name}={text}", "a whole number")
    return int(text)


def _with(engine: str, way: str) -> str:
    """Return the direction, with the engine if it accesses no file."""
    return f"{engine} {way}" if engine in _NO_FILES else way


def _size_of_option(text: str) -> int:
    """Convert a size as an option has it (``4k``, ``64ki``, ``1m``), of 2^10; 0 for anything else."""
    match = re.fullmatch(r"(\d{1,15})([kKmMgGtT]?)i?[bB]?", text.strip())
    return round(binary(match[1], match[2])) if match else 0


def _made(
    way: str,
    values: list[Reported],
    line: int,
    size: int,
    options: Mapping[str, Scalar],
    jobs: int,
    version: str,
    synced: bool,
    source: str,
) -> Run:
    """Make the run of a direction of a job."""
    doubts = [] if size else [SIZE_UNKNOWN]
    if options["cache"] == "unknown":
        doubts.append(note("cache-unknown", "fio does not say what the page cache did"))
    if synced:
        doubts.append(
            note("without-fsync", "some writes were followed by a fsync, which their latency does not contain")
        )
    if jobs > 1:
        doubts.append(note("several-jobs", f"{jobs} jobs together: rates are their sum", jobs=jobs))
    given = {k: v for k, v in options.items() if k != "sync" or way == "write"}
    return Run(
        test=f"fio {way}",
        values=tuple(values),
        line=line,
        size=size,
        options=given,
        parameters={"jobs": str(jobs)},
        version=version,
        doubts=tuple(doubts),
        source=source,
    )


LOG = Log("fio", ('"fio version"', "groupid="), _BEGINS, runs)
