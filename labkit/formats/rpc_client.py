"""What labkit's RPC clients write: a line of JSON with totals, and a file with four numbers a sample.

The numbers are int64 in the machine's byte order: when a call was due, when it began and when its answer had come, each
in ns from the start of the run; and its client.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError

_WHAT = "RPC client output"


@dataclass(frozen=True, kw_only=True)
class Result:
    """Calls of one run in the order in which they were due; a sample may be a window of calls.

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
        If the text does not end in the client's line, or there are not as many samples as it says.
    """
    line = text.strip().rpartition("\n")[2]
    try:
        told: Mapping[str, Any] = json.loads(line)
        operations, unfinished, payload = (int(told[name]) for name in ("operations", "unfinished", "payload_B"))
        bulk, bulk_ns = int(told["bulk_operations"]), int(told["bulk_ns"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{_WHAT}: found {line[-200:]!r}, wanted one JSON object ({error}).") from error
    if not operations or len(samples) != operations * 32:
        raise DataError(f"{_WHAT}: found {len(samples)} B of samples, wanted 32 B for each of {operations} calls.")
    rows = np.frombuffer(samples, np.int64).reshape(-1, 4)
    due, start, end, client = rows[np.argsort(rows[:, 0], kind="stable")].T
    if ((start < due) | (end < start) | (client < 0)).any():
        raise DataError(f"{_WHAT}: found times out of order, wanted due <= start <= end.")
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
