"""fio: reads and writes of one process with the completion latency of every I/O, and ping-pong over a Unix socket.

``psync`` (pread, pwrite) does one I/O at a time; several at a time need ``libaio``, which queues direct I/O alone.
A run does at most `MAX_IOS`, so that the log stays small.
"""

from __future__ import annotations

from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import fio as layout
from labkit.notes import badge
from labkit.spec import Effort, Scalar, Spec
from labkit.tools import Invocation, Parsed, Tool, trimmed
from labkit.tools._folder import facts

TOOL = Tool(
    name="fio",
    commands=("fio",),
    pattern=r"fio-(\d[\w.+-]*)",
    package="fio",
    conda="fio",
    programs=("fio",),
    format=layout,
    purpose="storage.read, storage.write and sockets.unix_rr",
    instead="iozone, for files",
)
MAX_IOS = 200_000
_LOG = "io"
_SECTOR = 512
_LAYOUT_S = 10.0  # until the file to read is written
_LISTEN_S = 0.2  # until the other end of a socket listens
_CLIENT = "labkit"


def read(spec: Spec, effort: Effort) -> Invocation:
    """Reads of the spec's size from a file written before; the option ``cache`` sets what the page cache holds."""
    cache, random = spec.option("cache"), spec.option("pattern") == "random"
    how = {
        "direct": ["--direct=1"],
        "drop": ["--direct=0", "--invalidate=1"],
        "warm": ["--direct=0", "--invalidate=0", "--pre_read=1"],
    }[cache]
    page_cache = {
        "direct": "bypassed with O_DIRECT",
        "drop": "dropped with posix_fadvise before the run; each block is read once",
        "warm": "filled before the run",
    }[cache]
    # read-ahead serves a sequential reader, and a page serves all reads that lie in it
    cached = cache == "warm" or (cache == "drop" and (not random or spec.size % 4096 != 0))
    direct, once = cache == "direct", cache == "drop"  # a second pass would be answered from memory
    return _invocation(spec, effort, "read", how, direct=direct, page_cache=page_cache, cached=cached, once=once)


def write(spec: Spec, effort: Effort) -> Invocation:
    """Writes of the spec's size to a new file; the option ``sync`` sets when a write is complete."""
    sync = spec.option("sync")
    how = {"none": [], "fsync": ["--fsync=1"], "osync": ["--sync=1"], "direct": ["--direct=1"]}[sync]
    page_cache = {
        "none": "takes the writes; the disk may get them later",
        "fsync": "is written to the disk by fsync after every write",
        "osync": "is written to the disk in every write (O_SYNC)",
        "direct": "bypassed with O_DIRECT; the disk's own cache may hold the data",
    }[sync]
    return _invocation(
        spec, effort, "write", how, direct=sync == "direct", page_cache=page_cache, cached=sync == "none"
    )


def unix_rr(spec: Spec, effort: Effort) -> Invocation:
    """Messages of the spec's size there and back over a Unix stream socket, one at a time.

    Both ends are jobs of one fio, the second of which begins when the first one listens: there is no address, and so
    nothing to start on another host.

    Raises
    ------
    SpecError
        For a testbed that has hosts of its own.
    """
    if spec.testbed != "local" or spec.hosts:
        raise SpecError(
            f"testbed={spec.testbed}, hosts={','.join(spec.hosts)}, but a Unix socket connects processes of one "
            "machine. Set testbed=local, and leave hosts out."
        )
    ios = MAX_IOS if effort.iterations is None else effort.iterations + (effort.warmup or 0)
    runtime = effort.time_cap if effort.iterations is None else effort.time_limit
    whole = runtime + 2 * _LISTEN_S

    def parsed(text: str, folder: Path) -> Parsed:
        latency, end = layout.log((folder / f"{_LOG}_clat.2.log").read_text(), "write")
        reported = tuple(layout.answered(text, _CLIENT))
        return trimmed(Parsed(reported=reported, time_ns=latency, extras={"end_ns": end}), effort)

    return Invocation(
        tool=TOOL.name,
        package=TOOL.package,
        programs=TOOL.programs,
        client=(
            "fio",
            "--ioengine=net",
            "--protocol=unix",
            "--filename=socket",
            "--pingpong",
            f"--bs={spec.size}",
            f"--size={ios * spec.size}",
            "--percentile_list=50:95:99:99.9",
            f"--write_lat_log={_LOG}",
            "--log_avg_msec=0",
            "--eta=never",
            "--output-format=json",
            "--name=listener",
            "--rw=read",
            f"--runtime={round(whole * 1000)}ms",
            f"--name={_CLIENT}",
            "--rw=write",
            f"--startdelay={round(_LISTEN_S * 1000)}ms",
            f"--runtime={round(runtime * 1000)}ms",
        ),
        parse=parsed,
        definition="fio net, pingpong over a Unix stream socket: round trip of every message, as netperf counts it.",
        duration=whole,
        time_limit=whole + effort.time_limit,
        badges=(badge("Unix socket"),),
    )


