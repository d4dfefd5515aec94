"""What a point costs the process that measures, beside the wait for the disk: for starts of few and of many points.

``python bench/points.py [POINTS...]`` measures starts of that many points (10, 100, 1,000, 10,000 and 50,000 unless
told otherwise), and prints a table. Instead of ranks, a program sends the frames of points
that took no time; everything else is as in a measurement: plan, pipe, samples files, events, log, progress.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from labkit import testbeds
from labkit.io.markdown import table
from labkit.point.spec import Effort, Spec
from labkit.run import lines, measuring, ranks
from labkit.run.measuring import Point
from labkit.run.progress import Counter, published
from labkit.store.campaign import Campaign
from labkit.worker import INPUT, Frame, Plan
from labkit.worker.__main__ import _received

ROOT = Path(__file__).resolve().parent.parent
DISK = ROOT / "build"  # git ignores it; the folder for temporary files may be in memory, where fsync costs nothing
COUNTS = (10, 100, 1000, 10_000, 50_000)
ITERATIONS = 1000


def stub(word: str) -> None:
    """Send what rank 0 sends of a plan whose points take no time."""
    plan = Plan.decode(_received(None, 1) if word.startswith(INPUT) else word)
    out = sys.stdout.buffer
    times = np.random.default_rng(1).integers(200, 400, ITERATIONS)
    ready = {"engine": "c", "size": 1, "affinity": [0, 1], "timer_overhead_ns": 20.0}
    out.write(Frame({"kind": "ready"} | ready).encode())
    facts = {"stopped_by": "ci", "warmup": 10, "chunks": [ITERATIONS], "timed_s": 0.0, "evidence": {}}
    facts |= {"interface_B": {"lo": 0, "eth0": 0}, "host_B": {}, "involuntary_switches": 0}
    facts |= {"verified": True, "elapsed": 0.0, "rows": [0], "shape": [1, 1, ITERATIONS]}
    for index in range(len(plan.specs)):
        out.write(Frame({"kind": "point", "index": index}).encode())
        out.write(Frame({"kind": "samples", "index": index} | facts, times).encode())
    out.write(Frame({"kind": "done", "peak_rss": 1 << 20}).encode())


class Disk:
    """Counts the waits for the disk, and how long they take."""

    def __init__(self) -> None:
        self.count, self.seconds, self.processor = 0, 0.0, 0.0
        self._sync = os.fsync

    def __enter__(self) -> Disk:
        os.fsync = self._timed  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync = self._sync

    def _timed(self, handle: int) -> None:
        began, processor = time.perf_counter(), time.thread_time()
        self._sync(handle)
        self.count += 1
        self.seconds += time.perf_counter() - began
        self.processor += time.thread_time() - processor


def points(count: int) -> list[Point]:
    """Points that differ in size only."""
    (one,) = measuring.expand([Spec(benchmark="micro.clock", ranks=1)], Effort(launches=1))
    return [Point(one.spec.replace(size=size), 0, f"{size:016x}", one.library) for size in range(count)]


def measured(count: int, folder: Path) -> list[str]:
    """One start of so many points, as a row of the table."""
    real, effort, batch = lines.line_for, Effort(launches=1), points(count)

    def of(given: Sequence[Point], effort: Effort) -> lines.Line:
        line = real(given, effort)
        return lines.Line([sys.executable, __file__, "--stub", line.command[-1]], {}, None, line.plan)

    lines.line_for = of
    campaign = Campaign(folder)
    try:
        with campaign.lease(), Disk() as disk:
            counter = Counter(count, published(campaign, None))
            began, processor = time.perf_counter(), time.process_time()
            failures = list(ranks.run(batch, effort, campaign, testbeds.Testbed("local"), counter))
            seconds, processor = time.perf_counter() - began, time.process_time() - processor
    finally:
        lines.line_for = real
    assert not failures
    assert len(campaign.done()) == count
    each = 1000 / count
    numbers = [(processor - disk.processor) * each, seconds * each, disk.count / count, disk.seconds * each]
    return [f"{count:,}", *(f"{number:.2f}" for number in numbers)]


def main(counts: Sequence[int]) -> None:
    """Measure and print a table of all numbers per point, of the process that measures alone."""
    rows = []
    DISK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="labkit-points-", dir=DISK) as folder:
        measured(2, Path(folder) / "c")  # loads what every process loads once
    for count in counts or COUNTS:
        with tempfile.TemporaryDirectory(prefix="labkit-points-", dir=DISK) as folder:
            rows.append(measured(count, Path(folder) / "c"))
    head = ["points of a start", "processor (ms)", "elapsed (ms)", "fsync calls", "in fsync (ms)"]
    print(table(head, rows, align="rrrrr"))
    print(f"load average at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, metavar="POINTS", help="points of each start")
    parser.add_argument("--stub", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stub:
        stub(given.stub)
    else:
        main(given.counts)
