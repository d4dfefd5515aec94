"""fio's text: a block for each job with the lines of reads, writes and fsyncs, or a terse line for each job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from labkit.formats import metric
from labkit.formats.reading.log import CUT, NUMBER, SIZE_UNKNOWN, UNTITLED, Lines, Run, binary, decimal
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

_JOB = re.compile(r"(?P<name>\S.*): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d{1,9})\): err= *(?P<error>\d{1,9})")
_SETUP = re.compile(
    r"(?P<name>\S.*): \(g=(?P<group>\d+)\): rw=(?P<rw>\w+), bs=(?:\(R\) )?(?P<bs>[\d.]+[KMG]?i?B?)-.*"
    r"ioengine=(?P<engine>[\w-]+), iodepth=(?P<depth>\d{1,9})"
)
IO = re.compile(  # of version 3, and of version 2, which counts 1024 B to the KB
    rf" *(?P<way>read|write) *: (?:IOPS=(?P<iops>{NUMBER})(?P<k>[kMG]?), BW=\S+ \((?P<bw>{NUMBER})(?P<p>[kMGT]?)B/s\)"
    rf"|io=\S+, bw=(?P<old_bw>{NUMBER})(?P<old_p>[KMGT]?)B/s, iops=(?P<old_iops>{NUMBER})(?P<old_k>[kKMG]?),)"
)
GROUP = re.compile(  # below `Run status group`
    rf" *(?P<way>READ|WRITE): (?:bw=\S+ \((?P<bw>{NUMBER})(?P<p>[kMGT]?)B/s\)"
    rf"|io=\S+, aggrb=(?P<old_bw>{NUMBER})(?P<old_p>[KMGT]?)B/s), .*\d+msec$"
)
_TIMES = {
    name: rf" *{name} \((?P<unit>[nmu]sec)\): min= *(?P<min>{NUMBER})(?P<kmin>[kMG]?), "
    rf"max= *(?P<max>{NUMBER})(?P<kmax>[kMG]?), "
    rf"avg= *(?P<mean>{NUMBER})(?P<kmean>[kMG]?), stdev= *(?P<stddev>{NUMBER})(?P<kstddev>[kMG]?)$"
    for name in ("lat", "clat")
}
_TIMED = re.compile(r" *c?lat \([nmu]sec\): ")
_SUBMISSION = r" *slat \("  # an engine that submits and completes in one call has none
_SHARES = re.compile(r" *(clat|lat) percentiles \(([nmu]sec)\):")
_SHARE = re.compile(r"(\d{1,2}\.\d{2})th=\[ *(\d{1,12})\]")
_US = {"nsec": 1e-3, "usec": 1.0, "msec": 1e3}
_SYNC_TIMES = rf" *sync \(([nmu]sec)\): min=.*avg= *({NUMBER})([kMG]?),"
_NO_FILES = ("net", "netsplice", "rdma", "null", "cpuio", "nbd")  # engines that access no file
_SYNC = "fsync/fdatasync/sync_file_range:"
_ISSUED = r" *issued(?: rwts?)? *: total="  # closes a job


def has_rates(line: str) -> object:
    """Whether a line has the rates of a direction, of a job or of a group of jobs."""
    return IO.match(line) or GROUP.match(line)


def runs(lines: Lines) -> list[Run]:
    """Return one run per job and direction."""
    every: list[Run] = []
    setups = [(number, match) for number, line in lines if (match := _SETUP.match(line))]
    versions = [(number, line) for number, line in lines if re.fullmatch(r"fio-\d\S*", line)]
    jobs: list[tuple[int, int, re.Match[str] | None]] = list(lines.blocks(_JOB))
    if not jobs and not lines.find(IO.pattern, 1, len(lines)):
        return _of_groups(lines)
    if not jobs and (begun := lines.find(IO.pattern, 1, len(lines))):  # an excerpt
        jobs = [(begun[0], len(lines), None)]
    for first, last, job in jobs:
        if job and job["error"] != "0":
            raise lines.wrong(first, "a job without error")
        version = max((one for one in versions if one[0] < first), default=(0, ""))[1].removeprefix("fio-")
        closed = lines.find(_ISSUED, first, last)
        if not closed and lines.find(r" *write *:", first, last):  # its time lacks the fsync, printed below
            synced = lines.find(f" *{_SYNC}", first, last)
            lines.need(_ISSUED if synced else r" *cpu +: usr=", first, last, "'issued rwts', which closes a job,")
        doubts = (*(() if closed else (CUT,)), *(() if job else (UNTITLED,)))
        setup = _setup(lines, setups, first, job) if job else setups[0][1] if len(setups) == 1 else None
        for run in _of_text(lines, first, last, job, setup, version):
            every.append(replace(run, doubts=run.doubts + doubts))
    return every


def _of_groups(lines: Lines) -> list[Run]:
    """Return a run for each line of fio's last lines: all jobs of a group together."""
    unknown = dict.fromkeys(("pattern", "directory", "cache", "sync"), "unknown")
    every = []
    for number, line in lines:
        if not (row := GROUP.match(line)):
            continue
        rate = decimal(row["bw"], row["p"]) if row["bw"] else binary(row["old_bw"], row["old_p"])
        values, options = [metric("bandwidth_MBps", "mean", rate * 1e-6)], dict[str, Scalar](unknown, depth=0)
        if not rate:
            raise lines.wrong(number, "a bandwidth above 0")
        run = made(
            with_engine("unknown", row["way"].lower()),
            values,
            number,
            0,
            options,
            0,
            "",
            False,
            lines.source(number, number),
        )
        every.append(replace(run, doubts=(*run.doubts, UNTITLED)))
    return every


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
    lines: Lines, first: int, last: int, job: re.Match[str] | None, setup: re.Match[str] | None, version: str
) -> list[Run]:
    """Read the directions of one job of the text; of an excerpt its line may be missing."""
    starts = [(n, io) for n in range(first, last + 1) if (io := IO.match(lines.texts[n - 1]))]
    ends = [number - 1 for number, _ in starts[1:]] + [last]
    every = []
    for (number, io), end in zip(starts, ends, strict=False):  # a job may have no line of either direction
        values = _rates(io)
        stop = next((n for n in range(number, end + 1) if lines.texts[n - 1].lstrip().startswith(_SYNC)), end)
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
                if not line.lstrip().startswith("|"):
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
        every.append(
            made(
                with_engine(engine, io["way"]),
                values,
                number,
                size,
                options,
                int(job["jobs"]) if job else 0,
                version,
                synced,
                lines.source(number, end),
            )
        )
        if setup:
            stated = {"ioengine": setup["engine"], "rw": setup["rw"], "bs": setup["bs"]}
            every[-1] = replace(every[-1], stated=stated)
    return every


