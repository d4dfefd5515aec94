"""Another program sends over the uplink that ranks and streams cross, as another job would: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.store.campaign import Campaign

_TESTBED = "virtual-cluster:4,per_leaf=2,rate=200mbit,uplink=200mbit"
_PLACES = ("mpi.bandwidth", _measured.STREAM)
_PORT, _LONGEST_S = "5999", "120"


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"connections": int(count)} for count in random.permutation([1, 2, 4, 8])]


def _make(case: Parameters, folder: Path) -> Campaign:
    with _measured.kept_up(_TESTBED) as cluster:
        to = cluster.on("vc2", ["iperf3", "-s", "-p", _PORT])
        address = "10.77.0.3"  # of vc2
        words = ["iperf3", "-c", address, "-p", _PORT, "-t", _LONGEST_S, "-P", str(case["connections"])]
        again = ["sh", "-c", 'while ! "$@"; do sleep 0.05; done', "again", *words]  # until the server listens
        _measured.measured(_measured.of_machine(), folder)
        specs = [one.replace(hosts=("vc0", "vc3")) for one in _measured.streams(_TESTBED)]
        with _measured.running(to, cluster.on("vc1", again)):
            return _measured.measured(specs, folder)


def _shown(campaign: Campaign, case: Parameters) -> str:
    return _measured.slow_stream(campaign, 1.4)


KIND = Kind(
    words="a competing flow on the same uplink",
    labels=tuple(Label(place, ("contention",)) for place in _PLACES),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
