"""What labkit's client of key-value stores writes: a line of JSON with totals, and a file with five numbers a sample.

The numbers are int64 in the machine's byte order: when the operation was due, when its first request was sent and its
last answer had come, each in ns from the start of the run; its kind, as a place in `OPERATIONS`; and its client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError

OPERATIONS = ("READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE")  # YCSB's words
_WHAT = "kv_client output"


@dataclass(frozen=True, kw_only=True)
class Result:
    """Operations of one run in the order in which they were due.

    Parameters
    ----------
    due, start, end : (operations,) int64, ns from the start of the run.
    operation : (operations,) int64, place in `OPERATIONS`.
    client : (operations,) int64, from 0.
    missing : operations that did not find their key.
    unfinished : operations that were due and had no answer when the run was ended.
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
        If the text does not end in the client's line, or there are not as many samples as it says.
    """
    line = text.strip().rpartition("\n")[2]
    try:
        told: Mapping[str, Any] = json.loads(line)
        operations, missing, unfinished = (int(told[name]) for name in ("operations", "missing", "unfinished"))
        moved = max(int(told["sent_B"]), int(told["received_B"]))
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{_WHAT}: found {line[-200:]!r}, wanted one JSON object ({error}).") from error
    if not operations or len(samples) != operations * 40:
        raise DataError(f"{_WHAT}: found {len(samples)} B of samples, wanted 40 B for each of {operations} operations.")
    rows = np.frombuffer(samples, np.int64).reshape(-1, 5)
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    due, start, end, operation, client = rows.T
    wrong = (start < due) | (end < start) | (operation < 0) | (operation >= len(OPERATIONS))
    if wrong.any():
        raise DataError(f"{_WHAT}: found times out of order or an unknown operation, wanted due <= start <= end.")
    return Result(
        due=due,
        start=start,
        end=end,
        operation=operation,
        client=client,
        missing=missing,
        unfinished=unfinished,
        payload=moved,
    )
