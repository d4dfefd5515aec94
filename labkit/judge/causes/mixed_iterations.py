"""The point mixes two kinds of iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from labkit import benchmarks
from labkit.formats import ycsb
from labkit.judge.cause import Case, Cause
from labkit.judge.causes._other_settings import VARIED, varied, with_options
from labkit.judge.finding import Evidence, Finding, Wanted
from labkit.point.spec import Spec
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
            told = [varied(case, [one]) for one in points(case)]
            gone, stays = ([clue for one in told for clue in one[side]][:1] for side in (0, 1))
            return CAUSE.found(case, [Evidence(code=option, values={"value": level(value)}), *gone], stays)
    return None


def points(case: Case) -> list[Wanted]:
    """Return the point with each kind of iteration alone, where an option gives its share."""
    if case.spec.values.get("read_percent") is not None:
        return [Wanted(_of_kind(case.spec, name)) for name in ("storage.read", "storage.write")]
    option = next((one for one in _ALONE if case.spec.values.get(one) is not None), "")
    return [Wanted(with_options(case.spec, **{option: share})) for share in _ALONE.get(option, ())]


_ALONE: Mapping[str, tuple[float, ...]] = {"reads": (0.0, 1.0), "reuse": (0, 100)}


def _of_kind(spec: Spec, benchmark: str) -> Spec:
    """Return reads or writes alone, with the options that they have in common with the mix."""
    known = {one.name for one in fields(benchmarks.get(benchmark).options)}
    return spec.replace(benchmark=benchmark, options={n: v for n, v in spec.values.items() if n in known})


CAUSE = Cause(
    code="mixed-iterations",
    name="the iterations are a mix",
    seen="the modes have the shares of the two kinds of iterations that an option mixes",
    excluded="the shares differ",
    decides="each kind alone",
    clues={
        "read_percent": "of reads and writes: read_percent={value}",
        "reads": "of reads and writes: reads={value}",
        "reuse": "of messages from the same buffer and from others: reuse={value}",
        "workload": "of kinds of operations: workload={value}",
        **VARIED,
    },
    remedy="Measure each kind alone, or report both modes.",
    test=test,
    points=points,
    explains=("two-modes",),
)
