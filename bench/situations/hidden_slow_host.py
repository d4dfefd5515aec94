"""One of four hosts has a slower link, and the description of the testbed does not say so: measured."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign

_TESTBED = "virtual-cluster:4,rate=200mbit"


def _cases(random: np.random.Generator) -> list[Parameters]:
    hosts, rates = random.choice([1, 2, 3], 4), random.permutation([20, 40, 60, 80])
    return [{"host": f"vc{host}", "mbit": int(mbit)} for host, mbit in zip(hosts, rates, strict=True)]


def _make(case: Parameters, folder: Path) -> Campaign:
    testbed = f"{_TESTBED},throttle={case['host']}:{case['mbit']}mbit"
    pairs = [Spec(benchmark="mpi.all_pairs", size=64 * 1024, ranks=4, testbed=testbed)]
    other = next(name for name in ("vc1", "vc2") if name != case["host"])
    streams = [
        one.replace(hosts=("vc0", host))
        for host in (case["host"], other)
        for one in _measured.connections(testbed, (256 * 1024,))
    ]
    return _measured.hidden([*_measured.of_machine(), *pairs, *streams], folder, _TESTBED, slow_bps=None)


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(slow: bool) -> float:
        some = campaign.samples(_measured.STREAM)
        return _measured.typical((one for one in some if (case["host"] in one.spec.hosts) is slow), "bandwidth_MBps")

    return _measured.below("MB/s of a stream to the slow host and to another one", of(True), of(False), 1.8)


KIND = Kind(
    words="a slow host among four",
    labels=(Label(_measured.STREAM, ("slow-part",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
