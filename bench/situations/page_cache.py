"""Writes went to the page cache instead of the device: recorded, beside writes with O_DIRECT."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import above, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_WHERE, _EXAMPLE = "storage.write", "two-cores"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"pattern": name} for name in ("random", "sequential") for _ in range(2)])


def _make(case: Parameters, folder: Path) -> Campaign:
    def chosen(one: Samples) -> bool:
        sync = one.spec.values["sync"]
        best = sync == "direct" and one.spec.count("depth") > 1  # one request at a time would be a fault of its own
        return best or (sync == "none" and one.spec.values["pattern"] == case["pattern"])

    return kept(folder, _EXAMPLE, launched(part(_EXAMPLE, _WHERE, chosen), case["launches"]))


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(sync: str) -> float:
        return typical((one for one in campaign.samples(_WHERE) if one.spec.values["sync"] == sync), "bandwidth_MBps")

    return above("MB/s into the page cache and past it", of("none"), of("direct"))


KIND = Kind(
    words="writes into the page cache",
    labels=(Label(_WHERE, ("page-cache",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
