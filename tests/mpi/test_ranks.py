"""Kernels on real ranks: samples, verification, errors, the size of a rank."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks, launch
from labkit.kernels.loops import Loops
from labkit.spec import Effort, Spec
from labkit.worker import told

from .conftest import HERE, Run

pytestmark = pytest.mark.mpi

MPI = [name for name, benchmark in benchmarks.find().items() if benchmark.kernel and benchmark.mpi]
MOVING = [name for name in MPI if benchmarks.get(name).sized]
SIZES = (0, 4, 12, 4096, 100_000, 1_048_576)


def samples(frames: list, *kinds: str) -> list:
    return [frame for frame in frames if frame.header["kind"] in (kinds or ("samples",))]


def test_every_benchmark_yields_verified_samples_at_every_size(run_plan: Run) -> None:
    specs = [Spec(benchmark=name, size=size) for name in MPI for size in SIZES]
    frames, done = run_plan(specs, Effort(iterations=25))
    assert done.returncode == 0, done.stderr[-2000:]
    assert samples(frames, "failed") == []
    found = samples(frames)
    assert [frame.header["index"] for frame in found] == list(range(len(specs)))
    for frame, spec in zip(found, specs, strict=True):
        rows = frame.values.reshape(frame.header["shape"])
        wanted = spec.ranks if benchmarks.get(spec.benchmark).reduce == "max" else 1
        assert rows.shape == (wanted, 25), spec
        assert (rows > 0).all(), spec
        assert frame.header["verified"] == bool(spec.size and benchmarks.get(spec.benchmark).sized), spec


def test_collectives_are_right_on_three_ranks_with_another_root(run_plan: Run) -> None:
    specs = []
    for name in MPI:
        benchmark = benchmarks.get(name)
        if benchmark.ranks[1] is None:
            rooted = "root" in {field.name for field in dataclasses.fields(benchmark.options)}
            options = {"root": 2} if rooted else {}
            specs += [Spec(benchmark=name, size=size, ranks=3, options=options) for size in (12, 100_000)]
    assert len(specs) >= 16
    frames, done = run_plan(specs, Effort(iterations=5, warmup=1))
    assert done.returncode == 0, done.stderr[-2000:]
    assert samples(frames, "failed") == []
    assert [frame.header["shape"] for frame in samples(frames)] == [[3, 5]] * len(specs)


def test_start_tells_thread_level_library_and_timer(run_plan: Run) -> None:
    frames, _ = run_plan([Spec(benchmark="mpi.latency")], Effort(iterations=5))
    ready = samples(frames, "ready")[0].header
    assert ready["thread_level"] == "single"
    assert ready["engine"] == "c"
    assert ready["size"] == 2
    assert ready["library"]
    assert ready["timer_overhead_ns"] > 0


def test_total_timing_keeps_one_time_for_each_chunk(run_plan: Run) -> None:
    spec = Spec(benchmark="mpi.latency", options={"timing": "total"})
    frames, _ = run_plan([spec], Effort(iterations=1000))
    header = samples(frames)[0].header
    assert header["shape"] == [1, len(header["chunks"])]
    assert sum(header["chunks"]) == 1000


def test_rooms_of_a_window_are_verified_one_by_one(run_plan: Run) -> None:
    spec = Spec(benchmark="mpi.bandwidth", size=64, options={"window": 7, "buffers": "multiple"})
    frames, _ = run_plan([spec], Effort(iterations=3))
    assert len(samples(frames)) == 1


@pytest.mark.parametrize("name", MOVING)
def test_a_dropped_last_element_is_noticed(run_plan: Run, mutants: Path, name: str) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "drop_last")
    frames, _ = run_plan([Spec(benchmark=name, size=4096)], Effort(iterations=3, warmup=0), program=program)
    assert samples(frames) == []
    assert "wrong bytes on rank" in samples(frames, "failed")[0].header["reason"]


@pytest.mark.parametrize("name", MOVING)
def test_a_message_to_the_wrong_rank_never_becomes_a_sample(run_plan: Run, mutants: Path, name: str) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "wrong_rank")
    frames, ended = run_plan(
        [Spec(benchmark=name, size=4096)], Effort(iterations=3, warmup=0), program=program, timeout=5
    )
    assert samples(frames) == []
    # the right rank waits for ever and the parent's time limit ends that, or the bytes are wrong
    assert ended.returncode is None or samples(frames, "failed")


def test_mpi_errors_come_back_with_rank_and_text(run_plan: Run, tmp_path: Path) -> None:
    script = tmp_path / "bad_peer.py"
    script.write_text(
        "import sys\nfrom labkit.worker import rank\nfrom labkit.worker.__main__ import main\n"
        "genuine = rank.Worker._prepare\n"
        "rank.Worker._prepare = lambda self, s, b, **c: genuine(self, s, b, **c | {'peer': 7})\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    frames, done = run_plan([Spec(benchmark="mpi.latency")], program=(str(script),))
    said = told(done.stderr)
    assert samples(frames) == []
    assert said is not None
    assert said["kind"] == "KernelError"
    assert said["rank"] in (0, 1)
    assert "rank" in said["text"].lower()


def test_a_rank_is_small_and_loads_no_tables(run_plan: Run, tmp_path: Path) -> None:
    """At most 32 MB above a bare mpi4py rank with the same messages."""
    script = tmp_path / "watched.py"
    script.write_text(
        "import sys\nfrom labkit.worker.__main__ import main\ncode = main(sys.argv[1:])\n"
        "bad = {'pandas', 'pyarrow', 'pydantic', 'plotly', 'IPython'} & set(sys.modules)\n"
        "sys.exit(3 if bad else code)\n"
    )
    size = 1_048_576
    specs = [Spec(benchmark=name, size=s) for name in MPI for s in (8, size)]
    frames, done = run_plan(specs, Effort(iterations=30), program=(str(script),))
    assert done.returncode == 0, done.stderr[-500:]
    used = samples(frames, "done")[0].header["peak_rss"]
    (tmp_path / "bare.py").write_text(
        "import resource\nimport mpi4py\nmpi4py.rc.thread_level = 'single'\nfrom mpi4py import MPI\n"
        f"size, comm = {size}, MPI.COMM_WORLD\n"
        "send, recv = bytearray(b'a' * (2 * size)), bytearray(b'a' * (2 * size))\n"
        "one, other = memoryview(send)[:size], memoryview(recv)[:size]\n"
        "for _ in range(30):\n"
        "    comm.Sendrecv(one, 1 - comm.rank, 0, other, 1 - comm.rank, 0)\n"
        "    comm.Bcast(one)\n    comm.Allgather(one, recv)\n    comm.Alltoall(send, recv)\n"
        "    comm.Gather(one, recv)\n    comm.Scatter(send, other)\n    comm.Allreduce(one, other, MPI.BAND)\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "comm.rank or print(peak)\n"
    )
    launcher = launch.get("auto")
    placement = launch.Placement.of(specs[0], launcher)
    done = subprocess.run(
        launcher.command(placement, [sys.executable, str(tmp_path / "bare.py")]),
        env={**os.environ, **launcher.environment(placement)}, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    above = used - int(done.stdout) * 1024
    print(f"a rank takes {above / 1e6:.1f} MB above a bare one that moves the same messages")
    assert above <= 32e6


def test_the_loops_without_a_compiler_give_the_same_bytes(run_plan: Run, tmp_path: Path) -> None:
    script = tmp_path / "loops.py"
    script.write_text(
        "import sys\nfrom labkit import kernels\nfrom labkit.worker.__main__ import main\n"
        "kernels.compiled = lambda: False\nsys.exit(main(sys.argv[1:]))\n"
    )
    looped = [f"mpi.{name}" for name in Loops._loops]
    specs = [Spec(benchmark=name, size=size) for name in looped for size in (4, 4096, 100_000)]
    others = [Spec(benchmark=name, size=4) for name in MPI if name not in looped]
    frames, done = run_plan([*specs, *others], Effort(iterations=10), program=(str(script),))
    assert done.returncode == 0, done.stderr[-2000:]
    assert samples(frames, "ready")[0].header["engine"] == "mpi4py"
    assert len(samples(frames)) == len(specs)
    reasons = [frame.header["reason"] for frame in samples(frames, "failed")]
    assert len(reasons) == len(others)
    assert all("needs the compiled kernels" in reason for reason in reasons)
    assert np.concatenate([frame.values for frame in samples(frames)]).min() > 0
