"""The NAS kernels on real ranks: their published results, and that a fault spoils them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks.compute import _nas
from labkit.point.spec import Effort, Spec

from .conftest import HERE, Run

pytestmark = pytest.mark.mpi

NAMES = [f"compute.nas_{name}" for name in _nas.KERNELS]
QUICK = [name for name in NAMES if name != "compute.nas_ep"]


def run_all(run_plan: Run, names: list[str], ranks: int) -> dict[str, dict]:
    """Header of the samples of each kernel, class S."""
    frames, ended = run_plan([Spec(benchmark=name, ranks=ranks) for name in names], Effort(iterations=1))
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert [frame.header for frame in frames if frame.header["kind"] == "failed"] == []
    samples = [frame for frame in frames if frame.header["kind"] == "samples"]
    for frame in samples:
        total, computing, inside = np.reshape(frame.values, frame.header["shape"])
        assert np.array_equal(total, computing + inside)
        assert frame.header["verified"] is True
    return {names[frame.header["index"]]: frame.header for frame in samples}


def check(headers: dict[str, dict], names: list[str], ranks: int) -> None:
    assert sorted(headers) == sorted(names)
    for name, header in headers.items():
        spec = benchmarks.resolve(Spec(benchmark=name, ranks=ranks))
        assert benchmarks.get(name).wrong(spec, np.pad(header["results"], (0, _nas.RESULTS))) == ""  # type: ignore[attr-defined]
        pairs = header["communication"]["pairs"]
        assert all(0 <= rank < ranks and 0 <= peer < ranks for rank, peer, _, _ in pairs)
        between = {(rank, peer): (count, size) for rank, peer, count, size in pairs}
        if name != "compute.nas_is":  # keys are random
            assert all(between[peer, rank] == value for (rank, peer), value in between.items())


def test_class_s_on_two_ranks_has_the_published_results(run_plan: Run) -> None:
    headers = run_all(run_plan, QUICK, 2)
    check(headers, QUICK, 2)
    conjugate = headers["compute.nas_cg"]["communication"]
    assert conjugate["collectives"] == {}
    assert conjugate["sizes"].keys() == {"8", "16", "4096"}  # one number, two, half a vector of 1400 (5600 B)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_s_on_one_two_and_four_ranks(run_plan: Run, ranks: int) -> None:
    check(run_all(run_plan, NAMES, ranks), NAMES, ranks)


@pytest.mark.slow
def test_a_skeleton_sends_what_npb_sends(run_plan: Run) -> None:
    """Messages and bytes of each pair as NPB 3.3's lu.S.2 sends them in 50 steps, counted by MPI's profiling interface."""
    headers = run_all(run_plan, ["compute.nas_lu_skeleton"], 2)
    check(headers, ["compute.nas_lu_skeleton"], 2)
    told = headers["compute.nas_lu_skeleton"]["communication"]
    assert told["pairs"] == [[0, 1, 50 * 11, 50 * 15520], [1, 0, 50 * 11, 50 * 15520]]
    assert told["collectives"] == {"allreduce": [2, 80]}


@pytest.mark.slow
def test_skeletons_on_four_ranks(run_plan: Run) -> None:
    names = [f"compute.nas_{name}_skeleton" for name in ("bt", "sp", "lu")]
    check(run_all(run_plan, names, 4), names, 4)


@pytest.mark.slow
def test_an_odd_number_of_ranks_shares_the_pairs(run_plan: Run) -> None:
    check(run_all(run_plan, ["compute.nas_ep"], 3), ["compute.nas_ep"], 3)


@pytest.mark.slow
def test_a_fault_of_mpi_spoils_the_result(run_plan: Run, mutants: Path) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "drop_last")
    names = ["compute.nas_cg", "compute.nas_mg", "compute.nas_ft", "compute.nas_lu_skeleton"]
    frames, _ = run_plan([Spec(benchmark=name, ranks=2) for name in names], Effort(iterations=1), program=program)
    reasons = [frame.header["reason"] for frame in frames if frame.header["kind"] == "failed"]
    assert len(reasons) == len(names)
    assert all("wrong result" in reason for reason in reasons)
    assert [frame for frame in frames if frame.header["kind"] == "samples"] == []
