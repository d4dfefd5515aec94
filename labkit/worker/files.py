"""The folder of a point of MPI-IO on this rank's host: whether it can take the files, and what it is."""

from __future__ import annotations

import tempfile

from labkit import notes, storage
from labkit.benchmarks import FileBenchmark
from labkit.spec import Spec


def _folder(spec: Spec) -> str:
    return str(spec.option("directory") or tempfile.gettempdir())


def _size(spec: Spec) -> int:
    """B of the files of all ranks."""
    return spec.size * (1 if spec.values.get("access") == "single" else spec.ranks)


def unfit(spec: Spec) -> str:
    """Say why the folder cannot take the files; empty if it can, or if opening a file there will tell."""
    try:
        return storage.unfit(_folder(spec), needs=_size(spec))
    except OSError:
        return ""


def facts(spec: Spec, benchmark: FileBenchmark) -> dict[str, notes.Scalar]:
    """Facts of a point, as `labkit.storage.Access.facts` has them."""
    if benchmark.moves == "read":
        access = storage.Access(page_cache="answers the reads: the file was just written", cached=True)
    elif spec.values.get("sync"):
        access = storage.Access(page_cache="is written to the disk by MPI_File_sync after every write", cached=False)
    elif benchmark.moves:
        access = storage.Access(page_cache="takes the writes; the disk may get them later", cached=True)
    else:
        access = storage.Access(page_cache="holds no data: the file is only opened", cached=True)
    return access.facts(_folder(spec), _size(spec))
