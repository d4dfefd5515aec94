"""Compacted files of points without samples, such as numbers that were imported: written many at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labkit import writing
from labkit.errors import DataError
from labkit.samples import compacted, patterned
from labkit.samples.patterned import Points


def write(points: Points, folder: Path, launches: Callable[[NDArray[np.uint64]], NDArray[np.int32]]) -> Path:
    """Write points without samples to a file: aside, read back, renamed.

    Parameters
    ----------
    launches : as in `labkit.samples.patterned.Points.groups`.

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

    sink = pa.BufferOutputStream()
    names = ["fingerprint", "launch"]  # bounds of the others would tell nobody anything
    with pq.ParquetWriter(
        sink,
        patterned.layout(),
        compression="zstd",
        use_dictionary=[*names[:1], *patterned.DICTIONARIES],
        dictionary_pagesize_limit=1 << 30,
        write_statistics=names,
        write_page_checksum=True,
    ) as out:
        for group in points.groups(launches):
            out.write_batch(group, row_group_size=patterned.POINTS)
    held = sink.getvalue()
    with writing.aside(folder / f"{compacted.PREFIX}.parquet") as fresh:
        fresh.write_bytes(held)
        digest = compacted.digest(fresh)
        if not hashlib.sha256(held).hexdigest().startswith(digest):
            raise DataError(f"{fresh} does not hold what labkit wrote to it. Check the disk.")
        path = folder / f"{compacted.PREFIX}{digest}.parquet"
        writing.move(fresh, path, durable=True)
    return path
