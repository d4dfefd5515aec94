"""fio: reads and writes of one process with the latency of every I/O, and ping-pong over a Unix socket.

``psync`` (pread, pwrite) does one I/O at a time; several at a time need ``io_uring``, or ``libaio``, which queues
direct I/O alone. A run does at most `MAX_IOS`, so that the log stays small.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from labkit.errors import DataError, SpecError
from labkit.formats import fio as layout
from labkit.options.storage import Mixed, Network, Nvme, Read, Write
from labkit.point.notes import badge
from labkit.point.spec import Effort, Spec
from labkit.point.storage import Access
from labkit.point.units import KiB
from labkit.tools import Facts, Invocation, Parsed, Tool, fit, trimmed

Requests = Read | Write | Mixed | Network | Nvme

TOOL = Tool(
    name="fio",
    commands=("fio",),
    pattern=r"fio-(\d[\w.+-]*)",
    package="fio",
    conda="fio",
    programs=("fio",),
    format=layout,
    target="setup",
    purpose="storage.read, storage.write, storage.mixed and sockets.unix_rr",
    instead="iozone, for files",
)
MAX_IOS = 200_000
_LOG = "io"
LOG = f"{_LOG}_lat.1.log"  # what a run on a file or a device keeps of every I/O
_SECTOR = 512
_LAYOUT_S = 10.0  # until the file to read is written
_LISTEN_S = 0.2  # until the other end of a socket listens
_CLIENT = "labkit"
_NVME = Path(__file__).parent.parent / "testbeds" / "_nvme.sh"
_MARK = "== log ==\n"
_BEFORE_S = 60.0  # modules and the connection, in an emulated guest


def read(spec: Spec[Read], effort: Effort) -> Invocation:
    """Reads of the spec's size from a file written before; the option ``cache`` sets what the page cache holds."""
    cache, random = spec.options.cache, spec.options.pattern == "random"
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
    access = Access(page_cache=page_cache, cached=cached, o_direct=cache == "direct")
    once = cache == "drop"  # a second pass would be answered from memory
    return _invocation(spec, effort, "read", how, access, once=once)


def write(spec: Spec[Write], effort: Effort) -> Invocation:
    """Writes of the spec's size to a new file; the option ``sync`` sets when a write is complete."""
    sync = spec.options.sync
    how = {"none": [], "fsync": ["--fsync=1"], "osync": ["--sync=1"], "direct": ["--direct=1"]}[sync]
    page_cache = {
        "none": "takes the writes; the disk may get them later",
        "fsync": "is written to the disk by fsync after every write",
        "osync": "is written to the disk in every write (O_SYNC)",
        "direct": "bypassed with O_DIRECT; the disk's own cache may hold the data",
    }[sync]
    access = Access(page_cache=page_cache, cached=sync == "none", o_sync=sync == "osync", o_direct=sync == "direct")
    return _invocation(spec, effort, "write", how, access)


def mixed(spec: Spec[Mixed], effort: Effort) -> Invocation:
    """Reads and writes of the spec's size in one file; the option ``sync`` sets when a write is complete."""
    sync = spec.options.sync
    how = {"none": [], "osync": ["--sync=1"], "direct": ["--direct=1"]}[sync]
    page_cache = {
        "none": "takes the writes and may answer the reads",
        "osync": "may answer the reads; writes go to the disk at once (O_SYNC)",
        "direct": "bypassed with O_DIRECT; the disk's own cache may hold the data",
    }[sync]
    access = Access(page_cache=page_cache, cached=sync != "direct", o_sync=sync == "osync", o_direct=sync == "direct")
    percent = spec.options.read_percent
    return _invocation(spec, effort, "rw", [f"--rwmixread={percent}", *how], access, read_percent=percent)


