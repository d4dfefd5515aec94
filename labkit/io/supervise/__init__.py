r"""Ends a whole process tree when its owner ends.

labkit starts all its programs (ranks, servers of tools, guests) here. Two small processes stand between the owner and
the command and watch each other (`labkit.io.supervise.supervisor`)::

    owner ──pipe──► supervisor ──► reaper ──► command ──► ...

The owner holds the only write end of a pipe, which the kernel closes however the owner dies. Supervisor and reaper are
child subreapers: a process that loses its parent, setsid or not, gets the nearest of them. The reaper ends everything
when the pipe closes, the command ends, a signal comes or the supervisor dies. The supervisor does so when the reaper
dies. If both are killed at once, the command gets SIGTERM as its parent-death signal, which mpirun passes on to its
ranks (SIGKILL would leave them), and a living owner ends the processes with the tree's mark in their environment.

Examples
--------
>>> with start(["sh", "-c", "sleep 60 & echo started; exit 3"]) as tree:
...     tree.stdout.readline(), tree.wait()
(b'started\n', 3)
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import select
import shutil
import subprocess
import sys
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

from labkit.errors import LabkitWarning, LaunchError, known_failures
from labkit.io.supervise import leftovers, supervisor
from labkit.io.supervise.watching import MARK, Watcher

PIPE = subprocess.PIPE
STDOUT = subprocess.STDOUT
DEVNULL = subprocess.DEVNULL


class Tree:
    """A command with everything it starts. It lives at most as long as its owner. `start` makes it.

    A context manager: leaving it always ends the tree. All methods may be called from any thread.

    Attributes
    ----------
    argv : the command line.
    pid : process number of the supervisor.
    stdout : raw bytes of the command, for `read`, `readable` and `os.read`; empty if the command's output goes
        elsewhere.
    """

    def __init__(
        self,
        argv: Sequence[str],
        process: subprocess.Popen[bytes],
        lifetime: IO[bytes],
        watcher: Watcher,
        stdin: int = -1,
    ) -> None:
        self.argv = tuple(argv)
        self.pid = process.pid
        self.stdout: IO[bytes] = process.stdout or open(os.devnull, "rb", buffering=0)  # noqa: SIM115, PTH123
        self.stdin: IO[bytes] | None = open(stdin, "wb", buffering=0) if stdin >= 0 else None  # noqa: SIM115
        self._lifetime, self._watcher, self._owner = lifetime, watcher, os.getpid()

    def readable(self, seconds: float) -> bool:
        """Wait until there is output to read, or its end, for at most `seconds`; return whether there is."""
        waiting = select.poll()  # select.select takes no descriptor from 1024 on
        waiting.register(self.stdout, select.POLLIN)
        return bool(waiting.poll(max(0.0, seconds) * 1e3))

    @property
    def returncode(self) -> int | None:
        """Exit status of the command, 128+n if signal n ended it, 137 if its supervisor was killed; None while it runs.

        Set when the whole tree has ended and all of stderr is read.
        """
        return self._watcher.status if self._watcher.ended.is_set() else None

    def poll(self) -> int | None:
        """Return `returncode`; never waits."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the command and everything it started have ended.

        Parameters
        ----------
        timeout : s to wait at most; None for no limit.

        Returns
        -------
        `returncode`; None if the time is over first.
        """
        self._watcher.ended.wait(timeout)
        return self.returncode

    def stderr_tail(self, lines: int = 50) -> str:
        """Return the last lines of the tree's standard error so far; 64 KiB are kept.

        Complete once `returncode` is set, empty if standard error goes elsewhere.
        """
        return "".join(self._watcher.tail.decode(errors="replace").splitlines(keepends=True)[-lines:])

    def stderr_text(self) -> str:
        """Return the standard error of the tree so far: all of it, or its first 16 and its last 64 KiB.

        Complete once `returncode` is set, empty if standard error goes elsewhere.
        """
        head, tail, size = self._watcher.head, self._watcher.tail, self._watcher.stderr_size
        lost = size - len(head) - len(tail)
        if lost <= 0:
            return (head[: size - len(tail)] + tail).decode(errors="replace")
        return f"{head.decode(errors='replace')}\n… {lost} bytes omitted …\n{tail.decode(errors='replace')}"

    def note_leftovers(self) -> None:
        """Note the shared memory of the tree, so that it can be removed even if every supervisor is killed."""
        with contextlib.suppress(OSError):
            self._watcher.note.write(supervisor.below(self.pid))

    def stop(self) -> int | None:
        """End the whole tree and wait until it is gone: SIGTERM, after the grace SIGKILL. May be called again.

        Returns
        -------
        `returncode`.

        Warns
        -----
        LabkitWarning
            If processes cannot be ended: they hang in the kernel, or are another user's.
        """
        self._lifetime.close()
        if os.getpid() != self._owner:
            return None
        if not self._watcher.ended.wait(2 * self._watcher.grace + 4 * supervisor.STUCK_S) or self._watcher.survivors:
            survivors = self._watcher.survivors or [self.pid]
            self._watcher.survivors = []
            warnings.warn(
                f"Processes {survivors} of {' '.join(self.argv)!r} did not end. Kill them by hand.",
                LabkitWarning,
                stacklevel=2,
            )
        return self.returncode

    def __enter__(self) -> Tree:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self.stdout.close()
            if self.stdin:
                self.stdin.close()


_trees: weakref.WeakSet[Tree] = weakref.WeakSet()


def _disown() -> None:
    """Close the pipes in a forked child of the owner, which must not keep the owner's trees alive."""
    for tree in _trees:
        tree._lifetime.close()


