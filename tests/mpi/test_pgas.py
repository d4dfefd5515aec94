"""Coarrays of Fortran on real images: samples, path and verification."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from labkit import benchmarks, testbeds, tools
from labkit.benchmarks import ProgramBenchmark
from labkit.errors import LaunchError
from labkit.point.spec import Effort, Spec
from labkit.run import programs
from labkit.tools import coarray

pytestmark = pytest.mark.mpi
SOURCE = Path(coarray.__file__).parent.parent / "kernels" / "programs" / "coarray.f90"
FEW = Effort(iterations=5, warmup=1, time_limit=60)


def job(call: str, transport: str, size: int) -> tools.Invocation:
    spec = benchmarks.resolve(Spec(benchmark=f"pgas.coarray_{call}", size=size, transport=transport))
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, ProgramBenchmark)
    invocation = tools.available(benchmark.tools, spec, FEW)
    return programs.with_ranks(invocation, spec, testbeds.outline(spec.testbed))


@pytest.fixture
def built() -> None:
    """The program was built."""
    if not SOURCE.with_suffix("").exists():
        pytest.skip("make setup-all builds no coarray here: gfortran or libcoarrays-openmpi-dev is missing")


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("call", ["put", "get"])
@pytest.mark.parametrize(("transport", "component"), [("shm", "^rdma"), ("tcp", "ucx")])
def test_images_move_the_right_bytes_over_the_path(call: str, transport: str, component: str) -> None:
    invocation = job(call, transport, 10_000)
    assert invocation.client[invocation.client.index("osc") + 1] == component
    assert invocation.environment["UCX_TLS"] == f"{transport},self"
    outcome = tools.run(invocation)
    assert outcome.time_ns.shape == (1, 5)
    assert (outcome.time_ns > 0).all()
    assert outcome.meta["verified"]


@pytest.mark.slow
@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("call", "right", "wrong"),
    [
        ("put", "window(1:size)[2] = local(1:size)", "window(1:size - 1)[2] = local(1:size - 1)"),
        ("get", "local(1:size) = window(1:size)[2]", "local(1:size + 1) = window(1:size + 1)[2]"),
    ],
)
def test_a_byte_too_few_or_too_many_is_noticed(
    call: str, right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SOURCE.read_text()
    assert text.count(right) == 1
    # what lies behind the message of a peer is not poison here
    if call == "get":
        text = text.replace("window = poison", "window = 1_int8")
    text = text.replace(right, wrong)
    (tmp_path / "mutant.f90").write_text(text)
    command = ["gfortran", "-fcoarray=lib", "-o", "mutant", "mutant.f90", "-lcaf_openmpi"]
    subprocess.run(command, check=True, cwd=tmp_path)
    monkeypatch.setattr(coarray, "_PROGRAM", tmp_path / "mutant")
    with pytest.raises(
        LaunchError, match=rf"wrong bytes: {call} of a coarray left \d+ bytes wrong. Nothing was timed."
    ):
        tools.run(job(call, "shm", 1000))


def test_a_program_that_was_not_built_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(coarray, "_PROGRAM", tmp_path / "coarray")
    with pytest.raises(LaunchError, match=r"make setup-all builds it with gfortran libcoarrays-openmpi-dev"):
        job("put", "shm", 8)
