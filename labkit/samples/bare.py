"""Compacted files of points without samples, such as numbers that were imported: written many at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from labkit.errors import DataError
from labkit.samples import compacted


def write(points: Sequence[tuple[str, int, bytes]], folder: Path) -> Path:
    """Write points without samples, which come by fingerprint and launch, to a file: aside, read back, renamed.

    Parameters
    ----------
    points : fingerprint, launch and header of each; all are in memory at once.

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

    aside, empty = folder / f".{compacted.PREFIX}.parquet.{os.getpid()}", np.zeros(len(points) + 1, np.int32)
    none = pa.ListArray.from_arrays(np.zeros(1, np.int32), pa.array([], pa.int64()))
    columns = [
        pa.array([name for name, _, _ in points], pa.string()), pa.array([one for _, one, _ in points], pa.int32()),
        pa.array([header for _, _, header in points], pa.binary()),
        pa.ListArray.from_arrays(empty, pa.array([], pa.int32())),
        pa.ListArray.from_arrays(empty, pa.array([], pa.int64())),
        pa.MapArray.from_arrays(empty, pa.array([], pa.string()), none),
    ]  # fmt: skip
    table = pa.Table.from_arrays(columns, schema=compacted.layout())
    try:
        with aside.open("wb") as file:
            with pq.ParquetWriter(
                file, table.schema, compression="zstd", use_dictionary=["fingerprint"], write_page_checksum=True
            ) as out:
                out.write_table(table, row_group_size=compacted.POINTS)
            file.flush()
            os.fsync(file.fileno())
        with compacted.opened(aside, checked=True) as back:
            for group in range(back.num_row_groups):
                if not back.read_row_group(group).equals(table.slice(group * compacted.POINTS, compacted.POINTS)):
                    raise DataError(f"{aside} does not hold what was written to it. Look after the disk.")
        path = folder / f"{compacted.PREFIX}{compacted.digest(aside)}.parquet"
        aside.rename(path)
    finally:
        aside.unlink(missing_ok=True)
    return path
