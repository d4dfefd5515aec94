"""Hosts as users, batch systems and MPI libraries name them: ``host`` or ``host:slots``, in a list or in a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from labkit import outside
from labkit.errors import DataError, SpecError

_HOST = re.compile(r"(?P<name>\[[^\]\s]+\]|[^:\s=,]+)(?::(?P<slots>[1-9]\d*))?")
_LINE = re.compile(r"(?P<host>\S+)(?P<rest>(\s+\S+=\S+)*)")
_SLOTS = re.compile(r"(?<!\S)slots=([1-9]\d*)(?!\S)")


def listed(text: str) -> tuple[str, ...]:
    """Hosts of ``a,b``, ``a:4,b:2`` or a file, each as ``host`` or ``host:slots``.

    A file has one host a line: ``host slots=4`` (Open MPI), ``host:4`` (Hydra), or the host alone, repeated for each
    slot (nodefile of PBS, LSF and Slurm); ``#`` begins a comment.

    Raises
    ------
    SpecError
        If the file cannot be read, a line is none of these, or a host is given twice.

    Examples
    --------
    >>> listed("a:4,b:2")
    ('a:4', 'b:2')
    """
    path = Path(text)
    if text and ("/" in text or path.is_file()):
        return _read(path)
    hosts = tuple(name for name in text.split(",") if name)
    slots(hosts)
    return hosts


def _read(path: Path) -> tuple[str, ...]:
    """Hosts of a file."""
    try:
        lines = outside.regular(path).read_text().splitlines()  # a device may never end
    except (OSError, UnicodeDecodeError, DataError) as error:
        cause = error.__cause__ if isinstance(error, DataError) else error
        reason = getattr(cause, "strerror", None) or ("it is not text" if cause else "it is no file")
        raise SpecError(
            f"hosts={path} cannot be read: {reason}. List hosts with commas, or name a file with one host per line."
        ) from error
    found: list[str] = []
    for number, line in enumerate((line.partition("#")[0].strip() for line in lines), 1):
        if not line:
            continue
        fits = _LINE.fullmatch(line)
        if not fits or not _HOST.fullmatch(fits["host"]):
            raise SpecError(
                f"{path}, line {number}: found {line!r}, but it must be 'host', 'host slots=4' or 'host:4'. Change it."
            )
        given = _SLOTS.search(fits["rest"])
        found.append(fits["host"] + (f":{given[1]}" if given else ""))
    if not found:
        raise SpecError(f"hosts={path} names no host. Write one per line.")
    counts = Counter(found)
    if max(counts.values()) > 1 and not any(":" in host for host in counts):
        return tuple(f"{host}:{count}" for host, count in counts.items())
    slots(found)
    return tuple(found)


def slots(hosts: Sequence[str]) -> dict[str, int]:
    """Host → slots; 0 where none are given.

    Raises
    ------
    SpecError
        If a host is given twice, or is not of the form ``host`` or ``host:slots``.
    """
    found: dict[str, int] = {}
    for text in hosts:
        fits = _HOST.fullmatch(text)
        if not fits:
            raise SpecError(f"hosts: {text!r} is not of the form host or host:slots. Write it like node1:4.")
        if fits["name"] in found:
            raise SpecError(
                f"hosts={','.join(hosts)}, but {fits['name']} is given twice. Give it once, with its slots: "
                f"{fits['name']}:2."
            )
        found[fits["name"]] = int(fits["slots"] or 0)
    return found


def shares(hosts: Sequence[str], ranks: int, ppn: int) -> tuple[tuple[str, int], ...]:
    """Host → ranks on it, filled in the order given: `ppn` each, else alike as far as their slots allow.

    Fewer ranks than slots are spread, so that what two ranks exchange crosses the network.

    Raises
    ------
    SpecError
        If the hosts cannot hold the ranks.

    Examples
    --------
    >>> shares(["a", "b", "c"], 4, 0), shares(["a:3", "b:1"], 4, 0), shares(["a:4", "b:4"], 2, 0)
    ((('a', 2), ('b', 2)), (('a', 3), ('b', 1)), (('a', 1), ('b', 1)))
    """
    known = slots(hosts)
    if not known:
        return ()
    alike = -(-ranks // len(known))
    most = {name: ppn or ((given or 1) if any(known.values()) else alike) for name, given in known.items()}
    if sum(most.values()) < ranks:
        have = f"ppn={ppn} on {len(known)} hosts" if ppn else f"the slots of hosts={','.join(hosts)}"
        raise SpecError(
            f"ranks={ranks}, but {have} hold {sum(most.values())}. Set ranks={sum(most.values())}, give more slots, "
            f"or set ppn={alike}."
        )
    if not ppn:
        level = next(n for n in range(alike, ranks + 1) if sum(min(n, room) for room in most.values()) >= ranks)
        most = {name: min(level, room) for name, room in most.items()}
    return filled(most, ranks)


def filled(room: Mapping[str, int], ranks: int) -> tuple[tuple[str, int], ...]:
    """Host → ranks on it where one host after the other is filled."""
    found, left = [], ranks
    for name, most in room.items():
        here = min(most, left)
        found += [(name, here)] if here else []
        left -= here
    return tuple(found)


def spread(hosts: Sequence[str], ranks: int, ppn: int) -> str:
    """Ranks on each host where slots alone would have put them elsewhere: ``a:1,b:1``; else empty."""
    known = slots(hosts)
    if ppn or not any(known.values()) or sum(given or 1 for given in known.values()) < ranks:
        return ""
    now = shares(hosts, ranks, ppn)
    before = filled({name: given or 1 for name, given in known.items()}, ranks)
    return "" if now == before else ",".join(f"{name}:{n}" for name, n in now)


def allocated(environment: Mapping[str, str]) -> int:
    """Hosts that a batch system gave this job; 0 outside of one."""
    given = environment.get("SLURM_JOB_NUM_NODES") or environment.get("SLURM_NNODES") or ""
    if given.isdigit():
        return int(given)
    try:
        return len(set(Path(environment["PBS_NODEFILE"]).read_text().split()))
    except (KeyError, OSError):
        return 0
