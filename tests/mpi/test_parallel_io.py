"""Parallel I/O, metadata and BT-IO on real ranks: content of the files, definitions, folders that go away, full disks."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks.storage import _parallel, bt_io, io500_like, metadata
from labkit.errors import SpecError
from labkit.io import supervise
from labkit.point.spec import Effort, Spec
from labkit.point.units import KiB
from labkit.run import launch
from labkit.worker import Plan, reported_failure
from tests.waiting import until

from .conftest import HERE, Run
from .test_ranks import samples

pytestmark = pytest.mark.mpi

NAMES = ("storage.parallel_write", "storage.parallel_read")
SMALL = {"block_size": 8 * KiB, "segments": 2}


def parallel(name: str, folder: Path, ranks: int = 2, size: int = 4 * KiB, **options: object) -> Spec:
    return Spec(benchmark=name, size=size, ranks=ranks, options={**SMALL, "directory": str(folder), **options})  # type: ignore[arg-type]


def variants(folder: Path) -> list[Spec]:
    own = {"file": "file per process"}
    specs = [parallel(name, folder, **more) for name in NAMES for more in ({}, own, {"collective": True}, {"size": 8})]
    specs += [parallel("storage.parallel_write", folder, sync=sync) for sync in ("end", "each")]
    specs += [
        parallel("storage.parallel_read", folder, cache="drop"),
        parallel("storage.parallel_read", folder, reorder=0),
        parallel("storage.parallel_read", folder, rewrite=False),
    ]
    specs += [
        parallel("storage.stonewalled_write", folder, stonewall=1e-5, wear_out=wear_out) for wear_out in (False, True)
    ]
    specs += [parallel("storage.stonewalled_read", folder, stonewall=1e-5, collective=True)]
    phases = metadata.Options.__annotations__["operation"].__args__
    for phase in phases:
        options = {"operation": phase, "items": 5, "directory": str(folder)}
        specs.append(Spec(benchmark="storage.metadata", options=options))
        specs.append(Spec(benchmark="storage.metadata", options={**options, "unique": True, "shift": 1}))
    specs.append(Spec(benchmark="storage.metadata", options={"items": 5, "write_size": 100, "directory": str(folder)}))
    return specs


def test_files_hold_what_ranks_wrote_and_nothing_is_left(run_plan: Run, tmp_path: Path) -> None:
    specs = variants(tmp_path)
    frames, done = run_plan(specs, Effort(iterations=2, warmup=0))
    assert done.returncode == 0, done.stderr[-2000:]
    assert samples(frames, "failed") == []
    assert len(samples(frames)) == len(specs)
    for frame in samples(frames):
        spec = benchmarks.resolve(specs[frame.header["index"]])
        assert frame.header["verified"] is True
        values = frame.values.reshape(frame.header["shape"])
        assert (values[0] > 0).all(), spec
        if len(values) > 3:  # opening, transfers and closing lie inside the whole
            assert (values[1:4] <= values[0]).all(), spec
            assert (values[1:4].max(axis=0) <= values[0]).all(), spec
        if spec.benchmark.startswith("storage.stonewalled"):
            moved = values[4]
            assert (moved % spec.size == 0).all()
            assert (moved >= 2 * spec.size).all(), "each rank makes one transfer or more"
            assert (moved <= _parallel.file_size(spec)).all()
            if spec.values.get("wear_out"):
                assert (moved % (2 * spec.size) == 0).all(), "both ranks make as many"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ranks", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_bt_io_writes_the_solution(run_plan: Run, tmp_path: Path, ranks: int) -> None:
    common = {"steps": 7, "interval": 3, "directory": str(tmp_path)}
    specs = [
        Spec(benchmark="storage.bt_io", ranks=ranks, options={**common, "subtype": subtype})
        for subtype in ("simple", "full")
    ]
    frames, done = run_plan(specs, Effort(iterations=2, warmup=0))
    assert done.returncode == 0, done.stderr[-2000:]
    assert [frame.header["verified"] for frame in samples(frames)] == [True, True]
    for frame in samples(frames):
        total, io = frame.values.reshape(frame.header["shape"])
        assert (io > 0).all()
        assert (io <= total.max(axis=0)).all()
        assert len(set(io[:, 0])) == 1, "one time in I/O for all ranks, as NPB has it"
    assert list(tmp_path.iterdir()) == []


# ---- phases of IO500

# score of each phase in a run of IO500 (isc26_v2) with 2 ranks, and the scores that it printed
ORIGINAL = {
    "ior-easy-write": 0.240630,
    "mdtest-easy-write": 34.766038,
    "ior-hard-write": 0.239872,
    "mdtest-hard-write": 12.254495,
    "find": 237.993688,
    "ior-easy-read": 2.263961,
    "mdtest-easy-stat": 382.808938,
    "ior-hard-read": 2.945501,
    "mdtest-hard-stat": 498.879281,
    "mdtest-easy-delete": 130.613642,
    "mdtest-hard-read": 184.872124,
    "mdtest-hard-delete": 1.966935,
}
ORIGINAL_SCORES = (0.787661, 74.208808, 7.645349)


def scores(phases: dict[str, float]) -> tuple[float, float, float]:
    """Scores from those of the phases: bandwidth, metadata, total."""
    groups = [[value for name, value in phases.items() if name.startswith("ior") == ior] for ior in (True, False)]
    bandwidth, metadata = (math.prod(group) ** (1 / len(group)) for group in groups)
    return bandwidth, metadata, math.sqrt(bandwidth * metadata)


def io500(folder: Path, ranks: int = 2, **options: object) -> Spec:
    small = {"transfer_size": 10000, "limit": "1Mi", "items": 130, "directory": str(folder), **options}
    return Spec(benchmark="storage.io500_like", ranks=ranks, options=small)  # type: ignore[arg-type]


def test_scores_from_phases_are_those_of_io500() -> None:
    assert list(ORIGINAL) == list(io500_like.PHASES)
    assert scores(ORIGINAL) == pytest.approx(ORIGINAL_SCORES, rel=1e-5)


@pytest.mark.parametrize("ranks", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_phases_of_io500_find_what_they_wrote(run_plan: Run, tmp_path: Path, ranks: int) -> None:
    specs = [io500(tmp_path, ranks, stonewall=stonewall) for stonewall in (1e-5, 30.0)]
    frames, done = run_plan(specs, Effort(iterations=2, warmup=0))
    assert done.returncode == 0, done.stderr[-2000:]
    assert [frame.header["verified"] for frame in samples(frames)] == [True, True]
    for frame in samples(frames):
        values = frame.values.reshape(frame.header["shape"])
        assert (values > 0).all()
        assert (values == values[:, :1]).all(), "all ranks have the times of all"
        assert frame.header["page_cache"].startswith("answers the reads")
        for score, *others in values[:, 0].T:
            phases = dict(zip(io500_like.PHASES, 1e9 / np.array(others[:12], np.float64), strict=True))
            assert 1e9 / np.array([others[12], others[13], score]) == pytest.approx(scores(phases), rel=1e-4)
            assert 0 < others[15] < others[14], "the shortest phase that writes is a part of the run"
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_io500_that_lacks_something_is_found(tmp_path: Path) -> None:
    spec = benchmarks.resolve(io500(tmp_path, transfer_size="64Ki"))
    complain = benchmarks.get(spec.benchmark).complaint  # type: ignore[attr-defined]
    named = sum("01" in f"file.mdtest.{rank}.{number}" for rank in range(2) for number in range(130))
    assert named == 2, "101 of both ranks"
    counts = np.array([16, 22, 130, 130, 2 * 261 + 1, named], np.int64)
    buffer = np.concatenate([np.zeros(65536, np.uint8), counts.view(np.uint8), np.zeros(8, np.uint8)])
    assert complain(spec, 0, str(tmp_path), buffer) == ""
    buffer[65536 + 40] -= 1
    assert complain(spec, 0, str(tmp_path), buffer).endswith("must count [16, 22, 130, 130, 523, 2]")


def test_a_transfer_that_lacks_a_byte_is_noticed(run_plan: Run, tmp_path: Path, mutants: Path) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "drop_last")
    for spec in (parallel("storage.parallel_write", tmp_path), parallel("storage.parallel_read", tmp_path)):
        frames, ended = run_plan([spec], Effort(iterations=1), program=program)
        assert samples(frames) == []
        said = reported_failure(ended.stderr)
        assert said is not None
        assert "parallel_" in said["text"]


@pytest.mark.slow
def test_a_killed_run_leaves_no_files(tmp_path: Path) -> None:
    """The supervisor removes the folder of ranks that are killed in the middle of a test."""
    spec = benchmarks.resolve(parallel("storage.parallel_write", tmp_path, segments=100_000))
    launcher = launch.get("auto")
    placement = launch.Placement.of(spec, launcher)
    command = launcher.command(placement, [sys.executable, "-m", "labkit.worker", Plan([spec], Effort()).encode()])
    variables = {**os.environ, "OMPI_MCA_mpi_yield_when_idle": "1", **launcher.environment(placement)}
    with supervise.start(command, env=variables) as tree:
        until(lambda: any(tmp_path.glob("*/data")), runs=tree)
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_fit_is_refused_before_it_starts(run_plan: Run, tmp_path: Path) -> None:
    frames, done = run_plan([parallel("storage.parallel_write", tmp_path, block_size="64Gi", segments=1000)])
    assert done.returncode == 0, done.stderr[-2000:]
    (failed,) = samples(frames, "failed")
    assert "the files need 131072000 MiB" in failed.header["reason"].replace(",", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_points_say_what_the_page_cache_did(run_plan: Run, tmp_path: Path) -> None:
    specs = [
        parallel("storage.parallel_write", tmp_path),
        parallel("storage.parallel_write", tmp_path, sync="end"),
        parallel("storage.parallel_read", tmp_path, cache="drop"),
        Spec(benchmark="storage.metadata", options={"items": 2, "directory": str(tmp_path)}),
    ]
    frames, done = run_plan(specs, Effort(iterations=1))
    assert done.returncode == 0, done.stderr[-2000:]
    said = [frame.header["page_cache"] for frame in samples(frames)]
    assert said[0].startswith("takes the writes")
    assert said[1].endswith("MPI_File_sync after the last transfer")
    assert said[2].startswith("was asked to forget")
    assert said[3].startswith("holds the metadata")
    assert [frame.header["file_B"] for frame in samples(frames)][:2] == [2 * 2 * 8 * KiB] * 2


def test_wrong_contents_are_found(tmp_path: Path) -> None:
    spec = benchmarks.resolve(parallel("storage.parallel_write", tmp_path, ranks=3))
    for rank in range(3):
        _parallel.fill(spec, rank, str(tmp_path))
    path = tmp_path / "data"
    assert [_parallel.complaint_of_writing(spec, rank, str(tmp_path), np.empty(0, np.uint8)) for rank in range(3)] == [
        ""
    ] * 3
    content = bytearray(path.read_bytes())
    content[9000] ^= 1  # in the block of rank 1
    path.write_bytes(content)
    wrong = [_parallel.complaint_of_writing(spec, rank, str(tmp_path), np.empty(0, np.uint8)) for rank in range(3)]
    assert [bool(text) for text in wrong] == [True, False, False]
    assert "1 of 4096 B differ at 8192 B" in wrong[0]


def test_wrong_solutions_are_found(tmp_path: Path) -> None:
    options = {"steps": 5, "directory": str(tmp_path)}
    spec = benchmarks.resolve(Spec(benchmark="storage.bt_io", ranks=4, options=options))
    complain = benchmarks.get("storage.bt_io").complaint  # type: ignore[attr-defined]
    whole = np.empty((1, 12, 12, 12, 5))
    for rank in range(4):
        for cell in bt_io.cells(12, 4, rank):
            z, y, x = (slice(a, a + n) for a, n in zip(cell.low[::-1], cell.size[::-1], strict=True))
            whole[0, z, y, x] = bt_io._solution(12, cell, 5)
    whole.tofile(tmp_path / "data")
    assert [complain(spec, rank, str(tmp_path), None) for rank in range(4)] == [""] * 4
    whole[0, 0, 0, 0, 2] *= 1 + 1e-9
    whole.tofile(tmp_path / "data")
    assert [bool(complain(spec, rank, str(tmp_path), None)) for rank in range(4)].count(True) == 1


def test_cells_of_all_ranks_make_up_the_grid() -> None:
    for points, ranks in ((12, 4), (12, 9), (13, 16), (64, 9)):
        seen = np.zeros((points,) * 3, np.int64)
        for rank in range(ranks):
            for cell in bt_io.cells(points, ranks, rank):
                x, y, z = (slice(a, a + n) for a, n in zip(cell.low, cell.size, strict=True))
                seen[x, y, z] += 1
        assert (seen == 1).all()


def test_places_of_all_ranks_make_up_the_file() -> None:
    for ranks in (1, 3):
        spec = Spec(
            benchmark="storage.parallel_write",
            size=4,
            ranks=ranks,
            options={"file": "shared", "block_size": 12, "segments": 3},
        )
        every = np.concatenate([_parallel.places(spec, rank) for rank in range(ranks)])
        assert sorted(every) == list(range(0, _parallel.file_size(spec), 4))
    own = spec.replace(options={**spec.values, "file": "file per process"})
    assert _parallel.places(own, 2).tolist() == list(range(0, 36, 4))
    assert len({_parallel.path(own, rank) for rank in range(3)}) == 3


@pytest.mark.parametrize(
    ("name", "ranks", "options", "words"),
    [
        ("storage.parallel_write", 2, {"block_size": 5000}, "Set block_size=4096"),
        ("storage.parallel_write", 2, {"segments": 0}, "Set segments=1"),
        ("storage.parallel_write", 2, {"file": "file per process", "collective": True}, "Set collective=False"),
        ("storage.parallel_read", 2, {"reorder": -1}, "Set reorder=1"),
        ("storage.stonewalled_write", 2, {"stonewall": 0.0}, "Set stonewall=1"),
        ("storage.metadata", 2, {"items": 0}, "Set items=1000"),
        ("storage.metadata", 2, {"operation": "directory stat", "write_size": 1}, "Set write_size=0"),
        ("storage.io500_like", 2, {"stonewall": 0.0}, "Set stonewall=1"),
        ("storage.io500_like", 2, {"transfer_size": 4}, "Set transfer_size=2Mi"),
        ("storage.io500_like", 2, {"limit": 1000}, "Set limit=2097152"),
        ("storage.io500_like", 2, {"items": 0}, "Set items=100000"),
        ("storage.bt_io", 3, {}, "Set ranks=1 or 4"),
        ("storage.bt_io", 25, {}, "Set ranks=16 or fewer"),
        ("storage.bt_io", 4, {"interval": 0}, "interval=5"),
    ],
)
def test_what_cannot_be_is_refused(name: str, ranks: int, options: dict[str, object], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        benchmarks.resolve(Spec(benchmark=name, size=4096, ranks=ranks, options=options))  # type: ignore[arg-type]
