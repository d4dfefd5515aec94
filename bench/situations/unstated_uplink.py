"""The uplink is slower than the metadata state: recorded with one uplink, described with another."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, below, costs, kept, launched, part, said_to_be, typical, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _STREAM, _METRIC = "virtual-cluster", "sockets.tcp_stream", "bandwidth_MBps"
_NAMES = (_STREAM, "mpi.alltoall", "mpi.latency")


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{}] * 4)


def _make(case: Parameters, folder: Path) -> Campaign:
    at = f"{SPINE},uplink=100mbit"
    some = [one for name in _NAMES for one in part(_EXAMPLE, name, lambda one: one.spec.testbed == at)]
    said = [said_to_be(one, SPINE, uplink_bps=400e6, taper=1.0) for one in launched(some, case["launches"])]
    return kept(folder, _EXAMPLE, [*said, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    usual = typical(part(_EXAMPLE, _STREAM, lambda one: one.spec.testbed == SPINE), _METRIC)
    return below(
        "MB/s over the slow uplink and over the stated one", typical(campaign.samples(_STREAM), _METRIC), usual, 1.8
    )


KIND = Kind(
    words="an uplink slower than stated",
    labels=(
        Label(_STREAM, ("rate-limit", "slow-part")),
        Label("mpi.alltoall", ("slow-part", "rate-limit")),
    ),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
