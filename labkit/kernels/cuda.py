"""A GPU in a rank: CUDA's driver by its library, memory of each kind, and a stand-in with the same functions.

`libcuda.so.1` comes with the driver of every NVIDIA GPU, so nothing else needs to be installed. The stand-in
(stand_in.c) is part of the compiled kernels. As on a GPU, its device memory cannot be read or written at its address;
only the functions of the driver copy it. Its times say nothing about a GPU.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import KernelError
from labkit.kernels.native import rebuild
from labkit.point.units import format_size

DRIVER = "libcuda.so.1"
STAND_IN = "stand-in"
_TARGET = 75  # least compute capability that current toolkits know; code for it runs on all later GPUs
_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
_MANAGED = 1  # CU_MEM_ATTACH_GLOBAL
_LAZILY = 1  # CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
_ENABLED_BEFORE = 704  # CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
_EMPTY = ".version 6.3\n.target sm_{target}\n.address_size 64\n.visible .entry empty()\n{{\n ret;\n}}\n"


class _Handle(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_char * 64),)


class Gpu(ctypes.Structure):
    """What a kernel needs of a GPU; the structure of device.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ["cuda", "stream", "begin", "end", "empty", "context", "far_context"]),
        ("remote", ctypes.c_uint64),
        ("device", ctypes.c_void_p * 2),
        ("host", ctypes.c_void_p * 2),
        ("room", ctypes.c_int64 * 2),
        ("itemsize", ctypes.c_int64),
        ("rank", ctypes.c_int32),
        ("ranks", ctypes.c_int32),
    )


