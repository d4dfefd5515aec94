"""The point mixes two kinds of iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from labkit.formats import ycsb
from labkit.judge.cause import Case, Cause
from labkit.judge.finding import Evidence, Finding
from labkit.read.records.factors import level

_MIXES: Mapping[str, Callable[[Any], float]] = {  # option → % of the iterations of one kind
    "read_percent": float,
    "reads": lambda share: 100 * float(share),
    "reuse": float,
    "workload": lambda name: 100 * max(ycsb.WORKLOADS[name][0].values(), default=0.0),
}
_SHARE = 0.05  # tolerance between the share of a mode and the share of its kind


def test(case: Case) -> Finding | None:
    """The modes have the shares of the two kinds."""
    row = case.rows[0]
    uppers = case.view.shares[str(row["fingerprint"])]
    for option, percent in _MIXES.items():
        value = row.get(f"option_{option}")
        if pd.isna(value) or (option == "workload" and value not in ycsb.WORKLOADS):
            continue
        share = percent(value) / 100
        if 0 < share < 1 and all(min(abs(upper - share), abs(1 - upper - share)) <= _SHARE for upper in uppers):
            return CAUSE.found(case, [Evidence(code=option, values={"value": level(value)})])
    return None


CAUSE = Cause(
    code="mixed-iterations",
    name="the iterations are a mix",
    seen="the modes have the shares of the two kinds that an option mixes",
    excluded="the shares differ",
    decides="each kind alone",
    clues={
        "read_percent": "of reads and writes: read_percent={value}",
        "reads": "of reads and writes: reads={value}",
        "reuse": "of messages from the same buffer and from others: reuse={value}",
        "workload": "of kinds of operations: workload={value}",
    },
    remedy="Measure each kind alone, or report both modes.",
    test=test,
    explains=("two-modes",),
)
