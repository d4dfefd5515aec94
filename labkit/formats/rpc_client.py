"""What labkit's RPC clients write: a line of JSON with totals, and a file with four numbers a sample.

The numbers are int64 in the machine's byte order: the times when a call was due, when it began and when its answer had
arrived, in ns from the start of the run; and its client.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.formats._client import rows
from labkit.formats.reading.json import last_line

_WHAT = "RPC client output"
_COUNTS = ("operations", "unfinished", "payload_B", "bulk_operations", "bulk_ns")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Calls of one run, sorted by due time; a sample may be a window of calls.

    Parameters
    ----------
    due, start, end : (samples,) int64, ns from the start of the run.
    client : (samples,) int64, from 0.
    unfinished : calls that were due and were not made when the run was ended.
    payload : B that the clients sent.
    bulk : calls of the clients in the background, over `bulk_s`.
    bulk_s : s.
    """

    due: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    client: NDArray[np.int64]
    unfinished: int
    payload: int
    bulk: int
    bulk_s: float


def parse(text: str, samples: bytes) -> Result:
    """Read a run.

    Raises
    ------
    DataError
        If the text does not end in the client's line, or the number of samples differs from it.
    """
    told = last_line(text, _WHAT)
    operations, unfinished, payload, bulk, bulk_ns = (told[name].whole() for name in _COUNTS)
    calls = rows(samples, operations, 4, what=_WHAT, each="calls")
    due, start, end, client = calls[np.argsort(calls[:, 0], kind="stable")].T
    if (client < 0).any():
        raise DataError(f"{_WHAT}: found a client below 0, wanted its place.")
    return Result(
        due=due,
        start=start,
        end=end,
        client=client,
        unfinished=unfinished,
        payload=payload,
        bulk=bulk,
        bulk_s=bulk_ns * 1e-9,
    )
