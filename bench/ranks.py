"""Print what grows with the number of ranks: starting them, a barrier, gathering or reducing their times, saving.

Ranks on more than all cores take turns: the numbers show growth, not what a cluster would take.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labkit import benchmarks, host
from labkit.io import supervise
from labkit.point.spec import Effort, Spec
from labkit.point.units import format_number
from labkit.run import launch
from labkit.run.launch import Placement
from labkit.stats import across_ranks
from labkit.store import samples
from labkit.store.samples import Samples
from labkit.worker import Frame, Plan, Reader

ITERATIONS = 200


@dataclass(frozen=True)
class Start:
    """What one start of the ranks took.

    Parameters
    ----------
    ready : s until all had met.
    barrier : s, median of MPI_Barrier.
    beside : s of the point beside its timed loops: verification, probe, gathering or reducing.
    sent : B that rank 0 sent for the point.
    saved : s to write the file, with fsync.
    size : B of the file.
    """

    ready: float
    barrier: float
    beside: float
    sent: int
    saved: float
    size: int


def frames(plan: Plan, spec: Spec, limit: float) -> list[tuple[float, Frame]]:
    """Frames of a start with the moments at which they came, s after its begin."""
    launcher = launch.get("auto")
    placement = Placement.of(spec, launcher)
    command = launcher.command(placement, [sys.executable, "-m", "labkit.worker", plan.encode()])
    reader, came, began = Reader(), [], time.perf_counter()
    with supervise.start(command, env=os.environ | launcher.environment(placement)) as tree:
        while select.select([tree.stdout], [], [], limit)[0]:
            piece = os.read(tree.stdout.fileno(), 1 << 20)
            if not piece:
                return came
            came += [(time.perf_counter() - began, frame) for frame in reader.feed(piece)]
        raise SystemExit(f"{spec.ranks} ranks made no progress for {limit:g} s: {tree.stderr_tail()[-500:]}")


def start(ranks: int, keep: str, folder: Path) -> Start:
    """Measure a barrier and an allreduce with so many ranks, and save the latter."""
    specs = [benchmarks.resolve(Spec(benchmark=f"mpi.{name}", ranks=ranks)) for name in ("barrier", "allreduce")]
    effort = Effort(iterations=ITERATIONS, warmup=1, keep=keep)
    came = frames(Plan(specs, effort), specs[0], 300)
    ready = next(moment for moment, frame in came if frame.header["kind"] == "ready")
    over = [frame for _, frame in came if frame.header["kind"] == "over ranks"]
    barrier, allreduce = (frame for _, frame in came if frame.header["kind"] == "samples")
    slowest = over[0].values[:ITERATIONS] if over else barrier.values.reshape(barrier.header["shape"])[0].max(axis=0)
    sent = allreduce.values.nbytes + sum(frame.values.nbytes for frame in over[1:])
    facts: dict[str, Any] = allreduce.header
    point = Samples(
        spec=specs[1],
        effort=effort,
        host=dict(host.describe()),
        launch=0,
        time_ns=allreduce.values.reshape(facts["shape"])[0],
        ranks=tuple(facts["rows"]),
        over=across_ranks.unpacked(over[1].values, **{k: over[1].header[k] for k in ("ranks", "iterations", "phases")})
        if over
        else None,
    )
    began = time.perf_counter()
    samples.save(point, folder / f"{ranks}-{keep}.parquet")
    saved = time.perf_counter() - began
    size = (folder / f"{ranks}-{keep}.parquet").stat().st_size
    beside = facts["elapsed"] - facts["timed_s"]
    return Start(ready, float(np.median(slowest)) * 1e-9, beside, sent, saved, size)


def main() -> None:
    """Print a row for each number of ranks and way of keeping."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ranks", nargs="*", type=int, default=[2, 4, 8, 16, 32, 64, 128])
    options = parser.parse_args()
    print(
        f"{ITERATIONS} iterations; {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}; {launch.get('auto').library}"
    )
    print("| ranks | kept | ready (s) | barrier (µs) | beside the loops (ms) | sent (kB) | saved (ms) | file (kB) |")
    print("|--:|:--|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        start(2, "all", Path(folder))  # loads what the first file needs
        for ranks in options.ranks:
            for keep in ("all", "extremes"):
                one = start(ranks, keep, Path(folder))
                print(
                    f"| {ranks} | {keep} | {one.ready:.1f} | {format_number(one.barrier * 1e6)} | {one.beside * 1e3:,.0f} "
                    f"| {one.sent / 1e3:,.0f} | {one.saved * 1e3:.0f} | {one.size / 1e3:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
