"""What reading costs at scale: many points, points of 16,384 ranks, all pairs of 1000 hosts, lists of 5000 hosts.

``python bench/reading.py [ROW…]`` prints the tables that `ROWS` names. ``points`` runs commands of labkit on campaigns of
100 to 10,000 points in 6 launches each (``--points 100,1000,10000,100000`` for others), with the ratio to the smaller
campaign; below, the same commands where nearly every launch has another number of iterations, with the ratio to equal
numbers. The samples are random numbers of a healthy system, with one late rank, or one slow host: nothing was
measured. Every question is asked by a process of its own, as a user does. Asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from labkit import benchmarks
from labkit.benchmarks.mpi.all_pairs import partners
from labkit.host import allocation
from labkit.point import host_list
from labkit.point.spec import Effort, Spec
from labkit.run import launch
from labkit.run.launch import Placement
from labkit.stats import across_ranks, histogram
from labkit.store.campaign import Campaign
from labkit.store.samples import Raw, Samples, compacted, metadata

RANKS, IN_A_NODE, ITERATIONS, POINTS = 16_384, 64, 2000, 6
HOSTS, MEETINGS, LISTED = 1000, 7, 5000
COUNTS, LAUNCHES, SAMPLES, EARLIER = (100, 1000, 10_000), 6, 60, 5
SPREAD = 0.5  # of the numbers of iterations
_BLOCK = 100  # iterations that are made at once
_BUCKETS = 1 << 13
OPEN = """
from labkit.store.campaign import Campaign
samples = list(Campaign({folder!r}).samples({name!r}))
one = samples[0]
from labkit import figures; from labkit.judge import slow_rank; from labkit.read import records
from labkit.read.records import per_rank
from labkit.judge import all_pairs
"""
TELL = """
import json, sys, time
began = time.perf_counter()
size = 0
{code}
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([time.perf_counter() - began, time.process_time(), int(peak.split()[1]) / 1024, size]), file=sys.__stdout__)
"""
OF_RANKS = {
    "records of all points": "records.table(samples)",
    "slow ranks": "slow_rank.slow_ranks(one)",
    "map of ranks": "size = len(figures.rank_map(samples, 'p99').to_json())",
    "bands of ranks": "size = len(figures.per_rank(samples).to_json())",
    "iterations": "size = len(figures.over_iterations(one).to_json())",
    "distribution": "size = len(figures.distribution(samples, 'latency_us').to_json())",
    "OMB layout": "from labkit.read import equivalents; equivalents.text(samples, 'omb', full=True)",
}
PAIRS = "switches, hosts = per_rank.switches(one), all_pairs.hosts_of(one); "
VERDICT = PAIRS + "verdict = all_pairs.bad_pairs(samples[0], samples[1], switches); "
OF_PAIRS = {
    "verdict": VERDICT,
    "effects": PAIRS + "all_pairs.effects(all_pairs.matrix(one), hosts, switches)",
    "map of pairs, with the verdict": VERDICT
    + "bad = list(zip(verdict.table['rank'], verdict.table['other'], strict=True)); "
    + "size = len(figures.pairs(verdict.seconds, hosts, switches, bad=bad).to_json())",
    "measured twice": PAIRS
    + "first, again = all_pairs.matrix(samples[0]), all_pairs.matrix(samples[1]); "
    + "size = len(figures.repeated_pairs(first, again, hosts, limits=[3, 3], causes={{}}).to_json())",
    "false alarms": "all_pairs.false_alarms(one)",
}


# ---- samples ---------------------------------------------------------------------------------------------------------


def blocks(launch: int) -> Iterator[np.ndarray]:
    """Times of many ranks, (ranks, iterations) ns, block by block; one rank is late in every tenth iteration."""
    chance = np.random.default_rng(launch)
    level = np.random.default_rng(0).normal(50_000, 2000, (RANKS, 1))
    for _ in range(0, ITERATIONS, _BLOCK):
        times = level + chance.exponential(2000, (RANKS, _BLOCK))
        times[:, ::10] += 400_000
        times[4711, ::10] -= 400_000
        yield times.astype(np.int64)


def over(launch: int) -> across_ranks.OverRanks:
    """Statistics over ranks of such a point, as its ranks reduce them; medians are the middles of histograms."""
    counts = np.zeros((RANKS, _BUCKETS), np.int32)
    least, most, total = np.full(RANKS, 1 << 62), np.zeros(RANKS, np.int64), np.zeros(RANKS, np.int64)
    for times in blocks(launch):
        buckets = histogram.bucket(times)
        for column in buckets.T:
            counts[np.arange(RANKS), column] += 1
        least, most = np.minimum(least, times.min(axis=1)), np.maximum(most, times.max(axis=1))
        total += times.sum(axis=1)
    places, buckets = np.nonzero(counts)
    rows = np.array([places, buckets, counts[places, buckets]], np.int64)
    middle = (counts.cumsum(axis=1) * 2 >= ITERATIONS).argmax(axis=1)
    p50 = histogram.middle(middle).astype(np.int64)
    parts = [across_ranks.columns(times, p50) for times in blocks(launch)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in across_ranks.OF_ITERATION}
    slowest = np.bincount(columns["slowest_rank"], minlength=RANKS).astype(np.int64)
    of_rank = {"slowest_count": slowest, "p50": p50, "min": least, "max": most}
    named = across_ranks.named(columns, range(RANKS))
    return across_ranks.OverRanks(tuple(range(RANKS)), named, of_rank, {"time_ns": total}, {}, rows)


def many_ranks(launch: int) -> Samples:
    """A launch of an allreduce on very many ranks; of the last 16 every time is kept."""
    hosts = [f"node{rank // IN_A_NODE:04d}" for rank in range(RANKS)]
    leaves = {host: f"leaf{int(host[4:]) // 16:02d}" for host in dict.fromkeys(hosts)}
    spec = benchmarks.resolve(Spec(benchmark="mpi.allreduce", size=8, ranks=RANKS)).replace(launcher="openmpi")
    return Samples(
        spec=spec,
        effort=Effort(),
        host={"name": "simulated"},
        launch=launch,
        origin="simulated",
        time_ns=np.concatenate([times[-16:] for times in blocks(launch)], axis=1),
        ranks=tuple(range(RANKS - 16, RANKS)),
        meta={"fingerprint": "0" * 16, "rank_hosts": hosts, "placement": {"leaves": leaves}},
        over=over(launch),
    )


def pairs(launch: int) -> Samples:
    """A launch of all pairs of very many hosts, of which one is slow."""
    schedule, chance = partners(HOSTS), np.random.default_rng(launch)
    times = chance.normal(4000, 60, (HOSTS, len(schedule) * MEETINGS)).astype(np.int64)
    times[17] += 1500
    for turn, row in enumerate(schedule):
        times[row[17], turn :: len(schedule)] += 1500
    hosts = [f"node{rank:04d}" for rank in range(HOSTS)]
    leaves = {host: f"leaf{k // 32:02d}" for k, host in enumerate(hosts)}
    return Samples(
        spec=benchmarks.resolve(Spec(benchmark="mpi.all_pairs", size=8, ranks=HOSTS)).replace(launcher="openmpi"),
        effort=Effort(),
        host={"name": "simulated"},
        launch=launch,
        origin="simulated",
        time_ns=times,
        ranks=tuple(range(HOSTS)),
        meta={"fingerprint": "1" * 16, "rank_hosts": hosts, "placement": {"leaves": leaves}},
    )


# ---- rows ------------------------------------------------------------------------------------------------------------


def ask(code: str, folder: Path, name: str) -> str:
    """Time, processor time and memory of a question to a campaign, with reading it; the size of its figure."""
    whole = (OPEN + code).format(folder=str(folder), name=name)
    done = subprocess.run([sys.executable, "-c", TELL.format(code=whole)], capture_output=True, text=True, check=True)
    took, processor, memory, size = json.loads(done.stdout.splitlines()[-1])
    figure = f"{size / 1e6:5.2f} MB" if size else ""
    return f"{took:6.2f} s {processor:6.2f} s {memory:6.0f} MiB {figure}"


def reading() -> None:
    """Points of very many ranks, and all pairs of very many hosts."""
    with tempfile.TemporaryDirectory(prefix="labkit-bench-") as place:
        campaign = Campaign(Path(place) / "c")
        for number in range(POINTS):
            campaign.save(many_ranks(number), "0" * 16)
        for number in range(2):
            campaign.save(pairs(number), "1" * 16)
        for name, questions in (("mpi.allreduce", OF_RANKS), ("mpi.all_pairs", OF_PAIRS)):
            sizes = [path.stat().st_size / 1e6 for path in (campaign.path / "samples" / name).glob("*.parquet")]
            what = f"{RANKS:,} ranks, {ITERATIONS:,} iterations" if questions is OF_RANKS else f"{HOSTS:,} hosts"
            print(f"{name}, {what}, {len(sizes)} launches of {max(sizes):.1f} MB; times with reading the campaign")
            print(f"{'reading alone':32} {ask('', campaign.path, name)}", flush=True)
            for question, code in questions.items():
                print(f"{question:32} {ask(code, campaign.path, name)}", flush=True)
            print()


def hosts() -> None:
    """Lists of very many hosts."""
    names = [f"node{k:04d}" for k in range(1, LISTED + 1)]
    leaves = "\n".join(
        f"SwitchName=leaf{k:03d} Level=0 LinkSpeed=1 Nodes=node[{k * 20 + 1:04d}-{k * 20 + 20:04d}]"
        for k in range(LISTED // 20)
    )
    with tempfile.TemporaryDirectory(prefix="labkit-bench-") as place:
        file = Path(place) / "hosts"
        file.write_text("".join(f"{name} slots=64\n" for name in names))
        nodefile = Path(place) / "nodes"
        nodefile.write_text("".join(f"{name}\n" * 64 for name in names))
        placement = Placement(ranks=LISTED * 64, hosts=launch.listed(str(file)))
        rows: dict[str, Callable[[], object]] = {
            f"hostfile of {LISTED:,} lines": lambda: launch.listed(str(file)),
            f"nodefile of {LISTED * 64:,} lines": lambda: launch.listed(str(nodefile)),
            f"list of {LISTED:,} names": lambda: launch.listed(",".join(names)),
            f"node[0001-{LISTED}] of Slurm": lambda: host_list.expanded(f"node[0001-{LISTED}]"),
            "scontrol show topology": lambda: allocation.leaves(leaves),
            f"{LISTED * 64:,} ranks to {LISTED:,} hosts": lambda: placement.shares,
            f"rounds of {HOSTS:,} hosts": lambda: partners.__wrapped__(HOSTS),
        }
        for what, call in rows.items():
            began = time.perf_counter()
            call()
            print(f"{what:40} {time.perf_counter() - began:7.3f} s", flush=True)


# ---- many points -----------------------------------------------------------------------------------------------------


def campaign_of(count: int, folder: Path, seed: int, spread: float = 0.0) -> Campaign:
    """A campaign of so many points in `LAUNCHES` launches, in compacted files.

    Half of the points are sizes of one series of mpi.latency, the others those of 16 series of mpi.allreduce.

    Parameters
    ----------
    spread : how far numbers of iterations lie from `SAMPLES`, as a part of it.
    """
    campaign, chance = Campaign(folder), np.random.default_rng(seed)
    host = {"name": "simulated", "cpu_model": "none", "nics": [{"name": f"eth{k}", "mtu": 1500} for k in range(4)]}
    specs = {
        "mpi.latency": [Spec(benchmark="mpi.latency", size=1 + k) for k in range(count // 2)],
        "mpi.allreduce": [
            Spec(benchmark="mpi.allreduce", size=4 + 4 * (k // 16), ranks=2 + k % 16) for k in range(count - count // 2)
        ],
    }
    for name, some in specs.items():
        (samples := folder / "samples" / name).mkdir(parents=True)
        compacted.write(sorted(_points(some, host, chance, spread), key=lambda point: point[0]), samples)
    return campaign


def make_campaign(count: int, folder: Path, seed: int, spread: float) -> None:
    """Make a campaign, which cannot travel between processes."""
    campaign_of(count, folder, seed, spread)


def _points(
    specs: Sequence[Spec], host: Mapping[str, object], chance: np.random.Generator, spread: float
) -> Iterator[tuple[tuple[str, int], Raw]]:
    """Launches of points, with as much about them as a measurement keeps."""
    for number, spec in enumerate(specs):
        whole = benchmarks.resolve(spec).replace(launcher="openmpi")
        fingerprint = whole.fingerprint({})
        timed = tuple(range(whole.ranks if whole.benchmark == "mpi.allreduce" else 1))
        middle = 1500 + 0.4 * whole.size + 300 * math.log2(whole.ranks)
        for turn in range(LAUNCHES):
            load = {"monotonic_s": number + turn / 7, "load_1": 0.5, "context_switches": number + turn}
            meta: dict[str, object] = {"fingerprint": fingerprint, "engine": "c"}
            meta |= {"library": "Open MPI 4.1.4", "verified": True}
            meta |= {"stopped_by": "ci", "warmup": 10, "timing": "each", "timer_overhead_ns": 20.0, "affinity": [0]}
            meta |= {"rank_hosts": ["simulated"] * whole.ranks, "elapsed": float(chance.random()), "clock_ns": 1.0}
            meta |= {"start": f"2026-01-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}+00:00"}
            meta |= {"load_start": load, "load_end": load | {"cpu_steal_s": turn / 3}, "badges": ["loopback"]}
            meta |= {"notes": {"loopback": ["loopback", {}]}}
            level = middle * chance.normal(1, 0.01)
            count = round(SAMPLES * (1 + spread * chance.uniform(-1, 1)))
            times = (level + chance.exponential(100, (len(timed), count))).astype(np.int64)
            one = Samples(spec=whole, effort=Effort(), host=host, launch=turn, time_ns=times, ranks=timed, meta=meta)
            header = json.dumps(metadata(one) | {"origin": "simulated"}, separators=(",", ":")).encode()
            yield (fingerprint, turn), Raw(header, timed, {"time_ns": times.ravel()})


def commands(folder: Path, new: str, old: str) -> dict[str, list[str]]:
    """Command lines by their names; of two campaigns in a folder."""
    new, old = str(folder / new), str(folder / old)
    return {
        "first reading": ["show", new, "--benchmark", "mpi.*"],
        "show": ["show", new, "--benchmark", "mpi.*"],
        "compare": ["compare", old, new],
        "lint": ["lint", new],
        "gate": ["gate", new, "--against", old, *(str(folder / f"older-{k}") for k in range(EARLIER))],
        "explain": ["explain", new],
    }


def cost(words: Sequence[str]) -> tuple[float, float, float]:
    """Elapsed and processor time, s, and memory, MB, of a command of labkit."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "labkit", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 2, 3):
        raise SystemExit(f"labkit {' '.join(words)}: {said}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def points(counts: Sequence[int] = COUNTS) -> None:
    """Commands on campaigns of many points; the first reading also keeps the records."""
    before: dict[str, float] = {}
    print(f"{'points × launches':>18} {'command':<14} {'elapsed':>8} {'processor':>9} {'memory':>8}  to the one above")
    for count in counts:
        with tempfile.TemporaryDirectory(prefix="labkit-bench-") as place:
            folder = Path(place)
            names = dict.fromkeys(("new", "old", *(f"older-{k}" for k in range(EARLIER))), 0.0)
            names |= {"uneven": SPREAD, "uneven-old": SPREAD}
            made = [(count, folder / name, seed, spread) for seed, (name, spread) in enumerate(names.items())]
            with get_context("spawn").Pool(1) as pool:  # what this process takes counts as a child's before it starts
                pool.starmap(make_campaign, made)
            before = {name: _cost(count, name, words, before) for name, words in commands(folder, "new", "old").items()}
            print(f"{'':>19}of {SAMPLES * (1 - SPREAD):.0f} to {SAMPLES * (1 + SPREAD):.0f} iterations:")
            for name, words in commands(folder, "uneven", "uneven-old").items():
                if name != "gate":
                    _cost(count, name, words, before)
            print(flush=True)


def _cost(count: int, name: str, words: Sequence[str], before: Mapping[str, float]) -> float:
    """Print what a command costs, with the ratio to a cost before; return its processor time, s."""
    if name in ("compare", "gate"):
        cost(words)  # keeps the records of the other campaigns
    took, processor, memory = cost(words)
    ratio = f"{processor / before[name]:6.2f} times" if name in before else ""
    print(
        f"{count:>14,} × {LAUNCHES} {name:<14} {took:6.2f} s {processor:7.2f} s {memory:5.0f} MB  {ratio}", flush=True
    )
    return processor


ROWS: dict[str, Callable[[], None]] = {"points": points, "reading": reading, "hosts": hosts}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"any of {', '.join(ROWS)}; all unless told otherwise")
    parser.add_argument("--points", default="", metavar="N,…", help="numbers of points for the row points")
    given = parser.parse_args()
    for row in given.rows or ROWS:
        points([int(word) for word in given.points.split(",")]) if given.points and row == "points" else ROWS[row]()
