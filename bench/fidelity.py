"""Compare the kernels with the OSU benchmarks. Prints ratios, asserts nothing.

    python bench/fidelity.py [--pairs 11] [--transport shm] [--benchmarks mpi.latency,mpi.bcast]

The OSU programs of the table below must be on PATH, built with the MPI in use; missing ones are left out. Rounds of
labkit, OSU, labkit, OSU follow one another with the same launcher, sizes and counts. Both start anew for each size,
because the first calls after a start are slow. Each round gives the ratio
labkit/OSU and, as the noise floor, OSU/OSU. The script prints the median of the ratios with its rank interval. All are
ratios of times of an iteration, so below 1 labkit's is shorter. A ratio outside 0.97 to 1.03 is "inside the floor" if
OSU differs as much from itself, "rounding" if OSU's last digit can explain it (build OSU with -DFLOAT_PRECISION=4 for
more digits), else "OUTSIDE". It compares three pairs of numbers:

printed
    The average that OSU prints and labkit's `osu_mean`: for collectives the mean over ranks of each rank's mean, for
    one-sided calls the time of the whole loop, else the mean of the iterations. One late iteration moves it.
P50
    OSU's 50th percentile and labkit's median by OSU's definition: of the mean over ranks of each iteration.
median
    labkit's own median against OSU's P50, for collectives: labkit's is that of the slowest rank, so the ratio is above 1.

For mpi.iallreduce the ratio is that of the pure time, of which OSU prints only the mean, with the overlaps beside it.
OSU's computation takes longer than requested, so the totals are not comparable.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit import benchmarks, stats
from labkit.benchmarks.mpi._forms import overlap_osu
from labkit.point.spec import Effort, Spec, sweep
from labkit.run import launch
from labkit.worker import Plan, Reader


@dataclass(frozen=True)
class Case:
    """The OSU program that is the counterpart of a benchmark.

    Parameters
    ----------
    program : its name.
    counts : iterations for sizes up to 8 KiB, and above.
    seconds : time of an iteration, s, from a number that OSU prints and the size.
    sizes : sizes to compare, B.
    more : further options of the program.
    """

    program: str
    counts: tuple[int, int]
    seconds: Callable[[float, int], float] = lambda value, size: value * 1e-6
    sizes: Sequence[int] = (8, 512, 8192, 131072, 524288)
    more: Sequence[str] = ()


LATENCY, RATE, COLLECTIVE = (10_000, 1000), (100, 20), (1000, 100)
ALL = (8, 64, 512, 2048, 8192, 32768, 131072, 524288)


def window(messages: int) -> Callable[[float, int], float]:
    """Return the function from MB/s to the time of a window of `messages` messages."""
    return lambda value, size: messages * size / (value * 1e6)


CASES = {
    "mpi.latency": Case("osu_latency", LATENCY, lambda value, size: 2 * value * 1e-6, ALL),
    "mpi.bandwidth": Case("osu_bw", RATE, window(64), ALL),
    "mpi.bibandwidth": Case("osu_bibw", RATE, window(128)),
    "mpi.multi_bandwidth": Case("osu_mbw_mr", RATE, window(64)),
    "mpi.put_latency": Case("osu_put_latency", LATENCY),
    "mpi.get_latency": Case("osu_get_latency", LATENCY),
    "mpi.accumulate_latency": Case("osu_acc_latency", LATENCY, more=("-T", "mpi_float")),
    "mpi.get_bandwidth": Case("osu_get_bw", RATE, window(64)),
    "mpi.allreduce": Case("osu_allreduce", COLLECTIVE, sizes=ALL, more=("-T", "mpi_float")),
    "mpi.bcast": Case("osu_bcast", COLLECTIVE),
    "mpi.alltoall": Case("osu_alltoall", COLLECTIVE),
    "mpi.barrier": Case("osu_barrier", COLLECTIVE, sizes=(0,)),
    "mpi.iallreduce": Case("osu_iallreduce", COLLECTIVE, more=("-T", "mpi_float")),
}
SMALL = 8192


def start(argv: Sequence[str], spec: Spec, crashes: bool = False) -> bytes:
    """Start ranks as labkit does, and return their standard output; of ranks that crash, what they wrote before."""
    launcher = launch.get(spec.launcher)
    placement = launch.Placement.of(spec, launcher)
    environment = {**os.environ, **launcher.environment(placement)}
    done = subprocess.run(
        launcher.command(placement, argv), env=environment, capture_output=True, timeout=300, check=False
    )
    if done.returncode and not crashes:
        raise SystemExit(f"{argv[0]} failed: {done.stderr.decode()[-800:]}")
    return done.stdout


Results = dict[
    int, dict[str, float]
]  # size → statistic → s of an iteration, and the part that rounding is of it; and OSU's overlap, %
STATISTICS = ("printed", "P50", "median")


def statistics(phases: np.ndarray, header: Mapping[str, Any], overlap: float) -> dict[str, float]:
    """Value of labkit for each of `STATISTICS`, s."""
    if not np.isnan(overlap):
        return {"printed": float(np.mean(phases[1])) * 1e-9, "overlap": overlap}
    times, chunks = phases[0], sum(header["chunks"])
    whole = np.sum(header["loop_ns"], axis=1) / chunks if header.get("loop_ns") else times.mean(axis=1)
    values = {"printed": whole.mean(), "P50": np.median(times.mean(axis=0)), "median": np.median(times.max(axis=0))}
    return {key: float(value) * 1e-9 for key, value in values.items() if key != "median" or len(times) > 1}


def ours(name: str, transport: str) -> Results:
    """Measure with labkit."""
    results: Results = {}
    for sizes, count in halves(name):
        for spec in map(benchmarks.resolve, sweep(name, sizes=sizes, transport=transport)):
            plan = Plan([spec], Effort(iterations=count))
            output = start([sys.executable, "-m", "labkit.worker", plan.encode()], spec)
            for frame in Reader().feed(output):
                if frame.header["kind"] == "samples":
                    phases = frame.values.reshape(frame.header["shape"])
                    names = ["time_ns", *benchmarks.get(name).phases]
                    overlap = overlap_osu(dict(zip(names, phases, strict=True))) if len(phases) > 2 else np.nan
                    results[spec.size] = statistics(phases, frame.header, overlap)
    return results


def osu(name: str, transport: str) -> Results:
    """Measure with OSU's program: its average and 50th percentile, converted to the time of an iteration."""
    results: Results = {}
    case = CASES[name]
    for sizes, count in halves(name):
        for size in sizes:
            argv = [case.program, "-i", str(count), "-x", str(count // 10), "-z50", *case.more]
            argv += ["-m", f"{size}:{size}"] if size else []
            text = start(argv, Spec(benchmark=name, transport=transport)).decode()
            rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
            row = rows[-1]
            if name == "mpi.iallreduce":
                results[size] = {"printed": float(row[3]) * 1e-6, "overlap": float(row[4])}
                continue
            values = {"printed": row[1 if size else 0], "P50": row[-1], "median": row[-1]}
            results[size] = {key: case.seconds(float(value), size) for key, value in values.items()}
            results[size] |= {f"{key}, rounding": rounding(value) for key, value in values.items()}
    return results


def rounding(printed: str) -> float:
    """Return by which part a number may be off because of its last printed digit."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2]) / float(printed)


def halves(name: str) -> list[tuple[list[int], int]]:
    """Sizes up to 8 KiB and above, each with OSU's count of iterations."""
    case = CASES[name]
    small, large = [[s for s in case.sizes if (s <= SMALL) == few] for few in (True, False)]
    return [(sizes, count) for sizes, count in ((small, case.counts[0]), (large, case.counts[1])) if sizes]


def show(name: str, size: int, statistic: str, ratios: list[float], floor: list[float], digit: float) -> str:
    """Write one line: the ratio and the noise floor, each with its interval.

    Parameters
    ----------
    digit : by which part the last printed digit of OSU's number may be off.
    """
    ratio, noise = stats.interval(np.array(ratios)), stats.interval(np.array(floor))
    if 0.97 <= ratio.centre <= 1.03:
        inside = ""
    elif noise.low <= ratio.centre <= noise.high:
        inside = "inside the floor"
    else:
        inside = "rounding" if 0.97 - digit <= ratio.centre <= 1.03 + digit else "OUTSIDE"
    return (
        f"{name:20} {size:8}  {statistic:8} {ratio.centre:6.3f} [{ratio.low:6.3f}, {ratio.high:6.3f}]   "
        f"{noise.centre:6.3f} [{noise.low:6.3f}, {noise.high:6.3f}]  {inside}"
    )


def compare(name: str, transport: str, pairs: int) -> None:
    """Print the lines of one benchmark."""
    ratios: dict[tuple[int, str], list[float]] = defaultdict(list)
    floor: dict[tuple[int, str], list[float]] = defaultdict(list)
    digits: dict[tuple[int, str], float] = {}
    overlaps: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(pairs):
        rounds = [measure(name, transport) for _ in range(2) for measure in (ours, osu)]
        for size in CASES[name].sizes:
            first_ours, first_osu, second_ours, second_osu = (results[size] for results in rounds)
            for key in (statistic for statistic in STATISTICS if statistic in first_ours):
                ratios[size, key] += [first_ours[key] / first_osu[key], second_ours[key] / second_osu[key]]
                floor[size, key].append(second_osu[key] / first_osu[key])
                digits[size, key] = first_osu.get(f"{key}, rounding", 0.0)
            if "overlap" in first_ours:
                overlaps[size] += [
                    (first_ours["overlap"], first_osu["overlap"]),
                    (second_ours["overlap"], second_osu["overlap"]),
                ]
    for size, key in ratios:
        print(show(name, size, key, ratios[size, key], floor[size, key], digits[size, key]), end="")
        overlap = ""
        if overlaps[size]:
            our_overlap, osu_overlap = np.median(np.array(overlaps[size]), axis=0)
            overlap = f"  overlap {our_overlap:.1f} % (OSU {osu_overlap:.1f} %)"
        print(overlap, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--transport", default="shm")
    parser.add_argument("--benchmarks", default=",".join(CASES))
    options = parser.parse_args()
    wanted = options.benchmarks.split(",")
    missing = [CASES[name].program for name in wanted if shutil.which(CASES[name].program) is None]
    if missing:
        print(f"fidelity: not on PATH, left out: {', '.join(missing)}. Put an OSU build of the MPI in use there.")
    if len(missing) == len(wanted):
        return
    head = f"{options.pairs} interleaved rounds, {options.transport}, load {os.getloadavg()[0]:.1f}"
    print(f"labkit/OSU and OSU/OSU, time of an iteration, {head}")
    print(f"{'benchmark':20} {'size (B)':>8}  {'of':8} {'labkit/OSU':24}  {'OSU/OSU (noise floor)':24}")
    for name in wanted:
        if CASES[name].program not in missing:
            compare(name, options.transport, options.pairs)


if __name__ == "__main__":
    main()
