"""Two faults at once: the warm-up is too short, and the link is slower than the description says: measured."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_WHERE, _TIMES = "mpi.latency", 6.0
_EFFORT = Effort(launches=3, iterations=100, warmup=1, time_cap=0.2)


def _cases(random: np.random.Generator) -> list[Parameters]:
    rates, shares = random.choice([20, 30, 40, 60, 80], 4, replace=False), random.permutation([0.6, 0.7, 0.8, 0.9])
    return [{"mbit": int(mbit), "share": float(share)} for mbit, share in zip(rates, shares, strict=True)]


def _told(one: Samples, case: Parameters) -> Samples:
    """Return a launch over the stated link; of latencies the first iterations are slow."""
    one = _measured.told(one, rate_bps=200e6)
    if one.spec.benchmark != _WHERE:
        return one
    slow = np.where(np.arange(one.n) < case["share"] * one.n, _TIMES, 1.0)
    return replace(one, time_ns=(one.time_ns * slow).astype(np.int64))


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"virtual-cluster:2,rate={case['mbit']}mbit"
    latencies = [one for one in _measured.messages(testbed, (8,)) if one.benchmark == _WHERE]
    specs = [*_measured.of_machine(), *latencies, *_measured.streams(testbed)]
    return _measured.changed(specs, folder, partial(_told, case=case), {_WHERE: _EFFORT})


def _shown(campaign: Campaign, case: Parameters) -> str:
    first = [one.seconds[..., : int(case["share"] * one.n)] for one in campaign.samples(_WHERE)]
    rest = [one.seconds[..., int(case["share"] * one.n) + 1 :] for one in campaign.samples(_WHERE)]
    long, usual = (float(np.median(np.concatenate([some.ravel() for some in each]))) for each in (first, rest))
    slow = _measured.above("s of the first iterations and of the others", long, usual, 3.0)
    return f"{slow}; {_measured.slow_stream(campaign, 1.8)}"


KIND = Kind(
    words="a short warm-up and a hidden limit of the rate",
    labels=(
        Label(_WHERE, ("short-warm-up",)),
        *(Label(place, ("rate-limit",)) for place in ("mpi.bandwidth", _measured.STREAM)),
    ),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
