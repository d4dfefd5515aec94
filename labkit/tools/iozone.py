"""IOzone: throughput over file size and record size, as the storage heat maps of cluster papers show it.

Debian has it in the component non-free, package iozone3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from labkit.errors import SpecError, unknown_name
from labkit.formats import iozone as layout
from labkit.host import VERSION
from labkit.options.storage import Iozone, IozoneThroughput
from labkit.point.notes import Note, note
from labkit.point.spec import Effort, Spec
from labkit.point.storage import Access
from labkit.point.units import KiB
from labkit.tools import Invocation, Parsed, Tool, fit

TOOL = Tool(
    name="iozone",
    commands=("iozone",),
    version="-v",
    pattern=rf"Revision: {VERSION}",
    package="iozone3",
    free=False,
    programs=("iozone",),
    format=layout,
    purpose="storage.iozone and storage.iozone_throughput",
    instead="fio",
)
_LIMITS = ("min_file_size", "max_file_size", "min_record_size", "max_record_size")
_IN_ORDER = (_LIMITS[:2], _LIMITS[2:], ("min_record_size", "min_file_size"))
# words of the option `tests` → number of iozone's -i, and its passes over a file
TESTS = {"write": (0, 2), "read": (1, 2), "random": (2, 2), "backward": (3, 1), "record": (4, 1), "stride": (5, 1)}
# tests of throughput mode, as iozone names them → number of iozone's -i; all of them but the first need the first
PROCESSES = {
    "initial writers": 0,
    "rewriters": 0,
    "readers": 1,
    "re-readers": 1,
    "random readers": 2,
    "random writers": 2,
    "reverse readers": 3,
    "stride readers": 5,
    "mixed workload": 8,
}
_SLOWEST_BPS = {True: 0.5e6, False: 50e6}  # B/s to reckon with for small records, with and without O_SYNC or O_DIRECT
_COARSE = re.compile(r"Timer resolution is poor\..*?Sizes (\d{1,9}) kBytes and below", re.DOTALL)


def table(spec: Spec[Iozone], effort: Effort) -> Invocation:
    """The chosen tests over every file and record size between the limits.

    Raises
    ------
    SpecError
        For an exact count of iterations, unknown tests, or limits that are not in order or no multiples of 1 KiB.
    """
    limits = {name: int(spec.values[name]) for name in _LIMITS}
    _check(limits)
    chosen = _tests(spec.options.tests)
    low, high, shortest, longest = (f"{value // KiB}k" for value in limits.values())
    records = (limits["max_record_size"] // limits["min_record_size"]).bit_length()
    passes = sum(TESTS[word][1] for word in chosen)
    moved = passes * 2 * limits["max_file_size"] * min(2, records)
    sizes = ("-a", "-n", low, "-g", high, "-y", shortest, "-q", longest, *_numbers(TESTS[word][0] for word in chosen))
    return _invocation(
        spec,
        effort,
        (*sizes, *_flags(spec), "-R", "-f", "data"),
        parse=_parsed,
        needs=limits["max_file_size"],
        moved=moved,
        definition="iozone -a: bytes of a file over the time of one pass, without open and close; its kB is 1024 B.",
    )


def processes(spec: Spec[IozoneThroughput], effort: Effort) -> Invocation:
    """One test of several processes on a file each (``-t``); a record is the spec's size.

    Raises
    ------
    SpecError
        For an exact count of iterations, no process, or sizes that are not multiples of 1 KiB.
    """
    count, file_size, test = spec.options.processes, int(spec.options.file_size), spec.options.test
    _check({"size": spec.size, "file_size": file_size}, (("size", "file_size"),))
    if count < 1:
        raise SpecError(f"processes={count}, but there must be at least 1. Set processes=2.")
    numbers = _numbers(dict.fromkeys((0, PROCESSES[test])))
    sizes = ("-t", str(count), "-s", f"{file_size // KiB}k", "-r", f"{spec.size // KiB}k", *numbers)

    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(reported=tuple(layout.throughput(text, test)), warnings=_doubts(text))

    return _invocation(
        spec,
        effort,
        (*sizes, *_flags(spec), "-F", *(f"data{number}" for number in range(count))),
        parse=parsed,
        needs=count * file_size,
        moved=4 * count * file_size,
        definition="iozone -t: sum of the rates of the processes, each over its own time; its kB is 1024 B.",
    )


def _invocation(
    spec: Spec[Iozone | IozoneThroughput],
    effort: Effort,
    words: tuple[str, ...],
    *,
    parse: Callable[[str, Path], Parsed],
    needs: int,
    moved: int,
    definition: str,
) -> Invocation:
    """A run of iozone.

    Parameters
    ----------
    needs : B of its files.
    moved : B that are written and read.
    """
    if effort.iterations is not None:
        raise SpecError(f"iterations={effort.iterations}, but iozone measures every cell once. Leave iterations out.")
    sync, direct = spec.options.sync, spec.options.direct
    page_cache = "bypassed with O_DIRECT" if direct else "answers the reads" + ("" if sync else " and takes the writes")
    access = Access(page_cache=page_cache, cached=not direct, o_sync=sync, o_direct=direct)
    seconds = moved / _SLOWEST_BPS[sync or direct] + 1
    return Invocation(
        tool=TOOL,
        client=("iozone", *words),
        parse=parse,
        directory=spec.options.directory,
        prepare=lambda folder: fit(folder, access, needs),
        definition=definition,
        duration=seconds,
        time_limit=seconds + effort.time_limit,
    )


def _flags(spec: Spec[Iozone | IozoneThroughput]) -> tuple[str, ...]:
    """O_SYNC and O_DIRECT."""
    return (*(["-o"] if spec.options.sync else []), *(["-I"] if spec.options.direct else []))


def _numbers(tests: Iterable[int]) -> list[str]:
    """Words that choose tests."""
    return [word for number in tests for word in ("-i", str(number))]


def _tests(text: str) -> list[str]:
    """Tests of an option, in iozone's order; the files must be written first."""
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    for word in wanted:
        if word not in TESTS:
            raise unknown_name("tests", word, list(TESTS))
    return [word for word in TESTS if word in ("write", *wanted)]


def _check(limits: Mapping[str, int], in_order: Iterable[tuple[str, str]] = _IN_ORDER) -> None:
    """Refuse sizes that iozone would misread."""
    for name, value in limits.items():
        if value < KiB or value % KiB:
            raise SpecError(f"{name}={value} B, but iozone counts in KiB. Set a multiple of 1Ki.")
    for low, high in in_order:
        if limits[low] > limits[high]:
            raise SpecError(
                f"{low}={limits[low]} B is above {high}={limits[high]} B. Set {low}={limits[high]} or less."
            )


def _parsed(text: str, folder: Path) -> Parsed:
    return Parsed(reported=tuple(layout.parse(text)), warnings=_doubts(text))


def _doubts(text: str) -> tuple[Note, ...]:
    """What iozone itself says against its numbers."""
    match = _COARSE.search(text)
    if not match:
        return ()
    what = f"iozone's clock counts whole microseconds: it calls its rates of {match[1]} KiB and below inaccurate"
    return (note("coarse-clock", what, below_KiB=int(match[1])),)
