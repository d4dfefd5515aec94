"""The GPU of a rank: opened for the first point that needs it, its buffers, and how MPI gets at them."""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.benchmarks import POISON, DeviceBenchmark
from labkit.errors import KernelError
from labkit.kernels import cuda, native
from labkit.kernels.native import Native
from labkit.options.ranks import Gpus, OnGpu, Peer, Via
from labkit.point.spec import Spec, has
from labkit.worker import LACKING
from labkit.worker.adapters import local_rank
from labkit.worker.group import Alone, Together
from labkit.worker.setting import Allocate, Setting

PAGE = 2 << 20  # B: a GPU maps memory in such pages, and another process maps whole ones


class Devices:
    """The GPUs that the points of this rank have used."""

    def __init__(self, engine: Any, mpi: Any, ranks: Alone | Together) -> None:
        self._engine, self._mpi, self._ranks = engine, mpi, ranks
        self._open: dict[tuple[str, int], cuda.Device] = {}
        self._memory: dict[tuple[cuda.Device, str, str], cuda.Memory] = {}
        self._aware: bool | None = None

    def impossible(self, spec: Spec, benchmark: DeviceBenchmark) -> str:
        """Say why this rank cannot run a point; empty if it can. The GPU is open afterwards."""
        if not isinstance(self._engine, Native):
            return f"{LACKING}: {benchmark.name} needs the compiled kernels. Run: {native.rebuild()}"
        try:
            device = self._device(spec)
        except KernelError as error:
            return f"{LACKING}: {error}"
        if "peer" in benchmark.memories(spec, self._ranks.rank):
            if device.count < 2:
                return f"{LACKING}: {benchmark.name} needs two GPUs, but there is one. Leave this benchmark out."
            if spec.of(Peer).options.peer_access and not device.reaches_peer():
                return f"{LACKING}: {device.name} cannot access the next GPU's memory. Set peer_access=False."
        if has(spec.options, Via) and spec.options.via == "direct" and not self._direct(spec):
            return (
                f"{LACKING}: MPI cannot take this memory: it does not say that it is CUDA-aware. Set via=staged, or "
                "use a CUDA-aware MPI."
            )
        return ""

    def _device(self, spec: Spec) -> cuda.Device:
        """The GPU of this rank for a point."""
        number = local_rank()
        local = self._ranks.rank if number is None else number
        each = has(spec.options, Gpus) and spec.options.gpus == "each"
        key = spec.of(OnGpu).options.accelerator, local if each else 0
        if key not in self._open:
            self._open[key] = cuda.Device(self._engine.library, *key)
        return self._open[key]

    def _takes_devices(self) -> bool:
        """Whether the MPI library says that it is CUDA-aware."""
        if self._aware is None:
            self._aware = self._mpi is not None and cuda.aware(self._mpi)
        return self._aware

    def _direct(self, spec: Spec) -> bool:
        """Whether MPI can take the addresses of a point's buffers itself.

        Managed memory is also memory of the host. The stand-in's device memory is known to no MPI.
        """
        if "device" not in _kinds(spec):
            return True
        return self._takes_devices() and spec.of(OnGpu).options.accelerator != cuda.STAND_IN

    def _staged(self, spec: Spec) -> bool:
        """Whether labkit copies what MPI sends and receives; the same on all ranks."""
        if self._mpi is None or not has(spec.options, Via):
            return False
        via = spec.options.via
        unaware = not self._takes_devices() or spec.of(OnGpu).options.accelerator == cuda.STAND_IN
        return bool(_kinds(spec) & {"device", "managed"}) and (via == "staged" or (via == "auto" and unaware))

    def allocator(self, spec: Spec, benchmark: DeviceBenchmark, pageable: Allocate) -> Buffers:
        """Allocators of the buffers of a point.

        Parameters
        ----------
        pageable : what gives memory of the host.
        """
        send, recv = benchmark.memories(spec, self._ranks.rank)
        return Buffers(self._device(spec), {"send": send, "recv": recv}, self._memory, pageable)

    def dress(self, setting: Setting, buffers: Buffers, spec: Spec, benchmark: DeviceBenchmark) -> None:
        """Give the work of a setting its addresses in device memory, and what its kernel needs of the GPU."""
        device, [work] = buffers.device, setting.works
        gpu = device.fields(itemsize=work.itemsize, rank=work.rank, ranks=work.ranks)
        more: dict[str, Any] = dict(work.more)
        if "peer" in buffers.kinds.values():
            device.let_access(spec.of(Peer).options.peer_access)
            gpu.far_context = device.far_context
        if which := benchmark.maps(spec):
            gpu.remote = device.mapped(self._of_peer(device.exported(buffers.taken[which]), work.peer))
        if self._staged(spec):
            for place, name in enumerate(("send", "recv")):
                memory = buffers.taken[name]
                if memory.on_device:
                    gpu.device[place], gpu.room[place] = memory.address, buffers.sizes[name]
                    gpu.host[place] = memory.host.ctypes.data
            assert self._engine._table is not None
            more["mpi"] = device.staged(ctypes.addressof(self._engine._table), gpu)
        more["extra"] = ctypes.addressof(gpu)
        send, recv = (buffers.taken[name].address for name in ("send", "recv"))
        setting.works[:] = [dataclasses.replace(work, more=more, send=send, recv=recv)]
        setting.mirrored, setting.gpu = buffers, gpu

    def _of_peer(self, exported: bytes, peer: int) -> bytes:
        """What the other rank exported."""
        received = np.zeros(64, np.uint8)
        self._mpi.COMM_WORLD.Sendrecv(np.frombuffer(exported, np.uint8), peer, 7, received, peer, 7)
        return received.tobytes()

    def facts(self, spec: Spec) -> Mapping[str, str]:
        """Properties that the numbers of a point depend on."""
        device = self._device(spec)
        facts = {"gpu": device.name, "gpu_driver": f"CUDA {device.version}" if device.version else cuda.STAND_IN}
        if self._mpi is not None and has(spec.options, Via):
            staged = "staged: labkit copies through pinned memory" if self._staged(spec) else "direct: MPI takes it"
            facts["gpu_path"] = staged if _kinds(spec) & {"device", "managed"} else "host memory"
            facts["gpu_mpi"] = "CUDA-aware" if self._takes_devices() else "not CUDA-aware"
        return facts


