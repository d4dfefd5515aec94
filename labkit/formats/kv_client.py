"""What labkit's client of key-value stores writes: a line of JSON with totals, and a file with five numbers a sample.

The numbers are int64 in the machine's byte order: the times when the operation was due, when its first request was sent
and when its last answer had arrived, in ns from the start of the run; its kind, an index into `OPERATIONS`; and its
client.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.formats._client import rows
from labkit.formats.reading.json import last_line

OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE")  # YCSB's words
_WHAT = "kv_client output"
_COUNTS = ("operations", "missing", "unfinished", "sent_B", "received_B")


@dataclass(frozen=True, kw_only=True)
class Result:
    """Operations of one run, sorted by due time.

    Parameters
    ----------
    due, start, end : (operations,) int64, ns from the start of the run.
    operation : (operations,) int64, place in `OPERATIONS`.
    client : (operations,) int64, from 0.
    missing : operations that did not find their key.
    unfinished : operations that were due but had no answer at the end of the run.
    payload : B that went in the busier direction.
    """

    due: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    operation: NDArray[np.int64]
    client: NDArray[np.int64]
    missing: int
    unfinished: int
    payload: int


def parse(text: str, samples: bytes) -> Result:
    """Read a run.

    Raises
    ------
    DataError
        If the text does not end in the client's line, or the number of samples differs from it.
    """
    told = last_line(text, _WHAT)
    count, missing, unfinished, sent, received = (told[name].whole() for name in _COUNTS)
    operations = rows(samples, count, 5, what=_WHAT, each="operations")
    due, start, end, operation, client = operations[np.argsort(operations[:, 0], kind="stable")].T
    if ((operation < 0) | (operation >= len(OPERATIONS))).any():
        raise DataError(f"{_WHAT}: found an unknown operation, wanted a place in {', '.join(OPERATIONS)}.")
    return Result(
        due=due,
        start=start,
        end=end,
        operation=operation,
        client=client,
        missing=missing,
        unfinished=unfinished,
        payload=max(sent, received),
    )
