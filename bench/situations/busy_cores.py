"""Other programs compute on all cores while ranks exchange messages: measured."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bench.situations import Kind, Label, Parameters, _measured
from labkit.point.spec import Effort, Spec
from labkit.store.campaign import Campaign

_WHERE = "mpi.bandwidth"
_SPIN = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass"
_LONGEST_S = 40
_ALONE = "alone.json"  # beside the samples: s of an iteration before the other programs began


def _cases(random: np.random.Generator) -> list[Parameters]:
    return [{"programs": count} for count in (2, 2, 3, 4)]


def _make(case: Parameters, folder: Path) -> Campaign:
    effort = Effort(launches=3, iterations=6, warmup=1, time_cap=1.0)
    # an iteration of 64 MiB takes longer than a time slice, so that other programs delay each of them
    specs = [Spec(benchmark=_WHERE, size=size, transport="shm") for size in (256 * 1024, 1024 * 1024)]
    with tempfile.TemporaryDirectory() as place:
        before = _measured.measured(specs, Path(place) / "before", effort)
        alone = _measured.typical(before.samples(_WHERE))
    _measured.measured(_measured.of_machine(), folder)
    count = case["programs"] * (len(os.sched_getaffinity(0)) // 2 or 1)
    words = [sys.executable, "-c", _SPIN.format(seconds=_LONGEST_S)]
    others = [subprocess.Popen(words) for _ in range(count)]
    try:
        campaign = _measured.measured(specs, folder, effort)
    finally:
        for one in others:
            one.kill()
            one.wait()
    (folder / _ALONE).write_text(json.dumps(alone))
    return campaign


def _shown(campaign: Campaign, case: Parameters) -> str:
    alone = json.loads((campaign.path / _ALONE).read_text())
    loaded = _measured.typical(campaign.samples(_WHERE))
    return _measured.apart("s of an iteration beside other programs and before", loaded, alone, 1.8)


KIND = Kind(
    words="other programs on all cores",
    labels=(Label(_WHERE, ("busy-machine",)),),
    source="measured",
    cases=_cases,
    make=_make,
    shown=_shown,
)
