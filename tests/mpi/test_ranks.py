"""Kernels on real ranks: samples, verification, errors, the size of a rank."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks import (
    ApplicationBenchmark,
    DeviceBenchmark,
    KernelBenchmark,
    ParallelFileBenchmark,
    SymmetricBenchmark,
)
from labkit.benchmarks.mpi._one_sided import SYNCHRONISATIONS
from labkit.errors import SpecError
from labkit.host import filesystems
from labkit.kernels.loops import Loops
from labkit.point.spec import Effort, Spec, sweep
from labkit.run import launch
from labkit.run.staging import packed
from labkit.worker import LACKING, reported_failure
from tests import parity

from .conftest import HERE, Run, printed_by

pytestmark = pytest.mark.mpi

# those: test_nas.py and test_hpcg.py, test_gpu.py, test_shmem.py, test_parallel_io.py
APART = (ApplicationBenchmark, DeviceBenchmark, SymmetricBenchmark, ParallelFileBenchmark)
WITH_RANKS = [
    name
    for name, b in benchmarks.find().items()
    if isinstance(b, KernelBenchmark) and b.mpi and not isinstance(b, APART)
]
MPI = [name for name in WITH_RANKS if benchmarks.get(name).ranks[0] <= 2]
# no bytes move, or none that another rank sent
UNSEEN = ("mpi.file_open_close", "mpi.reduce_local", "mpi.window_create")
MOVING = [name for name in MPI if benchmarks.get(name).sized and name not in UNSEEN]
NEIGHBOURS = [name for name in MOVING if "neighbor" in name]
# a message to the wrong rank leaves the right one waiting: one of each function, for each costs the wait
HANGING = ("mpi.latency", "mpi.bandwidth", "mpi.sendrecv", "mpi.sendrecv_replace", "mpi.latency_persistent")
PAIRED = [name for name in MOVING if name.startswith(("mpi.latency", "mpi.bandwidth", "mpi.bibandwidth", "mpi.multi"))]
PAIRED += ["mpi.pingping", "mpi.queue_depth", "mpi.buffer_reuse", "mpi.sendrecv", "mpi.sendrecv_replace"]
PAIRED += ["mpi.exchange", "mpi.stencil", "mpi.random_pairs", "mpi.hotspot_send", "mpi.hotspot_receive"]
PAIRED += ["mpi.host_overhead", "mpi.availability", "apps.halo3d26", "congestion.gpcnet_isolated", "mpi.all_pairs"]
PAIRED += ["mpi.call_times", "mpi.injection", "mpi.delayed_overhead"]
FILES = [name for name in MOVING if "file" in name]
SIZES = (0, 4, 12, 4096, 100_000, 1_048_576)
# an iteration of a program is a whole run: test_nas.py
ITERATED = [name for name in MPI if not isinstance(benchmarks.get(name), benchmarks.ApplicationBenchmark)]


def possible(specs: Iterable[Spec]) -> list[Spec]:
    """Those specs that their benchmarks allow."""
    startable = []
    for spec in specs:
        with contextlib.suppress(SpecError):
            benchmarks.resolve(spec)
            startable.append(spec)
    return startable


def samples(frames: list, *kinds: str) -> list:
    return [frame for frame in frames if frame.header["kind"] in (kinds or ("samples",))]


@pytest.mark.parametrize(
    ("sizes", "effort"),
    [
        ((8,), Effort(iterations=3, warmup=1)),
        pytest.param(SIZES, Effort(iterations=12), marks=pytest.mark.slow),
    ],
    ids=["few", "all"],
)
def test_every_benchmark_yields_verified_samples_at_every_size(
    run_plan: Run, sizes: tuple[int, ...], effort: Effort
) -> None:
    specs = possible(Spec(benchmark=name, size=size) for name in ITERATED for size in sizes)
    assert {spec.benchmark for spec in specs} == set(ITERATED)
    frames, done = run_plan(specs, effort)
    assert done.returncode == 0, done.stderr[-2000:]
    failed = samples(frames, "failed")
    assert all("not in this MPI" in frame.header["reason"] for frame in failed), failed[0].header
    sampled = samples(frames)
    assert len(sampled) + len(failed) == len(specs)
    for frame in sampled:
        spec = benchmarks.resolve(specs[frame.header["index"]])
        benchmark = benchmarks.get(spec.benchmark)
        timing = [rank for rank in range(spec.ranks) if benchmark.active(spec, rank)]
        phases = 1 + (len(benchmark.phases) if spec.values.get("overlap", True) else 0)
        assert frame.header["shape"] == [phases, len(timing), effort.iterations], spec
        assert frame.header["rows"] == timing
        assert (frame.values.reshape(frame.header["shape"])[0] > 0).all(), spec
        assert frame.header["verified"] == bool(spec.size and spec.benchmark in MOVING), spec


@pytest.mark.parametrize(
    ("ranks", "sizes", "each"),
    [(3, (12,), 3), *(pytest.param(ranks, (8, 12, 100_000), 1, marks=pytest.mark.slow) for ranks in (3, 4))],
    ids=["few", "3", "4"],
)
def test_benchmarks_for_many_ranks_are_right_on_more_of_them(
    run_plan: Run, ranks: int, sizes: tuple[int, ...], each: int
) -> None:
    specs = []
    for name in WITH_RANKS:
        benchmark = benchmarks.get(name)
        if benchmark.ranks[1] is None:
            rooted = "root" in {field.name for field in dataclasses.fields(benchmark.options)}
            options = {"root": 2} if rooted else {}
            specs += [Spec(benchmark=name, size=size, ranks=ranks, options=options) for size in sizes]
    specs = possible(specs)
    assert len({spec.benchmark for spec in specs}) >= 70
    frames, done = run_plan(specs[::each], Effort(iterations=3, warmup=1))
    assert done.returncode == 0, done.stderr[-2000:]
    failed = samples(frames, "failed")
    assert all("not in this MPI" in frame.header["reason"] for frame in failed), failed[0].header


def variants() -> list[Spec]:
    """Options that change what a kernel is told, over the benchmarks that have them."""
    moving = (
        "latency",
        "bandwidth",
        "bibandwidth",
        "sendrecv",
        "bcast",
        "gather",
        "alltoallw",
        "scatterv",
        "iallgather",
    )
    moving += ("neighbor_alltoall", "alltoallv_persistent")
    placed = ("allreduce", "reduce", "scan", "exscan", "reduce_scatter", "gather", "scatter", "allgather", "alltoall")
    placed += ("alltoallv", "alltoallw", "reduce_scatter_block", "iallreduce", "allgatherv_persistent", "igatherv")
    rooted, bound = ("bcast", "reduce", "gather", "scatterv", "ibcast"), ("latency", "bandwidth", "allreduce", "bcast")
    how, memory = list(SYNCHRONISATIONS), ["allocate", "create", "dynamic"]
    axes: list[tuple[Sequence[str], dict[str, Any]]] = [
        (moving, {"layout": ["vector", "indexed"], "block": [8, 512]}),
        (placed, {"in_place": True}),
        (placed, {"in_place": True, "ranks": 3}),
        (rooted, {"rotate": True, "ranks": 3}),
        (bound, {"binding": ["buffers", "pickle"]}),
        (("allreduce", "alltoall", "bcast"), {"cadence": ["streaming", "synchronised"]}),
        (
            ("allreduce",),
            {"datatype": ["int32", "int64"], "operation": ["sum", "prod", "max", "min", "band", "bor", "bxor"]},
        ),
        (("reduce",), {"datatype": ["float32", "float64"], "operation": ["sum", "prod", "max", "min"]}),
        (("neighbor_alltoall", "neighbor_allgather", "ineighbor_alltoallw"), {"topology": "cart", "ranks": [2, 3, 4]}),
        (("latency", "allreduce", "bcast", "multi_bandwidth"), {"timing": "total"}),
        (("put_latency", "get_latency"), {"synchronisation": how, "memory": memory}),
        (("put_latency", "get_latency"), {"synchronisation": ["lock", "flush", "pscw", "fence"], "origins": "both"}),
        (
            ("put_latency", "get_latency"),
            {"synchronisation": ["flush", "fence"], "targets": "all", "origins": ["first", "both"], "ranks": 3},
        ),
        (("put_latency", "get_latency"), {"targets": "neighbours", "origins": "both", "ranks": 3}),
        (("accumulate_latency", "get_accumulate_latency"), {"synchronisation": how, "memory": memory}),
        (
            ("fetch_and_op_latency", "compare_and_swap_latency"),
            {"size": 8, "synchronisation": how, "memory": ["create", "dynamic"]},
        ),
        (
            ("put_bandwidth", "get_bandwidth", "put_bibandwidth"),
            {"synchronisation": how, "buffers": ["single", "multiple"]},
        ),
        (
            ("file_write", "file_read", "file_iwrite", "file_iread"),
            {
                "access": ["single", "parallel", "collective"],
                "pointer": ["individual", "explicit", "shared", "private"],
            },
        ),
        (("file_write",), {"sync": True}),
        (("iallreduce", "ialltoall"), {"tests": [0, 5], "overlap": [True, False]}),
        (("random_pairs",), {"direction": ["uni", "bi", "co"], "ranks": [2, 3, 5]}),
        (("stencil",), {"dimensions": [2, 3], "ranks": 4}),
        (("hotspot_send", "hotspot_receive"), {"window": [1, 8], "root": [0, 2], "ranks": 4}),
        (("buffer_reuse",), {"reuse": [0, 50, 100]}),
        (("queue_depth",), {"depth": [2, 64]}),
        (("availability",), {"compute_us": [0.0, 50.0]}),
        (("latency", "pingping"), {"source": "any"}),
        (
            ("apps.halo3d26",),
            {
                "size": 8,
                "neighbours": ["26", "18", "6"],
                "periodic": [False, True],
                "nx": 3,
                "vars": 2,
                "ranks": [4, 5],
            },
        ),
        (
            ("congestion.gpcnet_isolated",),
            {
                "pattern": ["bandwidth", "bandwidth_sync", "allreduce", "alltoall", "get_latency", "put_bandwidth"],
                "ranks": 3,
            },
        ),
        (
            ("congestion.gpcnet_isolated",),
            {"pattern": ["get_latency", "put_bandwidth"], "memory": "create", "ranks": 3},
        ),
        (
            ("congestion.gpcnet_congestors",),
            {"congestor": ["put_incast", "get_broadcast"], "memory": "create", "ranks": 4},
        ),
        (
            ("congestion.gpcnet_loaded",),
            {"pattern": ["bandwidth", "allreduce", "alltoall", "get_latency", "put_bandwidth"], "ranks": 4},
        ),
        (
            ("congestion.gpcnet_loaded",),
            {"congestor": ["alltoall", "incast", "put_incast", "get_broadcast"], "share": 60.0, "ranks": 5},
        ),
        (
            ("congestion.gpcnet_congestors",),
            {"congestor": ["mixed", "incast", "put_incast", "get_broadcast"], "fan_in": [0, 1], "ranks": 4},
        ),
        (("apps.fft_subcom3d",), {"size": 8, "size_y": [-1, 0, 12], "pz": 2, "py": 2, "px": 1, "ranks": 4}),
    ]
    return possible(
        spec
        for names, fields in axes
        for name in names
        for spec in sweep(
            name if "." in name else f"mpi.{name}",
            **{"sizes": fields.get("size", 4096)} | {k: v for k, v in fields.items() if k != "size"},
        )
    )


@pytest.mark.parametrize(
    ("ranks", "each"),
    [(2, 8), *(pytest.param(ranks, 1, marks=pytest.mark.slow) for ranks in (2, 3, 4, 5))],
    ids=["some", "2", "3", "4", "5"],
)
def test_every_option_moves_the_right_bytes(run_plan: Run, ranks: int, each: int) -> None:
    specs = [spec for spec in variants() if spec.ranks == ranks][::each]
    frames, done = run_plan(specs, Effort(iterations=3, warmup=1))
    assert done.returncode == 0, done.stderr[-2000:]
    for frame in samples(frames, "failed"):
        assert "not in this MPI" in frame.header["reason"], (specs[frame.header["index"]], frame.header["reason"])
    assert len(samples(frames)) + len(samples(frames, "failed")) == len(specs)


@pytest.mark.slow
def test_threads_do_the_same_at_once(run_plan: Run) -> None:
    names = ("latency", "pingping", "allreduce", "sendrecv", "exchange", "multi_bandwidth", "barrier", "bcast")
    specs = [Spec(benchmark=f"mpi.{name}", size=64, options={"threads": 3}) for name in names]
    frames, done = run_plan(specs, Effort(iterations=20))
    assert done.returncode == 0, done.stderr[-2000:]
    assert samples(frames, "ready")[0].header["thread_level"] == "multiple"
    for frame, spec in zip(samples(frames), specs, strict=True):
        ranks = 1 if spec.benchmark in ("mpi.latency", "mpi.multi_bandwidth") else 2
        assert frame.header["shape"] == [1, 3 * ranks, 20]
        assert frame.header["rows"] == list(range(3 * ranks))


@pytest.mark.slow
@pytest.mark.parametrize("threaded", [False, True])
def test_every_equivalent_of_an_original_test_really_runs(run_plan: Run, threaded: bool) -> None:
    named = []
    for test, (name, options) in parity.answers().items():
        # Open MPI 4.1.4 crashes on atomics in memory from MPI_Win_allocate, and OSU's tests of them do
        crashes = name in ("mpi.fetch_and_op_latency", "mpi.compare_and_swap_latency") and "memory" in options
        if name in WITH_RANKS and (options.get("threads", 1) > 1) == threaded:
            chosen = {**options, "memory": "create"} if crashes else options
            named.append((test, Spec(benchmark=name, size=8, options=chosen)))
    assert len(named) >= (15 if threaded else 200)
    frames, done = run_plan([spec for _, spec in named], Effort(iterations=4, warmup=1))
    assert done.returncode == 0, done.stderr[-2000:]
    for frame in samples(frames, "failed"):
        assert "not in this MPI" in frame.header["reason"], (named[frame.header["index"]], frame.header["reason"])
    assert len(samples(frames)) + len(samples(frames, "failed")) == len(named)


def test_synchronised_starts_tell_slot_clock_error_and_lateness(run_plan: Run) -> None:
    frames, _ = run_plan([Spec(benchmark="mpi.allreduce", options={"cadence": "synchronised"})], Effort(iterations=200))
    header = samples(frames)[0].header
    assert header["slot_ns"] >= 2000
    assert 0 <= header["clock_error_ns"] < 1e9
    assert 0 <= header["late_share"] <= 1


@pytest.mark.slow
def test_a_function_the_library_lacks_is_named(run_plan: Run, tmp_path: Path) -> None:
    script = tmp_path / "older.py"
    script.write_text(
        "import sys\nfrom labkit.kernels import native as kernels\nfrom labkit.worker.__main__ import main\n"
        "genuine = kernels.Native._functions\n"
        "def older(native):\n"
        "    table = genuine(native)\n"
        "    table[native._names.index('MPI_Allreduce_init')] = None\n"
        "    return table\n"
        "kernels.Native._functions = older\nsys.exit(main(sys.argv[1:]))\n"
    )
    specs = [Spec(benchmark="mpi.allreduce_persistent"), Spec(benchmark="mpi.bcast_persistent")]
    frames, done = run_plan(specs, Effort(iterations=3), program=(str(script),))
    assert done.returncode == 0
    [failed] = samples(frames, "failed")
    assert failed.header["index"] == 0
    assert "not in this MPI" in failed.header["reason"]
    assert "has no MPI_Allreduce_init" in failed.header["reason"]
    assert len(samples(frames)) <= 1


def test_start_tells_thread_level_library_and_timer(run_plan: Run) -> None:
    frames, _ = run_plan([Spec(benchmark="mpi.latency")], Effort(iterations=5))
    ready = samples(frames, "ready")[0].header
    assert ready["thread_level"] == "single"
    assert ready["engine"] == "c"
    assert ready["size"] == 2
    assert ready["library"]
    assert ready["timer_overhead_ns"] > 0


@pytest.mark.slow
def test_total_timing_keeps_one_time_for_each_chunk(run_plan: Run) -> None:
    spec = Spec(benchmark="mpi.latency", options={"timing": "total"})
    frames, _ = run_plan([spec], Effort(iterations=1000))
    header = samples(frames)[0].header
    assert header["shape"] == [1, 1, len(header["chunks"])]
    assert sum(header["chunks"]) == 1000


@pytest.mark.slow
def test_rooms_of_a_window_are_verified_one_by_one(run_plan: Run) -> None:
    spec = Spec(benchmark="mpi.bandwidth", size=64, options={"window": 7, "buffers": "multiple"})
    frames, _ = run_plan([spec], Effort(iterations=3))
    assert len(samples(frames)) == 1


@pytest.mark.parametrize("each", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_dropped_last_element_is_noticed_everywhere(run_plan: Run, mutants: Path, each: int) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "drop_last")
    specs = [Spec(benchmark=name, size=size) for name in MOVING for size in (8, 4096)]
    specs = [
        spec for spec in possible(specs) if spec.size == 4096 or spec.benchmark.endswith(("op_latency", "swap_latency"))
    ]
    assert {spec.benchmark for spec in specs} == set(MOVING)
    specs = specs[::each]
    frames, ended = run_plan(specs, Effort(iterations=3, warmup=0), program=program)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert [specs[frame.header["index"]] for frame in samples(frames)] == []
    for frame in samples(frames, "failed"):
        assert "wrong bytes on rank" in frame.header["reason"] or "not in this MPI" in frame.header["reason"]


@pytest.mark.slow
def test_the_same_where_more_than_two_ranks_are_needed(run_plan: Run, mutants: Path) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "drop_last")
    specs = [Spec(benchmark=name, size=4096, ranks=4) for name in set(WITH_RANKS) - set(MPI)]
    frames, ended = run_plan(specs, Effort(iterations=3, warmup=0), program=program)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert all("wrong bytes on rank" in frame.header["reason"] for frame in samples(frames, "failed"))
    assert len(samples(frames, "failed")) == len(specs) > 0


def test_a_collective_or_window_of_the_wrong_rank_is_noticed(run_plan: Run, mutants: Path) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "wrong_rank")
    # under pscw the library itself refuses another target; Open MPI 4.1.4 crashes when a rank swaps with itself
    refused = {"mpi.put_bibandwidth", "mpi.compare_and_swap_latency"}
    names = sorted(set(MOVING) - set(PAIRED) - set(NEIGHBOURS) - set(FILES) - refused)
    assert len(names) >= 55
    specs = [Spec(benchmark=name, size=8) for name in names]
    frames, ended = run_plan(specs, Effort(iterations=3, warmup=0), program=program)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert [specs[frame.header["index"]] for frame in samples(frames)] == []
    assert len(samples(frames, "failed")) == len(specs)


@pytest.mark.slow
def test_overheads_are_the_calls_without_the_delay_between_them(run_plan: Run) -> None:
    frames, ended = run_plan([Spec(benchmark="mpi.delayed_overhead", size=64)], Effort(iterations=20))
    assert ended.returncode == 0, ended.stderr[-2000:]
    (frame,) = samples(frames)
    both, send, receive, delay = frame.values.reshape(frame.header["shape"])[:, 0]
    assert (both == send + receive).all()
    assert (send > 0).all()
    assert (receive > 0).all()
    assert len(set(delay // 1000)) < 20, "one delay for all iterations, but for where a clock read is late"
    assert delay.min() > 0


@pytest.mark.parametrize("name", [HANGING[0], *(pytest.param(name, marks=pytest.mark.slow) for name in HANGING[1:])])
def test_a_message_to_the_wrong_rank_never_becomes_a_sample(run_plan: Run, mutants: Path, name: str) -> None:
    program = (str(HERE / "mutant_worker.py"), str(mutants), "wrong_rank")
    frames, ended = run_plan(
        [Spec(benchmark=name, size=4096)], Effort(iterations=3, warmup=0), program=program, silence=3
    )
    assert samples(frames) == []
    # the right rank waits for ever and the parent's time limit ends that, or the bytes are wrong
    assert ended.returncode is None or samples(frames, "failed")


def test_mpi_errors_come_back_with_rank_and_text(run_plan: Run, tmp_path: Path) -> None:
    script = tmp_path / "bad_peer.py"
    script.write_text(
        "import sys\nfrom labkit.worker import rank\nfrom labkit.worker.__main__ import main\n"
        "genuine = rank.Worker.prepared\n"
        "rank.Worker.prepared = lambda self, s, b, **c: genuine(self, s, b, **c | {'peer': 7})\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    frames, done = run_plan([Spec(benchmark="mpi.latency")], program=(str(script),))
    said = reported_failure(done.stderr)
    assert samples(frames) == []
    assert said is not None
    assert said["kind"] == "KernelError"
    assert said["rank"] in (0, 1)
    assert "rank" in said["text"].lower()


COUNTING = """
import atexit, marshal, os, posix, sys
from pathlib import Path

