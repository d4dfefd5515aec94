"""The messages in flight no longer fit in a core's cache."""

from __future__ import annotations

import pandas as pd

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import VARIED, varied, with_options
from labkit.judge.finding import SIZE, Evidence, Finding, Value, Wanted
from labkit.judge.view.points import PER_BYTE, headline

_CACHE = 256 * 1024  # B in flight from which a core's own cache is too small on any processor of this decade


def test(case: Case) -> Finding | None:
    """Messages through memory of one host: the larger ones do not fit."""
    row, *others = case.rows
    here = row["testbed"] == "local" and not row["hosts"] and row["transport"] in ("shm", "auto")
    if headline(row) not in PER_BYTE or not here or str(row["benchmark"]).startswith("sockets."):
        return None
    window = row.get("option_window")
    # else one buffer serves all messages
    apart = getattr(benchmarks.get(str(row["benchmark"])), "apart", False) or row.get("option_buffers") == "multiple"
    count = int(window) if apart and isinstance(window, int | float) and pd.notna(window) else 1
    size = int(row["message_size_B"])
    fits = count > 1 if case.about.code == "window-order" else all(other["message_size_B"] < size for other in others)
    if count * size < _CACHE or not fits:
        return None
    total, each = (Value(value=value, unit=SIZE) for value in (count * size, size))
    clues = [Evidence(code="flight", values={"count": str(count), "size": each, "total": total})]
    gone, stays = varied(case, points(case))
    return CAUSE.found(case, [*clues, *gone], stays)


def points(case: Case) -> list[Wanted]:
    """Return the windows of a size that fits; none where one message does not, or the window cannot be smaller."""
    windows = [spec for spec in case.specs if spec.count("window", 0)]
    largest = max((spec.size for spec in windows), default=0)
    smaller = _CACHE // (2 * largest) if largest else 0
    if not 0 < smaller < case.spec.count("window", 0):
        return []
    return [Wanted(with_options(spec, window=smaller)) for spec in windows]


CAUSE = Cause(
    code="cache-size",
    name="the data no longer fit in a cache near the core",
    seen="the messages in flight are larger than a core's own cache",
    excluded="they are smaller, or go over a network",
    decides="a smaller window",
    clues={"flight": "{count} × {size} = {total} in flight", **VARIED},
    remedy="State that the larger messages come from a farther cache or from memory.",
    test=test,
    points=points,
    explains=("size-order", "window-order"),
)
