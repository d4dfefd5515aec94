"""A rank is stopped and goes on, again and again, as by a debugger or a batch system that suspends it: measured."""

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.units import MiB
from labkit.store.campaign import Campaign

_WHERE = "mpi.bandwidth"
_MARK, _RUN_S = "LABKIT_STOPPED_RANK", 0.002  # a variable that only these ranks have; s that the rank runs in between


def _cases(random: np.random.Generator) -> list[Parameters]:
    ms = random.choice([15, 20, 30, 40], 4, replace=False)
    return [{"rank": number % 2, "stopped_ms": int(one)} for number, one in enumerate(ms)]


def _found(mark: str, rank: int) -> list[int]:
    """Return the processes of a rank that this process started."""
    wanted = {f"{_MARK}={mark}".encode(), f"OMPI_COMM_WORLD_RANK={rank}".encode()}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted <= {*(folder / "environ").read_bytes().split(b"\0")}:
                found.append(int(folder.name))
    return found


def _stopping(mark: str, case: Parameters, end: threading.Event) -> None:
    known: list[int] = []
    while not end.is_set():
        known = [one for one in known if Path(f"/proc/{one}").exists()] or _found(mark, case["rank"])
        for number, seconds in ((signal.SIGSTOP, case["stopped_ms"] / 1e3), (signal.SIGCONT, _RUN_S)):
            for process in known:
                with suppress(ProcessLookupError):
                    os.kill(process, number)
            end.wait(seconds)
    for process in known:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


@contextmanager
def stopped(case: Parameters) -> Iterator[None]:
    """Stop a rank of every launch that starts meanwhile, and let it go on."""
    mark, end = secrets.token_hex(8), threading.Event()
    thread = threading.Thread(target=_stopping, args=(mark, case, end))
    os.environ[_MARK] = mark
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
        del os.environ[_MARK]


def _make(case: Parameters, folder: Path) -> Campaign:
    return _measured.disturbed(_measured.heavy(MiB, 4 * MiB), folder, stopped(case))


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slower(campaign, _WHERE, 1.5)


KIND = Kind(
    words="a rank that is stopped again and again",
    labels=(Label(_WHERE, ("stopped-rank",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
