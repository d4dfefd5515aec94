"""Nothing is wrong: made numbers of a sound link of 25 Gbit/s, as a user imports them."""

from pathlib import Path

import numpy as np

from bench.situations import Kind, NotShownError, Parameters
from bench.situations._imported import number
from labkit.models.bounds import Stated
from labkit.point.spec import Reported, Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT

_GOODPUT = 25e9 / 8 * 1448 / 1538 / 1e6  # MB/s of TCP in packets of 1500 B
_SIZES = tuple(1 << power for power in range(12, 21, 2))


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [
        {
            "share": float(random.uniform(0.95, 0.99)),
            "overhead_us": float(random.uniform(0.5, 1.5)),
            "scatter": float(random.choice([0.002, 0.005, 0.01])),
            "seed": int(random.integers(1 << 30)),
        }
        for _ in range(24)
    ]


def _make(case: Parameters, folder: Path) -> Campaign:
    random, campaign = np.random.default_rng(case["seed"]), Campaign(folder)
    full = _GOODPUT * case["share"]
    with campaign.saving() as saving:
        for name in ("mpi.bandwidth", "sockets.tcp_stream"):
            for size in _SIZES:
                value = size / (size / full + 0.02 * case["overhead_us"])  # many messages overlap
                for launch in range(6):
                    times = float(np.exp(-abs(case["scatter"] * random.standard_normal())))
                    saving.add(one := _launch(name, size, launch, value * times), FINGERPRINT.of(one.meta))
    return campaign


def _launch(name: str, size: int, launch: int, value: float) -> Samples:
    tool = "OSU" if name.startswith("mpi.") else "iperf3"
    spec = Spec(benchmark=name, size=size, ranks=2 if tool == "OSU" else 1)
    return number(spec, tool, Reported("bandwidth_MBps", "MB/s", "mean", value), launch)


def _shown(campaign: Campaign, case: Parameters) -> str:
    most = max(one.reported[0].value for one in campaign.samples("mpi.bandwidth"))
    if not 0.9 * _GOODPUT < most <= _GOODPUT:
        raise NotShownError(f"{most:.0f} MB/s is not what a sound link carries")
    return f"{most:.0f} MB/s of at most {_GOODPUT:.0f} MB/s"


KIND = Kind(
    words="nothing: made numbers of a sound link",
    source="made",
    cases=_cases,
    make=_make,
    shown=_shown,
    stated=Stated(link="25gbit"),
)
