"""Print how often the table of slow ranks is right on real ranks: 20 starts with a rank that sleeps, 20 without. Asserts nothing.

The last rank (the root of a broadcast) sleeps 20 ms before every tenth iteration, outside the timed part: ``python
bench/slow_rank.py [RANKS [BENCHMARK]]``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from labkit import benchmarks
from labkit.io import supervise
from labkit.judge.slow_rank import slow_ranks
from labkit.point.spec import Effort, Spec
from labkit.run import launch
from labkit.store.samples import Samples
from labkit.worker import Plan, Reader

STARTS = 20
MPI = Path(__file__).resolve().parent.parent / "tests" / "mpi"
EFFORT = Effort(iterations=100, time_cap=20)


def compiled(folder: Path) -> Path:
    """Compile the sleeping functions to a library."""
    handle = "PTR" if launch.get("auto").name == "openmpi" else "INT"
    headers, target = Path(benchmarks.__file__).parent.parent / "kernels", folder / "delays.so"
    flags = ["-O2", "-shared", "-fPIC", f"-DHANDLE_{handle}=1", f"-I{headers}"]
    subprocess.run(["cc", *flags, str(MPI / "delays.c"), "-o", str(target)], check=True)
    return target


def one_start(spec: Spec, library: Path, rank: int) -> Samples:
    """Start the ranks once and return the samples; no rank sleeps if `rank` is -1."""
    plan, launcher = Plan([spec], EFFORT), launch.get("auto")
    placement = launch.Placement.of(spec, launcher)
    words = [sys.executable, str(MPI / "delayed_worker.py"), str(library), "late", str(rank), plan.encode()]
    with supervise.start(
        launcher.command(placement, words), env={**os.environ, **launcher.environment(placement)}
    ) as tree:
        stdout = b""
        while piece := os.read(tree.stdout.fileno(), 1 << 20):
            stdout += piece
        tree.wait(5)
    [frame] = [frame for frame in Reader().feed(stdout) if frame.header["kind"] == "samples"]
    times = frame.values.reshape(frame.header["shape"])[0]
    return Samples(spec=spec, effort=EFFORT, host={}, launch=0, time_ns=times, ranks=tuple(frame.header["rows"]))


def main() -> None:
    """Print the finding for every start, and how many were right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "ranks", nargs="?", type=int, default=2, metavar="RANKS", help="number of ranks (default: %(default)s)"
    )
    parser.add_argument("name", nargs="?", default="mpi.allreduce", metavar="BENCHMARK", help="(default: %(default)s)")
    given = parser.parse_args()
    ranks, name = given.ranks, given.name
    spec = benchmarks.resolve(Spec(benchmark=name, size=8, ranks=ranks))
    late = 0 if "root" in spec.values else ranks - 1
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        for rank, expected, case in ((late, [late], f"rank {late} sleeps"), (-1, [], "no rank sleeps")):
            count_right = 0
            for start in range(STARTS):
                outcome = slow_ranks(one_start(spec, library, rank))
                named = outcome.table.loc[outcome.table["slow"], "rank"].tolist()
                count_right += named == expected
                print(f"{case}, start {start}: {'right' if named == expected else 'WRONG'}: {outcome.sentence}")
            print(f"{spec.benchmark}, {ranks} ranks, {case}: {count_right} of {STARTS} right")


if __name__ == "__main__":
    main()
