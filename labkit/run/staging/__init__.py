"""Makes ranks start quickly from shared file systems: they load labkit, numpy and mpi4py from a copy on their own node.

A rank makes some 1600 file system calls to load labkit, numpy and Python. If a server has these, 10,000 ranks ask it
16 million times. With staging, a rank asks it for the script that starts it and for nothing else. One task on each
node, started by the launcher of the ranks, copies an archive (`labkit.run.staging.archive`) to a folder of the node
(`labkit.run.staging.node`), and removes it when measuring ends. In a Slurm job, sbcast takes the archive to the nodes.
If the tasks cannot be started, or a copy goes away, the first rank of a node copies.

The variable `LABKIT_STAGE` switches it: ``auto`` if it is useful, ``yes`` always and with the interpreter, ``no``
never.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from labkit.errors import LabkitError, SpecError
from labkit.host import allocation, filesystems
from labkit.io import supervise
from labkit.point.notes import Note, joined, note
from labkit.point.units import MiB, plural
from labkit.run.launch import Launcher, Placement
from labkit.run.staging import archive, node, packed

MODES = ("auto", "yes", "no")
MANY_RANKS = 32  # on one host, from which copies are of use there
TASKS_S = 120.0  # s until all nodes must have answered
SBCAST_S = 60.0
Log = Callable[[str], object]


@dataclass(frozen=True)
class Result:
    """Answer of one node.

    Parameters
    ----------
    host : its name.
    folder : folder of the copy; empty if there is none.
    seconds : time that copying took; 0 if the copy was there.
    reason : why there is none.
    """

    host: str
    folder: str = ""
    seconds: float = 0.0
    reason: str = ""


def mode() -> str:
    """Return the value of `LABKIT_STAGE`.

    Raises
    ------
    SpecError
        If it is none of `MODES`.
    """
    value = os.environ.get(filesystems.SWITCH) or "auto"
    if value not in MODES:
        raise SpecError(
            f"{filesystems.SWITCH}={value!r}, but it must be one of {', '.join(MODES)}. Set {filesystems.SWITCH}=auto."
        )
    return value


def is_wanted(placement: Placement, switch: str, shared: bool) -> bool:
    """Return whether ranks are to load from copies.

    Parameters
    ----------
    switch : one of `MODES`.
    shared : whether what they load is on a network file system.
    """
    several_hosts = len(placement.shares) > 1 or placement.nodes > 1
    return switch == "yes" or (switch == "auto" and shared and (several_hosts or placement.ranks >= MANY_RANKS))


def results(output: str) -> list[Result]:
    r"""Read the answers of nodes from what a launcher printed.

    Examples
    --------
    >>> results("labkit-staged\tn1\t/tmp/x\tunpacked\t0.5")[0].folder, results("labkit-not-staged\tn2\tfull")[0].reason
    ('/tmp/x', 'full')
    """
    answers = []
    for line in output.splitlines():
        _, staged, rest = line.partition(f"{node.STAGED}\t")
        words = rest.split("\t")
        if staged and len(words) == 4:
            host, folder, how, seconds = words
            answers.append(Result(host, folder, float(seconds) if how == "unpacked" else 0.0))
            continue
        _, failed, rest = line.partition(f"{node.FAILED}\t")
        if failed:
            host, _, reason = rest.partition("\t")
            answers.append(Result(host, reason=reason.strip()))
    return answers


@dataclass
class Session:
    """Copies on the nodes for as long as points are measured.

    Parameters
    ----------
    log : called with a line on the place of the copies, or why there are none.
    """

    log: Log
    _failures: dict[str, str] = field(default_factory=dict)  # host → why it has no copy; empty if it has one
    _touched: list[str] = field(default_factory=list)  # hosts that may have a copy
    _start: tuple[Placement, Launcher] | None = None
    _archive: archive.Archive | None = None
    _no_archive: str = ""
    _no_file: bool = False  # of byte code, for ranks on this machine
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, placement: Placement, launcher: Launcher) -> str:
        """Return the script that starts a rank from its node's copy; empty if ranks load from the environment."""
        network = filesystems.on_network()
        if not is_wanted(placement, mode(), bool(network)):
            return ""
        with self._lock:
            if self._archive is None and not self._no_archive:
                self._make_archive(interpreter=mode() == "yes" or "Python" in network)
            if self._archive is None:
                return ""
            hosts = _hosts(placement)
            fresh = [host for host in hosts if host not in self._failures]
            if fresh:
                self._copy(self._archive, placement, launcher, fresh)
            return "" if any(self._failures[host] for host in hosts) else str(self._archive.rank)

    def packed(self, words: list[str]) -> list[str]:
        """Return the command of a rank that loads from one file, see `labkit.run.staging.packed`."""
        with self._lock:
            found = words if self._no_file else packed.words(words)
            self._no_file = found == words  # what stands in its way does not go away
        return found

    def reasons(self, placement: Placement) -> list[str]:
        """Return why ranks that were to load from copies do not."""
        if self._no_archive:
            return [self._no_archive]
        return [self._failures[host] for host in _hosts(placement) if self._failures.get(host)]

    def _make_archive(self, *, interpreter: bool) -> None:
        try:
            self._archive = archive.made(interpreter=interpreter)
        except LabkitError as error:
            self._no_archive = error.brief
            self.log(str(not_staged(error.brief)))

    def _copy(self, source: archive.Archive, placement: Placement, launcher: Launcher, hosts: Sequence[str]) -> None:
        """Make the copies on some hosts, and log where they are or why there are none."""
        began = time.monotonic()
        self._touched, self._start = [*self._touched, *hosts], (placement, launcher)  # Ctrl-C may end what follows
        sent = _broadcast(source, len(hosts), self.log)
        command = source.on_node("stage", *([sent] if sent else []))
        try:
            answers, problem = _run_on_each(command, _one_task_each(placement, hosts), launcher, answers=True)
        except LabkitError as error:
            failed = ""
            self.log(f"no task could copy before the start: {error.brief} The first rank of each node copies.")
        else:
            reasons = [f"{one.host}: {one.reason}" for one in answers if one.reason] or [problem]
            failed = joined(dict.fromkeys(filter(None, reasons)))
            line = (
                str(not_staged(failed)) if failed else _summary(source, answers, bool(sent), time.monotonic() - began)
            )
            self.log(line)
            if failed and not problem and not any(one.folder for one in answers):  # nothing to remove
                self._touched = [host for host in self._touched if host not in hosts]
        self._failures |= dict.fromkeys(hosts, failed)

    def close(self) -> None:
        """Remove the copies."""
        job = allocation.current()  # without hosts that failed, which would not answer
        hosts = [host for host in self._touched if not host or job is None or host in job.hosts]
        if self._archive is None or self._start is None or not hosts:
            return
        placement, launcher = self._start
        command = self._archive.on_node("remove")
        try:
            answers, problem = _run_on_each(command, _one_task_each(placement, hosts), launcher)
        except LabkitError as error:
            answers, problem = [], error.brief
        kept = joined(f"{one.host}: {one.reason}" for one in answers if one.reason) or problem
        self.log(f"copies stay: {kept}" if kept else f"removed the copies on {_count(hosts)}")


