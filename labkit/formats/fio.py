"""fio's JSON and the log of every I/O that ``write_lat_log`` keeps with ``log_avg_msec=0``.

Latency is fio's completion latency (``clat``), from submission to completion. With ``fsync=1`` a write lands in the
page cache and another call brings it to the disk. fio keeps the two apart, so the time of one write is then the
sum of the two means, and has no percentiles.
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
from labkit.spec import Reported

Direction = Literal["read", "write"]
_WHAT = "fio JSON output"
_LOG = "fio latency log"
_ROW = re.compile(r"(\d+), (\d+), (\d+), (\d+)(, \w+)*")
_DIRECTIONS = {"read": 0, "write": 1}


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
    percentiles), ``fsync_us`` and ``clat_us`` where every write was followed by one, CPU use in %. `rank` is the job
    where there are several.

    Raises
    ------
    DataError
        If fio reports an error, did no I/O, or the JSON is cut off.
    """
    return _values(text, direction)


def _values(text: str, direction: Direction, only: str = "", forgiven: tuple[int, ...] = ()) -> list[Reported]:
    """Parse all jobs, or only the job of the name `only`."""
    start = re.search(r"^\{", text, re.MULTILINE)
    if not start:
        raise malformed(_WHAT, 0, text[-200:] or "nothing", "a JSON object")
    try:
        document = json.loads(text[start.start() :])
        jobs = [job for job in document["jobs"] if only in ("", job["jobname"])]
        if only and len(jobs) != 1:
            raise malformed(_WHAT, 0, f"{len(jobs)} jobs of the name {only}", "one")
        values = []
        for number, job in enumerate(jobs):
            if job["error"] and job["error"] not in forgiven:
                raise DataError(f"fio failed: error {job['error']} ({os.strerror(job['error'])}).")
            values += _job(job, direction, number if len(jobs) > 1 else None)
    except json.JSONDecodeError as error:
        raise malformed(_WHAT, error.lineno, error.doc[error.pos : error.pos + 80] or "its end", "JSON") from error
    except (KeyError, TypeError) as error:
        raise malformed(_WHAT, 0, f"no {error.args[0]!r}", f"jobs with {direction}, clat_ns and iops") from error
    return values


def _job(job: Mapping[str, Any], direction: Direction, rank: int | None) -> list[Reported]:
    part = job[direction]
    if not part["total_ios"]:
        raise malformed(_WHAT, 0, f"total_ios 0 for {direction}", "at least one I/O: give it more time")
    synced = job.get("sync", {}) if direction == "write" else {}
    values = [
        metric("iops_per_s", "mean", part["iops"]),
        metric("bandwidth_MBps", "mean", part["bw_bytes"] * 1e-6),
        Reported("usr_cpu", "%", "mean", job["usr_cpu"]),
        Reported("sys_cpu", "%", "mean", job["sys_cpu"]),
    ]
    if synced.get("total_ios"):
        values.append(metric("latency_us", "mean", (part["clat_ns"]["mean"] + synced["lat_ns"]["mean"]) * 1e-3))
        values += _times("clat_us", part["clat_ns"]) + _times("fsync_us", synced["lat_ns"])
    else:
        values += _times("latency_us", part["clat_ns"])
    return [Reported(v.name, v.unit, v.statistic, v.value, rank=rank) for v in values]


def _times(name: str, times: Mapping[str, Any]) -> list[Reported]:
    """Convert one of fio's blocks of statistics from ns to µs; ``99.900000`` becomes ``p999``."""
    statistics = {statistic: times[statistic] for statistic in ("min", "max", "mean", "stddev")}
    for percent, value in times.get("percentile", {}).items():
        whole, _, part = percent.partition(".")
        statistics[f"p{whole}{part.rstrip('0')}"] = value
    return [Reported(name, "µs", statistic, value * 1e-3) for statistic, value in statistics.items()]


def log(text: str, direction: Direction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Completion latency of every I/O of one direction.

    Returns
    -------
    latency_ns : (ios,), ns
    end_ns : (ios,), ns since the start of the job, which fio keeps to 1 ms

    Raises
    ------
    DataError
        If a line is malformed, or none is of that direction.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if not _ROW.fullmatch(line.strip()):
            raise malformed(_LOG, number, line, "ms, ns, direction, size, …")
    table = np.array([line.split(",", 4)[:4] for line in lines], np.int64).reshape(-1, 4)
    table = table[table[:, 2] == _DIRECTIONS[direction]]
    if not len(table):
        raise malformed(_LOG, 0, f"{len(lines)} lines, none a {direction}", f"a line for each {direction}")
    return table[:, 1].copy(), table[:, 0] * 10**6
