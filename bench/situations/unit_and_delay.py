"""Two faults at once: an imported rate has a wrong unit, and packets are later than the description says: measured."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort
from labkit.point.units import MiB
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_PLACES = ("mpi.latency", _measured.ROUND_TRIP)
_EFFORTS = {  # streams so long that the delay, when they begin, costs them little
    "mpi.bandwidth": Effort(launches=3, iterations=10, warmup=2, time_cap=2.0),
    _measured.STREAM: Effort(launches=3, iterations=40, warmup=1, time_cap=2.0),
}


def _cases(random: np.random.Generator) -> list[Parameters]:
    delays = random.permutation([1, 2, 2, 3])
    return [{"ms": int(ms), "factor": factor} for ms, factor in zip(delays, (8.0, 1 / 8, 1e3, 1e-3), strict=True)]


def _told(one: Samples, case: Parameters) -> Samples:
    """Return a launch over the link without the delay; a rate of a stream times the factor."""
    one = _measured.told(one, delay=None, delayed_by=None)
    if one.spec.benchmark != _measured.STREAM:
        return one
    reported = tuple(
        replace(each, value=each.value * case["factor"])
        for each in one.reported
        if each.name == "bandwidth_MBps" and each.t is None
    )
    return replace(one, reported=reported)


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_measured.LINK},delay={case['ms']}ms"
    specs = [*_measured.of_machine(), *_measured.messages(testbed), *_measured.streams(testbed, (MiB,))]
    return _measured.changed(specs, folder, partial(_told, case=case), _EFFORTS)


def _shown(campaign: Campaign, case: Parameters) -> str:
    rate = _measured.typical(campaign.samples(_measured.STREAM), "bandwidth_MBps")
    ranks = [4 * one.spec.size / _measured.typical([one]) / 1e6 for one in campaign.samples("mpi.bandwidth")]
    wrong = _measured.apart("MB/s of a stream as imported and of ranks", rate, float(np.median(ranks)), 4.0)
    return f"{wrong}; {_measured.late_trips(campaign, case['ms'])}"


KIND = Kind(
    words="a wrong unit and a hidden delay",
    labels=(Label(_measured.STREAM, ("units",)), *(Label(place, ("path-delay",)) for place in _PLACES)),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
