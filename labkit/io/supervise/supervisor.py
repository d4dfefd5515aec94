"""The supervisor as a program: runs a command and ends everything below it.

Run by path, with nothing but the standard library, so that it starts fast and needs no labkit::

    python -I -S supervisor.py GRACE -- COMMAND...

labkit runs it as `RUN`, which takes it from Python's byte code instead of compiling it for each command.

It ends the command and all its descendants (SIGTERM, after GRACE seconds SIGKILL) when its standard input ends, on
SIGTERM, SIGINT and SIGHUP, and when the command itself ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from importlib import util

TYPE_CHECKING = False  # typing takes longer to load than this program to run
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

RUN = (
    "import sys; sys.path.append(sys.argv.pop(1).rpartition('/')[0]); import supervisor; "
    "sys.exit(supervisor.main(sys.argv[1:]))"
)
# a process that lives that long after SIGKILL cannot be ended; on a machine under load, the signal takes seconds
STUCK_S = 10.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_ENDING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
_KILLED = 128 + signal.SIGKILL


def processes() -> list[int]:
    """Return the numbers of all processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 (pathlib starts slowly)


def _descendants() -> list[int]:
    """Return all processes below this one, zombies included."""
    return below(os.getpid())


def below(pid: int) -> list[int]:
    """Return all processes below a process, zombies included."""
    children: dict[int, list[int]] = {}
    for other in processes():
        with contextlib.suppress(OSError), open(f"/proc/{other}/stat", "rb") as file:  # noqa: PTH123
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(other)
    descendants, parents = [], [pid]
    while parents:
        direct = children.get(parents.pop(), [])
        descendants += direct
        parents += direct
    return descendants


def send(pid: int, number: int) -> None:
    """Signal a process, which may be gone or another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def end(find: Callable[[], list[int]], remaining: Callable[[], bool], grace: float) -> list[int]:
    """Send SIGTERM to processes, SIGKILL after the grace, until none remains.

    Parameters
    ----------
    find : returns the processes to end.
    remaining : returns whether there are any.
    grace : s between SIGTERM and SIGKILL.

    Returns
    -------
    The processes that did not end within `STUCK_S` of SIGKILL.
    """
    start, pause, signalled = time.monotonic(), 0.002, set[int]()
    while remaining():
        elapsed, alive = time.monotonic() - start, find()
        if elapsed > grace + STUCK_S:
            return alive
        for pid in alive:
            if elapsed >= grace:
                send(pid, signal.SIGKILL)
            elif pid not in signalled:
                signalled.add(pid)
                send(pid, signal.SIGTERM)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return []


def _leftovers() -> Any:
    """Load the module `leftovers` beside this file, because its folder is not on the path of this program."""
    spec = util.spec_from_file_location("leftovers", os.path.join(os.path.dirname(__file__), "leftovers.py"))  # noqa: PTH118, PTH120
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


class _Subreaper:
    """Makes this process adopt orphaned descendants, wait for one child, and end them all."""

    def __init__(self) -> None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self.child = 0
        self.status: int | None = None  # of the child: exit status, or minus the signal
        self._wake, wake_end = os.pipe()
        os.set_blocking(wake_end, False)
        for number in (*_ENDING, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def reap(self) -> bool:
        """Collect every child that has ended; False if there are no children left, and so no descendants."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.child:
                    self.status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return False

    def wait(self, ends: Sequence[int]) -> bool:
        """Wait for the child; False if a signal or the end of one of these files came first."""
        poll = select.poll()
        for fd in (self._wake, *ends):
            poll.register(fd, select.POLLIN)
        while self.reap() and self.status is None:
            for fd, _ in poll.poll():
                try:
                    data = os.read(fd, 4096)
                except OSError:  # a terminal that is gone
                    data = b""
                if not data or (fd == self._wake and _ENDING & set(data)):
                    return False
        return True

    def wait_at_most(self, seconds: float) -> bool:
        """Wait for the child, even if signals come; False if it did not end in time."""
        deadline = time.monotonic() + seconds
        while self.reap() and self.status is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.status is not None

    def end(self, grace: float) -> list[int]:
        """End all descendants and remove their leftovers; return those that did not end."""
        module: Any = None
        leftovers: dict[str, int] = {}
        with contextlib.suppress(Exception):  # the descendants must end, whatever fails here
            module = _leftovers()
            leftovers = module.left_by(_descendants())
        survivors = end(_descendants, self.reap, grace)
        if leftovers and not survivors:
            with contextlib.suppress(Exception):  # a leftover must not hide how the command ended
                module.remove(leftovers)
        return survivors


