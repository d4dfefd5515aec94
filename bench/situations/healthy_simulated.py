"""Nothing is wrong: SimGrid simulates networks of 25 Gbit/s, and a user imports the numbers with the rate of the link."""

import itertools
from pathlib import Path

import numpy as np

from bench.situations import Kind, NotShownError, Parameters
from bench.situations._imported import number
from labkit import benchmarks
from labkit.models.bounds import Stated
from labkit.point.spec import Effort, Reported, Spec
from labkit.run import simulations
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT
from labkit.testbeds.simulation import network_of

_LINK, _WITHOUT_HEADERS = "25gbit", "23.5gbit"  # SimGrid knows no headers of packets
_WINDOW = 64  # messages of a window of the bandwidth
_NETWORKS = (("fat-tree", "8"), ("fat-tree", "16"), ("dragonfly", "16"), ("torus", "16"))
_NUMBERS = (  # benchmarks, each with its sizes, B, and its ranks; 0 for two hosts of several pairs
    (("mpi.bandwidth", (4096, 65536, 1 << 20), 2), ("mpi.latency", (8, 1024), 2)),
    (("mpi.bandwidth", (65536, 1 << 20), 0),),
    (("mpi.latency", (8, 256, 1024), 2), ("mpi.allreduce", (8, 1024), 8)),
    (("mpi.latency", (8, 4096), 2), ("mpi.alltoall", (8, 4096), 8), ("mpi.barrier", (0,), 8)),
)


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [
        {
            "network": network,
            "numbers": numbers,
            "latency_ns": int(random.integers(1200, 3000)),
            "overhead_ns": int(random.integers(100, 400)),
            "seed": int(random.integers(1 << 30)),
        }
        for network in range(len(_NETWORKS))
        for numbers in range(len(_NUMBERS))
        for _ in range(3)
    ]


def _make(case: Parameters, folder: Path) -> Campaign:
    topology, nodes = _NETWORKS[case["network"]]
    options = {"nodes": nodes, "rate": _WITHOUT_HEADERS}
    options |= {name: f"{case[f'{name}_ns']}ns" for name in ("latency", "overhead")}
    network, random, campaign = network_of(topology, options), np.random.default_rng(case["seed"]), Campaign(folder)
    with campaign.saving() as saving:
        for name, sizes, ranks in _NUMBERS[case["numbers"]]:
            pairs = list(itertools.combinations([f"n{place}" for place in range(4)], 2)) if not ranks else [()]
            for size, hosts in itertools.product(sizes, pairs):
                spec = Spec(benchmark=name, size=size, ranks=ranks or 2, hosts=hosts)
                found = simulations.simulated(benchmarks.resolve(spec), Effort(iterations=3, warmup=1), network, 0)
                time_us = float(np.median(found.time_ns)) / 1e3 * float(np.exp(abs(0.005 * random.standard_normal())))
                saving.add(one := _imported(spec, time_us), FINGERPRINT.of(one.meta))
    return campaign


def _imported(asked: Spec, time_us: float) -> Samples:
    """Return the number that OSU prints of an iteration, as an import leaves it."""
    if asked.benchmark == "mpi.bandwidth":
        reported = Reported("bandwidth_MBps", "MB/s", "mean", _WINDOW * asked.size / time_us)
    else:  # an iteration of the latency is a round trip
        reported = Reported("latency_us", "µs", "mean", time_us / (2 if asked.benchmark == "mpi.latency" else 1))
    return number(asked, "OSU", reported)


def _shown(campaign: Campaign, case: Parameters) -> str:
    rates = [one.reported[0].value for one in campaign.samples("mpi.bandwidth")]
    if rates and not 0.8 * 3125 < max(rates) <= 3125:
        raise NotShownError(f"{max(rates):.0f} MB/s is not what a link of {_LINK} carries")
    return f"{len(campaign.done())} numbers as they were simulated"


KIND = Kind(
    words="nothing: simulated networks",
    source="made",
    cases=_cases,
    make=_make,
    shown=_shown,
    stated=Stated(link=_LINK),
)
