"""Processor time of processes that are not labkit's: they make a machine busy beside our own ranks.

The load average also counts labkit's ranks, tools and notebooks, so it does not show the load of others. labkit uses
the processor time of each process between two reads of /proc. labkit's own processes are this one, its ancestors, and
everything that the topmost labkit or notebook kernel among them started. Other notebooks of the same Jupyter count as
others. The mark in their environment identifies ranks that the daemon of a batch system started.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from labkit.point.conditions import Others

APART = 0.5  # s between two looks: processor time is counted in ticks of 10 ms
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD
_NAMED = 3  # processes named at most
_WORTH = 0.01  # processors that a process must take to be named
_UNSURE = 0.25  # processors; the machine's total counts ticks, a process's time is exact
_OURS = ("labkit", "papermill", "ipykernel", "ipykernel_launcher")  # programs and modules that labkit runs in
_MARK = b"LABKIT_TREE="


@dataclass(frozen=True)
class _Process:
    """A process at one look.

    Parameters
    ----------
    parent : number of its parent.
    name : name of its program.
    cpu_time : s of processor time that it used itself.
    tree_time : s, with the time of its children that ended and were waited for.
    """

    parent: int
    name: str
    cpu_time: float
    tree_time: float


_Key = tuple[int, int]  # number and start, since numbers are used again


@dataclass(frozen=True)
class Look:
    """The processor time that every process had used at a moment.

    Parameters
    ----------
    moment : s, monotonic.
    busy : s of processor time of the whole machine, including processes that cannot be seen.
    processes : those that can be seen, without the kernel's own.
    """

    moment: float
    busy: float
    processes: Mapping[_Key, _Process] = field(repr=False)


def look() -> Look:
    """Look at every process now. This takes some ms."""
    tick = os.sysconf("SC_CLK_TCK")
    processes: dict[_Key, _Process] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{entry.name}/stat", "rb") as file:  # noqa: PTH123  (many files, often)
                    head, _, tail = file.read().rpartition(b")")
                words = tail.split()
                if not int(words[6]) & _KERNEL_THREAD:
                    name = head.partition(b"(")[2].decode(errors="replace")
                    cpu_time, children = (sum(map(int, words[k : k + 2])) / tick for k in (11, 13))
                    processes[int(entry.name), int(words[19])] = _Process(
                        int(words[1]), name, cpu_time, cpu_time + children
                    )
    user, nice, system = (int(word) / tick for word in Path("/proc/stat").read_text().split(maxsplit=4)[1:4])
    return Look(time.monotonic(), user + nice + system, processes)


def program(pid: int) -> str:
    """Return the name of the program or module that a process runs, without its Python; empty if it ended.

    Examples
    --------
    >>> program(0)
    ''
    """
    words: list[str] = []
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    if words and Path(words[0]).name.startswith("python"):
        words = words[words.index("-m") + 1 :] if "-m" in words[:4] else [w for w in words[1:] if not w.startswith("-")]
    return Path(words[0]).name if words else ""


def _marks(pid: int) -> set[bytes]:
    """Return the marks of labkit's trees in the environment of a process."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return {word for word in words if word.startswith(_MARK)}
    return set()


def _ancestors(pid: int, parents: Mapping[int, int]) -> list[int]:
    """Return a process, its parent, and so on."""
    chain = [pid]
    while (above := parents.get(chain[-1], 0)) > 0 and above not in chain:
        chain.append(above)
    return chain


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in _OURS


def ours(processes: Mapping[_Key, _Process], pid: int) -> set[int]:
    """Return the numbers of the processes that are labkit's.

    Parameters
    ----------
    pid : process number of the process that measures.
    """
    parents = {number: process.parent for (number, _), process in processes.items()}
    chain = _ancestors(pid, parents)
    names = [program(number) for number in chain]
    servers = [place for place, name in enumerate(names) if name.startswith("jupyter")]
    below = chain[: servers[0]] if servers else chain
    named = reversed(list(zip(below, names, strict=False)))
    root = next((number for number, name in named if _is_ours(name)), pid)
    mine = {number for number in parents if root in _ancestors(number, parents)}
    pythons = {number for (number, _), process in processes.items() if process.name.startswith("python")}
    daemons = {number for number in pythons - mine if program(number) == "labkit.testbeds"}
    mine |= {number for number in parents if daemons & set(_ancestors(number, parents))} if daemons else set()
    return mine | set(chain)


