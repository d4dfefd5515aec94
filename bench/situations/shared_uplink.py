"""An exchange between all hosts crosses an uplink that is too slow for it: recorded, the rate is stated."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, above, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _WHERE = "virtual-cluster", "mpi.alltoall"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"uplink": rate} for rate in ("100mbit", "100mbit", "200mbit", "100mbit")])


def _make(case: Parameters, folder: Path) -> Campaign:
    at = f"{SPINE},uplink={case['uplink']}"
    some = [one for name in (_WHERE, "mpi.latency") for one in part(_EXAMPLE, name, lambda one: one.spec.testbed == at)]
    return kept(folder, _EXAMPLE, [*launched(some, case["launches"]), *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    usual = typical(part(_EXAMPLE, _WHERE, lambda one: one.spec.testbed.endswith("uplink=400mbit")))
    return above("s with the slow uplink and with a fast one", typical(campaign.samples(_WHERE)), usual, 1.3)


KIND = Kind(
    words="an exchange over a slow uplink that is stated",
    labels=(Label(_WHERE, ("shared-uplink",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
