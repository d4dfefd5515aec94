"""Processor time of processes that are not labkit's: what makes a machine busy, beside our own ranks.

The mean load of the last minute counts labkit's ranks, tools and notebooks as well, so it says nothing about others.
What each process took between two looks at /proc does. Labkit's own are this process, those above it, and what the
uppermost labkit or notebook kernel among them started; other notebooks of the same Jupyter are others. Ranks that the
daemon of a batch system started are known by the mark in their environment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

APART = 0.5  # s between two looks: processor time is counted in ticks of 10 ms
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD
_NAMED = 3  # processes named at most
_WORTH = 0.01  # processors that a process must take to be named
_UNSURE = 0.25  # processors; the machine counts ticks, a process is told exactly
_OURS = ("labkit", "papermill", "ipykernel", "ipykernel_launcher")  # programs and modules that labkit runs in
_MARK = b"LABKIT_TREE="


@dataclass(frozen=True)
class _Process:
    """A process at one look.

    Parameters
    ----------
    parent : its number.
    name : of its program.
    own : s of processor time that it took itself.
    whole : with that of its children that ended and were waited for.
    """

    parent: int
    name: str
    own: float
    whole: float


_Key = tuple[int, int]  # number and start, since numbers are used again


@dataclass(frozen=True)
class Look:
    """What every process had taken at a moment.

    Parameters
    ----------
    moment : s, monotonic.
    busy : s of processor time of the whole machine, of processes that cannot be seen as well.
    processes : those that can, without the kernel's own.
    """

    moment: float
    busy: float
    processes: Mapping[_Key, _Process] = field(repr=False)


def look() -> Look:
    """Look at every process now; takes some ms."""
    tick = os.sysconf("SC_CLK_TCK")
    found: dict[_Key, _Process] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{entry.name}/stat", "rb") as file:  # noqa: PTH123  (many files, often)
                    head, _, tail = file.read().rpartition(b")")
                words = tail.split()
                if not int(words[6]) & _KERNEL_THREAD:
                    name = head.partition(b"(")[2].decode(errors="replace")
                    own, children = (sum(map(int, words[k : k + 2])) / tick for k in (11, 13))
                    found[int(entry.name), int(words[19])] = _Process(int(words[1]), name, own, own + children)
    user, nice, system = (int(word) / tick for word in Path("/proc/stat").read_text().split(maxsplit=4)[1:4])
    return Look(time.monotonic(), user + nice + system, found)


def program(pid: int) -> str:
    """Name of the program or the module that a process runs, without the Python that runs it; empty if it ended.

    Examples
    --------
    >>> program(0)
    ''
    """
    words: list[str] = []
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    if Path(words[0]).name.startswith("python") if words else False:
        words = words[words.index("-m") + 1 :] if "-m" in words[:4] else [w for w in words[1:] if not w.startswith("-")]
    return Path(words[0]).name if words else ""


def _marks(pid: int) -> set[bytes]:
    """Marks of labkit's trees in the environment of a process."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return {word for word in words if word.startswith(_MARK)}
    return set()


def _ancestors(pid: int, parents: Mapping[int, int]) -> list[int]:
    """A process, its parent, and so on."""
    chain = [pid]
    while (above := parents.get(chain[-1], 0)) > 0 and above not in chain:
        chain.append(above)
    return chain


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in _OURS


def ours(processes: Mapping[_Key, _Process], pid: int) -> set[int]:
    """Numbers of the processes that are labkit's.

    Parameters
    ----------
    pid : of the process that measures.
    """
    parents = {number: process.parent for (number, _), process in processes.items()}
    chain = _ancestors(pid, parents)
    names = [program(one) for one in chain]
    servers = [place for place, name in enumerate(names) if name.startswith("jupyter")]
    below = chain[: servers[0]] if servers else chain
    named = reversed(list(zip(below, names, strict=False)))
    root = next((one for one, name in named if _is_ours(name)), pid)
    found = {one for one in parents if root in _ancestors(one, parents)}
    pythons = {number for (number, _), process in processes.items() if process.name.startswith("python")}
    daemons = {one for one in pythons - found if program(one) == "labkit.testbeds"}
    found |= {one for one in parents if daemons & set(_ancestors(one, parents))} if daemons else set()
    return found | set(chain)


def _lost(first: Look, last: Look, mine: set[int]) -> set[int]:
    """Processes that ended, and whose time no process of others that is still there was told."""
    there = {number for number, _ in last.processes}
    parents = {number: process.parent for (number, _), process in first.processes.items()}
    ended = {number: next((one for one in _ancestors(number, parents) if one in there), 0) for number in parents}
    return {number for number, heir in ended.items() if number not in there and (heir in mine or not heir)}


def between(first: Look, last: Look, pid: int) -> dict[str, Any]:
    """Processors that others kept busy between two looks, and who they are.

    Parameters
    ----------
    pid : of the process that measures; its tree is not counted.

    Returns
    -------
    ``span_s``; ``processors``: mean number of processors that others kept busy; ``named``: the processes that took
    most, as [name, number, processors]; ``unseen``: processors taken by processes that cannot be seen from here.
    """
    span = max(last.moment - first.moment, 1e-9)
    mine = ours({**first.processes, **last.processes}, pid)
    took = {
        key: process.own - first.processes[key].own if key in first.processes else process.own
        for key, process in last.processes.items()
    }
    worth = [key for key, s in took.items() if key[0] not in mine and s / span > _WORTH]
    marks = set().union(*map(_marks, mine)) if worth else set()
    mine |= {number for number, _ in worth if marks & _marks(number)}
    others = {key: s for key, s in took.items() if key[0] not in mine}
    whole = sum(process.whole for (number, _), process in last.processes.items() if number not in mine)
    whole -= sum(
        process.whole for key, process in first.processes.items() if key[0] not in mine | _lost(first, last, mine)
    )
    seen = max(sum(others.values()), whole) / span  # the whole has those as well that came and went in between
    everyone = sum(process.whole for process in last.processes.values())
    everyone -= sum(process.whole for process in first.processes.values())
    unseen = (last.busy - first.busy - max(everyone, sum(took.values()))) / span
    unseen = unseen if unseen > _UNSURE else 0.0
    named = sorted(((s / span, key) for key, s in others.items() if s / span > _WORTH), reverse=True)[:_NAMED]
    return {
        "span_s": span,
        "processors": seen + unseen,
        "unseen": unseen,
        "named": [[last.processes[key].name, key[0], share] for share, key in named],
    }


class Watch:
    """Looks at the machine from time to time, and tells what others took around a moment.

    Parameters
    ----------
    pid : of the process that measures; this one unless told otherwise.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._looks = [look()]

    def look(self) -> None:
        """Look again, unless that was done a moment ago."""
        if time.monotonic() - self._looks[-1].moment >= APART:
            self._looks = [*self._looks[-63:], look()]

    def after_a_while(self) -> dict[str, Any] | None:
        """What others took since the first look; waits until enough time has passed to tell."""
        time.sleep(max(0.0, self._looks[0].moment + APART - time.monotonic()))
        return self.since(self._looks[0].moment)

    def since(self, moment: float) -> dict[str, Any] | None:
        """What `between` tells of the time from a moment on; None where too little has passed to tell.

        Parameters
        ----------
        moment : s, monotonic; for a short span the time before it counts as well.
        """
        self.look()
        last = self._looks[-1]
        enough = [one for one in self._looks if one.moment <= moment and last.moment - one.moment >= APART]
        first = enough[-1] if enough else self._looks[0]
        return between(first, last, self._pid) if last.moment - first.moment >= APART else None