FOLDERS, total = {folders}, [0]

def seen(path):
    total[0] += isinstance(path, str | bytes) and os.fsdecode(path).startswith(FOLDERS)

def stat(path, *words, _stat=posix.stat, **more):  # what importlib calls
    seen(path)
    return _stat(path, *words, **more)

def heard(event, about):
    if event in ("open", "os.listdir", "os.scandir", "import"):  # of an import, the library that is loaded
        seen(about[event == "import"])

posix.stat = os.stat = stat
sys.addaudithook(heard)
atexit.register(lambda: Path({place!r}, str(os.getpid())).write_text(str(total[0])))
if sys.argv[1] == "-m":
    from labkit.worker.__main__ import main
    sys.exit(main(sys.argv[2:]))
del sys.argv[0]
exec(marshal.loads(Path(sys.argv[0]).read_bytes()[16:]), {{"__name__": "__main__"}})
"""
MOST_CALLS = 300


@pytest.mark.parametrize("way", ["one file", "folders"])
def test_a_rank_asks_the_file_system_little(run_plan: Run, tmp_path: Path, way: str) -> None:
    """Counts stat, open, lists of folders and loaded libraries of Python in labkit and its environment, until the end."""
    folders = tuple(filesystems.loaded_from()[name] + "/" for name in ("environment", "labkit"))
    script, place = tmp_path / "counting.py", tmp_path / "counts"
    place.mkdir()
    script.write_text(COUNTING.format(folders=folders, place=str(place)))
    program = (str(script), "-m") if way == "folders" else (*packed.FLAGS, str(script), str(packed.made()))
    frames, done = run_plan([Spec(benchmark="mpi.latency")], Effort(iterations=10), program=program)
    assert done.returncode == 0, done.stderr[-500:]
    assert len(samples(frames)) == 1
    counts = [int(path.read_text()) for path in place.iterdir()]
    assert len(counts) == 2
    if way == "folders":
        assert min(counts) > MOST_CALLS  # the count sees them
    else:
        assert max(counts) <= MOST_CALLS


@pytest.mark.slow
def test_a_rank_is_small_and_loads_no_tables(run_plan: Run, tmp_path: Path) -> None:
    """At most 32 MB above a bare mpi4py rank with the same messages."""
    script = tmp_path / "watched.py"
    script.write_text(
        "import sys\nfrom labkit.worker.__main__ import main\ncode = main(sys.argv[1:])\n"
        "bad = {'pandas', 'pyarrow', 'pydantic', 'plotly', 'IPython', 'labkit.io.project'} & set(sys.modules)\n"
        "sys.exit(3 if bad else code)\n"
    )
    size = 1_048_576
    # the calls of the bare one below; what else a library keeps for its other calls is not the lab's
    names = ("latency", "bandwidth", "sendrecv", "bcast", "allgather", "alltoall", "gather", "scatter", "allreduce")
    specs = [Spec(benchmark=f"mpi.{name}", size=s) for name in names for s in (8, size)]
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
        env={**os.environ, **launcher.environment(placement)},
        capture_output=True,
        timeout=240,
        check=True,
    )
    above = used - int(done.stdout) * 1024
    print(f"a rank takes {above / 1e6:.1f} MB above a bare one that moves the same messages")
    assert above <= 32e6


@pytest.mark.parametrize(
    ("sizes", "iterations"),
    [((4096,), 2), pytest.param((4, 4096, 100_000), 10, marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_the_loops_without_a_compiler_give_the_same_bytes(
    run_plan: Run, tmp_path: Path, sizes: tuple[int, ...], iterations: int
) -> None:
    script = tmp_path / "loops.py"
    script.write_text(
        "import sys\nfrom labkit.kernels import native\nfrom labkit.worker.__main__ import main\n"
        "native.compiled = lambda: False\nsys.exit(main(sys.argv[1:]))\n"
    )
    looped = [name for name in MPI if benchmarks.get(name).kernel in Loops._loops]
    specs = [Spec(benchmark=name, size=size) for name in looped for size in sizes]
    others = [Spec(benchmark=name, size=4) for name in MPI if name not in looped]
    others.append(Spec(benchmark="mpi.allreduce", size=4, options={"cadence": "synchronised"}))
    frames, done = run_plan([*specs, *others], Effort(iterations=iterations, warmup=1), program=(str(script),))
    assert done.returncode == 0, done.stderr[-2000:]
    assert samples(frames, "ready")[0].header["engine"] == "mpi4py"
    assert len(samples(frames)) == len(specs)
    reasons = [frame.header["reason"] for frame in samples(frames, "failed")]
    assert len(reasons) == len(others)
    assert all(reason.startswith(LACKING) for reason in reasons), "left out, and the others of a notebook go on"
    assert all("needs the compiled kernels" in reason for reason in reasons)
    assert np.concatenate([frame.values for frame in samples(frames)]).min() > 0


@pytest.mark.parametrize("count", [1, 2, pytest.param(5, marks=pytest.mark.slow)])
def test_ranks_tell_one_another_texts_and_flags(count: int) -> None:
    assert "all agree" in printed_by("gathering_ranks.py", count)