def unix_rr(spec: Spec, effort: Effort) -> Invocation:
    """Messages of the spec's size there and back over a Unix stream socket, one at a time.

    Both ends are jobs of one fio; the second begins when the first one listens. There is no address, so nothing can
    start on another host.

    Raises
    ------
    SpecError
        For a testbed that has its own hosts.
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
        latency, end = layout.log((folder / f"{_LOG}_lat.2.log").read_text(), "write")
        reported = tuple(layout.answered(text, _CLIENT))
        return trimmed(Parsed(reported=reported, time_ns=latency, extras={"end_ns": end}), effort)

    return Invocation(
        tool=TOOL,
        client=(
            "fio",
            "--ioengine=net",
            "--protocol=unix",
            "--filename=socket",
            "--pingpong",
            f"--bs={spec.size}",
            f"--size={ios * spec.size}",
            "--lat_percentiles=1",
            "--clat_percentiles=0",
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
    spec: Spec[Read | Write | Mixed],
    effort: Effort,
    direction: Literal["read", "write", "rw"],
    how: list[str],
    access: Access,
    *,
    once: bool = False,
    read_percent: int | None = None,
) -> Invocation:
    """A run on a file."""
    _check(spec, access.o_direct)
    asked = spec.options.engine
    engine = asked if asked != "auto" else "psync" if spec.options.depth == 1 else "libaio"
    return run(
        spec,
        effort,
        direction,
        engine,
        how,
        access,
        file="data",
        once=once,
        read_percent=read_percent,
        directory=spec.options.directory,
    )


def run(
    spec: Spec[Requests],
    effort: Effort,
    direction: Literal["read", "write", "rw"],
    engine: str,
    how: list[str],
    access: Access,
    *,
    file: str = "",
    once: bool = False,
    read_percent: int | None = None,
    directory: str = "",
) -> Invocation:
    """Make a run of one job, whatever serves its I/Os.

    Parameters
    ----------
    engine : engine of fio.
    how : further words, those of the engine first.
    file : file that it accesses; empty for an engine that accesses none.
    once : whether each block is read only once.
    read_percent : share of the reads, of a mix.
    directory : where the file is; empty for the folder of temporary files.

    Raises
    ------
    SpecError
        If each block is read once, and there are fewer blocks than iterations.
    """
    size, file_size, depth = spec.size, int(spec.options.file_size), spec.options.depth
    ios = MAX_IOS if effort.iterations is None else effort.iterations + (effort.warmup or 0)
    amount = min(ios * size, file_size) if once else ios * size  # beyond its size the file is gone through again
    if effort.iterations is not None and amount < ios * size:
        raise SpecError(
            f"{ios} I/Os of {size} B with warm-up, but cache=drop reads each block once and file_size={file_size} B. "
            f"Set file_size={ios * size} or more."
        )
    offered = spec.options.offered
    pace = [f"--rate_iops={_shares(offered, read_percent)}", "--rate_process=poisson"] if offered else []
    random = "rand" if spec.options.pattern == "random" else ""
    # an exact count must not be cut short by the cap
    runtime = effort.time_cap if effort.iterations is None else effort.time_limit

    def parsed(text: str, folder: Path) -> Parsed:
        log = folder / LOG
        if direction == "rw":
            both = tuple(layout.mixed(text))
            latency, end, writes = layout.mixed_log(log.read_text())
            return trimmed(Parsed(reported=both, time_ns=latency, extras={"end_ns": end, "write": writes}), effort)
        reported = tuple(layout.parse(text, direction))
        if "--fsync=1" in how:
            return Parsed(reported=reported)  # the log times the write without its fsync
        latency, end = layout.log(log.read_text(), direction)
        return trimmed(Parsed(reported=reported, time_ns=latency, extras={"end_ns": end}), effort)

    return Invocation(
        tool=TOOL,
        client=(
            "fio",
            "--name=labkit",
            *([f"--filename={file}"] if file else []),
            f"--rw={random}{direction}",
            f"--bs={size}",
            f"--size={file_size}",
            f"--io_size={amount}",
            f"--runtime={round(runtime * 1000)}ms",
            f"--ioengine={engine}",
            *([f"--iodepth={depth}"] if depth > 1 else []),
            *how,
            *pace,
            "--lat_percentiles=1",
            "--clat_percentiles=0",
            "--percentile_list=50:95:99:99.9",
            f"--write_lat_log={_LOG}",
            "--log_avg_msec=0",
            "--eta=never",
            "--output-format=json",
        ),
        parse=parsed,
        directory=directory,
        prepare=lambda folder: fit(folder, access, file_size),
        definition="fio: latency (lat) of each I/O, submission included; rates are fio's, over its own run time.",
        duration=runtime + _LAYOUT_S,
        time_limit=runtime + _LAYOUT_S + effort.time_limit,
    )


def nvme_read(spec: Spec[Nvme], effort: Effort) -> Invocation:
    """Reads of the spec's size over NVMe over Fabrics; the kernel of soft-RoCE's guest serves a memory disk."""
    return _nvme(spec, effort, "read")


def nvme_write(spec: Spec[Nvme], effort: Effort) -> Invocation:
    """Writes of the spec's size over NVMe over Fabrics, as in `nvme_read`."""
    return _nvme(spec, effort, "write")


