"""The clock has steps nearly as long as a message, or longer: recorded times, rounded down to these steps."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, NotShownError, Parameters
from bench.situations._recorded import costs, kept, launched, part, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _WHERE = "two-cores", "mpi.latency"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"step_ns": step} for step in (200, 200, 1000, 1000)])


def _make(case: Parameters, folder: Path) -> Campaign:
    some = part(_EXAMPLE, _WHERE, lambda one: one.spec.transport == "shm" and one.spec.size <= 64)
    step = case["step_ns"]
    rounded = [
        replace(one, time_ns=one.time_ns // step * step, meta={**one.meta, "clock_ns": float(step)})
        for one in launched(some, case["launches"])
    ]
    return kept(folder, _EXAMPLE, [*rounded, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    found = np.unique(np.concatenate([one.time_ns.ravel() for one in campaign.samples(_WHERE)]))
    if np.any(found % case["step_ns"]):
        raise NotShownError(f"times are not multiples of {case['step_ns']} ns")
    return f"all times are multiples of {case['step_ns']} ns"


KIND = Kind(
    words="a clock with coarse steps",
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    rule="clock-step",
)
