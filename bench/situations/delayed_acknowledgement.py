"""Each round trip waits 40 ms for a delayed acknowledgement: recorded round trips, and that time added."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _WHERE, _METRIC, _WAIT_US = "virtual-cluster", "sockets.tcp_rr", "round_trip_us", 40e3


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"late_us": float(random.uniform(0, 2e3))} for _ in range(4)])


def _make(case: Parameters, folder: Path) -> Campaign:
    changed = []
    for one in launched(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), case["launches"]):
        reported = tuple(
            replace(each, value=each.value + _WAIT_US + case["late_us"])
            for each in one.reported
            if each.name == _METRIC and each.statistic != "stddev"
        )
        changed.append(replace(one, reported=reported))
    return kept(folder, _EXAMPLE, [*changed, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    usual = typical(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), _METRIC)
    return above("µs of a round trip, with the wait and without", typical(campaign.samples(_WHERE), _METRIC), usual)


KIND = Kind(
    words="a delayed acknowledgement per round trip",
    labels=(Label(_WHERE, ("timer",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
