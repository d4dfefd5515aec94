"""Output of labkit's own clients: a line of JSON with totals, and a file with numbers of each sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError


def rows(data: bytes, count: int, columns: int, *, what: str, each: str) -> NDArray[np.int64]:
    """Return the samples of a run, (count, columns) int64; the first three are due, start and end, ns.

    Parameters
    ----------
    what, each : how errors call the file, and what has a sample, in the plural.

    Raises
    ------
    DataError
        If there are not so many samples, or none, or an operation starts before it is due or ends before its start.
    """
    size = 8 * columns
    if count < 1 or len(data) != count * size:
        raise DataError(f"{what}: found {len(data)} B of samples, wanted {size} B for each of {count} {each}.")
    samples = np.frombuffer(data, np.int64).reshape(-1, columns)
    due, start, end = samples.T[:3]
    if ((start < due) | (end < start)).any():
        raise DataError(f"{what}: found times out of order, wanted due <= start <= end.")
    return samples
