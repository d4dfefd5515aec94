"""One message in each round trip over a long link, whose delay is stated: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign

_WHERE = "mpi.bandwidth"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"ms": ms, "KiB": size} for ms in (3, 5) for size in (8, 16)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed, size = f"{_measured.LINK},delay={case['ms']}ms", 1024 * case["KiB"]
    one = Spec(benchmark=_WHERE, size=size, testbed=testbed, options={"window": 1})
    return _measured.measured([one, *_measured.of_machine(), *_measured.messages(testbed, (8, 1024))], folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    rate = 1024 * case["KiB"] / _measured.typical(campaign.samples(_WHERE)) / 1e6
    return _measured.apart("MB/s with a window of one message and of the link", rate, 25.0, 2.0)


KIND = Kind(
    words="one message in each round trip of a long link",
    labels=(Label(_WHERE, ("window-of-round-trip", "few-outstanding")),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