os.register_at_fork(after_in_child=_disown)


@functools.cache
def _sweep_once() -> None:
    """Remove, once in a process, what killed trees of earlier processes left."""
    with contextlib.suppress(OSError):
        leftovers.sweep()


def _pipes(command: Sequence[str]) -> tuple[int, int, int, int]:
    """Return both ends of two pipes."""
    fds: tuple[int, ...] = ()
    try:
        with _explained(command):
            fds += os.pipe()
            return (*fds, *os.pipe())  # type: ignore[return-value]
    except LaunchError:
        for fd in fds:
            os.close(fd)
        raise


@contextlib.contextmanager
def _explained(command: Sequence[str]) -> Iterator[None]:
    """Convert an OSError into an error that says that the system cannot start programs."""
    try:
        yield
    except OSError as error:
        cause = known_failures.known(error.strerror or "")
        remedy = cause.remedy if cause else "Free what is used up."
        message = f"The system cannot start a program: {error.strerror}. {remedy}"
        raise LaunchError(message, command=command) from error


_PROGRAM = (sys.executable, "-I", "-S", "-c", supervisor.RUN, supervisor.__file__)


def start(
    argv: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    stdout: int | IO[bytes] | None = PIPE,
    stderr: int | IO[bytes] | None = PIPE,
    grace: float = 2.0,
    fed: bool = False,
) -> Tree:
    """Start a command that ends, with everything it starts, when this process does.

    Its standard input is empty. It has its own session, so Ctrl-C in the owner's terminal reaches only the owner.

    Parameters
    ----------
    argv : program and arguments.
    env : the whole environment; None for this process's.
    cwd : folder to start in.
    stdout : `PIPE` for `Tree.stdout`, which must then be read, or as in `subprocess.Popen`.
    stderr : `PIPE` to keep its end for `Tree.stderr_tail`, or as in `subprocess.Popen`.
    grace : s between SIGTERM and SIGKILL.
    fed : whether its standard input is `Tree.stdin`; else it is empty.

    Raises
    ------
    LaunchError
        If there is no such program or folder.
    """
    command = [os.fspath(word) for word in argv]
    environment = dict(os.environ if env is None else env)
    folder = Path(cwd or ".")
    if not folder.is_dir():
        raise LaunchError(f"There is no working folder {folder}. Create it, or leave cwd out.", command=command)
    program = str(folder.absolute() / command[0]) if "/" in command[0] else command[0]
    if shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
        raise LaunchError(
            f"There is no program {command[0]!r} on the PATH. Install it (see 'labkit doctor'), or give its full path.",
            command=command,
        )
    _sweep_once()
    environment[MARK] = mark = secrets.token_hex(8)
    lifetime_end, write, report, report_end = _pipes(command)
    fed_ends = os.pipe() if fed else ()
    lifetime = open(write, "wb", buffering=0)  # noqa: SIM115, PTH123 (closed even if Ctrl-C comes before the Tree is made)
    passed = [report_end, *fed_ends[:1]]
    try:
        with _explained(command):
            process = subprocess.Popen(
                [*_PROGRAM, str(grace), *map(str, passed), "--", *command],
                stdin=lifetime_end,
                stdout=stdout,
                stderr=stderr,
                bufsize=0,
                env=environment,
                cwd=cwd,
                start_new_session=True,
                pass_fds=passed,
            )
    except BaseException:
        lifetime.close()
        os.close(report)
        for fd in fed_ends[1:]:
            os.close(fd)
        raise
    finally:
        os.close(lifetime_end)
        for fd in passed:
            os.close(fd)
    watcher = Watcher(process, report, grace, mark)
    tree = Tree(command, process, lifetime, watcher, fed_ends[1] if fed_ends else -1)
    process.stdout = None  # only the tree keeps it
    _trees.add(tree)
    watcher.start()
    return tree
