"""Points with a kernel that opens its files itself: their folder, derived types and verification."""

from __future__ import annotations

import glob
import os
import shutil
import socket
from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.benchmarks import ParallelFileBenchmark
from labkit.errors import KernelError
from labkit.io.supervise.leftovers import RANKS
from labkit.point import storage
from labkit.point.spec import Spec
from labkit.worker import files
from labkit.worker.group import Prepares


def prepare(
    mpi: Any,
    comm: Any,
    spec: Spec,
    benchmark: ParallelFileBenchmark,
    rank: int,
    free: Callable[[Callable[[], object]], None],
) -> tuple[str, dict[str, Any]]:
    """Make the folder of a point with what its kernel needs there.

    Parameters
    ----------
    free : takes functions that undo it, to be called by all ranks in reverse order.

    Returns
    -------
    The folder, and fields of the kernel's job.
    """
    parent = storage.folder(spec.values["directory"])
    name = ""
    if rank == 0:
        name = _made(parent, benchmark.folders(spec))
    folder = comm.bcast(name)
    if not os.path.isdir(folder):  # noqa: PTH112
        raise KernelError(
            f"{folder}, which rank 0 made on its host, is not there for rank {rank}. Set directory to a folder that "
            "all hosts share and every rank can write."
        )
    # an open handle shows that the folder belongs to this process
    handle = os.open(folder, os.O_RDONLY)

    def remove() -> None:
        os.close(handle)
        comm.Barrier()
        if rank == 0:
            shutil.rmtree(folder, ignore_errors=True)

    free(remove)
    try:
        benchmark.fill(spec, rank, folder)
    except OSError as error:
        raise KernelError(
            f"{folder} cannot take the files: {error.strerror}. {storage.full(folder)}".strip()
        ) from error
    comm.Barrier()
    path = os.path.join(folder, benchmark.path(spec, rank))  # noqa: PTH118
    fields: dict[str, Any] = {
        "path": path.encode(),
        "amode": sum(getattr(mpi, f"MODE_{name}") for name in benchmark.amode),
        "active": benchmark.owns(spec, rank),
        "comms": [mpi.COMM_SELF if benchmark.alone(spec) else comm],
        "extra": np.zeros(spec.ranks * 64, np.uint8),
        **benchmark.fields(spec, rank),
    }
    if own := fields.pop("own_name", ""):
        fields["own_path"] = os.path.join(folder, own).encode()  # noqa: PTH118
    if benchmark.types is not None:
        fields |= _types(mpi, *benchmark.types(spec, rank), free)
    return folder, fields


def _made(parent: str, folders: Any) -> str:
    """Make a folder and its parents; remove folders that killed ranks left on this host."""
    prefix = f"{RANKS}{socket.gethostname()}-"
    for leftover in glob.glob(os.path.join(parent, f"{prefix}*")):  # noqa: PTH118, PTH207
        if not os.path.exists(f"/proc/{leftover.rpartition('-')[2]}"):  # noqa: PTH110 (its rank was killed)
            shutil.rmtree(leftover, ignore_errors=True)  # a file of `Setting` stays; that removes it
    folder = os.path.join(parent, f"{prefix}{os.getpid()}")  # noqa: PTH118
    try:
        os.mkdir(folder)  # noqa: PTH102
        for below in folders:
            os.makedirs(os.path.join(folder, below))  # noqa: PTH103, PTH118
    except OSError as error:
        raise KernelError(
            f"{folder} cannot be made: {error.strerror}. Set directory to a folder that every rank can write."
        ) from error
    return folder


def _types(
    mpi: Any, element: int, memory: Any, file: Any, free: Callable[[Callable[[], object]], None]
) -> dict[str, Any]:
    """MPI's types of memory and file, from parts of arrays."""
    one = mpi.DOUBLE.Create_contiguous(element).Commit()
    free(one.Free)

    def joined(parts: Any) -> Any:
        pieces = [one.Create_subarray(*part, order=mpi.ORDER_FORTRAN) for part in parts]
        whole = mpi.Datatype.Create_struct([1] * len(pieces), [0] * len(pieces), pieces).Commit()
        for piece in pieces:
            piece.Free()
        free(whole.Free)
        return whole

    return {"types": [one, joined(memory), joined(file)]}


def verify(worker: Prepares, spec: Spec, benchmark: ParallelFileBenchmark) -> tuple[str, bool]:
    """Run one untimed iteration and compare what it wrote or read; return as `labkit.worker.verify.verify` does."""
    complaint = files.unfit(spec)
    if worker.ranks.any([bool(complaint)])[0]:
        return complaint, False
    small, rank = benchmark.checked(spec), worker.ranks.rank
    number = benchmark.fields(small, rank).get("nplaces", 1) if benchmark.moves == "read" else 1
    stride = small.size if benchmark.moves == "read" else 0
    with worker.prepared(small, benchmark, window=number, stride=stride) as (loop, setting):
        sent, received = setting.sends[0], setting.recvs[0]
        if small.size:
            sent[: small.size] = ((np.arange(small.size) * 7 + 13 * rank) % 251).astype(np.uint8)
        received[:] = 0xEE
        worker.ranks.barrier()
        loop(0, 1)
        worker.ranks.barrier()
        complaint = benchmark.complaint(small, rank, setting.folder, received)
        worker.ranks.barrier()
    return complaint and f"wrong bytes on rank {rank}: {complaint}. Nothing was timed.", True
