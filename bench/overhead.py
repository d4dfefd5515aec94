"""Print what labkit itself costs: outside the timed loops, and in processor time from start to end. Asserts nothing.

    python bench/overhead.py [--rounds 11]

The second table is of ``labkit measure mpi.latency -m 8 -i 100 --launches 1``, in parts, with everything that it
starts. In each round all parts follow one another, and osu_latency -m 8:8 where it is on PATH; the table has medians.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from labkit import benchmarks
from labkit.io import supervise
from labkit.point.spec import Effort, Spec, sweep
from labkit.run import launch, measuring
from labkit.run.staging import packed
from labkit.store.campaign import Campaign
from labkit.worker import Plan

EFFORT = Effort(iterations=100, launches=1)
# what labkit measure does, with the processor time of the process and of its children after each stage
STAGES = """
import json, os, resource, sys
marks = []
def mark(name):
    marks.append([name, *(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))])
os.putenv("OPENBLAS_NUM_THREADS", "1")
mark("start of the interpreter")
from labkit.apps import cli
from labkit.apps.cli import measure
mark("command line")
import numpy
mark("numpy")
import pyarrow.parquet
mark("pyarrow")
import pandas
mark("pandas")
from labkit.apps import show
from labkit.apps.show import results
from labkit.point.spec import Effort, Spec
from labkit.run import measuring, older
from labkit.store.campaign import Campaign
mark("labkit's modules")
effort = Effort(iterations=100, launches=1)
measuring.expand([Spec(benchmark="mpi.latency")], effort)
mark("naming the point, asking a launcher for its version")
campaign = Campaign(sys.argv[1])
measuring.host.describe()
mark("facts of the machine")
measuring.measure(Spec(benchmark="mpi.latency"), effort, into=campaign)
mark("the start; saving with fsync")
show.write(list(campaign.samples("mpi.latency")), "table", os.devnull, campaign="c")
mark("table of results")
print(json.dumps(marks))
"""


def points() -> None:
    """Print overhead per point and over the measuring phase, and the time of ``import labkit``."""
    specs = (
        sweep("mpi.latency", sizes="1:64Ki")
        + sweep("mpi.bandwidth", sizes="1:64Ki")
        + sweep("mpi.allreduce", sizes="4:64Ki")
    )
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(folder)
        began = time.perf_counter()
        measuring.measure(specs, Effort(launches=1, time_cap=0.2, ci=0.0001), into=campaign)
        whole = time.perf_counter() - began
        samples = list(campaign.samples())
    timed = sum(s.meta["timed_s"] for s in samples)
    inside = sum(s.meta["elapsed"] for s in samples)
    starts = sorted(s.meta["start"] for s in samples)
    print(
        f"{len(samples)} points: {timed:.2f} s of kernels, {inside:.2f} s in the points, {whole:.2f} s from call to return"
    )
    print(f"beside the kernels, per point: {(inside - timed) / len(samples) * 1e3:.1f} ms in the ranks")
    from datetime import datetime

    first, last = (datetime.fromisoformat(t) for t in (starts[0], starts[-1]))
    phase = (last - first).total_seconds() + max(s.meta["elapsed"] for s in samples if s.meta["start"] == starts[-1])
    print(f"measuring phase (first point begun to last point done): {phase:.2f} s = {phase / timed:.2f} × the kernels")
    times = []
    for _ in range(11):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import labkit; labkit.Spec"], check=True)
        with_labkit = time.perf_counter() - began
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append(with_labkit - (time.perf_counter() - began))
    print(f"import labkit: {sorted(times)[5] * 1e3:.0f} ms above a bare Python (median of 11)")


def spent(words: Sequence[str], env: dict[str, str] | None = None) -> float:
    """Processor time of a command and of everything it starts and waits for, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def supervised() -> float:
    """Processor time of supervising a command that does nothing, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with supervise.start(["true"]) as tree:
        tree.wait(60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(folder: Path) -> dict[str, list[str]]:
    """What is timed as a whole: the command, its ranks and what they consist of, and OSU's program."""
    spec = benchmarks.resolve(Spec(benchmark="mpi.latency"))
    launcher = launch.get("auto")
    placement = launch.Placement.of(spec, launcher)
    rank = [sys.executable, "-m", "labkit.worker", Plan([spec], EFFORT).encode()]
    bare = "import mpi4py; mpi4py.rc.thread_level = 'single'; from mpi4py import MPI"
    ranks = {
        "mpirun alone": ["true"],
        "and two interpreters": [sys.executable, *packed.FLAGS, "-c", "pass"],
        "and MPI_Init, MPI_Finalize": [sys.executable, *packed.FLAGS, str(folder / "bare.py")],
        "two ranks of labkit": packed.words(rank),
        "two ranks of labkit from the environment": rank,
    }
    (folder / "bare.py").write_text(f"import sys; sys.path = {sys.path!r}; {bare}\n")
    if osu := shutil.which("osu_latency"):
        ranks["osu_latency -m 8:8"] = [osu, "-m", "8:8"]
    words = ["measure", "mpi.latency", "-m", "8", "-i", "100", "--launches", "1", "--into"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "labkit --help": [sys.executable, "-m", "labkit", "--help"],
        "labkit measure": [sys.executable, "-m", "labkit", *words],
    } | {name: launcher.command(placement, words) for name, words in ranks.items()}


def start(rounds: int) -> None:
    """Print the processor time of a measurement of one point, in parts."""
    spec = benchmarks.resolve(Spec(benchmark="mpi.latency"))
    launcher = launch.get("auto")
    variables = {**os.environ, **launcher.environment(launch.Placement.of(spec, launcher))}
    stages: dict[str, list[float]] = {}
    wholes: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="labkit-bench-") as name:
        listed = commands(Path(name))
        for number in range(rounds):
            for label, words in listed.items():
                last = [f"{name}/{number}"] if label == "labkit measure" else []
                wholes.setdefault(label, []).append(spent([*words, *last], None if last else variables))
            wholes.setdefault("supervising a command", []).append(supervised())
            words = [sys.executable, "-c", STAGES, f"{name}/{number}-stages"]
            marks = json.loads(
                subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
            )
            before = [0.0, 0.0]
            for label, *after in marks:
                for what, now, then in zip(("", ": what it starts"), after, before, strict=True):
                    stages.setdefault(f"{label}{what}", []).append(now - then)
                before = after
    unit = statistics.median(wholes.get("osu_latency -m 8:8", [float("nan")]))
    print(f"\n{'processor time, median':60} {'ms':>6} {'times osu_latency':>18}   ({rounds} rounds)")
    for label, times in (wholes | stages).items():
        if (middle := statistics.median(times)) > 0.0005:
            print(f"{label:60} {middle * 1e3:6.0f} {middle / unit:18.2f}")
    if "osu_latency -m 8:8" in wholes:
        pairs = zip(wholes["labkit measure"], wholes["osu_latency -m 8:8"], strict=True)
        ratios = sorted(ours / osu for ours, osu in pairs)
        print(f"labkit measure / osu_latency: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    points()
    start(given.rounds)