def _rates(io: re.Match[str]) -> list[Reported]:
    """Return operations and bytes per second of the line of a direction."""
    old = io["iops"] is None
    count = decimal(io["old_iops"], io["old_k"]) if old else decimal(io["iops"], io["k"])
    rate = binary(io["old_bw"], io["old_p"]) if old else decimal(io["bw"], io["p"])
    return [metric("iops_per_s", "mean", count), metric("bandwidth_MBps", "mean", rate * 1e-6)]


def _each(lines: Lines, first: int, last: int) -> bool:
    """Return whether a fsync followed every write, by the line of the counts."""
    counts = lines.find(r" *issued rwts: total=\d+,(\d{1,18}),\d+,(\d{1,18}) ", first, last)
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


def with_engine(engine: str, way: str) -> str:
    """Return the direction, with the engine if it accesses no file."""
    return f"{engine} {way}" if engine in _NO_FILES else way


def made(
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
    """Return the run of one direction of a job."""
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
        parameters={"jobs": str(jobs)} if jobs else {},
        version=version,
        doubts=tuple(doubts),
        source=source,
    )


TERSE = re.compile(r"3;fio-(?P<version>[^;]+);(?P<name>[^;]*);(?P<group>\d+);(?P<error>\d+);(?P<rest>.*)$")
_OF_A_WAY = 41  # fields: 4 of the whole, submission, completion, percentiles, total latency, bandwidth
_SUBMITTED, _SHARES_AT, _TOTAL, _BANDWIDTH = 4, 12, 32, 36
_ORDER = ("min", "max", "mean", "stddev")


def terse(lines: Lines) -> list[Run]:
    """Return one run per job and direction of terse output of version 3, the default; times are in µs."""
    setups = [(number, match) for number, line in lines if (match := _SETUP.match(line))]
    every: list[Run] = []
    for number, line in lines:
        if not (job := TERSE.match(line)):
            continue
        if job["error"] != "0":
            raise lines.wrong(number, "a job without error")
        fields = job["rest"].split(";")
        if len(fields) < 2 * _OF_A_WAY + 5:
            raise lines.wrong(number, "the fields of reads, writes and processor use: the log is cut")
        named = [
            one for at, one in setups if at < number and (one["name"], one["group"]) == (job["name"], job["group"])
        ]
        setup = named[-1] if len({one[0] for one in named}) == 1 else None
        for place, way in enumerate(("read", "write")):
            cells = fields[place * _OF_A_WAY : (place + 1) * _OF_A_WAY]
            if values := _of_fields(lines, number, cells):
                engine = setup["engine"] if setup else "unknown"
                options: dict[str, Scalar] = {**dict.fromkeys(("directory", "cache", "sync"), "unknown"), "depth": 0}
                options["pattern"] = "unknown"
                if setup:
                    options["pattern"] = "random" if setup["rw"].startswith("rand") else "sequential"
                    options["depth"] = int(setup["depth"])
                size, source = _size(setup["bs"]) if setup else 0, lines.source(number, number)
                run = made(with_engine(engine, way), values, number, size, options, 1, job["version"], False, source)
                stated = {"ioengine": engine, "rw": setup["rw"], "bs": setup["bs"]} if setup else {}
                doubts = run.doubts if way == "read" else (*run.doubts, _FSYNC_UNKNOWN)
                every.append(replace(run, stated=stated, doubts=doubts))
    return every


_FSYNC_UNKNOWN = note("fsync-unknown", "terse output does not say whether a fsync followed the writes")


def _of_fields(lines: Lines, number: int, cells: list[str]) -> list[Reported]:
    """Return the values of a direction; none if it did nothing."""
    rate, count = (lines.number(cells[k], number) for k in (1, 2))
    if not count and not rate:
        return []
    values = [metric("iops_per_s", "mean", count), metric("bandwidth_MBps", "mean", rate * 1024e-6)]
    times = [lines.number(cell, number) for cell in cells[_TOTAL:_BANDWIDTH]]
    if any(times):
        values += [Reported("latency_us", "µs", s, time) for s, time in zip(_ORDER, times, strict=True)]
    apart = lines.number(cells[_SUBMITTED + 2], number) > 0  # an engine that submits and completes in two calls
    for share in cells[_SHARES_AT:_TOTAL]:
        percent, _, time = share.partition("%=")
        if any(times) and (part := lines.number(percent, number)):
            digits = f"{part:.4f}".rstrip("0").rstrip(".").replace(".", "").lstrip("0")
            name = "clat_us" if apart else "latency_us"
            values.append(Reported(name, "µs", f"p{digits}", lines.number(time, number)))
    return values
