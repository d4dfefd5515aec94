"""A mean of few round trips, of which the first waited for its connection: recorded values, and that wait added."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _WHERE, _METRIC = "virtual-cluster", "sockets.tcp_rr", "round_trip_us"


def _cases(random: np.random.Generator) -> list[Parameters]:
    given = [{"count": count, "first_us": float(random.uniform(1e3, 3e3))} for count in (3, 5, 8, 10)]
    return with_launches(random, given)


def _make(case: Parameters, folder: Path) -> Campaign:
    changed = []
    for one in launched(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), case["launches"]):
        (mean,) = (each for each in one.reported if (each.name, each.statistic) == (_METRIC, "mean"))
        value = ((case["count"] - 1) * mean.value + case["first_us"]) / case["count"]
        reported = (replace(mean, value=value), replace(mean, statistic="max", value=case["first_us"]))
        changed.append(replace(one, reported=reported, meta={**one.meta, "iterations": case["count"]}))
    return kept(folder, _EXAMPLE, [*changed, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    usual = typical(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), _METRIC)
    return above("µs of a mean of few and of many round trips", typical(campaign.samples(_WHERE), _METRIC), usual)


KIND = Kind(
    words="a mean of few round trips with a slow first one",
    labels=(Label(_WHERE, ("mean-of-outliers", "short-warm-up")),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
