"""MPI from and to device memory, on real ranks: over the stand-in for a GPU, staged, and directly where MPI can."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import benchmarks
from labkit.benchmarks import DeviceBenchmark
from labkit.point.spec import Effort, Spec, sweep
from labkit.worker import LACKING

from .conftest import Run
from .test_ranks import samples

pytestmark = pytest.mark.mpi
STAND_IN = {"accelerator": "stand-in"}
ALL = [name for name, one in benchmarks.find().items() if isinstance(one, DeviceBenchmark) and one.mpi]
PAIRS = [name for name in ALL if "peer_memory" in benchmarks.get(name).options.__dataclass_fields__]
COLLECTIVES = [name for name in ALL if benchmarks.get(name).ranks[1] is None]
ROOTED = [name for name in ALL if "root" in benchmarks.get(name).options.__dataclass_fields__]
KINDS = ["device", "managed", "pinned", "host"]


def _pairs() -> list[Spec]:
    memories = {"memory": KINDS, "peer_memory": KINDS}
    specs = [s for name in PAIRS for s in sweep(name, sizes="100000", **memories, **STAND_IN)]
    specs += [s for name in PAIRS for s in sweep(name, sizes="8", **STAND_IN)]
    specs += sweep("gpu.mpi_latency", sizes="8", timing="total", **STAND_IN)
    specs += sweep("gpu.mpi_bandwidth", sizes="1Mi", window=3, gpus="one", **STAND_IN)
    managed = {"memory": "managed", "peer_memory": "managed"}
    specs += sweep("gpu.mpi_latency", sizes="8", via=["direct", "staged"], **managed, **STAND_IN)
    specs += sweep("gpu.ipc_copy", sizes="1,4096,1Mi", direction=["put", "get"], gpus=["one", "each"], **STAND_IN)
    return specs


def _collectives(ranks: int) -> list[Spec]:
    specs = [s for n in COLLECTIVES for s in sweep(n, sizes="8,100000", memory=KINDS[:3], ranks=ranks, **STAND_IN)]
    specs += [s for name in ROOTED for s in sweep(name, sizes="8", root=ranks - 1, ranks=ranks, **STAND_IN)]
    specs += sweep("gpu.mpi_allreduce", sizes="8", datatype="int64", operation=["max", "prod"], ranks=ranks, **STAND_IN)
    return specs + sweep("gpu.mpi_alltoall", sizes="8", cadence="streaming", ranks=ranks, **STAND_IN)


@pytest.mark.parametrize(
    ("ranks", "each"),
    [(2, 8), *(pytest.param(ranks, 1, marks=pytest.mark.slow) for ranks in (2, 3))],
    ids=["some", "2", "3"],
)
def test_every_kind_of_memory_receives_the_right_bytes(run_plan: Run, ranks: int, each: int) -> None:
    specs = (_collectives(ranks) + (_pairs() if ranks == 2 else []))[::each]
    frames, done = run_plan(specs, Effort(iterations=3, warmup=1))
    assert done.returncode == 0, done.stderr[-2000:]
    assert [frame.header for frame in samples(frames, "failed")] == []
    sampled = samples(frames)
    assert len(sampled) == len(specs)
    for frame in sampled:
        spec = benchmarks.resolve(specs[frame.header["index"]])
        assert frame.header["verified"], spec
        assert (frame.values > 0).all(), spec
        if spec.benchmark == "gpu.ipc_copy":
            continue
        kinds = {spec.values["memory"], spec.values.get("peer_memory", spec.values["memory"])}
        path = frame.header["gpu_path"]
        if not kinds & {"device", "managed"}:
            assert path == "host memory", spec
        else:
            assert path.startswith("direct" if spec.values["via"] == "direct" else "staged"), spec


FAULTY = """
import ctypes, sys
from labkit.kernels import cuda
from labkit.worker.__main__ import main

genuine, kept = cuda.Device.__init__, []

def less(function, words):
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, *[ctypes.c_void_p] * words)
    call = ctypes.cast(function, kind)
    kept.append(kind(lambda to, source, size, *rest: call(to, source, size - 1, *rest)))
    return ctypes.cast(kept[-1], ctypes.c_void_p)

def init(self, *arguments):
    genuine(self, *arguments)
    for place, name in enumerate(self._names):
        if name in FAULTS:
            self._table[place] = less(self._table[place], "Async" in name)

cuda.Device.__init__ = init
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "fault",
    [
        "cuMemcpyHtoD_v2",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("cuMemcpyDtoH_v2", "cuMemcpyDtoDAsync_v2")),
    ],
)
def test_a_copy_that_is_too_short_is_noticed_everywhere(run_plan: Run, tmp_path: Path, fault: str) -> None:
    (tmp_path / "faulty.py").write_text(f"FAULTS = ({fault!r},)\n{FAULTY}")
    names = [name for name in ALL if (name == "gpu.ipc_copy") == ("DtoD" in fault)]
    specs = [Spec(benchmark=name, size=4096, options=STAND_IN) for name in names]
    frames, done = run_plan(specs, Effort(iterations=3, warmup=0), program=(str(tmp_path / "faulty.py"),))
    assert done.returncode == 0, done.stderr[-2000:]
    assert [specs[frame.header["index"]].benchmark for frame in samples(frames)] == []
    failed = samples(frames, "failed")
    assert all("wrong bytes on rank" in frame.header["reason"] for frame in failed)
    assert len(failed) == len(specs)


@pytest.mark.slow
def test_an_mpi_that_cannot_take_device_memory_is_not_given_it(run_plan: Run) -> None:
    specs = [Spec(benchmark="gpu.mpi_latency", options={"via": "direct", **STAND_IN}), Spec(benchmark="mpi.latency")]
    frames, done = run_plan(specs, Effort(iterations=3))
    assert done.returncode == 0, done.stderr[-2000:]
    [failed] = samples(frames, "failed")
    assert failed.header["reason"].startswith(LACKING)
    assert "MPI cannot take this memory" in failed.header["reason"]
    assert len(samples(frames)) == 1  # the other point is measured
