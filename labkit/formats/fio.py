"""fio's JSON and the log of every I/O that ``write_lat_log`` keeps with ``log_avg_msec=0``.

Latency is fio's total latency (``lat``), from the moment that fio starts an I/O to its completion: the same for all
engines. fio's completion latency (``clat``) begins when the submission is over (``slat``). An engine that submits and
completes in one call has no ``slat``, and its ``clat`` is the whole call. An asynchronous one has both, and the
submission can take most of the time. Percentiles of its ``clat`` alone are therefore called ``clat_us``. With
``fsync=1`` a write goes to the page cache, and a second call brings it to the disk. fio reports the two separately, so
the time of one write is the sum of two means, without percentiles.
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
from labkit.formats import _fio_text, malformed, metric
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import SHOWN, Lines, Log, Run, binary, flat
from labkit.io.safe_read import once
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
    name : name of the job.

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
    write was followed by a fsync, CPU use in %. `rank` is the number of the job, if there are several.

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
    """Return the total latency of a direction, with the percentiles of ``clat`` if fio kept no others."""
    values = _times(name, part["lat_ns"])
    if "percentile" not in part["lat_ns"]:
        submission = part["slat_ns"]
        apart = submission["N" if "N" in submission else "mean"].real() > 0
        values += _percentiles("clat_us" if apart else name, part["clat_ns"])
    return values


def _times(name: str, times: Entry) -> list[Reported]:
    """Convert one of fio's blocks of statistics from ns to µs; all of them are 0 where fio took no times."""
    if not times["max"].real() and not times["mean"].real():
        return []
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
    r"|3;fio-[^;]+;"
)


def runs(text: str, where: str) -> list[Run]:
    """Return one run per job and direction, from fio's JSON, its text or its terse lines.

    The cache is ``direct`` or ``unknown``: a log does not say what the page cache did. If a fsync followed every write,
    the mean latency is the sum of both, as `parse` has it.
    """
    if '"fio version"' in text and re.search(r"^\s*\{", text, re.MULTILINE):
        return _of_json(document(text, where))
    lines = Lines(text, where)
    return _fio_text.runs(lines) + _fio_text.terse(lines)


_NO_SETTINGS = ("rw", "readwrite", "name", "filename", "output", "output-format", "directory", "write_bw_log")


def _of_json(whole: Entry) -> list[Run]:
    """Read the jobs of the JSON."""
    shared = whole.get("global options", {}).table()
    version = str(whole["fio version"].value).removeprefix("fio-")
    made = []
    clients = [job for job in whole.get("client_stats", []).items() if job["jobname"].value != "All clients"]
    for number, job in enumerate(clients or whole["jobs"].items(), 1):
        for way in _DIRECTIONS:
            _as_version_3(job[way].table())
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
            way_of = _fio_text.with_engine(str(told.get("ioengine", "psync")), way)
            run = _fio_text.made(way_of, values, number, size, options, jobs, version, synced, json.dumps(told)[:SHOWN])
            made.append(replace(run, stated=flat(told, *_NO_SETTINGS)))
    return made


def _as_version_3(part: dict[str, Any]) -> None:
    """Add to a direction of fio 2's JSON the keys of version 3: times in ns instead of µs, B instead of KiB."""

    def in_ns(times: Any) -> Any:
        if isinstance(times, dict):
            return {name: in_ns(value) for name, value in times.items()}
        return times * 1000 if isinstance(times, int | float) and not isinstance(times, bool) else times

    for name in ("slat", "clat", "lat"):
        if name in part and f"{name}_ns" not in part:
            part[f"{name}_ns"] = in_ns(part[name])
    if isinstance(rate := part.get("bw"), int | float) and "bw_bytes" not in part:
        part["bw_bytes"] = rate * 1024
    part.setdefault("total_ios", 1 if part.get("iops") else 0)  # before version 2.2: no count


def _count(told: Mapping[str, Any], name: str, where: str) -> int:
    """Return an option of fio that is a count, 1 if it is not given."""
    if not re.fullmatch(r"\d{1,9}", text := str(told.get(name, 1))):
        raise malformed(where, 0, f"{name}={text}", "a whole number")
    return int(text)


def _size_of_option(text: str) -> int:
    """Convert a size as an option has it (``4k``, ``64ki``, ``1m``), of 2^10; 0 for anything else."""
    match = re.fullmatch(r"(\d{1,15})([kKmMgGtT]?)i?[bB]?", text.strip())
    return round(binary(match[1], match[2])) if match else 0


LOG = Log("fio", ('"fio version"', "groupid=", "3;fio-"), _BEGINS, runs, rows=_fio_text.has_rates)
