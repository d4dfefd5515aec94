"""Real ranks: one way to run a plan, for all tests of this folder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from labkit import benchmarks
from labkit.io import supervise
from labkit.point.spec import Effort, Spec
from labkit.run import launch
from labkit.worker import Frame, Plan, Reader

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Ended:
    """How a start ended: exit code, None when it had to be ended; the end of stderr."""

    returncode: int | None
    stderr: str


Run = Callable[..., tuple[list[Frame], Ended]]


def _read(tree: supervise.Tree, silence: float) -> tuple[bytes, bool]:
    """Everything on standard output until it is silent for that many s, and whether its end was reached.

    A limit for the whole plan would be one of the machine's speed: ranks that poll on fewer cores take minutes.
    """
    received = b""
    while tree.readable(silence):
        piece = os.read(tree.stdout.fileno(), 1 << 20)
        if not piece:
            return received, True
        received += piece
    return received, False


@pytest.fixture(scope="session")
def run_plan() -> Run:
    """Run specs in one start of the ranks; the frames and how the launcher ended."""

    def run(
        specs: Sequence[Spec],
        effort: Effort | None = None,
        *,
        program: Sequence[str] = ("-m", "labkit.worker"),
        silence: float = 240,
    ) -> tuple[list[Frame], Ended]:
        resolved = [benchmarks.resolve(spec) for spec in specs]
        plan = Plan(resolved, effort or Effort(time_cap=0.05))
        launcher = launch.get("auto")
        placement = launch.Placement.of(resolved[0], launcher)
        command = launcher.command(placement, [sys.executable, *program, plan.encode()])
        variables = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **launcher.environment(placement)}
        with supervise.start(command, env=variables) as tree:
            stdout, ended = _read(tree, silence)
            code = tree.wait(240) if ended else None
            stderr = tree.stderr_tail()
        return list(Reader().feed(stdout)), Ended(code, stderr)

    return run


def printed_by(program: str, count: int) -> str:
    """Run a program of this folder with so many ranks; what it printed."""
    launcher = launch.get("auto")
    placement = launch.Placement.of(Spec(benchmark="mpi.allreduce", ranks=count), launcher)
    done = subprocess.run(
        launcher.command(placement, [sys.executable, str(HERE / program)]),
        env={**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **launcher.environment(placement)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def compiled(source: Path, folder: Path) -> Path:
    """A C file of MPI functions as a library, for the handles of the MPI in use."""
    target = folder / f"{source.stem}.so"
    handle = "PTR" if launch.get("auto").name == "openmpi" else "INT"
    headers = Path(benchmarks.__file__).parent.parent / "kernels"
    subprocess.run(
        [
            "cc",
            "-O2",
            "-Wall",
            "-Werror",
            "-shared",
            "-fPIC",
            f"-DHANDLE_{handle}=1",
            f"-I{headers}",
            str(source),
            "-o",
            str(target),
        ],
        check=True,
    )
    return target


@pytest.fixture(scope="session")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The faulty functions, compiled for the handles of the MPI in use."""
    return compiled(HERE / "mutants.c", tmp_path_factory.mktemp("mutants"))
