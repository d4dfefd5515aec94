"""IOzone: throughput over file size and record size, as the storage heat maps of cluster papers show it.

Debian has it in the component non-free, package iozone3.
"""

from __future__ import annotations

from pathlib import Path

from labkit.errors import SpecError
from labkit.formats import iozone as layout
from labkit.host import VERSION
from labkit.notes import badge
from labkit.spec import Effort, Scalar, Spec
from labkit.tools import Invocation, Parsed, Tool
from labkit.tools._folder import facts
from labkit.units import KiB

TOOL = Tool(
    name="iozone",
    commands=("iozone",),
    version="-v",
    pattern=rf"Revision: {VERSION}",
    package="iozone3",
    free=False,
    programs=("iozone",),
    format=layout,
    purpose="storage.iozone",
    instead="fio",
)
_LIMITS = ("min_file_size", "max_file_size", "min_record_size", "max_record_size")
_IN_ORDER = (_LIMITS[:2], _LIMITS[2:], ("min_record_size", "min_file_size"))
_PASSES = 4  # write, rewrite, read, reread
_SLOWEST_BPS = {True: 0.5e6, False: 50e6}  # B/s to reckon with for small records, with and without O_SYNC or O_DIRECT


def table(spec: Spec, effort: Effort) -> Invocation:
    """Write, rewrite, read and reread of every file and record size between the limits.

    Raises
    ------
    SpecError
        For an exact count of iterations, or limits that are not in order or no multiples of 1 KiB.
    """
    if effort.iterations is not None:
        raise SpecError(f"iterations={effort.iterations}, but iozone measures every cell once. Leave iterations out.")
    limits = {name: spec.option(name) for name in _LIMITS}
    _check(limits)
    sync, direct = spec.option("sync"), spec.option("direct")
    low, high, shortest, longest = (f"{value // KiB}k" for value in limits.values())
    records = (limits["max_record_size"] // limits["min_record_size"]).bit_length()
    seconds = _PASSES * 2 * limits["max_file_size"] * min(2, records) / _SLOWEST_BPS[sync or direct] + 1

    def prepare(folder: Path) -> dict[str, Scalar]:
        return facts(folder, needs=limits["max_file_size"], direct=direct)

    page_cache = "bypassed with O_DIRECT" if direct else "answers the reads" + ("" if sync else " and takes the writes")
    return Invocation(
        tool=TOOL.name,
        package=TOOL.package,
        programs=TOOL.programs,
        client=(
            "iozone",
            "-a",
            "-n",
            low,
            "-g",
            high,
            "-y",
            shortest,
            "-q",
            longest,
            "-i",
            "0",
            "-i",
            "1",
            *(["-o"] if sync else []),
            *(["-I"] if direct else []),
            "-R",
            "-f",
            "data",
        ),
        parse=_parsed,
        directory=spec.option("directory"),
        prepare=prepare,
        definition="iozone -a: bytes of a file over the time of one pass, without open and close; its kB is 1024 B.",
        duration=seconds,
        time_limit=seconds + effort.time_limit,
        badges=() if direct else (badge("page cache"),),
        facts={"page_cache": page_cache},
    )


def _check(limits: dict[str, int]) -> None:
    """Refuse limits that iozone would misread."""
    for name, value in limits.items():
        if value < KiB or value % KiB:
            raise SpecError(f"{name}={value} B, but iozone counts in KiB. Set a multiple of 1Ki.")
    for low, high in _IN_ORDER:
        if limits[low] > limits[high]:
            raise SpecError(
                f"{low}={limits[low]} B is above {high}={limits[high]} B. Set {low}={limits[high]} or less."
            )


def _parsed(text: str, folder: Path) -> Parsed:
    return Parsed(reported=tuple(layout.parse(text)))
