"""Nothing is wrong: made numbers of a sound port of InfiniBand EDR, as perftest and OSU print them."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, NotShownError, Parameters
from bench.situations._imported import number
from labkit.models.bounds import Stated
from labkit.point.spec import Reported, Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT

_GOODPUT = 100e9 / 8 * 4096 / (4096 + 30) / 1e6  # MB/s in packets of 4096 B
_SMALL, _LARGE = (8, 64, 256), tuple(1 << power for power in range(14, 23, 2))
_TOOLS = {  # tool → its latencies, its bandwidths, and the times of a write of the former
    "perftest": ("verbs.write_latency", "verbs.write_bandwidth", 1.0),
    "perftest send": ("verbs.send_latency", "verbs.send_bandwidth", 1.05),
    "OSU": ("mpi.latency", "mpi.bandwidth", 1.2),
}


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [
        {
            "tool": tool,
            "share": float(random.uniform(0.96, 0.99)),
            "latency_us": float(random.uniform(0.85, 1.2)),
            "overhead_us": float(random.uniform(0.2, 0.6)),
            "scatter": float(random.choice([0.002, 0.005, 0.01])),
            "seed": int(random.integers(1 << 30)),
        }
        for tool in _TOOLS
        for _ in range(14)
    ]


def _make(case: Parameters, folder: Path) -> Campaign:
    random, campaign = np.random.default_rng(case["seed"]), Campaign(folder)
    latency, bandwidth, factor = _TOOLS[case["tool"]]
    with campaign.saving() as saving:
        for name, sizes in ((latency, _SMALL), (bandwidth, _LARGE)):
            for size in sizes:
                for launch in range(6):
                    slower = float(np.exp(abs(case["scatter"] * random.standard_normal())))
                    if name == latency:
                        time_us = (case["latency_us"] * factor + 4 * size / _GOODPUT) * slower  # four copies on the way
                        reported = Reported("latency_us", "µs", "mean", time_us)
                    else:
                        time_us = size / (_GOODPUT * case["share"]) + 0.02 * case["overhead_us"]  # messages overlap
                        reported = Reported("bandwidth_MBps", "MB/s", "mean", size / time_us / slower)
                    saving.add(one := _launch(case["tool"], name, size, launch, reported), FINGERPRINT.of(one.meta))
    return campaign


def _launch(tool: str, name: str, size: int, launch: int, reported: Reported) -> Samples:
    library = tool.split()[0]
    spec = Spec(benchmark=name, size=size, ranks=2 if library == "OSU" else 1)
    return number(spec, library, reported, launch)


def _shown(campaign: Campaign, case: Parameters) -> str:
    most = max(one.reported[0].value for one in campaign.samples(_TOOLS[case["tool"]][1]))
    if not 0.9 * _GOODPUT < most <= _GOODPUT:
        raise NotShownError(f"{most:.0f} MB/s is not what a sound port carries")
    return f"{most:.0f} MB/s of at most {_GOODPUT:.0f} MB/s"


KIND = Kind(
    words="nothing: made numbers of InfiniBand EDR",
    source="made",
    cases=_cases,
    make=_make,
    shown=_shown,
    stated=Stated(link="100 Gb/sec (4X EDR)", mtu=4096),
)
