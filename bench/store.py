"""Print how times grow with the store: campaigns of 1000, 10,000 and 100,000 points with 1000 samples each. Asserts nothing.

A new process answers each question, as for a user: which points exist (resume), the listing, loading one benchmark, its
figure, printing its results again, and loading one point. The points are spread over the MPI benchmarks and
compacted, except for a hundred files. The values are random numbers: nothing was measured. ``python
bench/store.py [POINTS…]``; the folder is deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from labkit import benchmarks
from labkit.point.spec import Effort, Spec
from labkit.store import samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Raw, Samples, compacted

EXAMPLE = Path(__file__).resolve().parent.parent / "data" / "campaigns" / "examples" / "two-cores"
SAMPLES, LAUNCHES, APART = 1000, 6, 100
ASK = """
import json, sys, time
{code}
took = time.process_time()
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([took, int(peak.split()[1]) / 1024]), file=sys.__stdout__)
"""
OPEN = "from labkit.store.campaign import Campaign; campaign = Campaign({folder!r}); name = {name!r}\n"
SHOW = "import io; sys.stdout = io.StringIO(); from labkit.apps import cli; cli.main(['show', {folder!r}{more}])"
QUESTIONS = {
    "resume: what is there": OPEN + "done = campaign.done()",
    "listing: labkit show C": SHOW,
    "one benchmark: load": OPEN + "samples = list(campaign.samples(name))",
    "one benchmark: figure, first time": OPEN
    + "from labkit import figures; from labkit.read import records; from labkit.read.records import cached\n"
    + "figures.versus_size(records.summary(cached.of(campaign, name)), 'latency_us')",
    "one benchmark: labkit show C --benchmark B, again": SHOW,
    "one point of it": OPEN + "samples = list(campaign.samples(name, {{('{first}', 0)}}))",
}


def points(benchmark: str, count: int, like: Samples) -> Iterator[tuple[tuple[str, int], Raw]]:
    """Yield points in the order of their names."""
    chance = np.random.default_rng(1)
    for i in range(count):
        fingerprint, launch = f"{i // LAUNCHES:016x}", i % LAUNCHES
        spec = Spec(benchmark=benchmark, size=1 + i // LAUNCHES, ranks=2, launcher="openmpi", transport="shm")
        header = {
            "format": samples.FORMAT,
            "spec": spec.as_dict(),
            "effort": Effort().as_dict(),
            "host": dict(like.host),
            "launch": launch,
            "origin": "simulated",
            "meta": {**like.meta, "fingerprint": fingerprint},
            "reported": [],
            "source": "",
        }
        times = chance.integers(250, 2000, SAMPLES)
        yield (fingerprint, launch), Raw(json.dumps(header).encode(), (0,), {"time_ns": times})


def made(folder: Path, count: int) -> str:
    """Make a campaign; return the name of the benchmark that the questions are about."""
    campaign, (like, *_) = Campaign(folder), list(Campaign(EXAMPLE).samples("mpi.latency"))
    kernels = (b for b in benchmarks.find().values() if isinstance(b, benchmarks.KernelBenchmark))
    names = [b.name for b in kernels if b.sized and b.name.startswith("mpi.")]
    each = max(1, count // len(names))
    for name in names:
        (campaign.path / "samples" / name).mkdir(parents=True, exist_ok=True)
        compacted.write(points(name, each, like), campaign.path / "samples" / name)
    for key, raw in points("mpi.latency", each + APART, like):
        if int(key[0], 16) * LAUNCHES + key[1] >= each:
            campaign.save(samples.decode(raw, ""), key[0])
    return "mpi.latency"


def ask(code: str) -> tuple[float, float, float]:
    """Run code in a new process; return its time and processor time, s, and its peak memory, MiB."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", ASK.format(code=code)], capture_output=True, text=True, check=True)
    took, memory = json.loads(done.stdout.splitlines()[-1])
    return time.perf_counter() - began, took, memory


def main() -> None:
    """Print a table for each number of points."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "points", nargs="*", type=int, default=[1_000, 10_000, 100_000], metavar="POINTS", help="of each store"
    )
    for count in parser.parse_args().points:
        with tempfile.TemporaryDirectory(prefix="labkit-bench-", dir="/tmp") as place:
            began = time.perf_counter()
            name = made(Path(place) / "c", count)
            size = sum(path.stat().st_size for path in Path(place).rglob("*.parquet")) / 1e6
            count_points = len(Campaign(Path(place) / "c").done())
            print(
                f"\n{count_points:,} points, {count_points * SAMPLES:.1e} samples, {size:,.0f} MB, made in {time.perf_counter() - began:.0f} s"
            )
            print(f"{'':52} {'wall':>8} {'processor':>9} {'memory':>9}")
            for question, code in QUESTIONS.items():
                more = f", '--benchmark', {name!r}" if "--benchmark" in question else ""
                code = code.format(folder=f"{place}/c", name=name, more=more, first=f"{1:016x}")
                whole, took, memory = ask(code)
                print(f"{question:52} {whole:6.2f} s {took:7.2f} s {memory:5.0f} MiB", flush=True)
            began = time.perf_counter()
            Campaign(Path(place) / "c").compact()
            print(f"{'compacting the rest of one benchmark':52} {time.perf_counter() - began:6.2f} s")
    print(f"\nwriting: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB at most")


if __name__ == "__main__":
    main()
