"""smpirun: SimGrid's simulated MPI, which replays a trace of what ranks do on a network that it simulates.

SimGrid 3.32 (Debian 12). Its defaults describe clusters of 1 Gbit/s Ethernet; labkit sets each of them.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit import host
from labkit.errors import DataError, LaunchError
from labkit.formats import smpi_replay as layout
from labkit.io import scratch, supervise
from labkit.point.units import KiB
from labkit.tools import Tool

TOOL = Tool(
    name="smpirun",
    commands=("smpirun",),
    version="-version",
    pattern=r"SimGrid version (\d[\w.]*)",
    package="libsimgrid-dev",
    programs=("smpirun",),
    format=layout,
    purpose="the testbed simulated",
    instead="measuring on virtual-cluster",
)
EAGER = 64 * KiB  # below it a message leaves at once, from it on when it is awaited (rendezvous)
# without these SimGrid models 1 Gbit/s Ethernet, TCP windows and acknowledgements, and times labkit's own trace
SETTINGS = (
    "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1",
    "network/crosstraffic:0",
    "network/weight-S:0",
    "network/TCP-gamma:1e15",
    "smpi/simulate-computation:no",
    "smpi/host-speed:1Gf",
    "smpi/wtime:0",
    f"smpi/send-is-detached-thresh:{EAGER}",
    f"smpi/async-small-thresh:{EAGER}",
    "contexts/stack-size:256",
)
_GRACE_S, _TAIL_B = 1.0, 4000
_NAMES = {
    "platform": "platform.xml",
    "hosts": "hosts.txt",
    "trace": "trace.txt",
    "list": "traces.txt",
    "log": "log.txt",
}


@dataclass(frozen=True)
class Replay:
    """What one simulation gave.

    Parameters
    ----------
    ends : for each rank when each of its actions ended, s of simulated time.
    wall_s, cpu_s : wall time and processor time of the simulation, s.
    command : command that ran.
    """

    ends: list[list[float]]
    wall_s: float
    cpu_s: float
    command: tuple[str, ...]


def require() -> None:
    """Refuse to continue without SimGrid.

    Raises
    ------
    LaunchError
        If smpirun is not installed; names the package.
    """
    if host.find(TOOL) is None:
        raise LaunchError(
            "The testbed simulated needs SimGrid, but smpirun is not on the PATH. Install it with "
            f"{host.ways([TOOL])} (24 MB to download, 205 MB on disk), or measure with --testbed virtual-cluster.",
            lasting=True,
        )


def command(ranks: int, settings: Sequence[str]) -> tuple[str, ...]:
    """Return the command line, for the folder with its files.

    Parameters
    ----------
    settings : settings of the network and of the collective, as SimGrid writes them: ``smpi/os:0:1e-7:0``.
    """
    return (
        "smpirun",
        "-no-privatize",  # a replay has no variables of a program; else SimGrid loads itself once more for each rank
        "-np",
        str(ranks),
        "-platform",
        _NAMES["platform"],
        "-hostfile",
        _NAMES["hosts"],
        "-replay",
        _NAMES["list"],
        "--log=root.thresh:error",
        "--log=smpi_replay.thresh:verbose",
        f"--log=smpi_replay.fmt:{layout.LAYOUT}",
        *(f"--cfg={setting}" for setting in (*SETTINGS, *settings)),
    )


def replay(platform: str, hosts: Sequence[str], trace: str, settings: Sequence[str], time_limit: float) -> Replay:
    """Simulate a trace on a platform, in a folder that is deleted afterwards.

    Parameters
    ----------
    platform : XML.
    hosts : hosts of each rank.
    trace : actions of all ranks.
    settings : as in `command`.
    time_limit : s of wall time.

    Raises
    ------
    LaunchError
        If SimGrid is not installed, does not end in time, or refuses its input.
    """
    require()
    words = command(len(hosts), settings)
    with scratch.folder("labkit-simulated-") as folder:
        texts = {"platform": platform, "hosts": "".join(f"{host}\n" for host in hosts), "trace": trace}
        for kind, text in (texts | {"list": f"{_NAMES['trace']}\n"}).items():
            (folder / _NAMES[kind]).write_text(text)
        began, before = time.monotonic(), _cpu()
        with (
            (folder / _NAMES["log"]).open("wb") as log,
            supervise.start(words, cwd=folder, stdout=supervise.DEVNULL, stderr=log, grace=_GRACE_S) as tree,
        ):
            status = tree.wait(time_limit)
        if status is None:
            raise LaunchError(
                f"The simulation did not end within {time_limit:g} s. Set a longer time limit (--time-limit; in a "
                "notebook time_limit), fewer ranks or fewer iterations.",
                command=words,
            )
        wall = time.monotonic() - began
        try:
            with (folder / _NAMES["log"]).open(errors="replace") as lines:
                ends = layout.ends(lines, len(hosts))
        except (OSError, DataError) as error:
            raise LaunchError(
                f"SimGrid gave no result: {error}",
                command=words,
                exit_status=status,
                stderr=_last(folder / _NAMES["log"]),
            ) from error
    return Replay(ends, wall, _cpu() - before, words)


def _last(path: Path) -> str:
    """Return the end of a log."""
    with path.open("rb") as log:
        log.seek(max(path.stat().st_size - _TAIL_B, 0))
        return log.read().decode(errors="replace")


def _cpu() -> float:
    """Return the processor time of ended children so far, s."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
