"""Hosts as users, batch systems and MPI libraries name them: ``host`` or ``host:slots``, in a list or in a file."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from labkit.errors import DataError, SpecError
from labkit.io import safe_read
from labkit.point.units import plural

MOST = 100_000  # hosts of a list with ranges

_HOST = re.compile(r"(?P<name>\[[^\]\s]+\]|[^:\s=,\[\]]+)(?::(?P<slots>[1-9]\d*))?")
_LINE = re.compile(r"(?P<host>\S+)(?P<rest>(\s+\S+=\S+)*)")
_WORD = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_RANGES = re.compile(r"\[((?:\d+(?:-\d+)?,)*\d+(?:-\d+)?)\]")
_SLOTS = re.compile(r"(?<!\S)slots=([1-9]\d*)(?!\S)")


def listed(text: str) -> tuple[str, ...]:
    """Hosts of a list or a file, each as ``host`` or ``host:slots``.

    A list is as `named` takes it. A file has one host a line: ``host slots=4`` (Open MPI), ``host:4`` (Hydra), or the
    host alone, repeated for each slot (nodefile of PBS, LSF and Slurm); ``#`` begins a comment.

    Raises
    ------
    SpecError
        If the file cannot be read, a line is none of these, or a host is given twice.
    """
    path = Path(text)
    if text and ("/" in text or _is_file(path)):
        return _read(path)
    return named(text)


def named(text: str) -> tuple[str, ...]:
    """Hosts of ``a,b``, ``a:4,b:2`` or Slurm's ``n[01-03,7]:4``, each as ``host`` or ``host:slots``.

    Raises
    ------
    SpecError
        If a host is given twice or is not of that form, or a range runs backwards or has more than `MOST` hosts.

    Examples
    --------
    >>> named("a:4,b:2"), named("n[09-10]:2,[::1]")
    (('a:4', 'b:2'), ('n09:2', 'n10:2', '[::1]'))
    """
    hosts: list[str] = []
    for word in (word.strip() for word in _WORD.findall(text)):
        ranges = _RANGES.findall(word)
        if word and ranges:
            _check_ranges(word, ranges)
        hosts += expanded(word) if ranges else [word] if word else []
    slots(hosts)
    return tuple(hosts)


def expanded(text: str) -> list[str]:
    """Return the hosts of a host list in the notation of Slurm and Flux.

    Examples
    --------
    >>> expanded("a[01-03,7],b"), expanded("r[1-2]n[0-1]")
    (['a01', 'a02', 'a03', 'a7', 'b'], ['r1n0', 'r1n1', 'r2n0', 'r2n1'])
    """
    hosts = []
    for word in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text.strip()):
        parts = re.split(r"\[([^\]]*)\]", word)
        choices = [list(_numbers(part)) if i % 2 else [part] for i, part in enumerate(parts)]
        hosts += ["".join(combination) for combination in itertools.product(*choices)]
    return hosts


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers of a list: ``01-03,7`` → 01, 02, 03, 7."""
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if dash:
            yield from (f"{n:0{len(first)}d}" for n in range(int(first), int(last) + 1))
        else:
            yield part


def _check_ranges(word: str, ranges: Sequence[str]) -> None:
    """Refuse ranges that run backwards, and those that name too many hosts to list them."""
    count = 1
    for text in ranges:
        ends = [part.partition("-")[::2] for part in text.split(",")]
        lengths = [int(last or first) - int(first) + 1 for first, last in ends]
        if min(lengths) < 1:
            raise SpecError(f"hosts={word}, but a range must run upwards. Write it like node[01-16].")
        count *= sum(lengths)
    if count > MOST:
        raise SpecError(f"hosts={word} has {count:,} hosts, but {MOST:,} are the most. Give a smaller range.")


def _is_file(path: Path) -> bool:
    """Whether a list of hosts is the name of a file; a long one is a name that no file can have."""
    try:
        return path.is_file()
    except OSError:
        return False


def _first_few(hosts: Sequence[str], most: int = 8) -> str:
    """Hosts for a message: all of a few, else the first and how many more."""
    rest = f",… ({len(hosts):,} hosts)" if len(hosts) > most else ""
    return ",".join(hosts[:most]) + rest