def _kinds(spec: Spec) -> set[str]:
    """Kinds of memory that the ranks of a point send from and receive into."""
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, DeviceBenchmark)
    return {kind for rank in range(spec.ranks) for kind in benchmark.memories(spec, rank)}


class Buffers:
    """The buffers of one point: an allocator for `Setting`, and the way between host and device.

    Attributes
    ----------
    taken : name → memory.
    sizes : name → B in use.
    """

    def __init__(
        self,
        device: cuda.Device,
        kinds: Mapping[str, str],
        memory: dict[tuple[cuda.Device, str, str], cuda.Memory],
        pageable: Allocate,
    ) -> None:
        self.device, self.kinds, self._memory, self._pageable = device, kinds, memory, pageable
        self.taken: dict[str, cuda.Memory] = {}
        self.sizes: dict[str, int] = {}

    def __call__(self, name: str, size: int) -> NDArray[np.uint8]:
        """The host's array of a buffer; a buffer that is large enough serves all points."""
        key = self.device, name, self.kinds[name]
        held = self._memory.get(key)
        if held is None or held.size < size:
            room = -(-max(size, 1) // PAGE) * PAGE if key[2] != "host" else max(size, 4096)
            host = self._pageable(name, room) if key[2] == "host" else None
            held = self._memory[key] = self.device.allocate(key[2], room, host)
        self.taken[name], self.sizes[name] = held, size
        return held.host[:size]

    def upload(self) -> None:
        """Bring what the host wrote into device memory; a copy that is left out afterwards finds no pattern here."""
        for name, memory in self.taken.items():
            self.device.upload(memory, self.sizes[name])
            if memory.on_device:
                memory.host[: self.sizes[name]] = POISON

    def download(self) -> None:
        """Bring what a kernel received back to the host."""
        self.device.download(self.taken["recv"], self.sizes["recv"])
