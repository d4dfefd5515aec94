"""One of four hosts has a slow link: SimGrid simulates pairs of them, and a user imports the rates without saying so."""

import itertools
from pathlib import Path
from unittest import mock

import numpy as np

from bench.situations import Kind, Label, Parameters
from bench.situations._imported import number
from bench.situations._recorded import below, typical
from labkit import benchmarks
from labkit.models.bounds import Stated
from labkit.point.spec import Effort, Reported, Spec
from labkit.point.units import parse_rate
from labkit.run import simulations
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT
from labkit.testbeds.simulation import network_of, platforms

_WHERE, _METRIC, _LINK = "mpi.bandwidth", "bandwidth_MBps", "25gbit"
_HOSTS, _SIZES = ("n0", "n1", "n2", "n3"), (65536, 1 << 20)
_NETWORK = network_of("fat-tree", {"nodes": str(len(_HOSTS)), "rate": _LINK, "routing": "hash"})


def _cases(random: np.random.Generator) -> list[Parameters]:
    hosts, shares = random.choice(_HOSTS, 4), random.permutation([0.2, 0.3, 0.45, 0.6])
    return [{"host": str(host), "share": float(share)} for host, share in zip(hosts, shares, strict=True)]


def _platform(case: Parameters) -> str:
    """Return the platform with one slow link."""
    text, rate = platforms.platform(_NETWORK), parse_rate(_LINK) / 8
    usual = f'<link id="{case["host"]}.nic" bandwidth="{rate:.12g}Bps"'
    assert text.count(usual) == 1, "the platform has another form"
    return text.replace(usual, usual.replace(f"{rate:.12g}", f"{case['share'] * rate:.12g}"))


def _make(case: Parameters, folder: Path) -> Campaign:
    campaign, text = Campaign(folder), _platform(case)
    with campaign.saving() as saving, mock.patch.object(platforms, "platform", return_value=text):
        for size in _SIZES:
            for hosts in itertools.combinations(_HOSTS, 2):
                saving.add(one := _imported(size, hosts), FINGERPRINT.of(one.meta))
    return campaign


def _imported(size: int, hosts: tuple[str, ...]) -> Samples:
    """Simulate one pair, and return its rate as an import leaves it."""
    asked = benchmarks.resolve(Spec(benchmark=_WHERE, size=size, hosts=hosts))
    found = simulations.simulated(asked, Effort(iterations=3, warmup=1), _NETWORK, 0)
    rate = 64 * size / float(np.median(found.time_ns)) * 1e3  # MB/s; a window has 64 messages
    return number(Spec(benchmark=_WHERE, size=size, hosts=hosts), "OSU", Reported(_METRIC, "MB/s", "mean", rate))


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(slow: bool) -> float:
        some = campaign.samples(_WHERE)
        return typical((one for one in some if (case["host"] in one.spec.hosts) is slow), _METRIC)

    return below("MB/s of pairs with the slow host and of others", of(True), of(False), 1.5)


KIND = Kind(
    words="a simulated slow host",
    labels=(Label(_WHERE, ("slow-part",)),),
    source="made",
    cases=_cases,
    make=_make,
    shown=_shown,
    stated=Stated(link=_LINK),
)