@dataclass(frozen=True)
class Memory:
    """A buffer.

    Parameters
    ----------
    kind : ``device``, ``managed``, ``pinned``, ``host`` (pageable), or ``peer`` (of the second GPU).
    address : as kernels and MPI see it.
    size : B.
    host : (size,) uint8 on the host: the buffer itself, or a pinned copy of it if it is device memory.
    """

    kind: str
    address: int
    size: int
    host: NDArray[np.uint8]

    @property
    def on_device(self) -> bool:
        """Whether the host's array is a copy."""
        return self.kind in ("device", "managed", "peer")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The buffer for CuPy, Numba, PyTorch and mpi4py (version 3 of the interface)."""
        if not self.on_device:
            raise AttributeError(f"{self.kind} memory is on the host")
        return {
            "shape": (self.size,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
            "strides": None,
            "stream": None,
        }


def driver(kernels: ctypes.CDLL, accelerator: str) -> Callable[[str], Any]:
    """Return what finds a function of the driver by its name: in NVIDIA's library, or in the stand-in.

    Parameters
    ----------
    kernels : the compiled kernels.
    accelerator : ``cuda`` or ``stand-in``.

    Raises
    ------
    KernelError
        If this machine has no NVIDIA driver.
    """
    if accelerator == STAND_IN:
        return lambda name: getattr(kernels, f"stand_in_{name}")
    try:
        library = ctypes.CDLL(DRIVER)
    except OSError:
        raise KernelError(
            f"there is no NVIDIA driver ({DRIVER}). Run this on a machine with an NVIDIA GPU, or set "
            "accelerator=stand-in to try it in host memory."
        ) from None
    return lambda name: getattr(library, name)


def names(kernels: ctypes.CDLL) -> list[str]:
    """Names of the driver's functions in the order of the kernels' table."""
    words = (ctypes.c_char_p * 256).in_dll(kernels, "labkit_cuda_functions")
    return [word.decode() for word in itertools.takewhile(lambda word: word is not None, words)]


class Device:
    """One GPU, opened by this process.

    Parameters
    ----------
    kernels : the compiled kernels.
    accelerator : ``cuda`` or ``stand-in``.
    number : number of the GPU, modulo the number of GPUs of this process.

    Attributes
    ----------
    count : GPUs that this process sees.
    name : name of the GPU.
    version : version of CUDA that the driver offers, such as ``13.0``; empty for the stand-in.
    """

    def __init__(self, kernels: ctypes.CDLL, accelerator: str, number: int = 0) -> None:
        if ctypes.c_int64.in_dll(kernels, "labkit_gpu_size").value != ctypes.sizeof(Gpu):
            raise KernelError(f"the C kernels were built from other sources. Rebuild them: {rebuild()}")
        self._kernels, self._find = kernels, driver(kernels, accelerator)
        self._names = names(kernels)
        self._table = (ctypes.c_void_p * len(self._names))()
        for place, name in enumerate(self._names):
            self._table[place] = ctypes.cast(self._found(name), ctypes.c_void_p)
        code = self._find("cuInit")(0)
        self.count = self._number("cuDeviceGetCount") if not code else 0
        if not self.count:
            raise KernelError(
                f"the NVIDIA driver is here, but it shows no GPU ({self._text(code) if code else 'no device'}). Check "
                "nvidia-smi and CUDA_VISIBLE_DEVICES, or set accelerator=stand-in to try it in host memory."
            )
        self.number = number % self.count
        self._handle = self._number("cuDeviceGet", self.number)
        label = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", label, len(label), self._handle)
        self.name = label.value.decode(errors="replace")
        major, minor = divmod(self._number("cuDriverGetVersion"), 1000)
        self.version = f"{major}.{minor // 10}" if major else ""
        self._contexts = {self.number: self._context(self._handle)}
        self._call("cuCtxSetCurrent", self._contexts[self.number])
        stream, begin, end = (ctypes.c_void_p() for _ in range(3))
        self._call("cuStreamCreate", ctypes.byref(stream), 0)
        self._call("cuEventCreate", ctypes.byref(begin), 0)
        self._call("cuEventCreate", ctypes.byref(end), 0)
        self._common = {"cuda": ctypes.addressof(self._table), "stream": stream, "begin": begin, "end": end}
        self._common |= {"empty": self._empty(), "context": self._contexts[self.number]}
        self._mapped: list[ctypes.c_uint64] = []

    # ---- calls ---------------------------------------------------------------------------------------------------

    def _found(self, name: str) -> Any:
        try:
            return self._find(name)
        except AttributeError:
            raise KernelError(f"the NVIDIA driver has no {name}: it is too old. Update it.") from None

    def _text(self, code: int) -> str:
        text = ctypes.c_char_p()
        known = self._find("cuGetErrorName")(code, ctypes.byref(text)) == 0 and text.value
        return text.value.decode() if known and text.value else f"CUDA error {code}"

    def _call(self, name: str, *arguments: Any) -> None:
        code = self._find(name)(*arguments)
        if code:
            raise KernelError(f"{name} on {getattr(self, 'name', 'the GPU')}: {self._text(code)}.")

    def _number(self, name: str, *arguments: Any) -> int:
        value = ctypes.c_int()
        self._call(name, ctypes.byref(value), *arguments)
        return value.value

    def _context(self, handle: int) -> ctypes.c_void_p:
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        return context

    def _empty(self) -> ctypes.c_void_p:
        """A function of the device that does nothing, which the driver compiles."""
        major, minor = (self._number("cuDeviceGetAttribute", what, self._handle) for what in _CAPABILITY)
        image = _EMPTY.format(target=min(10 * major + minor, _TARGET)).encode()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), image)
        self._call("cuModuleGetFunction", ctypes.byref(function), module, b"empty")
        return function

    # ---- memory --------------------------------------------------------------------------------------------------

    def allocate(self, kind: str, size: int, pageable: NDArray[np.uint8] | None = None) -> Memory:
        """Allocate a buffer; it lives until the process ends.

        Parameters
        ----------
        kind : as in `Memory`.
        size : B.
        pageable : memory of the host, for the kind ``host``.
        """
        if kind == "host":
            assert pageable is not None
            return Memory(kind, pageable.ctypes.data, size, pageable)
        address, pinned = ctypes.c_uint64(), ctypes.c_void_p()
        try:
            self._call("cuMemAllocHost_v2", ctypes.byref(pinned), ctypes.c_size_t(size))
            if kind == "device":
                self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
            elif kind == "managed":
                self._call("cuMemAllocManaged", ctypes.byref(address), ctypes.c_size_t(size), _MANAGED)
            elif kind == "peer":
                with _current(self, self.far_context):
                    self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        except KernelError as error:
            raise KernelError(f"{format_size(size)} of {kind} memory: {error} Set a smaller size or window.") from error
        assert pinned.value is not None
        host: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(pinned.value))
        return Memory(kind, pinned.value if kind == "pinned" else address.value, size, host)

    def upload(self, memory: Memory, size: int) -> None:
        """Copy the first `size` B of the host's array to the device."""
        if memory.on_device:
            with _current(self, self.far_context if memory.kind == "peer" else None):
                self._call("cuMemcpyHtoD_v2", *_sized(ctypes.c_uint64(memory.address), memory.host.ctypes, size))

    def download(self, memory: Memory, size: int) -> None:
        """Fill the host's array from the device, once all work on the device has ended."""
        self._call("cuCtxSynchronize")
        if memory.on_device:
            with _current(self, self.far_context if memory.kind == "peer" else None):
                self._call("cuMemcpyDtoH_v2", *_sized(memory.host.ctypes, ctypes.c_uint64(memory.address), size))

    # ---- other processes, other GPUs -------------------------------------------------------------------------------

    def exported(self, memory: Memory) -> bytes:
        """64 B that let another process map the memory."""
        handle = _Handle()
        self._call("cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(memory.address))
        return bytes(handle)

    def mapped(self, exported: bytes) -> int:
        """Map the memory of another process; return its address here. `unmap` ends it."""
        address = ctypes.c_uint64()
        handle = _Handle.from_buffer_copy(exported)
        self._call("cuIpcOpenMemHandle_v2", ctypes.byref(address), handle, _LAZILY)
        self._mapped.append(address)
        return address.value

    def unmap(self) -> None:
        """Unmap all memory of other processes."""
        while self._mapped:
            self._call("cuIpcCloseMemHandle", self._mapped.pop())

    @property
    def far_context(self) -> ctypes.c_void_p:
        """The context of the next GPU."""
        other = (self.number + 1) % self.count
        if other not in self._contexts:
            self._contexts[other] = self._context(self._number("cuDeviceGet", other))
        return self._contexts[other]

    def reaches_peer(self) -> bool:
        """Whether this GPU can access the memory of the next one directly."""
        other = self._number("cuDeviceGet", (self.number + 1) % self.count)
        return bool(self._number("cuDeviceCanAccessPeer", self._handle, other))

    def let_access(self, enabled: bool) -> None:
        """Let this GPU access the memory of the next one directly, or no longer."""
        far = self.far_context
        if enabled:
            code = self._find("cuCtxEnablePeerAccess")(far, 0)
            if code not in (0, _ENABLED_BEFORE):
                raise KernelError(f"cuCtxEnablePeerAccess from {self.name}: {self._text(code)}.")
        else:
            self._find("cuCtxDisablePeerAccess")(far)  # an error says that it was not enabled

    def fields(self, **more: Any) -> Gpu:
        """The structure for a kernel."""
        gpu = Gpu(**self._common)
        for name, value in more.items():
            setattr(gpu, name, value)
        return gpu

    def staged(self, mpi_table: int, gpu: Gpu) -> int:
        """Address of a table of MPI functions that copy device memory through pinned memory (staging.c)."""
        function = self._kernels.labkit_staged
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]
        address: int = function(mpi_table, ctypes.addressof(gpu))
        return address


