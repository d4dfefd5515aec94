"""A link ran at a quarter or half of the rate that the metadata state: recorded at one rate, described with another."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import SPINE, below, costs, kept, launched, part, said_to_be, typical, with_launches
from labkit.store.campaign import Campaign

_EXAMPLE, _METRIC = "virtual-cluster", "bandwidth_MBps"
_STREAM = "sockets.tcp_stream"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"rate": rate} for rate in ("50mbit", "100mbit") for _ in range(2)])


def _make(case: Parameters, folder: Path) -> Campaign:
    at = SPINE.replace("200mbit", case["rate"])
    streams = launched(part(_EXAMPLE, _STREAM, lambda one: one.spec.testbed == at), case["launches"])
    said = [said_to_be(one, SPINE, rate_bps=200e6, uplink_bps=400e6) for one in streams]
    return kept(folder, _EXAMPLE, [*said, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    slow = typical(campaign.samples(_STREAM), _METRIC)
    usual = typical(part(_EXAMPLE, _STREAM, lambda one: one.spec.testbed == SPINE), _METRIC)
    return below("MB/s over the slow link and over the stated one", slow, usual, 1.8)


KIND = Kind(
    words="a link slower than stated, seen by one benchmark at one size",
    labels=(Label(_STREAM, ("rate-limit",)),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
)
