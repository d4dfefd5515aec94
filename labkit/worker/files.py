"""Checks that the folder of an MPI-IO point on this rank's host can hold the files, and describes it."""

from __future__ import annotations

from labkit import benchmarks
from labkit.benchmarks import FileBenchmark, ParallelFileBenchmark
from labkit.errors import KernelError
from labkit.options.ranks import Access, Folder
from labkit.point import notes, storage
from labkit.point.spec import Spec, has


def _folder(spec: Spec) -> str:
    return storage.folder(spec.of(Folder).options.directory)


def _size(spec: Spec) -> int:
    """B of the files of all ranks."""
    benchmark = benchmarks.get(spec.benchmark)
    if isinstance(benchmark, ParallelFileBenchmark):
        return benchmark.file_size(spec)
    alone = has(spec.options, Access) and spec.options.access == "single"
    return spec.size * (1 if alone else spec.ranks)


def unfit(spec: Spec) -> str:
    """Say why the folder cannot take the files; empty if it can, or if opening a file there will tell."""
    try:
        return storage.unfit(_folder(spec), needs=_size(spec))
    except OSError:
        return ""


def explain(spec: Spec, error: Exception) -> None:
    """Raise a clearer error in place of one, if the file system of the folder is full.

    Raises
    ------
    KernelError
        If it is, and the error does not say so.
    """
    why = storage.full(_folder(spec))
    if why and why not in str(error):
        raise KernelError(f"{str(error).rstrip('.')}. {why}") from error


def facts(spec: Spec, benchmark: FileBenchmark) -> dict[str, notes.Scalar]:
    """Facts of a point, as `labkit.point.storage.Access.facts` has them."""
    synced = benchmark.synced(spec)
    if benchmark.dropped(spec):
        access = storage.Access(page_cache="was asked to forget the files before each iteration", cached=False)
    elif benchmark.moves in ("read", "both"):
        access = storage.Access(page_cache="answers the reads: the file was just written", cached=True)
    elif synced:
        access = storage.Access(page_cache=f"is written to the disk by MPI_File_sync {synced}", cached=False)
    elif benchmark.moves:
        access = storage.Access(page_cache="takes the writes; the disk may get them later", cached=True)
    elif isinstance(benchmark, ParallelFileBenchmark):
        access = storage.Access(page_cache="holds the metadata; the disk may get them later", cached=True)
    else:
        access = storage.Access(page_cache="holds no data: the file is only opened", cached=True)
    return access.facts(_folder(spec), _size(spec))
