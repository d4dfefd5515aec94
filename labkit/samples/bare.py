"""Compacted files of points without samples, such as numbers that were imported: written many at once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from labkit.errors import DataError
from labkit.samples import compacted

if TYPE_CHECKING:
    import pyarrow as pa

P = TypeVar("P", bound=tuple[Any, ...])


def write(points: Sequence[P], folder: Path, header: Callable[[P], str]) -> Path:
    """Write points without samples, which come by fingerprint and launch, to a file: aside, read back, renamed.

    Parameters
    ----------
    points : each begins with its fingerprint and launch.
    header : of a point, in ASCII; those of a row group are in memory at once.

    Returns
    -------
    The file, named after its own checksum.

    Raises
    ------
    DataError
        If what is read back is not what was written; the file is not there then.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    aside, sink = folder / f".{compacted.PREFIX}.parquet.{os.getpid()}", pa.BufferOutputStream()
    names = ["fingerprint", "launch"]  # bounds of headers would tell nobody anything
    with pq.ParquetWriter(
        sink, compacted.layout(), compression="zstd", use_dictionary=names[:1], write_statistics=names,
        write_page_checksum=True,
    ) as out:  # fmt: skip
        for group in _groups(points, header):
            out.write_batch(group)
    held = sink.getvalue()
    try:
        with aside.open("wb") as file:
            file.write(held)
            file.flush()
            os.fsync(file.fileno())
        digest = compacted.digest(aside)
        if not hashlib.sha256(held).hexdigest().startswith(digest):
            raise DataError(f"{aside} does not hold what labkit wrote to it. Check the disk.")
        path = folder / f"{compacted.PREFIX}{digest}.parquet"
        aside.rename(path)
    finally:
        aside.unlink(missing_ok=True)
    return path


def _groups(points: Sequence[P], header: Callable[[P], str]) -> Iterator[pa.RecordBatch]:
    """Row groups of points."""
    import pyarrow as pa

    none = pa.ListArray.from_arrays(np.zeros(1, np.int32), pa.array([], pa.int64()))
    for start in range(0, len(points), compacted.POINTS):
        some = points[start : start + compacted.POINTS]
        empty = np.zeros(len(some) + 1, np.int32)
        columns = [
            pa.array([one[0] for one in some], pa.string()), pa.array([one[1] for one in some], pa.int32()),
            _joined([*map(header, some)]),
            pa.ListArray.from_arrays(empty, pa.array([], pa.int32())),
            pa.ListArray.from_arrays(empty, pa.array([], pa.int64())),
            pa.MapArray.from_arrays(empty, pa.array([], pa.string()), none),
        ]  # fmt: skip
        yield pa.RecordBatch.from_arrays(columns, schema=compacted.layout())


def _joined(texts: Sequence[str]) -> pa.Array:
    """Texts in ASCII as an array of their bytes, copied once only: that is most of the work."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(texts), [None, pa.py_buffer(ends), pa.py_buffer("".join(texts).encode("ascii"))]
    )