def _sized(to: Any, source: Any, size: int) -> tuple[Any, Any, ctypes.c_size_t]:
    return to, source, ctypes.c_size_t(size)


class _current:  # noqa: N801 (reads like a function)
    """Another context, current for a while; none changes nothing."""

    def __init__(self, device: Device, context: ctypes.c_void_p | None) -> None:
        self._device, self._context = device, context

    def __enter__(self) -> None:
        if self._context is not None:
            self._device._call("cuCtxSetCurrent", self._context)

    def __exit__(self, *error: object) -> None:
        if self._context is not None:
            self._device._call("cuCtxSetCurrent", self._device._contexts[self._device.number])


def aware(mpi: Any) -> bool:
    """Whether the MPI library says that it takes addresses of device memory.

    Open MPI and MVAPICH answer ``MPIX_Query_cuda_support``, MPICH ``MPIX_GPU_query_support``. A library that has
    neither does not say so.
    """
    symbols = ctypes.CDLL(mpi.__file__)
    if (ask := getattr(symbols, "MPIX_Query_cuda_support", None)) is not None:
        return bool(ask())
    if (ask := getattr(symbols, "MPIX_GPU_query_support", None)) is not None:
        answer = ctypes.c_int()
        return ask(0, ctypes.byref(answer)) == 0 and bool(answer.value)  # 0: MPIX_GPU_SUPPORT_CUDA
    return False
