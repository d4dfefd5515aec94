"""Compare the kernels of OpenSHMEM with OSU's tests. Prints ratios, asserts nothing.

    python bench/shmem_fidelity.py [--pairs 11] [--transport shm] [--memory heap] [--benchmarks shmem.put_latency,…]

The programs osu_oshm_* must be on PATH, built with the Open MPI in use; missing ones are left out. They print two decimals
of a µs, which is too coarse for a put in shared memory: build them with CFLAGS=-DFLOAT_PRECISION=4. Rounds of labkit, OSU,
labkit, OSU follow one another with the same launcher, sizes and counts. Each round gives the ratio labkit/OSU and, as the
noise floor, OSU/OSU: ratios of the time of an iteration, so below 1 labkit's is shorter. Pairs are compared by the time of the
whole loop (timing=total), collectives by the mean over PEs of each PE's mean. Message rates start with cold caches
(caches=cold): OSU times one window of each size, labkit a few, whose median counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections import defaultdict

import numpy as np
from fidelity import start

from labkit import benchmarks, stats
from labkit.spec import Effort, Spec, sweep
from labkit.worker import Plan, Reader

PAIRS = ("put_latency", "put_nb_latency", "get_latency", "get_nb_latency")
RATES = ("put_rate", "put_nb_rate", "get_nb_rate")
COLLECTIVES = ("broadcast", "collect", "fcollect", "reduce", "barrier")
NAMES = [f"shmem.{name}" for name in (*PAIRS, *RATES, *COLLECTIVES)]
SIZES = (8, 512, 8192, 131072)
WINDOWS = 5
Results = dict[int, float]  # size → time of an iteration, µs


def program(name: str) -> str:
    """OSU's counterpart of a benchmark."""
    return next(iter(benchmarks.get(name).equivalents))


def ours(name: str, transport: str, memory: str) -> Results:
    """Measure with labkit, with OSU's counts of iterations."""
    paired, results = name.removeprefix("shmem.") not in COLLECTIVES, Results()
    options = {"timing": "total", "memory": memory} if paired else {}
    if name.endswith("_rate"):
        options = {"caches": "cold", "memory": memory}
    for few in (True, False):
        sizes = [size for size in (SIZES if benchmarks.get(name).sized else (0,)) if (size <= 8192) == few]
        if not sizes:
            continue
        specs = [benchmarks.resolve(spec) for spec in sweep(name, sizes=sizes, transport=transport, **options)]
        count, warmup = ((10_000, 1000) if few else (100, 0)) if paired else ((1000, 200) if few else (100, 10))
        if name.endswith("_rate"):
            count, warmup = WINDOWS, 0
        plan = Plan(specs, Effort(iterations=count, warmup=warmup))
        for frame in Reader().feed(start([sys.executable, "-m", "labkit.worker", plan.encode()], specs[0])):
            if frame.header["kind"] == "samples":
                spec, times = specs[frame.header["index"]], frame.values.reshape(frame.header["shape"])[0]
                total = (
                    np.median(times)
                    if name.endswith("_rate")
                    else times.sum(axis=1).mean() / sum(frame.header["chunks"])
                )
                results[spec.size] = float(total) * 1e-3
    return results


def osu(name: str, transport: str, memory: str) -> Results:
    """Measure with OSU's program."""
    paired = name.removeprefix("shmem.") not in COLLECTIVES
    argv = [program(name), memory] if paired else [program(name), "-m", str(4 * max(SIZES))]
    spec, results = benchmarks.resolve(Spec(benchmark=name, size=8, transport=transport)), Results()
    for line in start(argv, spec).decode().splitlines():
        row = line.split()
        if not row or row[0].startswith("#"):
            continue
        size, value = int(row[0]) if len(row) > 1 else 0, float(row[-1])
        window = spec.values.get("window", 1) // (1 if size < 8192 else 10)
        results[size] = window / value * 1e6 if name.endswith("_rate") else value
    return results


def compare(name: str, transport: str, memory: str, pairs: int) -> None:
    """Print the lines of one benchmark."""
    ratios: dict[int, list[float]] = defaultdict(list)
    floor: dict[int, list[float]] = defaultdict(list)
    for _ in range(pairs):
        first, first_osu, second, second_osu = (
            measure(name, transport, memory) for _ in range(2) for measure in (ours, osu)
        )
        for size in sorted(first.keys() & first_osu.keys()):
            ratios[size] += [first[size] / first_osu[size], second[size] / second_osu[size]]
            floor[size].append(second_osu[size] / first_osu[size])
    for size in ratios:
        ratio, noise = stats.interval(np.array(ratios[size])), stats.interval(np.array(floor[size]))
        outside = not (0.97 <= ratio.centre <= 1.03 or noise.low <= ratio.centre <= noise.high)
        print(
            f"{name:22} {size:8}  {ratio.centre:6.3f} [{ratio.low:6.3f}, {ratio.high:6.3f}]   "
            f"{noise.centre:6.3f} [{noise.low:6.3f}, {noise.high:6.3f}]  {'OUTSIDE' if outside else ''}",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--transport", default="shm")
    parser.add_argument("--memory", choices=("heap", "global"), default="heap")
    parser.add_argument("--benchmarks", default=",".join(NAMES))
    options = parser.parse_args()
    wanted = options.benchmarks.split(",")
    missing = [program(name) for name in wanted if shutil.which(program(name)) is None]
    if missing:
        print(f"shmem_fidelity: not on PATH, left out: {', '.join(missing)}. Put an OSU build of the MPI in use there.")
    print(
        f"labkit/OSU and OSU/OSU, time of an iteration, {options.pairs} interleaved rounds, {options.transport}, "
        f"{options.memory}, load {os.getloadavg()[0]:.1f}"
    )
    for name in wanted:
        if program(name) not in missing:
            compare(name, options.transport, options.memory, options.pairs)


if __name__ == "__main__":
    main()