def _say(text: str) -> None:
    """Write a line to standard error, if anyone still reads it."""
    with contextlib.suppress(OSError):
        os.write(2, f"supervise: {text}\n".encode())


def _fork(run: Callable[[], int]) -> int:
    """Start a child process that runs a function and exits with its result.

    Signals wait until the child is ready to take them: it must not lose one to handlers of its parent.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        return pid
    status = 1
    try:
        status = run()
    except Exception as error:
        _say(repr(error))
    finally:
        os._exit(status)


def _execute(command: Sequence[str], given: int) -> int:
    """Become the command, in its own session; return only if that fails.

    Parameters
    ----------
    given : file of its standard input; -1 for none.
    """
    reaper = os.getppid()
    signal.set_wakeup_fd(-1)  # the pipe is the reaper's: a signal to this child must not wake it
    for number in (*_ENDING, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != reaper:  # it died before the line above, so its death will send no signal
        return _KILLED
    os.dup2(given if given >= 0 else os.open(os.devnull, os.O_RDONLY), 0)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        _say(f"cannot run {command[0]}: {error.strerror}")
        return 127 if isinstance(error, FileNotFoundError) else 126


def _leave_output() -> None:
    """Point standard output at the null device, so that only the command keeps the owner's pipe open."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _tell(report: int, status: int, survivors: Sequence[int]) -> int:
    """Report to the owner how the command ended; return the exit status."""
    if survivors:
        _say(f"could not end {survivors}")
    if report >= 0:
        with contextlib.suppress(OSError):
            os.write(report, " ".join(map(str, [status, *survivors])).encode())
    return status


def _run_reaper(command: Sequence[str], grace: float, report: int, supervisor: int, given: int) -> int:
    """Run the command, and end all descendants when the command, the owner or the supervisor ends."""
    family = _Subreaper()
    family.child = _fork(lambda: _execute(command, given))
    _leave_output()
    family.wait(ends=(0, supervisor))
    survivors = family.end(grace)
    status = -signal.SIGKILL if family.status is None else family.status
    return _tell(report, status if status >= 0 else 128 - status, survivors)


def _run_supervisor(command: Sequence[str], grace: float, report: int, given: int) -> int:
    """Run the reaper, and do its work if it dies or hangs."""
    family = _Subreaper()
    reaper_end, supervisor_end = os.pipe()

    def reaper() -> int:
        os.close(supervisor_end)
        return _run_reaper(command, grace, report, reaper_end, given)

    family.child = _fork(reaper)
    os.close(reaper_end)
    _leave_output()
    if not family.wait(ends=(0,)):
        send(family.child, signal.SIGTERM)
        if not family.wait_at_most(grace + STUCK_S / 2):
            send(family.child, signal.SIGKILL)
    if family.status is not None and family.status >= 0:
        return family.status
    return _tell(report, _KILLED, family.end(grace))


def main(arguments: Sequence[str]) -> int:
    """Run ``GRACE [REPORT_FD [INPUT_FD]] -- COMMAND...``.

    Returns
    -------
    Exit status of the command, 128+n if signal n ended it, 137 if supervisor or reaper was killed.
    """
    if "--" not in arguments[1:-1]:
        _say("usage: supervisor.py GRACE [REPORT_FD [INPUT_FD]] -- COMMAND...")
        return 2
    cut = arguments.index("--")
    grace, *files = arguments[:cut]
    report, given = (int(files[place]) if len(files) > place else -1 for place in (0, 1))
    for file in (report, given):
        if file >= 0:
            os.set_inheritable(file, False)
    return _run_supervisor(arguments[cut + 1 :], float(grace), report, given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
