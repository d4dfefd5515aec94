"""OpenSHMEM on real ranks: samples, verification, kinds of memory, and MPIs without it."""

from __future__ import annotations

import importlib.util
import platform
from pathlib import Path

import pytest

from labkit import benchmarks
from labkit.benchmarks import SymmetricBenchmark
from labkit.benchmarks.shmem import atomic, reduce
from labkit.errors import SpecError
from labkit.point.spec import Effort, Spec
from labkit.run import launch
from labkit.worker import ABSENT

from .conftest import Run
from .test_ranks import possible, samples

pytestmark = pytest.mark.mpi
ALL = [name for name, one in benchmarks.find().items() if isinstance(one, SymmetricBenchmark)]
MOVING = [name for name in ALL if benchmarks.get(name).sized]
PAIRS = [name for name in MOVING if "memory" in benchmarks.get(name).options.__dataclass_fields__]
SIZES = (4, 8, 12, 4096, 100_000)
PYTHON = {"binding": "shmem4py"}
LAYERED = [name for name in PAIRS if "binding" in benchmarks.get(name).options.__dataclass_fields__]


@pytest.fixture(scope="session")
def openshmem() -> None:
    """The MPI in use has an OpenSHMEM library."""
    launcher = launch.get("auto")
    folder = Path(launcher.program).resolve().parents[1] / "lib"
    places = [folder, folder / f"{platform.machine()}-linux-gnu"]
    if launcher.kind != "openmpi" or not any((place / "liboshmem.so.40").exists() for place in places):
        pytest.skip(f"no liboshmem beside {launcher.library} in {folder}")


def calls(ranks: int) -> list[Spec]:
    """Every benchmark at several sizes, and the options that change what is called."""
    specs = [Spec(benchmark=name, size=size, ranks=ranks) for name in ALL for size in SIZES]
    for size in (4, 8):
        for call in atomic.Operation.__args__:  # type: ignore[attr-defined]
            specs.append(Spec(benchmark="shmem.atomic", size=size, ranks=ranks, options={"call": call}))
    for datatype in reduce.Type.__args__:  # type: ignore[attr-defined]
        for operation in reduce.Operation.__args__:  # type: ignore[attr-defined]
            options = {"datatype": datatype, "operation": operation}
            specs.append(Spec(benchmark="shmem.reduce", size=4096, ranks=ranks, options=options))
    specs += [Spec(benchmark=name, size=8, ranks=ranks, options={"memory": "global"}) for name in PAIRS]
    specs += [Spec(benchmark="shmem.put_rate", size=8192, ranks=ranks, options={"memory": "global", "window": 20})]
    specs += [Spec(benchmark="shmem.broadcast", size=8, ranks=ranks, options={"root": ranks - 1})]
    specs += [Spec(benchmark="shmem.get_latency", size=8, ranks=ranks, options={"timing": "total"})]
    specs += [Spec(benchmark="shmem.atomic", size=8, ranks=ranks, options={"timing": "total"})]
    specs += [Spec(benchmark="shmem.put_rate", size=8, ranks=ranks, options={"caches": "cold"})]
    if importlib.util.find_spec("shmem4py"):
        specs += [Spec(benchmark=n, size=size, ranks=ranks, options=PYTHON) for n in LAYERED for size in (1, 4096)]
    # Open MPI 4.1.4 writes over its stack there, and OSU's test of it too
    crashes = {"call": "compare_swap"}
    return [one for one in dict.fromkeys(possible(specs)) if one.size != 4 or one.values != crashes]


