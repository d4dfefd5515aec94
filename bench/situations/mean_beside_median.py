"""A mean stands beside a median of round trips with a long tail: recorded values, and the tail added.

Some in a hundred round trips take much longer, so that no single one decides the mean.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_EXAMPLE, _WHERE, _METRIC, _COUNT = "virtual-cluster", "sockets.tcp_rr", "round_trip_us", 1000
_TOOL = "sockperf"  # reports percentiles


def _cases(random: np.random.Generator) -> list[Parameters]:
    tails = [(0.02, 4e3), (0.04, 2e3), (0.05, 3e3), (0.08, 1.5e3)]
    return with_launches(random, [{"share": share, "tail_us": us} for share, us in tails])


def _changed(one: Samples, case: Parameters) -> tuple[Samples, Samples]:
    """Return a launch whose tool reports the mean, and the same one whose tool reports the median."""
    by_name = {each.statistic: each for each in one.reported if each.name == _METRIC}
    usual, longest = by_name["mean"], 2 * case["tail_us"]
    value = (1 - case["share"]) * usual.value + case["share"] * case["tail_us"]
    mean = (replace(usual, value=value), replace(usual, statistic="max", value=longest))
    own = {**one.meta, "iterations": _COUNT}
    other = one.spec.replace(options={**one.spec.values, "tool": _TOOL})
    named = {**own, "fingerprint": other.fingerprint({"library": _TOOL}), "engine": _TOOL, "library": _TOOL}
    return replace(one, reported=mean, meta=own), replace(one, spec=other, reported=(by_name["p50"],), meta=named)


def _make(case: Parameters, folder: Path) -> Campaign:
    some = launched(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed == SPINE), case["launches"])
    return kept(folder, _EXAMPLE, [*(each for one in some for each in _changed(one, case)), *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(median: bool) -> float:
        some = campaign.samples(_WHERE)
        return typical((one for one in some if (one.spec.values["tool"] == _TOOL) is median), _METRIC)

    return above("µs of a mean and of the median beside it", of(False), of(True), 1.5)


KIND = Kind(
    words="a mean beside a median, with a long tail",
    labels=(Label(_WHERE, ("mean-of-outliers",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
