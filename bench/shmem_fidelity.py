"""Compare the kernels of OpenSHMEM with OSU's tests. Prints ratios, asserts nothing.

    python bench/shmem_fidelity.py [--pairs 11] [--transport shm] [--memory heap] [--benchmarks shmem.put_latency,…]

The programs osu_oshm_* must be on PATH, built with the Open MPI in use; missing ones are left out. They print two decimals
of a µs, which is too coarse for a put in shared memory: build them with CFLAGS=-DFLOAT_PRECISION=4. Rounds of labkit, OSU,
labkit, OSU follow one another with the same launcher, sizes and counts. Each round gives the ratio labkit/OSU and, as the
noise floor, OSU/OSU: ratios of the time of an iteration, so below 1 labkit's is shorter. Pairs are compared by the time of the
whole loop (timing=total), collectives by the mean over PEs of each PE's mean. Message rates start with cold caches
(caches=cold): OSU times one window of each size, labkit a few, whose median counts. Of the overlap of a put, the pure
times are compared, with the overlaps beside them. osu_oshm_atomics crashes with Open MPI 4.1 at the fifth operation, so only
four are compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

import numpy as np
from fidelity import start

from labkit import benchmarks, stats
from labkit.benchmarks.mpi._forms import overlap_osu
from labkit.point.spec import Effort, Spec, sweep
from labkit.worker import Plan, Reader

PAIRS = ("put_latency", "put_nb_latency", "get_latency", "get_nb_latency")
RATES = ("put_rate", "put_nb_rate", "get_nb_rate")
COLLECTIVES = ("broadcast", "collect", "fcollect", "reduce", "barrier")
CALLS = {"shmem_int_fadd": "fetch_add", "shmem_int_finc": "fetch_inc", "shmem_int_add": "add", "shmem_int_inc": "inc"}
NAMES = [f"shmem.{name}" for name in (*PAIRS, *RATES, *COLLECTIVES, "put_overlap", "atomic")]
SIZES = (8, 512, 8192, 131072)
WINDOWS = 5
Results = dict[str, tuple[float, float]]  # size in B or name of a call → time of an iteration, µs; overlap, % or nan


def program(name: str) -> str:
    """OSU's counterpart of a benchmark."""
    return next(iter(benchmarks.get(name).equivalents))


def counts(name: str, few: bool) -> tuple[int, int]:
    """Iterations and warm-up of OSU's test, of up to 8 KiB (few) or more; of rates, windows."""
    if name.endswith("_rate"):
        return WINDOWS, 0
    if name == "shmem.atomic":
        return 500, 0
    if name.removeprefix("shmem.") in COLLECTIVES:
        return (1000, 200) if few else (100, 10)
    return (10_000, 1000) if few else (100, 0)


def points(name: str, transport: str, memory: str, few: bool) -> list[Spec]:
    """What labkit measures of sizes up to 8 KiB (few), or above."""
    if name == "shmem.atomic":
        options = {"timing": "total", "memory": memory}
        calls = CALLS.values() if few else ()
        specs = [spec for call in calls for spec in sweep(name, sizes=[4], transport=transport, call=call, **options)]
    else:
        options = {"memory": memory} if name.removeprefix("shmem.") not in COLLECTIVES else {}
        options |= {"timing": "total"} if name.removeprefix("shmem.") in PAIRS else {}
        options |= {"caches": "cold"} if name.endswith("_rate") else {}
        sizes = [size for size in (SIZES if benchmarks.get(name).sized else (0,)) if (size <= 8192) == few]
        specs = sweep(name, sizes=sizes, transport=transport, **options) if sizes else []
    return [benchmarks.resolve(spec) for spec in specs]


def ours(name: str, transport: str, memory: str) -> Results:
    """Measure with labkit, with OSU's counts of iterations."""
    results = Results()
    for few in (True, False):
        specs = points(name, transport, memory, few)
        if not specs:
            continue
        count, warmup = counts(name, few)
        plan = Plan(specs, Effort(iterations=count, warmup=warmup))
        for frame in Reader().feed(start([sys.executable, "-m", "labkit.worker", plan.encode()], specs[0])):
            if frame.header["kind"] != "samples":
                if frame.header["kind"] == "failed":
                    print(f"{name}: a point failed: {frame.header['reason']}", flush=True)
                continue
            spec, phases = specs[frame.header["index"]], frame.values.reshape(frame.header["shape"])
            key, times, overlap = str(spec.values["call"] if name == "shmem.atomic" else spec.size), phases[0], np.nan
            if name.endswith("_rate"):
                time = np.median(times)
            elif name == "shmem.put_overlap":
                time = phases[1].mean()
                overlap = overlap_osu(dict(zip(["time_ns", *benchmarks.get(name).phases], phases, strict=True)))
            else:
                time = times.sum(axis=1).mean() / sum(frame.header["chunks"])
            results[key] = float(time) * 1e-3, overlap
    return results


def osu(name: str, transport: str, memory: str) -> Results:
    """Measure with OSU's program."""
    collective = name.removeprefix("shmem.") in COLLECTIVES
    argv = [program(name), "-m", str(4 * max(SIZES))] if collective else [program(name), memory]
    spec = points(name, transport, memory, few=True)[0]
    results = Results()
    for line in start(argv, spec, crashes=name == "shmem.atomic").decode().splitlines():
        row = line.split()
        if not row or row[0].startswith("#"):
            continue
        if row[0].startswith("shmem_"):
            results[CALLS[row[0]]] = float(row[2]), np.nan
        elif name == "shmem.put_overlap":
            results[row[0]] = float(row[4]), float(row[5])
        else:
            size, value = int(row[0]) if len(row) > 1 else 0, float(row[-1])
            window = spec.values.get("window", 1) // (1 if size < 8192 else 10)
            results[str(size)] = window / value * 1e6 if name.endswith("_rate") else value, np.nan
    return results


def compare(name: str, transport: str, memory: str, pairs: int) -> None:
    """Print the lines of one benchmark."""
    rounds = [
        tuple(measure(name, transport, memory) for _ in range(2) for measure in (ours, osu)) for _ in range(pairs)
    ]
    for key in rounds[0][1]:
        if any(key not in results for results in rounds[0]):
            continue
        times, overlaps = np.moveaxis(np.array([[results[key] for results in one] for one in rounds]), -1, 0)
        ratio = stats.interval((times[:, ::2] / times[:, 1::2]).ravel())
        noise = stats.interval(times[:, 3] / times[:, 1])
        outside = not (0.97 <= ratio.centre <= 1.03 or noise.low <= ratio.centre <= noise.high)
        mine, other = (np.median(overlaps[:, first::2]) for first in (0, 1))
        print(
            f"{name:22} {key:>9}  {ratio.centre:6.3f} [{ratio.low:6.3f}, {ratio.high:6.3f}]   "
            f"{noise.centre:6.3f} [{noise.low:6.3f}, {noise.high:6.3f}]  {'OUTSIDE' if outside else ''}"
            + ("" if np.isnan(mine) else f"  overlap {mine:.0f} % (OSU {other:.0f} %)"),
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
