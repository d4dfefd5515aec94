"""A control group limits what its processes read from a device: measured, after a read without the limit."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, NotShownError, Parameters, _measured
from labkit.point.spec import Effort, Spec
from labkit.point.units import KiB, MiB
from labkit.store.campaign import Campaign

_WHERE, _GROUPS = "storage.read", Path("/sys/fs/cgroup/blkio")
_EFFORT = Effort(launches=3, iterations=40, warmup=0, time_cap=1.0)


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"MBps": int(rate)} for rate in random.choice([5, 10, 15, 20, 30], 4, replace=False)]


def _disk(folder: Path) -> str:
    """Return the numbers of the device that holds a folder; of a partition those of its disk."""
    device = folder.stat().st_dev
    place = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    return ((place.parent if (place / "partition").exists() else place) / "dev").read_text().strip()


@contextmanager
def _limited(folder: Path, rate: float) -> Iterator[None]:
    """Let this process, and what it starts, read at most so many B/s from the device that holds a folder."""
    group = _GROUPS / f"labkit-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise NotShownError(f"no control group of block devices (version 1) can be made: {error}") from None
    try:
        (group / "blkio.throttle.read_bps_device").write_text(f"{_disk(folder)} {rate:.0f}")
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (_GROUPS / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()


def _reads(folder: Path, size: int, depth: int) -> Spec:
    options = {"cache": "direct", "depth": depth, "directory": str(folder), "engine": "libaio"}
    return Spec(benchmark=_WHERE, size=size, ranks=1, options=options)


def _make(case: Parameters, folder: Path) -> Campaign:
    folder.mkdir(parents=True)
    place = folder.parent
    _measured.measured([_reads(place, MiB, 16)], folder, _EFFORT)
    with _limited(place, 1e6 * case["MBps"]):
        return _measured.measured([_reads(place, size, 4) for size in (256 * KiB, MiB)], folder, _EFFORT)


def _shown(campaign: Campaign, case: Parameters) -> str:
    def of(depth: int) -> float:
        some = campaign.samples(_WHERE)
        return _measured.typical((one for one in some if one.spec.values["depth"] == depth), "bandwidth_MBps")

    return _measured.apart("MB/s under the limit and without it", of(4), of(16))


KIND = Kind(
    words="a limit of a device by a control group",
    labels=(Label(_WHERE, ("device-limit", "rate-limit")),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
