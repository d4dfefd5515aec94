"""Histograms of times with a bounded relative error, after HdrHistogram.

Every value below 128 ns has its own bucket; each octave above has 64. A value is known to half the width of its bucket,
within 1/128 (0.8 %).

References
----------
.. [1] G. Tene, HdrHistogram, https://github.com/HdrHistogram/HdrHistogram: the bucket layout, here with base 2 and
   seven bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

EXACT = 128  # ns; below it every value has a separate bucket
_EACH = EXACT // 2  # buckets of an octave
ERROR = 1 / EXACT  # largest relative error of `middle`


def bucket(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bucket of each value, ns, of the same shape; larger values have larger buckets.

    Examples
    --------
    >>> bucket(np.array([0, 127, 128, 129, 130, 256])).tolist()
    [0, 127, 128, 128, 129, 192]
    """
    # frexp is exact below 2^53 ns, which is 104 days
    shift = np.maximum(np.frexp(np.asarray(values, np.float64))[1] - 7, 0).astype(np.int64)
    buckets: NDArray[np.int64] = shift * _EACH + (np.asarray(values, np.int64) >> shift)
    return buckets


def middle(buckets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Middle of each bucket, ns: the value that represents it.

    Examples
    --------
    >>> middle(np.array([7, 128, 192])).tolist()
    [7.0, 128.5, 257.5]
    """
    shift = np.maximum(np.asarray(buckets, np.int64) // _EACH - 1, 0)
    low = (buckets - shift * _EACH) << shift
    return np.asarray(low + ((np.int64(1) << shift) - 1) / 2, np.float64)


def count(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Buckets that values fall into, in order, and how many fall into each."""
    buckets, counts = np.unique(bucket(values), return_counts=True)
    return buckets, counts.astype(np.int64)


def quantile(buckets: NDArray[np.int64], counts: NDArray[np.int64], q: float) -> float:
    """Quantile by nearest rank, ns, within `ERROR` of the exact one.

    Parameters
    ----------
    buckets, counts : as `count` gives them.
    """
    reached = np.cumsum(counts)
    wanted = max(1, int(np.ceil(round(float(reached[-1]) * q, 9))))
    return float(middle(buckets[np.searchsorted(reached, wanted)]))
