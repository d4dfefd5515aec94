"""What a host does to campaigns on its mount: takes a request a line, and answers it.

Requests and answers are JSON lines: the name of a function below with its arguments, and what it returns. Work that may
be killed is done by children.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import LaunchError
from labkit.store import archive, lease, samples
from labkit.store.campaign import Campaign

GOLDEN = next((Path(__file__).parents[1] / "golden" / "samples").glob("*.parquet"))
POINT = samples.load(GOLDEN)
Facts = dict[str, Any]


def name(i: int) -> str:
    return f"{i // 2:016x}"


def put(campaign: Campaign, numbers: list[int]) -> None:
    """Save points, each of its own name."""
    for i in numbers:
        campaign.save(replace(POINT, launch=i % 2, meta={**POINT.meta, "i": i}), name(i))


def child(work: Callable[[], object]) -> int:
    """Do something in a process of its own."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except LaunchError:
            status = 3
        finally:
            os._exit(status)
    return pid


def hurry(heartbeat: float, ahead: float = 0.0) -> None:
    """Beat faster; and have a clock that is wrong by so many seconds."""
    lease.HEARTBEAT = heartbeat
    real = time.time
    time.time = lambda: real() + ahead  # type: ignore[assignment]


def hold(place: str) -> int:
    """Hold the lease in a child, from now on until it is killed."""
    ready, writer = os.pipe()

    def work() -> None:
        with Campaign(place).lease():
            os.write(writer, b"!")
            time.sleep(3600)

    pid = child(work)
    os.close(writer)
    word = os.read(ready, 1)
    os.close(ready)
    if not word:
        raise RuntimeError(f"no lease: exit status {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}")
    return pid


def kill(pid: int, number: int = signal.SIGKILL) -> int:
    """End a child: its exit status, or minus the signal."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def holder(place: str) -> Facts:
    return lease.holder(Path(place)) or {}


def take(place: str, seconds: float = 0.0, at: float = 0.0) -> Facts:
    """Take the lease at a moment, keep it for a while: from when to when it was held, or who holds it."""
    while time.monotonic() < at:
        time.sleep(0.0002)
    try:
        with Campaign(place).lease():
            begun = time.monotonic()
            time.sleep(seconds)
            return {"begun": begun, "ended": time.monotonic()}
    except LaunchError as error:
        return {"told": str(error)}


def fill(place: str, numbers: list[int], kill_at: int = -1) -> int:
    """Measure what is missing of some points, under the lease; killed a moment after so many are acknowledged."""

    def work() -> None:
        campaign = Campaign(place)
        with campaign.lease():
            there = {(fingerprint, launch) for _, fingerprint, launch in campaign.done()}
            put(campaign, [i for i in numbers if (name(i), i % 2) not in there])

    pid = child(work)
    if kill_at >= 0:
        while len(acknowledged(place)) < kill_at:
            time.sleep(0.01)
        time.sleep(random.random() / 5)
        return kill(pid)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def compact(place: str, kill_after: float = -1.0) -> int:
    """Compact; killed after so many seconds."""
    pid = child(lambda: Campaign(place).compact())
    if kill_after >= 0:
        time.sleep(kill_after)
        return kill(pid)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def done(place: str) -> list[int]:
    return sorted(2 * int(fingerprint, 16) + launch for _, fingerprint, launch in Campaign(place).done())


def read(place: str) -> list[int]:
    """Every point, read in full."""
    return sorted(one.meta["i"] for one in Campaign(place).samples())


def verify(place: str) -> list[str]:
    return archive.verify(Path(place))[1]


def acknowledged(place: str) -> list[str]:
    path = Path(place) / "log.txt"
    text = path.read_text() if path.exists() else ""
    return [line.split()[-1] for line in text.splitlines() if " saved " in line]


def chatter(place: str, who: str, lines: int) -> int:
    """Write lines to the log."""
    campaign = Campaign(place)
    for i in range(lines):
        campaign.log(f"{who} {i}")
        time.sleep(random.random() / 500)
    return lines


def logged(place: str) -> list[str]:
    return [" ".join(line.split()[1:]) for line in (Path(place) / "log.txt").read_text(errors="replace").splitlines()]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:  # what pyarrow loads at its first file, children need not load again
        put(Campaign(folder), [0, 1])
        Campaign(folder).compact()
        read(folder)
    for line in sys.stdin:
        function, *arguments = json.loads(line)
        try:
            answer: Any = {"is": globals()[function](*arguments)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
