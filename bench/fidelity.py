"""Do the kernels measure what the OSU benchmarks measure? Prints ratios, asserts nothing.

    python bench/fidelity.py [--pairs 11] [--transport shm]

Needs osu_latency, osu_bw and osu_allreduce of the MPI in use on PATH. Interleaved rounds of labkit, OSU, labkit, OSU with the
same launcher, the same sizes and the same counts; each round gives labkit/OSU and, as the noise floor, OSU/OSU. Printed is the median of
the ratios with its rank interval. Below 1 is faster for latency and slower for bandwidth.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from labkit import benchmarks, launch, stats
from labkit.spec import Effort, Spec, sweep
from labkit.worker import Plan, Reader

SIZES = {
    "mpi.latency": [8, 64, 512, 2048, 8192, 32768, 131072, 524288],
    "mpi.bandwidth": [8, 64, 512, 2048, 8192, 32768, 131072, 524288],
    "mpi.allreduce": [8, 64, 512, 2048, 8192, 32768, 131072, 524288],
}
OSU = {"mpi.latency": "osu_latency", "mpi.bandwidth": "osu_bw", "mpi.allreduce": "osu_allreduce"}
COUNTS = {"mpi.latency": (10_000, 1000), "mpi.bandwidth": (100, 20), "mpi.allreduce": (1000, 100)}
SMALL = 8192


def start(argv: Sequence[str], spec: Spec) -> str | bytes:
    """Standard output of ranks started as labkit starts them."""
    launcher = launch.get(spec.launcher)
    placement = launch.Placement.of(spec, launcher)
    environment = {**os.environ, **launcher.environment(placement)}
    done = subprocess.run(
        launcher.command(placement, argv), env=environment, capture_output=True, timeout=300, check=False
    )
    if done.returncode:
        raise SystemExit(f"{argv[0]} failed: {done.stderr.decode()[-800:]}")
    return done.stdout


def ours(name: str, transport: str) -> dict[int, float]:
    """Median time of an iteration by size, s; slowest rank's mean over ranks for collectives, as OSU has it."""
    found: dict[int, float] = {}
    for sizes, count in halves(name):
        specs = [benchmarks.resolve(spec) for spec in sweep(name, sizes=sizes, transport=transport)]
        plan = Plan(tuple(enumerate(specs)), Effort(iterations=count))
        output = start([sys.executable, "-m", "labkit.worker", plan.encode()], specs[0])
        for frame in Reader().feed(output):  # type: ignore[arg-type]
            if frame.header["kind"] == "samples":
                rows = frame.values.reshape(frame.header["shape"])
                found[specs[frame.header["index"]].size] = float(np.median(rows.mean(axis=0))) * 1e-9
    return found


def osu(name: str, transport: str) -> dict[int, float]:
    """The same from OSU: its 50th percentile, turned back into the time of an iteration."""
    found: dict[int, float] = {}
    for sizes, count in halves(name):
        for size in sizes:
            more = ["-T", "mpi_float"] if name == "mpi.allreduce" else []
            argv = [OSU[name], "-m", f"{size}:{size}", "-i", str(count), "-x", str(count // 10), "-z50", *more]
            text = start(argv, Spec(benchmark=name, transport=transport)).decode()  # type: ignore[union-attr]
            row = next(line.split() for line in text.splitlines() if line.split()[:1] == [str(size)])
            value = float(row[-1])
            found[size] = (
                64 * size / (value * 1e6)
                if name == "mpi.bandwidth"
                else value * 1e-6 * (2 if name == "mpi.latency" else 1)
            )
    return found


def halves(name: str) -> list[tuple[list[int], int]]:
    """Sizes with their counts: OSU's for up to 8 KiB and above."""
    few, many = COUNTS[name][1], COUNTS[name][0]
    small = [size for size in SIZES[name] if size <= SMALL]
    large = [size for size in SIZES[name] if size > SMALL]
    return [(small, many), (large, few)]


def show(name: str, size: int, ratios: list[float], floor: list[float]) -> str:
    """One line: ratio with interval beside the noise floor with its own."""
    one, two = stats.interval(np.array(ratios)), stats.interval(np.array(floor))
    inside = (
        "" if 0.97 <= one.centre <= 1.03 else ("inside the floor" if two.low <= one.centre <= two.high else "OUTSIDE")
    )
    return (
        f"{name:14} {size:8}  {one.centre:6.3f} [{one.low:6.3f}, {one.high:6.3f}]   "
        f"{two.centre:6.3f} [{two.low:6.3f}, {two.high:6.3f}]  {inside}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--transport", default="shm")
    parser.add_argument("--benchmarks", default=",".join(OSU))
    options = parser.parse_args()
    missing = [program for program in OSU.values() if shutil.which(program) is None]
    if missing:
        print(
            f"fidelity: {', '.join(missing)} not on PATH; put an OSU build of the MPI in use there to compare with it."
        )
        return
    print(
        f"labkit/OSU and OSU/OSU, time of an iteration, {options.pairs} interleaved rounds, {options.transport}, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'benchmark':14} {'size (B)':>8}  {'labkit/OSU':24}  {'OSU/OSU (noise floor)':24}")
    for name in options.benchmarks.split(","):
        ratios: dict[int, list[float]] = {size: [] for size in SIZES[name]}
        floor: dict[int, list[float]] = {size: [] for size in SIZES[name]}
        for _ in range(options.pairs):
            first, theirs, second, again = (
                ours(name, options.transport),
                osu(name, options.transport),
                ours(name, options.transport),
                osu(name, options.transport),
            )
            for size in SIZES[name]:
                ratios[size] += [first[size] / theirs[size], second[size] / again[size]]
                floor[size].append(again[size] / theirs[size])
        for size in SIZES[name]:
            print(show(name, size, ratios[size], floor[size]), flush=True)


if __name__ == "__main__":
    main()