def _invocation(
    spec: Spec,
    effort: Effort,
    direction: layout.Direction,
    how: list[str],
    *,
    direct: bool,
    page_cache: str,
    cached: bool,
    once: bool = False,
) -> Invocation:
    """A run in one direction."""
    size, file_size, depth = spec.size, spec.option("file_size"), spec.option("depth")
    _check(size, file_size, depth, direct)
    ios = MAX_IOS if effort.iterations is None else effort.iterations + (effort.warmup or 0)
    amount = min(ios * size, file_size) if once else ios * size  # beyond its size the file is gone through again
    if effort.iterations is not None and amount < ios * size:
        raise SpecError(
            f"{ios} I/Os of {size} B with warm-up, but cache=drop reads each block once and file_size={file_size} B. "
            f"Set file_size={ios * size} or more."
        )
    engine = ["--ioengine=psync"] if depth == 1 else ["--ioengine=libaio", f"--iodepth={depth}"]
    random = "rand" if spec.option("pattern") == "random" else ""
    # an exact count must not be cut short by the cap
    runtime = effort.time_cap if effort.iterations is None else effort.time_limit

    def parsed(text: str, folder: Path) -> Parsed:
        reported = tuple(layout.parse(text, direction))
        if "--fsync=1" in how:
            return Parsed(reported=reported)  # the log times the write without its fsync
        latency, end = layout.log((folder / f"{_LOG}_clat.1.log").read_text(), direction)
        return trimmed(Parsed(reported=reported, time_ns=latency, extras={"end_ns": end}), effort)

    def prepare(folder: Path) -> dict[str, Scalar]:
        return facts(folder, needs=file_size, direct=direct)

    return Invocation(
        tool=TOOL.name,
        package=TOOL.package,
        programs=TOOL.programs,
        client=(
            "fio",
            "--name=labkit",
            "--filename=data",
            f"--rw={random}{direction}",
            f"--bs={size}",
            f"--size={file_size}",
            f"--io_size={amount}",
            f"--runtime={round(runtime * 1000)}ms",
            *engine,
            *how,
            "--percentile_list=50:95:99:99.9",
            f"--write_lat_log={_LOG}",
            "--log_avg_msec=0",
            "--eta=never",
            "--output-format=json",
        ),
        parse=parsed,
        directory=spec.option("directory"),
        prepare=prepare,
        definition="fio: completion latency (clat) of each I/O; rates are fio's, over its own run time.",
        duration=runtime + _LAYOUT_S,
        time_limit=runtime + _LAYOUT_S + effort.time_limit,
        badges=(badge("page cache"),) if cached else (),
        facts={"page_cache": page_cache},
    )


def _check(size: int, file_size: int, depth: int, direct: bool) -> None:
    """Refuse what cannot work, before anything starts."""
    if not 0 < size <= file_size:
        raise SpecError(f"size={size} B, but an I/O must have 1 B to the file's {file_size} B. Set size=4096.")
    if direct and size % _SECTOR:
        raise SpecError(
            f"size={size} B, but direct I/O needs multiples of {_SECTOR} B. Set size=4096, or leave direct out."
        )
    if depth > 1 and not direct:
        raise SpecError(f"depth={depth}, but only direct I/O is asynchronous. Set depth=1, or use direct.")
