"""A mean of 1000 round trips holds one that took 150 ms: recorded values, and one slow round trip added."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _WHERE, _METRIC, _COUNT = "virtual-cluster", "sockets.tcp_rr", "round_trip_us", 1000


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"longest_us": us} for us in (80e3, 120e3, 150e3, 180e3)])


def _make(case: Parameters, folder: Path) -> Campaign:
    some = launched(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), case["launches"])
    changed = []
    for one in some:
        (mean,) = (each for each in one.reported if (each.name, each.statistic) == (_METRIC, "mean"))
        value = ((_COUNT - 1) * mean.value + case["longest_us"]) / _COUNT
        longest = replace(mean, statistic="max", value=case["longest_us"])
        reported = (replace(mean, value=value), longest)
        changed.append(replace(one, reported=reported, meta={**one.meta, "iterations": _COUNT}))
    return kept(folder, _EXAMPLE, [*changed, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    usual = typical(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), _METRIC)
    return above(
        "µs on average, with the slow round trip and without", typical(campaign.samples(_WHERE), _METRIC), usual
    )


KIND = Kind(
    words="one slow round trip in a mean",
    labels=(Label(_WHERE, ("mean-of-outliers",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
