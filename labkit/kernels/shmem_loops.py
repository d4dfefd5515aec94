"""Puts and gets of shmem.c as loops over shmem4py, to show what Python adds; OpenSHMEM runs already."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from labkit.kernels import loops as mpi_loops
from labkit.kernels.loops import Step
from labkit.kernels.native import Loop, Work


def shmem_put(work: Work) -> tuple[Step, bool]:
    """shmem_put and shmem_quiet."""
    shmem, target, source, peer = _ends(work)

    def step() -> None:
        shmem.put(target, source, peer)
        shmem.quiet()

    return step, True


def shmem_put_nb(work: Work) -> tuple[Step, bool]:
    """shmem_put_nbi and shmem_quiet."""
    shmem, target, source, peer = _ends(work)

    def step() -> None:
        shmem.put_nbi(target, source, peer)
        shmem.quiet()

    return step, True


def shmem_get(work: Work) -> tuple[Step, bool]:
    """shmem_get."""
    shmem, target, source, peer = _ends(work)
    return lambda: shmem.get(target, source, peer), True


def shmem_get_nb(work: Work) -> tuple[Step, bool]:
    """shmem_get_nbi and shmem_quiet."""
    shmem, target, source, peer = _ends(work)

    def step() -> None:
        shmem.get_nbi(target, source, peer)
        shmem.quiet()

    return step, True


def absent() -> str:
    """Say that shmem4py is not installed; empty if it is."""
    if importlib.util.find_spec("shmem4py") is not None:
        return ""
    return (
        "binding=shmem4py needs the Python package shmem4py. Install it: pip install 'labkit[shmem]'. That compiles it "
        "with oshcc, which needs the headers of Open MPI (Debian: libopenmpi-dev). Or set binding=c."
    )


def _shmem() -> Any:
    """Module shmem4py.shmem, which neither starts nor ends OpenSHMEM."""
    import shmem4py  # optional

    shmem4py.rc.initialize, shmem4py.rc.finalize = False, False
    from shmem4py import shmem  # reads the settings above

    return shmem


def _ends(work: Work) -> tuple[Any, Any, Any, int]:
    """The module, the place at the peer or here that a transfer writes, the place that it reads, the peer."""
    size = work.count * work.itemsize
    assert not isinstance(work.send, int)
    assert not isinstance(work.recv, int)
    return _shmem(), work.recv[:size], work.send[:size], work.peer


class Loops(mpi_loops.Loops):
    """The loops over shmem4py. The peer of the active PE waits in a barrier."""

    engine = "shmem4py"
    _loops: ClassVar[dict[str, Callable[[Work], tuple[Step, bool]]]] = {
        loop.__name__: loop for loop in (shmem_put, shmem_put_nb, shmem_get, shmem_get_nb)
    }

    def prepare(self, kernel: str, *works: Work) -> Loop:
        """A function (warmup, iterations) → times in ns, with one phase and one thread."""
        shmem, active = _shmem(), works[0].more["active"]
        run = super().prepare(kernel, *works)

        def loop(warmup: int, iterations: int, start_ns: int = 0, slot_ns: int = 0) -> NDArray[np.int64]:
            times = run(warmup, iterations) if active else np.ones((1, 1, iterations), np.int64)
            shmem.barrier_all()
            return times

        return loop
