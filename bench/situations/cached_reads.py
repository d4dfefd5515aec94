"""The page cache read ahead: recorded, beside reads with O_DIRECT."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import above, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_WHERE, _EXAMPLE = "storage.read", "two-cores"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"engine": name} for name in ("psync", "io_uring", "libaio", "psync")])


def _make(case: Parameters, folder: Path) -> Campaign:
    def chosen(one: Samples) -> bool:
        values = one.spec.values
        ahead = values["cache"] == "drop" and values["pattern"] == "sequential"
        return ahead or (values["cache"] == "direct" and values["engine"] == case["engine"] and values["depth"] == 1)

    return kept(folder, _EXAMPLE, launched(part(_EXAMPLE, _WHERE, chosen), case["launches"]))


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(cache: str) -> float:
        return typical((one for one in campaign.samples(_WHERE) if one.spec.values["cache"] == cache), "bandwidth_MBps")

    return above("MB/s through the page cache and past it", of("drop"), of("direct"))


KIND = Kind(
    words="reads that the page cache answers",
    labels=(Label(_WHERE, ("page-cache",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