def not_staged(reason: str) -> Note:
    """Return the note of ranks that were to load from copies, and did not."""
    kinds = ", ".join(dict.fromkeys(mount.kind for mount in filesystems.on_network().values())) or "a local disk"
    text = f"ranks loaded labkit from its environment ({kinds}), not from copies on their nodes: {reason}"
    return note("not-staged", text, reason=reason)


def _count(hosts: Sequence[object]) -> str:
    return plural(len(hosts), "host")


def _summary(source: archive.Archive, answers: Sequence[Result], sent: bool, seconds: float) -> str:
    """Return the line of the log on copies that were made."""
    folders = ", ".join(sorted({one.folder for one in answers}))
    slowest = max(one.seconds for one in answers)
    return (
        f"staged {source.size / MiB:.0f} MiB{' by sbcast' if sent else ''} to {folders} on {_count(answers)} in "
        f"{seconds:.1f} s ({slowest:.1f} s on the slowest). Ranks load from there"
    )


def _hosts(placement: Placement) -> list[str]:
    """Return the hosts of some ranks; this machine is the empty name, and so are hosts that share its folders."""
    if placement.remote_shell:
        return [""]
    return list(dict.fromkeys("" if host in placement.local_names else host for host, _ in placement.shares)) or [""]


def _one_task_each(placement: Placement, hosts: Sequence[str]) -> Placement | None:
    """Return the placement of one task on each of some hosts; None if this machine is the only one."""
    if list(hosts) == [""]:
        return None
    here = next((name for name, _ in placement.shares if name in placement.local_names), "localhost")
    slots = tuple(f"{host or here}:1" for host in hosts)
    return replace(placement, ranks=len(hosts), ppn=1, hosts=slots, bind="none", transport="auto")


