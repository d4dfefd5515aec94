"""One request at a time goes to a device that takes sixteen: recorded reads, cut out of an example."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import below, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_WHERE, _EXAMPLE = "storage.read", "two-cores"


def _cases(random: np.random.Generator) -> list[Parameters]:
    deep = [(engine, depth) for engine in ("io_uring", "libaio") for depth in (4, 16)]
    return with_launches(random, [{"engine": engine, "depth": depth} for engine, depth in deep])


def _make(case: Parameters, folder: Path) -> Campaign:
    def chosen(one: Samples) -> bool:
        values = one.spec.values
        usual = values["cache"] == "direct" and values["engine"] == case["engine"]
        return usual and values["depth"] in (1, case["depth"])

    return kept(folder, _EXAMPLE, launched(part(_EXAMPLE, _WHERE, chosen), case["launches"]))


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(depth: int) -> float:
        return typical((one for one in campaign.samples(_WHERE) if one.spec.values["depth"] == depth), "bandwidth_MBps")

    return below(f"MB/s with one request under way and with {case['depth']}", of(1), of(case["depth"]), 1.4)


KIND = Kind(
    words="one request at a time",
    labels=(Label(_WHERE, ("few-outstanding",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