def _nvme(spec: Spec[Nvme], effort: Effort, direction: Literal["read", "write"]) -> Invocation:
    if not spec.testbed.startswith("soft-roce"):
        raise SpecError(
            f"testbed={spec.testbed}, but NVMe over Fabrics is set up in the guest of the testbed soft-roce only. Set "
            "testbed=soft-roce."
        )
    fabric, file_size = spec.options.fabric, int(spec.options.file_size)
    access = Access(page_cache="is bypassed with O_DIRECT; the blocks are in memory", cached=False, o_direct=True)
    engine = "psync" if spec.options.depth == 1 else "libaio"
    job = run(spec, effort, direction, engine, ["--direct=1"], access)

    def prepare(folder: Path) -> Facts:
        facts = access.facts(folder, file_size)
        return facts | {"filesystem": "memory disk of the guest (brd)", "device": "", "mount_options": ""}

    def parsed(text: str, folder: Path) -> Parsed:
        output, mark, log = text.partition(_MARK)
        if not mark:
            raise DataError(f"fio's log is missing after its output {text[-200:]!r}. Run it again.")
        (folder / LOG).write_text(log)
        result = job.parse(output, folder)
        return replace(result, facts={"payload_B": int(result.time_ns.size) * spec.size * (fabric != "local")})

    return replace(
        job,
        client=("sh", str(_NVME), fabric, str(file_size // KiB), *job.client),
        parse=parsed,
        prepare=prepare,
        definition="fio on a block device: latency (lat) of each request; the kernel is NVMe target and host.",
        duration=job.duration + _BEFORE_S / 4,
        time_limit=job.time_limit + _BEFORE_S,
    )


def _shares(offered: int, percent: int | None) -> str:
    """The offered rate as an argument of fio: one rate, or separate rates for the reads and writes of a mix."""
    if percent is None:
        return str(offered)
    reads = max(1, round(offered * percent / 100))
    return f"{reads},{max(1, offered - reads)}"


def _check(spec: Spec[Read | Write | Mixed], direct: bool) -> None:
    """Refuse what cannot work, before anything starts."""
    size, file_size, depth, engine = spec.size, int(spec.options.file_size), spec.options.depth, spec.options.engine
    if not 0 < size <= file_size:
        raise SpecError(f"size={size} B, but an I/O must have 1 B to the file's {file_size} B. Set size=4096.")
    if direct and size % _SECTOR:
        raise SpecError(
            f"size={size} B, but direct I/O needs multiples of {_SECTOR} B. Set size=4096, or leave direct out."
        )
    if depth > 1 and engine == "psync":
        raise SpecError(f"depth={depth}, but psync does one I/O at a time. Set depth=1, or engine=io_uring.")
    if depth > 1 and not direct and engine != "io_uring":
        raise SpecError(
            f"depth={depth}, but only direct I/O is asynchronous. Set depth=1, use direct, or set engine=io_uring."
        )
