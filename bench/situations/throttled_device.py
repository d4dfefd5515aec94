"""A control group limits what its processes read from a device: measured, after a read without the limit."""

import os
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort, Spec
from labkit.point.units import KiB, MiB
from labkit.store.campaign import Campaign

_WHERE = "storage.read"
_FREE, _LIMITED = "random", "sequential"  # patterns of the reads: without the limit, the second is no slower
_EFFORT = Effort(launches=3, iterations=40, warmup=0, time_cap=1.0)


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"MBps": int(rate)} for rate in random.choice([5, 10, 15, 20, 30], 4, replace=False)]


def _disk(folder: Path) -> str:
    """Return the numbers of the device that holds a folder; of a partition those of its disk."""
    device = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    return ((place.parent if (place / "partition").exists() else place) / "dev").read_text().strip()


def _reads(folder: Path, size: int, pattern: str) -> Spec:
    options = {"cache": "direct", "depth": 16, "directory": str(folder), "engine": "libaio", "pattern": pattern}
    return Spec(benchmark=_WHERE, size=size, ranks=1, options=options)


def _make(case: Parameters, folder: Path) -> Campaign:
    folder.mkdir(parents=True)
    place = folder.parent
    _measured.measured([_reads(place, MiB, _FREE)], folder, _EFFORT)
    limit = f"{_disk(place)} {case['MBps']}000000"  # B/s
    with _measured.control_group("blkio", {"blkio.throttle.read_bps_device": limit}):
        return _measured.measured([_reads(place, size, _LIMITED) for size in (256 * KiB, MiB)], folder, _EFFORT)


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(pattern: str) -> float:
        some = campaign.samples(_WHERE)
        return _measured.typical((one for one in some if one.spec.values["pattern"] == pattern), "bandwidth_MBps")

    return _measured.below("MB/s under the limit and without it", of(_LIMITED), of(_FREE))


KIND = Kind(
    words="a limit of a device by a control group",
    labels=(Label(_WHERE, ("device-limit", "rate-limit")),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
