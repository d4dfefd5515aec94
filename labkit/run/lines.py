"""Command lines that start ranks, and how the ranks get their plan: as one word, or by standard input."""

from __future__ import annotations

import dataclasses
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from labkit import benchmarks, testbeds
from labkit.point.spec import Effort, Spec
from labkit.run import launch, staging
from labkit.run.launch import Launcher, Placement
from labkit.run.point import Point
from labkit.worker import INPUT, Plan

WORD = 100_000  # B of one word of a command line, which every kernel takes (MAX_ARG_STRLEN is 131072)
CONNECTING = 10.0  # s; ssh itself tries for minutes to reach a host that is down


@dataclass(frozen=True)
class Line:
    """Command line of one start.

    Parameters
    ----------
    command : its words; the last one is the plan, or says that the plan comes by standard input.
    environment : variables that it adds.
    placement : placement of its ranks; None for a kernel without MPI.
    plan : for standard input; empty if the command has it.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    placement: Placement | None = None
    plan: str = ""

    @property
    def shown(self) -> list[str]:
        """The command line without the plan, which nobody can read, and with the variables that matter."""
        return [*_with(self.environment, self.command[:-1]), "PLAN"]


def line_for(points: Sequence[Point], effort: Effort) -> Line:
    """Return the command line that starts ranks for points of one placement."""
    spec = points[0].spec
    plan = Plan([point.spec for point in points], effort, benchmarks.get(spec.benchmark).mpi)
    text = word = plan.encode()
    if len(text) > WORD:
        level = "multiple" if plan.threaded else "single"
        word = f"{INPUT}{level if plan.mpi else 'none'}"
    text = "" if word == text else text
    rank = [sys.executable, "-m", "labkit.worker", word]
    if not plan.mpi:
        return Line(staging.here(rank), dict(spec.environment), None, text)
    launcher = launch.get(spec.launcher)
    testbed = testbeds.outline(spec.testbed)
    placement = Placement.of(spec, launcher, testbed)
    patience = int(max(1, min(CONNECTING, effort.time_limit / 2)))
    placement = dataclasses.replace(placement, patience=patience, by_input=bool(text))
    if not testbed.guest:  # else the ranks see other folders than this process
        rank = staging.command(rank, placement, launcher)
    return Line(launcher.command(placement, rank), launcher.environment(placement), placement, text)


def with_settings(spec: Spec, launcher: Launcher, placement: Placement) -> Spec:
    """Return the spec with its launcher's name, and what its ranks inherit as part of its setting."""
    environment = {**launch.inherited(launcher, placement), **dict(spec.environment)}
    return spec.replace(launcher=launcher.name, environment=environment)


def launched(spec: Spec, ranks: Spec | None = None) -> tuple[Spec, str]:
    """Return a spec with the names of its launcher and MPI library; refuse a path that the launcher lacks.

    Parameters
    ----------
    ranks : the spec that its ranks start with; the same if left out.
    """
    launcher = launch.get(spec.launcher)
    placement = Placement.of(ranks or spec, launcher, testbeds.outline(spec.testbed))
    launcher.command(placement, [])
    return with_settings(spec, launcher, placement), launcher.library


def parts(points: Sequence[Point], effort: Effort) -> Iterator[Sequence[Point]]:
    """Yield the points that share a start: all of them.

    A guest gets no standard input, so a start there has as many as one argument can hold.
    """
    if not testbeds.outline(points[0].spec.testbed).guest:
        yield points
    else:
        yield from _fitting(points, effort)


def _fitting(points: Sequence[Point], effort: Effort) -> Iterator[Sequence[Point]]:
    """Yield the points in parts with plans that fit one argument."""
    specs, mpi = [point.spec for point in points], benchmarks.get(points[0].spec.benchmark).mpi
    step = len(points)
    while step > 1 and any(
        len(Plan(specs[first : first + step], effort, mpi).encode()) > WORD for first in range(0, len(points), step)
    ):
        step = -(-step // 2)
    for first in range(0, len(points), step):
        yield points[first : first + step]


def shell(points: Sequence[Point], effort: Effort) -> list[str]:
    """Return command lines of a group's starts for a shell; the ranks send their samples to standard output.

    Each plan is a word. A group of very many points has several lines: no shell feeds a plan in pieces.
    """
    return [
        shlex.join(_with(line.environment, line.command))
        for line in (line_for(p, effort) for p in _fitting(points, effort))
    ]


def portable(command: Iterable[str]) -> list[str]:
    """Return a command line as campaigns keep it, without folders of this machine or names of its users.

    ``LABKIT`` replaces the folder of labkit's package, ``VENV`` the virtual environment, ``HOME`` the user's
    home folder.
    """
    kept = list(command)
    for folder, placeholder in _folders().items():
        pattern = re.compile(rf"(?<!\w){re.escape(folder)}(?![^/:;,\s'\"])")
        kept = [pattern.sub(placeholder, word) for word in kept]
    return kept


@cache
def _folders() -> dict[str, str]:
    """Folder and its placeholder, the longest folder first, because one may contain another."""
    known = {str(Path.home()): "HOME", str(Path(__file__).parents[1]): "LABKIT"}
    if sys.prefix != sys.base_prefix:
        known[sys.prefix] = "VENV"
    return {folder: known[folder] for folder in sorted(known, key=len, reverse=True) if folder != "/"}


def _with(environment: Mapping[str, str], command: Sequence[str]) -> list[str]:
    """A command with the variables it runs with."""
    words = [f"{key}={value}" for key, value in sorted(environment.items())]
    return [*(["env", *words] if words else []), *command]
