"""Quick starts from shared file systems: ranks load labkit, numpy and mpi4py from a copy on their own node.

A rank makes some 1700 file system calls to load labkit, numpy and Python. If a server has these, 10,000 ranks ask it
17 million times. With staging a rank asks it for the script that starts it, and for nothing else. One task a node,
started by the launcher of the ranks, copies an archive (`labkit.staging.archive`) to a folder of the node
(`labkit.staging.node`), and removes it when measuring ends; in a Slurm job, sbcast takes the archive there. Where the
task could not be started, or the copy went away, the first rank of a node copies.

`LABKIT_STAGE` switches it: ``auto`` where it is of use, ``yes`` always and with the interpreter, ``no`` never.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from labkit import supervise
from labkit.errors import LabkitError, SpecError
from labkit.host import allocation, filesystems
from labkit.launch import Launcher, Placement
from labkit.notes import Note, joined, note
from labkit.staging import archive, node
from labkit.units import MiB

MODES = ("auto", "yes", "no")
MANY = 32  # ranks on one host from which it is of use there
LONGEST = 120.0  # s that all nodes may take
SBCAST = 60.0  # s
Tell = Callable[[str], object]


@dataclass(frozen=True)
class Result:
    """What one node says.

    Parameters
    ----------
    host : its name.
    folder : of the copy; empty if there is none.
    seconds : that it took; 0 if the copy was there.
    reason : why there is none.
    """

    host: str
    folder: str = ""
    seconds: float = 0.0
    reason: str = ""


def mode() -> str:
    """What `LABKIT_STAGE` says.

    Raises
    ------
    SpecError
        If it says something else than `MODES`.
    """
    found = os.environ.get(filesystems.SWITCH) or "auto"
    if found not in MODES:
        raise SpecError(
            f"{filesystems.SWITCH}={found!r}, but it must be one of {', '.join(MODES)}. Set {filesystems.SWITCH}=auto."
        )
    return found


def wanted(placement: Placement, switch: str, shared: bool) -> bool:
    """Whether ranks are to load from copies.

    Parameters
    ----------
    switch : one of `MODES`.
    shared : whether what they load is on a network file system.
    """
    apart = len(placement.shares) > 1 or placement.nodes > 1
    return switch == "yes" or (switch == "auto" and shared and (apart or placement.ranks >= MANY))


def results(text: str) -> list[Result]:
    r"""What nodes said, from what a launcher printed.

    Examples
    --------
    >>> results("labkit-staged\tn1\t/tmp/x\tunpacked\t0.5")[0].folder, results("labkit-not-staged\tn2\tfull")[0].reason
    ('/tmp/x', 'full')
    """
    found = []
    for line in text.splitlines():
        _, good, told = line.partition(f"{node.STAGED}\t")
        words = told.split("\t")
        if good and len(words) == 4:
            host, folder, how, seconds = words
            found.append(Result(host, folder, float(seconds) if how == "unpacked" else 0.0))
            continue
        _, bad, told = line.partition(f"{node.FAILED}\t")
        if bad:
            host, _, reason = told.partition("\t")
            found.append(Result(host, reason=reason.strip()))
    return found


@dataclass
class Session:
    """Copies on the nodes for as long as points are measured.

    Parameters
    ----------
    tell : hears where copies lie, and why there are none.
    """

    tell: Tell
    _said: dict[str, str] = field(default_factory=dict)  # host → why it has no copy, empty for one that has
    _removal: tuple[Placement, Launcher] | None = None
    _made: archive.Archive | None = None
    _failed: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, placement: Placement, launcher: Launcher) -> str:
        """What starts a rank from the copy on its node; empty where ranks load from the environment."""
        network = filesystems.on_network()
        if not wanted(placement, mode(), bool(network)):
            return ""
        with self._lock:
            if self._made is None and not self._failed:
                self._make(mode() == "yes" or "Python" in network)
            if self._made is None:
                return ""
            hosts = _hosts(placement)
            fresh = [host for host in hosts if host not in self._said]
            if fresh:
                self._prepare(self._made, placement, launcher, fresh)
            return "" if any(self._said[host] for host in hosts) else str(self._made.rank)

    def reasons(self, placement: Placement) -> list[str]:
        """Why ranks that were to load from copies did not."""
        found = [self._said[host] for host in _hosts(placement) if self._said.get(host)]
        return [self._failed] if self._failed else found

    def _make(self, interpreter: bool) -> None:
        """Have the archive, or the reason why there is none."""
        try:
            self._made = archive.made(interpreter=interpreter)
        except LabkitError as error:
            self._failed = error.brief
            self.tell(str(not_staged(self._failed)))

    def _prepare(self, made: archive.Archive, placement: Placement, launcher: Launcher, hosts: Sequence[str]) -> None:
        """Have the copy on some hosts, and tell where it lies or why it does not."""
        sent = _broadcast(made, self.tell) if len(hosts) > 1 else ""
        asked = made.on_node("stage", *([sent] if sent else []))
        began = time.monotonic()
        said, why = _on_each(asked, _one_a_host(placement, hosts), launcher)
        bad = [one for one in said if one.reason]
        if bad:
            why = joined(dict.fromkeys(f"{one.host}: {one.reason}" for one in bad))
            self.tell(str(not_staged(why)))
        elif why:  # no task a node: then the first rank of each copies
            self.tell(f"labkit could not copy to the nodes before the start: {why}. The first rank of each node copies")
        else:
            places = ", ".join(sorted({one.folder for one in said}))
            self.tell(
                f"staged {made.size / MiB:.0f} MiB to {places} on {_counted(hosts)} in "
                f"{time.monotonic() - began:.1f} s ({max(one.seconds for one in said):.1f} s on the slowest). Ranks "
                "load from there"
            )
        self._said |= dict.fromkeys(hosts, why if bad else "")
        self._removal = (placement, launcher)

    def close(self) -> None:
        """Remove the copies."""
        hosts = [host for host, why in self._said.items() if not why]
        if self._made is None or self._removal is None or not hosts:
            return
        placement, launcher = self._removal
        said, why = _on_each(self._made.on_node("remove"), _one_a_host(placement, hosts), launcher)
        left = joined(f"{one.host}: {one.reason}" for one in said if one.reason) or why
        self.tell(f"copies stay: {left}" if left else f"removed the copies on {_counted(hosts)}")


def not_staged(why: str) -> Note:
    """Ranks were to load from copies, and did not."""
    kinds = ", ".join(dict.fromkeys(mount.kind for mount in filesystems.on_network().values())) or "this machine's disk"
    text = (
        f"ranks loaded labkit from its environment ({kinds}), not from copies on their nodes, so starts are slow: {why}"
    )
    return note("not-staged", text, reason=why)


def _counted(hosts: Sequence[str]) -> str:
    return f"{len(hosts)} host{'' if len(hosts) == 1 else 's'}"


def _hosts(placement: Placement) -> list[str]:
    """Hosts that need a copy of their own; this machine is called by an empty name."""
    own = placement.remote_shell or not placement.shares
    return (
        [""]
        if own
        else list(dict.fromkeys("" if host in placement.local_names else host for host, _ in placement.shares))
    )


def _one_a_host(placement: Placement, hosts: Sequence[str]) -> Placement | None:
    """One task on each of some hosts; None where this machine is the only one."""
    if list(hosts) == [""]:
        return None
    here = next((name for name, _ in placement.shares if name in placement.local_names), "localhost")
    names = [host or here for host in hosts]
    return replace(
        placement, ranks=len(names), ppn=1, hosts=tuple(f"{name}:1" for name in names), bind="none", transport="auto"
    )


def _on_each(
    command: Sequence[str], placement: Placement | None, launcher: Launcher, seconds: float = LONGEST
) -> tuple[list[Result], str]:
    """Run a command once on each host; what the hosts said, and why not all did."""
    environment = dict(os.environ)
    try:
        if placement is not None:
            environment |= launcher.environment(placement)
            command = launcher.command(placement, command)
        with supervise.start(command, env=environment) as tree:
            text, ended = _read(tree, time.monotonic() + seconds)
            status = tree.wait(10) if ended else None
            stderr = tree.stderr_tail(5).strip()
    except LabkitError as error:
        return [], error.brief
    if not ended:
        return results(text), f"no answer in {seconds:g} s"
    said, count = results(text), placement.ranks if placement is not None else 1
    staging = any(word == "stage" for word in command)
    if status or (staging and len(said) < count):
        last = (stderr.splitlines() or ["no reason"])[-1]
        return said, f"{len(said)} of {count} hosts answered, exit status {status}: {last}"
    return said, ""


def _read(tree: supervise.Tree, until: float) -> tuple[str, bool]:
    """What a tree prints up to its end or to a moment, and whether it ended."""
    held, pipe = b"", tree.stdout.fileno()
    while select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return held.decode(errors="replace"), True
        held += piece
    return held.decode(errors="replace"), False


def _broadcast(made: archive.Archive, tell: Tell) -> str:
    """Send the archive to all nodes of a Slurm job; its name there, empty where it was not sent."""
    job, program = allocation.current(), shutil.which("sbcast")
    if job is None or job.system != "slurm" or program is None:
        return ""
    target = f"/tmp/labkit-staged-{os.geteuid()}-{secrets.token_hex(8)}.tar"  # no one else's name
    try:
        done = subprocess.run(
            [program, "--force", str(made.path), target],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SBCAST,
            check=False,
        )
        why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1] if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    if why:
        tell(f"sbcast did not send the archive, so each node reads it from {made.path}: {why}")
    return "" if why else target


# ---- one session in a process ----------------------------------------------------------------------------------------

_guard = threading.Lock()
_current: list[Session] = []  # once for each who measures; the same one


@contextmanager
def session(tell: Tell) -> Iterator[None]:
    """Start ranks from copies where that is wanted, until the context ends; then the copies are removed.

    Parameters
    ----------
    tell : hears where copies lie, and why there are none.

    Raises
    ------
    SpecError
        If `LABKIT_STAGE` says what it cannot say.
    """
    mode()
    with _guard:
        _current.append(_current[0] if _current else Session(tell))
    try:
        yield
    finally:
        with _guard:
            last = _current.pop()
            over = not _current
        if over:
            last.close()


def command(words: Sequence[str], placement: Placement, launcher: Launcher) -> list[str]:
    """The command of a rank: from a copy in a session where that is wanted, else as it is.

    Parameters
    ----------
    words : ``PYTHON -m labkit.worker PLAN``.
    """
    script = _current[0].script(placement, launcher) if _current else ""
    return ["/bin/sh", script, words[-1]] if script else list(words)


def doubts(placement: Placement | None, told: Sequence[str]) -> list[Note]:
    """What is to be said of ranks that were to load from copies, and did not.

    Parameters
    ----------
    told : what ranks say that they were loaded from.
    """
    known = _current[0].reasons(placement) if _current and placement is not None else []
    why = [*known, *(one.removeprefix(node.NO) for one in told if one.startswith(node.NO))]
    return [not_staged(joined(dict.fromkeys(why)))] if why else []
