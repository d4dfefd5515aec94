"""Samples of a load on servers, closed or open loop: their times, their rate, and what waited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from labkit.errors import DataError
from labkit.point.notes import Note, note
from labkit.point.spec import Effort, Reported
from labkit.tools import trimmed
from labkit.tools._invocation import Parsed

Times = NDArray[np.int64]
WARMUP = 100  # operations, but no more than a tenth of those of a time
_WAITING, _FEW, _GROWN = 0.05, 3, 1.5  # of the operations at the end, and beside half time: more is an overload


def parsed(
    due: Times,
    start: Times,
    end: Times,
    extras: Mapping[str, Times],
    effort: Effort,
    *,
    paced: bool,
    work: int = 1,
    payload: int,
    doubts: Sequence[Note] = (),
    bulk: tuple[float, int] = (0.0, 0),
) -> Parsed:
    """Samples of a run, sorted by the due time of the operations, without the warm-up.

    Parameters
    ----------
    due, start, end : (operations,) int64, ns from the start of the run.
    extras : further columns, each (operations,).
    paced : whether operations were due at a rate; a sample then counts from the moment when it was due.
    work : operations in a sample, for the rate.
    payload : B that were moved.
    doubts : warnings.
    bulk : operations per second in the background, and the size of each, B.

    Raises
    ------
    DataError
        If no operation came after the warm-up.
    """
    columns = {"start_ns": start, "end_ns": end, **extras} | ({"service_ns": end - start} if paced else {})
    exact = effort.warmup is not None or effort.iterations is not None
    warmup = min(WARMUP, len(end) if exact else len(end) // 10) if effort.warmup is None else effort.warmup
    effort = replace(effort, warmup=warmup)
    result = trimmed(Parsed(time_ns=end - (due if paced else start), extras=columns), effort)
    if not len(result.time_ns):
        raise DataError(f"The client made {len(end)} operations, wanted more than the warm-up of {effort.warmup}.")
    kept = dict(result.extras)
    ends = kept.pop("end_ns")
    span = float(ends.max() - (ends - result.time_ns).min()) * 1e-9
    rates = [Reported("transaction_rate_per_s", "1/s", "mean", work * len(ends) / span)]
    if bulk[1]:
        rates.append(Reported("bandwidth_MBps", "MB/s", "mean", bulk[0] * bulk[1] * 1e-6))
    return replace(
        result,
        extras=kept,
        reported=tuple(rates),
        warnings=(*result.warnings, *doubts),
        facts={"verified": True, "payload_B": payload},
    )


def overload(due: Times, served: Times, unfinished: int, *, paced: bool, what: str = "operations") -> list[Note]:
    """Return a warning of operations that were due and waited, more and more of them, or were never done.

    Parameters
    ----------
    due, served : (operations,) int64, ns from the start of the run; until `served` an operation waits.
    unfinished : operations that were due and not done.
    paced : whether operations were due at a rate.
    what : word for the operations.
    """
    done = len(due)
    if unfinished:
        text = f"overload: {unfinished} {what} that were due were not done, so the tail is longer than shown."
        return [note("overload", text, unfinished=unfinished, done=done)]
    half, last = (int(((due <= time) & (served > time)).sum()) for time in due[[done // 2, -1]]) if done else (0, 0)
    if paced and last > max(_WAITING * done, _FEW, _GROWN * half):
        text = f"overload: {last} of {done} {what} waited when the last was due, {half} at half time: the tail grows."
        return [note("overload", text, waiting=last, half=half, done=done)]
    return []


def bounds(effort: Effort, rate: float, most: int, *, poisson: bool) -> tuple[float, int, int]:
    """Return the duration of a load, s, its largest number of operations, and the expected number.

    Parameters
    ----------
    rate : operations per second that are due; 0 for a closed loop.
    most : operations of a closed loop without a count; that many are expected of it if it has one.
    """
    warmup = WARMUP if effort.warmup is None else effort.warmup
    count = (effort.iterations or 0) and effort.iterations + warmup
    if rate:
        seconds = count / rate if count else max(effort.time_cap, warmup / rate)
        expected = int(np.ceil(seconds * rate))
        spread = 2 if count and poisson else 1  # poisson arrivals vary
        return spread * seconds, count or 2 * expected + 1000, expected
    return (effort.time_limit if count else effort.time_cap), count or most, count
