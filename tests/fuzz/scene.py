"""A place to run the command line in: folders of its own, no process may start, and what changed is told."""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import io
import logging
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import numpy as np
import pytest

from labkit.apps import cli
from labkit.apps.explorer import server
from labkit.point.spec import Effort, Reported, Spec
from labkit.run import launch
from labkit.store import archive, samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.start import Start

from .. import made

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 120.0  # s of one input; a busy machine takes its time
MEMORY = 2 << 30  # B that one input may take
TINY = """title = "Tiny"
[parameters]
launches = 1
time_cap = 0.01
[[notebook]]
name = "10-latency"
[notebook.parameters]
sizes = "8"
transports = "shm"
allreduce = ""
"""
SITE = 'system = "slurm"\npartition = "short"\n[partitions.short]\nminutes = 30\nnodes = 4\n'


class HangError(BaseException):
    """An input that did not end; no handler of labkit's catches it."""


@dataclass(frozen=True)
class Ended:
    """What an input did.

    Parameters
    ----------
    status : exit status; None where an exception escaped, which `error` is.
    """

    status: int | None
    out: str
    err: str
    error: BaseException | None = None


def point(benchmark: str, size: int, launch: int, **more: Any) -> Samples:
    """Samples as a measurement leaves them."""
    ranks = 2 if benchmark.startswith("mpi.") else 1
    spec = Spec(benchmark=benchmark, size=size, ranks=ranks, launcher="openmpi", transport="shm")
    times = np.random.default_rng(size + launch).integers(200, 400, (1, 50))
    meta = {
        "engine": "labkit",
        "library": "Open MPI 4.1.4",
        "verified": True,
        "stopped_by": "ci",
        "badges": [],
        "warnings": [],
    }
    shared = Start.of({"cpu": "x"}, {"rank_hosts": ["x"] * 20, "command": ["mpirun", "PLAN"]}, spec.as_dict())
    more = {"host": shared.host, "meta": meta | shared.meta, "start": shared} | more
    return made.samples(spec, times, launch=launch, effort=Effort(launches=2), **more)