def _read(path: Path) -> tuple[str, ...]:
    """Read the hosts of a file."""
    try:
        lines = safe_read.text(path).splitlines()
    except (OSError, UnicodeDecodeError, DataError) as error:
        cause = error.__cause__ if isinstance(error, DataError) else error
        reason = getattr(cause, "strerror", None) or ("it is not text" if cause else "it is not a file")
        raise SpecError(
            f"hosts={path} cannot be read: {reason}. List hosts with commas, or name a file with one host per line."
        ) from error
    hosts: list[str] = []
    for number, line in enumerate((line.partition("#")[0].strip() for line in lines), 1):
        if not line:
            continue
        match = _LINE.fullmatch(line)
        if not match or not _HOST.fullmatch(match["host"]):
            raise SpecError(
                f"{path}, line {number}: found {line[:80]!r}, but it must be 'host', 'host slots=4' or "
                "'host:4'. Change it."
            )
        slots_given = _SLOTS.search(match["rest"])
        hosts.append(match["host"] + (f":{slots_given[1]}" if slots_given else ""))
    if not hosts:
        raise SpecError(f"hosts={path} names no host. Write one per line.")
    counts = Counter(hosts)
    if max(counts.values()) > 1 and not any(":" in host for host in counts):
        return tuple(f"{host}:{count}" for host, count in counts.items())
    slots(hosts)
    return tuple(hosts)


def slots(hosts: Sequence[str]) -> dict[str, int]:
    """Host → slots; 0 if none are given.

    Raises
    ------
    SpecError
        If a host is given twice, or is not of the form ``host`` or ``host:slots``.
    """
    slots_of: dict[str, int] = {}
    for text in hosts:
        match = _HOST.fullmatch(text)
        if not match:
            raise SpecError(f"hosts: {text[:80]!r} is not of the form host or host:slots. Write it like node1:4.")
        if match["name"] in slots_of:
            raise SpecError(
                f"hosts={_first_few(hosts)}, but {match['name']} is given twice. Give it once, with its slots: "
                f"{match['name']}:2."
            )
        slots_of[match["name"]] = int(match["slots"] or 0)
    return slots_of


def shares(hosts: Sequence[str], ranks: int, ppn: int) -> tuple[tuple[str, int], ...]:
    """Host → ranks on it, filled in the order given: `ppn` each, else evenly as far as their slots allow.

    Fewer ranks than slots are spread over the hosts, so that messages between two ranks cross the network.

    Raises
    ------
    SpecError
        If the hosts cannot hold the ranks.

    Examples
    --------
    >>> shares(["a", "b", "c"], 4, 0), shares(["a:3", "b:1"], 4, 0), shares(["a:4", "b:4"], 2, 0)
    ((('a', 2), ('b', 2)), (('a', 3), ('b', 1)), (('a', 1), ('b', 1)))
    """
    slots_of = slots(hosts)
    if not slots_of:
        return ()
    even = -(-ranks // len(slots_of))
    room = {name: ppn or ((given or 1) if any(slots_of.values()) else even) for name, given in slots_of.items()}
    total = sum(room.values())
    if total < ranks:
        what = f"ppn={ppn} on {plural(len(slots_of), 'host')}" if ppn else f"the slots of hosts={_first_few(hosts)}"
        raise SpecError(
            f"ranks={ranks}, but {what} hold {total}. Set ranks={total}, give more slots, or set ppn={even}."
        )
    if not ppn:
        levels = range(even, ranks + 1)
        level = levels[bisect_left(levels, ranks, key=lambda n: sum(min(n, most) for most in room.values()))]
        room = {name: min(level, most) for name, most in room.items()}
    return fill(room, ranks)


def fill(room: Mapping[str, int], ranks: int) -> tuple[tuple[str, int], ...]:
    """Host → ranks on it if one host after the other is filled."""
    placed, remaining = [], ranks
    for name, most in room.items():
        count = min(most, remaining)
        if count:
            placed.append((name, count))
        remaining -= count
    return tuple(placed)


def spread(hosts: Sequence[str], ranks: int, ppn: int) -> str:
    """Ranks on each host if slots alone would place them differently: ``a:1,b:1``; else empty."""
    slots_of = slots(hosts)
    if ppn or not any(slots_of.values()) or sum(given or 1 for given in slots_of.values()) < ranks:
        return ""
    spread_out = shares(hosts, ranks, ppn)
    by_slots = fill({name: given or 1 for name, given in slots_of.items()}, ranks)
    return "" if spread_out == by_slots else ",".join(f"{name}:{n}" for name, n in spread_out)


def allocated(environment: Mapping[str, str]) -> int:
    """Number of hosts that a batch system gave this job; 0 outside of one."""
    nodes = environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES") or ""
    if nodes.isdecimal():
        return int(nodes)
    try:
        return len(set(safe_read.text(Path(environment["PBS_NODEFILE"])).split()))
    except (KeyError, DataError):
        return 0
