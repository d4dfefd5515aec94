"""GPUs: CUDA's driver through a stand-in in host memory, and what one process measures of a GPU."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks import DeviceBenchmark
from labkit.errors import KernelError, SpecError
from labkit.kernels import cuda, native
from labkit.point.spec import Effort, Spec, sweep
from labkit.run import importing, measuring
from labkit.store.samples import Samples
from labkit.studies.gpu_and_nccl import Study
from labkit.worker import Plan
from labkit.worker.rank import Worker
from labkit.worker.verify import verify

pytestmark = pytest.mark.skipif(not native.compiled(), reason="the C kernels are not compiled")
STAND_IN = {"accelerator": "stand-in"}


def _specs() -> list[Spec]:
    directions, memories = ["host_to_device", "device_to_host", "device_to_device"], ["pinned", "pageable"]
    specs = sweep("gpu.copy", sizes="1,4096,100000", direction=directions, host_memory=memories, **STAND_IN)
    specs += sweep("gpu.copy_events", sizes="4096", copies=[1, 3], direction=directions, **STAND_IN)
    specs += sweep("gpu.peer_copy", sizes="4096", peer_access=[True, False], **STAND_IN)
    specs += sweep("gpu.launch", sizes=[0], **STAND_IN)
    specs += sweep("gpu.synchronise", sizes=[0], waits_for=["stream", "context", "event"], **STAND_IN)
    return [spec.replace(ranks=1) for spec in specs]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Samples]:
    campaign = measuring.measure(_specs(), Effort(launches=1, iterations=20), into=tmp_path_factory.mktemp("gpu"))
    return list(campaign.samples())


@pytest.fixture
def device() -> cuda.Device:
    return cuda.Device(native.Native(None).library, cuda.STAND_IN)


def test_every_point_is_verified_and_marked(measured: list[Samples]) -> None:
    assert len(measured) == len(_specs())
    for one in measured:
        assert one.n == 20
        assert one.meta["verified"] == bool(one.spec.size), one.spec
        assert (one.time_ns >= 0).all(), one.spec
        assert "stand-in for a GPU: functional, not performance" in one.meta["badges"]
        assert one.meta["gpu"].startswith("stand-in")
        assert one.meta["gpu_driver"] == cuda.STAND_IN
        assert "gpu_path" not in one.meta, "no message moves"


def test_a_launch_is_its_call_and_its_wait(measured: list[Samples]) -> None:
    [launch] = [one for one in measured if one.spec.benchmark == "gpu.launch"]
    parts = launch.phases["call_ns"] + launch.phases["wait_ns"]
    assert (parts == launch.phases["time_ns"]).all()


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia"), reason="there is a GPU")  # noqa: PTH110
def test_without_a_gpu_one_error_says_what_to_do(tmp_path: Any) -> None:
    with pytest.raises(KernelError, match=r"(?s)not on this machine: .*accelerator=stand-in"):
        measuring.measure([Spec(benchmark="gpu.launch", ranks=1)], Effort(launches=1, iterations=3), into=tmp_path)


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("gpu.copy", {"copies": 0}, "copies=0, but it must be 1 to 4096"),
        ("gpu.copy", {"direction": "up"}, "direction"),
        ("gpu.mpi_bandwidth", {"window": 0}, "window=0, but it must be 1 to 65536"),
        ("gpu.mpi_bcast", {"root": 2}, "root=2, but there are ranks 0 to 1"),
        ("gpu.launch", {"accelerator": "rocm"}, "accelerator"),
    ],
)
def test_wrong_options_are_one_clear_error(name: str, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        benchmarks.resolve(Spec(benchmark=name, options=options))


@pytest.mark.parametrize("kind", ["device", "managed", "pinned", "peer"])
def test_what_is_uploaded_comes_back(device: cuda.Device, kind: str) -> None:
    memory = device.allocate(kind, 10_000)
    pattern = (np.arange(10_000) % 251).astype(np.uint8)
    memory.host[:] = pattern
    device.upload(memory, 9_999)
    if memory.on_device:
        memory.host[:] = 0
    device.download(memory, 9_999)
    assert np.array_equal(memory.host[:9_999], pattern[:9_999])
    assert memory.host[-1] == (0 if memory.on_device else pattern[-1])


def test_device_memory_is_offered_to_array_libraries(device: cuda.Device) -> None:
    memory = device.allocate("managed", 100)
    interface = memory.__cuda_array_interface__
    assert interface == {
        "shape": (100,),
        "typestr": "|u1",
        "data": (memory.address, False),
        "version": 3,
        "strides": None,
        "stream": None,
    }
    assert not hasattr(device.allocate("pinned", 100), "__cuda_array_interface__")


TAKEN = """
from mpi4py import MPI
from labkit.kernels import native as kernels
from labkit.kernels import cuda
memory = cuda.Device(kernels.Native(None).library, cuda.STAND_IN).allocate("device", 100)
taken = MPI.buffer(memory)
print(taken.address == memory.address, taken.nbytes, taken.format, taken.readonly)
"""


@pytest.mark.mpi
def test_mpi4py_takes_device_memory_by_its_interface() -> None:
    done = subprocess.run([sys.executable, "-c", TAKEN], capture_output=True, text=True)
    assert done.stdout == "True 100 B False\n", done.stderr[-500:]


@pytest.mark.skipif(not os.path.exists("/proc/driver/nvidia"), reason="there is no GPU")  # noqa: PTH110
def test_cupy_reads_and_writes_what_labkit_allocated() -> None:
    cupy = pytest.importorskip("cupy")
    device = cuda.Device(native.Native(None).library, "cuda")
    memory = device.allocate("device", 1000)
    memory.host[:] = pattern = (np.arange(1000) % 251).astype(np.uint8)
    device.upload(memory, 1000)
    array = cupy.asarray(memory)
    assert array.data.ptr == memory.address
    assert np.array_equal(cupy.asnumpy(array), pattern)
    array += 1
    cupy.cuda.Device().synchronize()
    device.download(memory, 1000)
    assert np.array_equal(memory.host, pattern + 1)


TOUCH = """
import ctypes
from labkit.kernels import native as kernels
from labkit.kernels import cuda
memory = cuda.Device(kernels.Native(None).library, cuda.STAND_IN).allocate({kind!r}, 64)
print(ctypes.string_at(memory.address, 64) == bytes(64))
"""


def test_the_host_cannot_touch_device_memory_of_the_stand_in() -> None:
    def run(kind: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", TOUCH.format(kind=kind)], capture_output=True, text=True)

    assert run("device").returncode == -11  # SIGSEGV
    assert run("managed").stdout == "True\n"


def test_the_stand_in_works_when_somebody_waits(device: cuda.Device) -> None:
    memory = device.allocate("device", 64)
    memory.host[:] = 0
    device.upload(memory, 64)
    source, back = np.full(64, 7, np.uint8), np.zeros(64, np.uint8)
    stream, size = ctypes.c_void_p(device.fields().stream), ctypes.c_size_t(64)
    device._call("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(memory.address), source.ctypes, size, stream)
    device._call("cuMemcpyDtoHAsync_v2", back.ctypes, ctypes.c_uint64(memory.address), size, stream)
    assert not back.any(), "nobody has waited"
    device._call("cuStreamSynchronize", stream)
    assert (back == 7).all()


def test_addresses_outside_of_device_memory_are_refused(device: cuda.Device) -> None:
    memory = device.allocate("device", 4096)
    with pytest.raises(KernelError, match="cuMemcpyHtoD_v2 on stand-in 0 in host memory: CUDA_ERROR_INVALID_VALUE"):
        device.upload(dataclasses.replace(memory, address=memory.address + 1), 4096)
    with pytest.raises(KernelError, match=r"of device memory: .*CUDA_ERROR_OUT_OF_MEMORY.* Set a smaller size"):
        device.allocate("device", 1 << 62)


def test_a_failing_call_in_a_kernel_is_named() -> None:
    loaded = native.Native(None)
    device = cuda.Device(loaded.library, cuda.STAND_IN)
    gpu = device.fields(itemsize=1)
    work = native.Work(
        comm=None,
        datatype=None,
        op=None,
        count=64,
        itemsize=1,
        send=64,
        recv=64,
        more={"mode": 2, "extra": ctypes.addressof(gpu)},
    )
    with pytest.raises(KernelError, match=r"gpu_copy: error 1 of the CUDA driver"):
        loaded.prepare("gpu_copy", work)(0, 1)


def test_a_copy_with_wrong_bytes_is_refused() -> None:
    genuine = benchmarks.get("gpu.copy")
    assert isinstance(genuine, DeviceBenchmark)
    spec = benchmarks.resolve(Spec(benchmark=genuine.name, size=4096, ranks=1, options=STAND_IN))
    worker = Worker(Plan([spec], Effort(launches=1, iterations=1), False), os.open(os.devnull, os.O_WRONLY), None)
    assert worker._impossible(spec, genuine) == ""
    assert verify(worker, spec, genuine) == ("", True)

    def other(spec: Spec, rank: int, send: Any) -> Any:
        return np.roll(send(rank), 1)

    complaint, compared = verify(worker, spec, dataclasses.replace(genuine, expected=other))
    assert compared
    assert "wrong bytes on rank 0" in complaint


def test_a_driver_without_a_gpu_or_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = native.Native(None).library

    def find(name: str) -> Any:
        if name == "cuInit":
            return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint)(lambda flags: 100)
        return getattr(loaded, f"stand_in_{name}")

    monkeypatch.setattr(cuda, "driver", lambda kernels, accelerator: find)
    with pytest.raises(KernelError, match=r"it shows no GPU .*CUDA_VISIBLE_DEVICES"):
        cuda.Device(loaded, "cuda")
    monkeypatch.setattr(cuda, "driver", lambda kernels, accelerator: lambda name: getattr(loaded, f"no_{name}"))
    with pytest.raises(KernelError, match="has no cuInit: it is too old"):
        cuda.Device(loaded, "cuda")


LOGS = Path(__file__).parent / "golden" / "logs" / "nccl_tests"


@pytest.mark.slow
def test_the_notebook_shows_imported_logs_of_nccl_and_says_what_was_measured(tmp_path: Path) -> None:
    values: dict[str, Any] = {"sizes": "64", "memories": "", "collectives": "", "launches": 2, "time_cap": 0.01}
    study = Study(**values, campaign=str(tmp_path / "c"), accelerator="stand-in")
    assert str(study.nccl_figure()).strip("*").startswith("No log of nccl-tests")
    study.points[:] = [point for point in study.points if not benchmarks.get(point.spec.benchmark).mpi]
    measuring.measure([point.spec for point in study.points], study.effort, into=study.campaign)
    importing.bring([LOGS / "all_reduce_named.txt"], into=study.campaign)
    study = Study(measure=False, **values, campaign=str(tmp_path / "c"))
    assert study.accelerator == "stand-in"
    assert str(study.machine()).startswith("**No GPU was measured.**")
    assert "An empty kernel takes" in str(study.findings())
    figure = study.nccl_figure().plot
    assert figure.layout.yaxis.title.text.startswith("bus bandwidth")
    rows = study.nccl
    measured = rows[rows["busbw_GBps_mean"] > 0]
    factor = 2 * (measured["ranks"] - 1) / measured["ranks"]
    assert np.allclose(measured["busbw_GBps_mean"], measured["algbw_GBps_mean"] * factor, rtol=0.05, atol=0.02)


def test_the_ways_between_gpus_are_variables_of_ucx() -> None:
    study = Study(accelerator="stand-in", switches="all,no_cuda_ipc,no_gpudirect_rdma", memories="device-device")
    settings = {
        tuple(pair for pair in point.spec.environment if pair[0].startswith("UCX_"))
        for point in study.points
        if point.spec.benchmark == "gpu.mpi_latency"
    }
    assert settings == {(), (("UCX_TLS", "^cuda_ipc"),), (("UCX_IB_GPU_DIRECT_RDMA", "no"),)}
    with pytest.raises(SpecError, match="switches='ipc', but it must be one of all, no_cuda_ipc"):
        Study(switches="ipc")


def test_gpus_are_told_by_their_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from labkit.host import machine

    for number in (0, 1):
        folder = tmp_path / "proc/driver/nvidia/gpus" / f"0000:0{number}:00.0"
        folder.mkdir(parents=True)
        (folder / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\n")
    monkeypatch.setattr(machine, "Path", lambda path: tmp_path / str(path).lstrip("/"))
    monkeypatch.setattr(machine, "read", lambda path: path.read_text())
    assert machine.gpus() == ["NVIDIA H200", "NVIDIA H200"]
    monkeypatch.setattr(machine, "Path", lambda path: tmp_path / "nothing")
    assert machine.gpus() == []


def test_the_gpu_is_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    from labkit import host
    from labkit.run import fingerprints

    spec = benchmarks.resolve(Spec(benchmark="gpu.copy", ranks=1))
    names = set()
    for model in ("NVIDIA H200", "NVIDIA V100"):
        monkeypatch.setattr(host, "gpus", lambda model=model: [model])
        names.add(fingerprints.fingerprint(spec, "none"))
    assert len(names) == 2
    stand_in = spec.replace(options=spec.values | STAND_IN)
    assert "gpu" not in fingerprints.facts(stand_in, "none")