def _run_on_each(
    command: Sequence[str], placement: Placement | None, launcher: Launcher, *, answers: bool = False
) -> tuple[list[Result], str]:
    """Run a command once on each host, and return the answers, and why there are too few.

    Parameters
    ----------
    answers : whether each host must answer.

    Raises
    ------
    LabkitError
        If the launcher cannot start such tasks.
    """
    variables = dict(os.environ)
    if placement is not None:  # else this machine is the only host, and needs no launcher
        variables |= launcher.environment(placement)
        command = launcher.command(placement, command)
    with supervise.start(command, env=variables) as tree:
        output, ended = _read(tree, time.monotonic() + TASKS_S)
        status = tree.wait(10) if ended else None
        stderr = tree.stderr_tail(5).strip()
    answered, wanted = results(output), placement.ranks if placement is not None else 1
    if not ended:
        return answered, f"no answer within {TASKS_S:g} s"
    if status or (answers and len(answered) < wanted):
        last = (stderr.splitlines() or ["no reason"])[-1]
        return answered, f"{len(answered)} of {plural(wanted, 'host')} answered, exit status {status}: {last}"
    return answered, ""


def _read(tree: supervise.Tree, until: float) -> tuple[str, bool]:
    """Read what a tree prints until it ends or until a moment, and return whether it ended."""
    output, pipe = b"", tree.stdout.fileno()
    while tree.readable(until - time.monotonic()):
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return output.decode(errors="replace"), True
        output += piece
    return output.decode(errors="replace"), False


def _broadcast(source: archive.Archive, hosts: int, log: Log) -> str:
    """Send the archive to all nodes of a Slurm job, and return its name there; empty if it was not sent.

    Parameters
    ----------
    hosts : hosts that need a copy. sbcast sends to all nodes of a job, so it must be as many.
    """
    program = shutil.which("sbcast")
    if program is None or hosts < 2 or os.environ.get("SLURM_JOB_NUM_NODES") != str(hosts):
        return ""
    target = f"/tmp/labkit-staged-{os.geteuid()}-{secrets.token_hex(8)}.tar"  # a name that nobody can guess
    try:
        done = subprocess.run(
            [program, "--force", str(source.path), target],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SBCAST_S,
            check=False,
        )
        status = f"exit status {done.returncode}"
        problem = (done.stderr.strip().splitlines() or [status])[-1] if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        log(f"sbcast did not send the archive, so each node reads {source.path}: {problem}")
    return "" if problem else target


# ---- the session of whatever measures --------------------------------------------------------------------------------

_session: ContextVar[Session | None] = ContextVar("session", default=None)


@contextmanager
def session(log: Log) -> Iterator[None]:
    """Let ranks start from copies if that is wanted, until the context ends. Then the copies are removed.

    Inside another session it does nothing, because that session's copies are there already.

    Parameters
    ----------
    log : called with a line on the place of the copies, or why there are none.

    Raises
    ------
    SpecError
        If `LABKIT_STAGE` is none of `MODES`.
    """
    mode()
    if _session.get():
        yield
        return
    opened = Session(log)
    before = _session.set(opened)
    try:
        yield
    finally:
        _session.reset(before)
        opened.close()


def command(words: Sequence[str], placement: Placement, launcher: Launcher) -> list[str]:
    """Return the command of a rank: in a session from its node's copy if requested, else as from `here`.

    Parameters
    ----------
    words : ``PYTHON -m labkit.worker PLAN``.
    """
    opened = _session.get()
    script = opened.script(placement, launcher) if opened else ""
    if script:
        return ["/bin/sh", script, words[-1]]
    own_python = any(name.startswith("PYTHON") for name, _ in placement.settings)  # which may change what is loaded
    return list(words) if own_python or _elsewhere(placement) else here(words)


def here(words: Sequence[str]) -> list[str]:
    """Return the command of a rank on this machine: in a session from one file of byte code, else unchanged."""
    opened = _session.get()
    return opened.packed(list(words)) if opened and mode() != "no" else list(words)


def _elsewhere(placement: Placement) -> bool:
    """Return whether ranks may run where this user's cache is not."""
    return not placement.remote_shell and (placement.remote or (not placement.shares and placement.nodes > 0))


def doubts(placement: Placement | None, staged: Sequence[str]) -> list[Note]:
    """Return the notes on ranks that were to load from copies, and did not.

    Parameters
    ----------
    staged : places from which ranks were loaded, as they report them.
    """
    opened = _session.get()
    reasons = opened.reasons(placement) if opened and placement is not None else []
    reasons += [text.removeprefix(node.NO_COPY) for text in staged if text.startswith(node.NO_COPY)]
    return [not_staged(joined(dict.fromkeys(reasons)))] if reasons else []