def _lost(first: Look, last: Look, mine: set[int]) -> set[int]:
    """Return the ended processes whose time was not added to a living process of others."""
    alive = {number for number, _ in last.processes}
    parents = {number: process.parent for (number, _), process in first.processes.items()}
    ended = {
        number: next((ancestor for ancestor in _ancestors(number, parents) if ancestor in alive), 0)
        for number in parents
    }
    return {number for number, parent in ended.items() if number not in alive and (parent in mine or not parent)}


def between(first: Look, last: Look, pid: int) -> Others:
    """Return how many processors others kept busy between two reads, and their processes.

    Parameters
    ----------
    pid : process number of the process that measures; its tree is not counted.
    """
    span = max(last.moment - first.moment, 1e-9)
    mine = ours({**first.processes, **last.processes}, pid)
    used = {
        key: process.cpu_time - first.processes[key].cpu_time if key in first.processes else process.cpu_time
        for key, process in last.processes.items()
    }
    candidates = [key for key, seconds in used.items() if key[0] not in mine and seconds / span > _WORTH]
    marks = set().union(*map(_marks, mine)) if candidates else set()
    mine |= {number for number, _ in candidates if marks & _marks(number)}
    others = {key: seconds for key, seconds in used.items() if key[0] not in mine}
    total = sum(process.tree_time for (number, _), process in last.processes.items() if number not in mine)
    not_counted = mine | _lost(first, last, mine)
    total -= sum(process.tree_time for (number, _), process in first.processes.items() if number not in not_counted)
    seen = max(sum(others.values()), total) / span  # the total includes processes that came and went in between
    everyone = sum(process.tree_time for process in last.processes.values())
    everyone -= sum(process.tree_time for process in first.processes.values())
    unseen = (last.busy - first.busy - max(everyone, sum(used.values()))) / span
    if unseen <= _UNSURE:
        unseen = 0.0
    shares = [(seconds / span, key) for key, seconds in others.items() if seconds / span > _WORTH]
    named = sorted(shares, reverse=True)[:_NAMED]
    return {
        "span_s": span,
        "processors": seen + unseen,
        "unseen": unseen,
        "named": [[last.processes[key].name, key[0], share] for share, key in named],
    }


class Watch:
    """Look at the machine from time to time, and report what others used around a moment.

    Parameters
    ----------
    pid : process number of the process that measures; this one by default.
    """

    def __init__(self, pid: int | None = None) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._looks = [look()]
        self._result: tuple[float, float, Others] | None = None

    def look(self) -> None:
        """Look again, unless the last look was a moment ago."""
        if time.monotonic() - self._looks[-1].moment >= APART:
            self._looks = [*self._looks[-63:], look()]

    def after_a_while(self) -> Others | None:
        """Return what others used since the first read; wait until enough time has passed."""
        time.sleep(max(0.0, self._looks[0].moment + APART - time.monotonic()))
        return self.since(self._looks[0].moment)

    def since(self, moment: float) -> Others | None:
        """Return `between` for the time from a moment on; None if too little has passed to tell.

        Parameters
        ----------
        moment : s, monotonic; for a short span the time before it counts as well.
        """
        self.look()
        last = self._looks[-1]
        latest = min(moment, last.moment - APART)
        before = [earlier for earlier in self._looks if earlier.moment <= latest]
        first = before[-1] if before else self._looks[0]
        if last.moment - first.moment < APART:
            return None
        if self._result is None or self._result[:2] != (first.moment, last.moment):  # short points share two looks
            self._result = (first.moment, last.moment, between(first, last, self._pid))
        return copy.deepcopy(self._result[2])