def campaign(folder: Path) -> Campaign:
    """A small campaign with everything that one can hold."""
    tiny = Campaign(folder, {"suite": "tiny", "title": "Tiny", "planned": 6, "host": {"cpu": "x"}})
    for size in (8, 64):
        for number in (0, 1):
            tiny.save(point("mpi.latency", size, number), f"{size:016x}")
    tiny.compact()
    for number in (0, 1):
        tiny.save(point("mpi.latency", 1024, number), f"{1024:016x}")
    reported = (Reported("bandwidth_MBps", "MB/s", "mean", 12.5),)
    tiny.save(point("sockets.tcp_stream", 64, 0, origin="reported", reported=reported), f"{77:016x}")
    tiny.log("measuring 6 of 6 points, seed 1")
    for name, text in {
        "progress.json": '{"done": 1, "total": 2, "label": "x", "elapsed": 1.0, "remaining": 2.0, "n": 0, "ci": null}',
        "jobs/1.json": '{"system": "slurm", "number": "17", "submitted": 1700000000.0, "request": {}}',
        "jobs/1-17.json": '{"allocation": {"name": "17"}, "start": 1.0, "before": 0, "end": 2.0, "status": 0}',
        "jobs/1.toml": SITE,
        "jobs/left-out.txt": "n1\tbroken\n",
        "notebooks/10-latency.ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return tiny


class Scene:
    """Folders for inputs; made again where an input changed them.

    Parameters
    ----------
    home : folder that holds everything.
    prepare : puts further things into the working folder.
    """

    def __init__(self, home: Path, prepare: Callable[[Path], None] = lambda folder: None) -> None:
        self.home, self._prepare = home, prepare
        self.work, self.temporary, self.campaigns = home / "work", home / "tmp", home / "campaigns"
        with self.entered():
            self.refresh()

    def refresh(self) -> None:
        """Everything as it was at first."""
        for folder in (self.work, self.temporary, self.campaigns, self.home / "run", self.home / "config"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        os.chdir(self.work)
        kept = self.home / "kept"
        if not kept.exists():
            campaign(kept / "quick")
            archive.export(kept / "quick", kept / "quick.zip")
        shutil.copytree(kept / "quick", self.campaigns / "quick")
        shutil.copytree(kept / "quick", self.work / "own")
        shutil.copy(kept / "quick.zip", self.work)
        shutil.copy(ROOT / "tests" / "golden" / "omb" / "opt_latency_c.txt", self.work / "osu_latency.txt")
        (self.work / "tiny.toml").write_text(TINY)
        (self.work / "site.toml").write_text(SITE)
        self._places()
        self._prepare(self.work)
        self.before = self.state()

    def _places(self) -> None:
        """What a path may name beside a file."""
        (self.work / "folder").mkdir()
        (self.work / "empty").touch()
        os.mkfifo(self.work / "fifo")
        (self.work / "loop").symlink_to("loop")
        (self.work / "dangling").symlink_to("nowhere/at/all")
        (self.work / "binary.toml").write_bytes(bytes(range(256)) * 4)
        (self.work / "binary.zip").write_bytes(b"PK\x03\x04" + bytes(range(256)))
        (self.work / "deep.toml").write_text("a = " + "[" * 5000)
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as one, contextlib.suppress(OSError):
            one.bind("socket")  # a path that is too long for a socket is left out

    def state(self) -> dict[str, tuple[int, int, int]]:
        """Everything below the folders: kind, size and time."""
        entries = {}
        for folder in (self.work, self.temporary, self.campaigns):
            for path in folder.rglob("*"):
                status = path.lstat()
                is_file = path.is_file() and not path.is_symlink()
                entries[str(path.relative_to(self.home))] = (
                    status.st_mode,
                    *((status.st_size, status.st_mtime_ns) if is_file else (0, 0)),
                )
        return entries

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """In its working folder, with its variables."""
        before, environment = Path.cwd(), dict(os.environ)
        self.work.mkdir(parents=True, exist_ok=True)
        os.environ.update(
            LABKIT_CAMPAIGNS=str(self.campaigns),
            TMPDIR=str(self.temporary),
            XDG_RUNTIME_DIR=str(self.home / "run"),
            XDG_CONFIG_HOME=str(self.home / "config"),
            HOME=str(self.home),
            COLUMNS="100",
        )
        for name in ("LABKIT_SITE", "LABKIT_CAMPAIGN", "LABKIT_SETTING", "SLURM_JOB_ID"):
            os.environ.pop(name, None)
        tempfile.tempdir = None
        list(launch.installed())  # asks programs for their versions while they still can be started
        os.chdir(self.work)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
            tempfile.tempdir = None

    def run(self, words: Sequence[str]) -> Ended:
        """One command line in this process, ended after a while, with every start of a process refused."""
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        before, environment = (sys.stdin, sys.stdout, sys.stderr), dict(os.environ)
        sys.stdin, (sys.stdout, sys.stderr) = io.StringIO(), streams
        status, failure = None, None
        logging.disable()  # libraries log in full that no process can be started
        try:
            with _bounded(), _alone(), warnings.catch_warnings():
                warnings.simplefilter("always")
                status = cli.main(list(words))
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        except BaseException as error:
            failure = error
        finally:
            logging.disable(logging.NOTSET)
            sys.stdin, sys.stdout, sys.stderr = before
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(self.work)
        out, err = (_text(stream) for stream in streams)
        return Ended(status, out, err, failure)

    def left(self) -> list[str]:
        """What appeared, went or changed since the beginning."""
        now = self.state()
        return sorted(name for name in now.keys() | self.before.keys() if now.get(name) != self.before.get(name))


def _text(stream: io.TextIOWrapper) -> str:
    """What was printed."""
    with contextlib.suppress(ValueError):
        stream.flush()
        buffer = stream.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode(errors="replace")
    return ""


@contextlib.contextmanager
def _bounded() -> Iterator[None]:
    """An exception after a while, and again if it is swallowed."""
    began = time.monotonic()

    def ring(number: int, frame: FrameType | None) -> None:
        raise HangError(f"no end after {time.monotonic() - began:.0f} s")

    handler = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, 1.0)
    faulthandler.dump_traceback_later(2 * PATIENCE, exit=True, file=sys.__stderr__)  # a library that blocks in C
    limits = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Every start of a process and every server refused, as where limits are reached: nothing measures, serves or opens."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "_execute_child", refused)
        patch.setattr(os, "fork", refused)
        patch.setattr(server, "bind_sockets", refused)
        yield


assert samples.FORMAT == 1  # the scene's campaign is of this format