@pytest.mark.usefixtures("openshmem")
@pytest.mark.parametrize(
    ("ranks", "each"),
    [(2, 7), *(pytest.param(ranks, 1, marks=pytest.mark.slow) for ranks in (2, 3, 4))],
    ids=["some", "2", "3", "4"],
)
def test_every_call_moves_the_right_bytes(run_plan: Run, ranks: int, each: int) -> None:
    specs = calls(ranks)[::each]
    frames, done = run_plan(specs, Effort(iterations=6, warmup=1))
    assert done.returncode == 0, done.stderr[-2000:]  # no crash at the end either
    assert [frame.header for frame in samples(frames, "failed")] == []
    sampled = samples(frames)
    assert len(sampled) == len(specs)
    for frame in sampled:
        spec = benchmarks.resolve(specs[frame.header["index"]])
        benchmark = benchmarks.get(spec.benchmark)
        timing = [rank for rank in range(ranks) if benchmark.active(spec, rank)]
        count = len(frame.header["chunks"]) if spec.values.get("timing") == "total" else 6
        assert frame.header["shape"] == [1 + len(benchmark.phases), len(timing), count], spec
        assert frame.header["verified"] == (spec.benchmark in MOVING), spec
        assert (frame.values > 0).all(), spec


FAULTY = """
import ctypes, sys
from labkit.kernels import openshmem
from labkit.worker.__main__ import main

genuine, kept = openshmem.OpenShmem.__init__, []

def less(name, function, place):
    \"\"\"The function, with one element less in argument number `place`; an atomic one works on another element.\"\"\"
    word, number = ctypes.c_void_p, ctypes.c_size_t
    arguments = [word, word, number, *[ctypes.c_long] * 5]
    kind = ctypes.CFUNCTYPE(None, *arguments)
    call = ctypes.cast(function, kind)
    def faulty(*values):
        call(*values[:place], values[place] - 1, *values[place + 1:])
    kept.append(kind(faulty))
    return ctypes.cast(kept[-1], word)

def init(self, *arguments, **rest):
    genuine(self, *arguments, **rest)
    for place, name in enumerate(self._names):
        if name.startswith(("shmem_put", "shmem_get", "shmem_broadcast", "shmem_collect", "shmem_fcollect", "shmem_all")):
            self._functions[place] = less(name, self._functions[place], 2)
        if name == "shmem_float_sum_to_all":
            self._functions[place] = self._functions[self._names.index("shmem_float_max_to_all")]
        if name == "shmem_longlong_atomic_fetch_add":
            self._functions[place] = self._functions[self._names.index("shmem_longlong_atomic_swap")]

openshmem.OpenShmem.__init__ = init
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.usefixtures("openshmem")
def test_faults_of_the_library_are_noticed_everywhere(run_plan: Run, tmp_path: Path) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    specs = [Spec(benchmark=name, size=8 if name == "shmem.atomic" else 4096) for name in MOVING]
    frames, done = run_plan(specs, Effort(iterations=3, warmup=0), program=(str(tmp_path / "faulty.py"),))
    assert done.returncode == 0, done.stderr[-2000:]
    assert [specs[frame.header["index"]].benchmark for frame in samples(frames)] == []
    assert all("wrong bytes on rank" in frame.header["reason"] for frame in samples(frames, "failed"))
    assert len(samples(frames, "failed")) == len(specs)


@pytest.mark.usefixtures("openshmem")
def test_faults_of_shmem4py_are_noticed(run_plan: Run, tmp_path: Path) -> None:
    if not importlib.util.find_spec("shmem4py"):
        return
    (tmp_path / "faulty.py").write_text(
        "import sys\nfrom labkit.kernels import shmem_loops\nfrom labkit.worker.__main__ import main\n"
        "genuine = shmem_loops._ends\n"
        "def ends(work):\n    module, target, source, peer = genuine(work)\n"
        "    return module, target[:-1], source[:-1], peer\n"
        "shmem_loops._ends = ends\nsys.exit(main(sys.argv[1:]))\n"
    )
    specs = [Spec(benchmark=name, size=64, options=PYTHON) for name in LAYERED]
    frames, done = run_plan(specs, Effort(iterations=3, warmup=0), program=(str(tmp_path / "faulty.py"),))
    assert done.returncode == 0, done.stderr[-2000:]
    assert samples(frames) == []
    reasons = [frame.header["reason"] for frame in samples(frames, "failed")]
    assert len(reasons) == len(specs) == 4
    assert all("1 of 64 B differ" in reason for reason in reasons)


@pytest.mark.slow
def test_a_missing_shmem4py_is_named_and_other_points_are_measured(run_plan: Run, tmp_path: Path) -> None:
    (tmp_path / "without.py").write_text(
        "import sys\nfrom types import SimpleNamespace\nfrom labkit.kernels import shmem_loops\n"
        "from labkit.worker.__main__ import main\n"
        "shmem_loops.importlib = SimpleNamespace(util=SimpleNamespace(find_spec=lambda name: None))\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    specs = [Spec(benchmark="shmem.put_latency", options=PYTHON), Spec(benchmark="mpi.latency")]
    frames, done = run_plan(specs, Effort(iterations=3), program=(str(tmp_path / "without.py"),))
    assert done.returncode == 0, done.stderr[-2000:]
    [failed] = samples(frames, "failed")
    assert "pip install 'labkit[shmem]'" in failed.header["reason"]
    assert len(samples(frames)) == 1


def test_cold_windows_are_timed_one_by_one() -> None:
    options = {"caches": "cold", "timing": "total"}
    with pytest.raises(SpecError, match=r"timing=total, but with caches=cold each window is timed"):
        benchmarks.resolve(Spec(benchmark="shmem.put_rate", size=8, options=options))


@pytest.mark.slow
def test_an_mpi_without_it_is_named(run_plan: Run, tmp_path: Path) -> None:
    (tmp_path / "without.py").write_text(
        "import sys\nfrom labkit.kernels import openshmem\nfrom labkit.worker.__main__ import main\n"
        "openshmem.library = lambda mpi: ''\nsys.exit(main(sys.argv[1:]))\n"
    )
    specs = [Spec(benchmark="shmem.put_latency"), Spec(benchmark="mpi.latency")]
    frames, done = run_plan(specs, Effort(iterations=3), program=(str(tmp_path / "without.py"),))
    assert done.returncode == 0, done.stderr[-2000:]
    [failed] = samples(frames, "failed")
    assert failed.header["reason"].startswith(ABSENT)
    assert "has no OpenSHMEM library. Use an Open MPI that has liboshmem" in failed.header["reason"]
    assert len(samples(frames)) == 1  # the other point is measured


@pytest.mark.slow
@pytest.mark.usefixtures("openshmem")
def test_a_heap_that_is_too_small_is_one_clear_error(run_plan: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHMEM_SYMMETRIC_HEAP_SIZE", str(4 << 20))
    frames, done = run_plan([Spec(benchmark="shmem.put_latency", size=8 << 20)], Effort(iterations=3))
    assert done.returncode != 0
    assert not samples(frames)
    assert "the symmetric heap has no 8 MiB left" in done.stderr
    assert "SHMEM_SYMMETRIC_HEAP_SIZE" in done.stderr


def test_the_path_of_openshmem_is_chosen_by_variables_of_ucx() -> None:
    launcher = launch.get("auto")
    if launcher.kind != "openmpi":
        pytest.skip("another MPI")
    spec = Spec(benchmark="shmem.put_latency", transport="tcp")
    placement = launch.Placement.of(spec, launcher)
    words = launcher.command(placement, [])
    assert words[words.index("osc") + 1] == "ucx"
    assert {("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "lo")} <= set(launcher.environment(placement).items())
    shared = launcher.command(launch.Placement.of(spec.replace(transport="shm"), launcher), [])
    assert shared[shared.index("osc") + 1] == "^rdma"
    other = launch.Placement.of(spec.replace(benchmark="mpi.latency"), launcher)
    assert "ucx" not in launcher.command(other, []), "MPI alone does not need UCX"
    assert "UCX_TLS" not in launcher.environment(other)
