"""One stream of TCP had a small socket buffer: recorded, and cut out of an example."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._recorded import below, costs, kept, launched, part, typical, with_launches
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

_WHERE, _EXAMPLE, _METRIC = "sockets.tcp_stream", "two-cores", "bandwidth_MBps"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return with_launches(random, [{"beside": number % 2 == 0} for number in range(4)])


def _make(case: Parameters, folder: Path) -> Campaign:
    def chosen(one: Samples) -> bool:
        values = one.spec.values
        return (
            values.get("tool") == "iperf3"
            and one.spec.size == 65536
            and (values["socket_buffer"] == 16384 or (case["beside"] and values["streams"] == 1))
        )

    some = launched(part(_EXAMPLE, _WHERE, chosen), case["launches"])
    return kept(folder, _EXAMPLE, [*some, *costs(_EXAMPLE)])


def _shown(campaign: Campaign, case: Parameters) -> str:
    small = typical((one for one in campaign.samples(_WHERE) if one.spec.values["socket_buffer"]), _METRIC)
    usual = typical(part(_EXAMPLE, _WHERE, lambda one: not one.spec.values["socket_buffer"]), _METRIC)
    return below("MB/s with the small buffer and with the usual one", small, usual, 1.3)


KIND = Kind(
    words="a socket buffer of 16 KiB",
    labels=(Label(_WHERE, ("few-outstanding", "window-of-round-trip")),),
    source="recorded",
    cases=_cases,
    make=_make,
    shown=_shown,
    decidable=True,
)
