"""Time of one read from a file, of one write to it, and of both in a mix, and how many a second, by fio."""

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

from labkit.benchmarks import Ends, ToolBenchmark
from labkit.options.storage import Access, Mixed, Read, Write
from labkit.point.spec import Spec, has
from labkit.tools import fio


def _check(spec: Spec[Access]) -> str:
    """Say what is wrong with the options; empty if nothing is."""
    depth, offered = spec.options.depth, spec.options.offered
    if depth < 1:
        return f"depth={depth}, but at least 1 must be under way. Set depth=1."
    if offered < 0:
        return f"offered={offered}, but it must be a rate above 0, or 0 for no limit. Set offered=0."
    if has(spec.options, Mixed) and not 1 <= spec.options.read_percent <= 99:
        return (
            f"read_percent={spec.options.read_percent}, but a mix has 1 to 99 % of reads. Use storage.read or "
            "storage.write for one kind."
        )
    return ""


class Deep(Protocol):
    """Options of requests, several of which may be in flight."""

    @property
    def depth(self) -> int:
        """How many."""


METRICS: dict[str, Callable[[Spec[Deep]], float]] = {  # of accesses with `depth` under way at once, by Little's law
    "latency_us": lambda spec: 1,
    "iops_per_s": lambda spec: spec.options.depth,
    "bandwidth_MBps": lambda spec: spec.options.depth * spec.size,
}
_READ: ToolBenchmark[Any] = ToolBenchmark(
    title="file read",
    options=Read,
    check=_check,
    sizes="4Ki:1Mi:*4",
    metrics=METRICS,
    tools=(fio.read,),
    logs={"fio read": {}},
    cadence="streaming",
    ends=Ends(where="none"),
    size_label="request size (B)",
    doc="""Time of one read from a file, and how many a second.

A sample is fio's latency (`lat`) of one read, from the moment that fio starts it to its completion, with every engine
alike: what an asynchronous engine spends on the submission is in it. With `depth` reads under way at once, their rate
is `depth` over the time of one (Little's law, exact for the means). The rates are those of the reads themselves; what
fio spends between two of them is only in the values that it reports, as are its rates under an offered load. What
waits before fio starts it, because a device is slower than the load, is not in the latency. A page cache that may
answer shows as a badge.
""",
)
FORMS = {
    "read": _READ,
    "write": dataclasses.replace(
        _READ,
        title="file write",
        options=Write,
        tools=(fio.write,),
        logs={"fio write": {}},
        doc="""Time of one write to a file, and how many a second.

A sample is fio's latency (`lat`) of one write, from the moment that fio starts it to its completion, with every engine
alike: what an asynchronous engine spends on the submission is in it. With `depth` writes under way at once, their rate
is `depth` over the time of one (Little's law, exact for the means). With `sync=fsync` fio times the write and the fsync
after it apart: there are no samples then, and the mean latency is the sum of the two means.
""",
    ),
    "mixed": dataclasses.replace(
        _READ,
        title="reads and writes of a file",
        options=Mixed,
        tools=(fio.mixed,),
        logs={},
        doc="""Time of one I/O in a random mix of reads and writes of a file, and how many a second.

A sample is fio's latency (`lat`) of one I/O, from the moment that fio starts it to its completion; the column `write`
of the samples is 1 for writes. The values that fio reports stand apart for each direction. With `depth` I/Os under way
at once, their rate is `depth` over the time of one.
""",
    ),
}
