"""Compare the NAS kernels with NPB's own programs: rate of both, and their ratio.

    python bench/nas.py NPB/bin [--class A] [--ranks 1] [--times 5] [--mpirun "mpirun -n 1"]

NPB/bin holds NPB's programs (`cg.A.x` of NPB 3.4, `cg.A.1` of 3.3), built with the same MPI and the compilers' `-O3`.
Both run in turn. The rate is the best of all runs. A ratio above 1.3 means that labkit's kernel is too slow.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import tempfile
from pathlib import Path

from labkit.benchmarks.compute import _nas
from labkit.formats import npb
from labkit.io.markdown import table
from labkit.point.spec import Effort, Spec
from labkit.run import measuring
from labkit.store.campaign import Campaign


def original(program: Path, mpirun: str) -> float:
    """Mop/s that a program of NPB prints."""
    done = subprocess.run([*shlex.split(mpirun), str(program)], capture_output=True, text=True, check=True)
    (run,) = npb.LOG.read(done.stdout, program.name)
    if not run.verified:
        raise SystemExit(f"{program} was not verified. Build it again.")
    return max((value.value for value in run.values if value.name == "operations_Mops"), default=float("nan"))


def ours(name: str, letter: str, ranks: int, launch: int, folder: Path) -> float:
    """Mop/s of labkit's kernel, the best run of a launch."""
    spec = Spec(benchmark=f"compute.nas_{name}", size=0, ranks=ranks).replace(options={"npb_class": letter})
    campaign = Campaign(folder / f"{name}-{launch}")
    measuring.measure([spec], Effort(launches=1, iterations=1), into=campaign)
    (samples,) = campaign.samples(spec.benchmark)
    return _nas.KERNELS[name].operations(samples.spec) * 1e-6 / (samples.time_ns.max(axis=0).min() * 1e-9)


def main() -> None:
    """Print a row for each kernel whose program is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--class", dest="letter", default="A", choices=_nas.CLASSES)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--mpirun", default="", help="command that starts NPB's ranks; empty for one rank")
    chosen = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in _nas.KERNELS:
            endings = ("x", str(chosen.ranks))
            programs = [chosen.folder / f"{name}.{chosen.letter}.{ending}" for ending in endings]
            program = next((one for one in programs if one.is_file()), None)
            if program is None:
                print(f"{name}: there is neither {programs[0]} nor {programs[1]}")
                continue
            rates = [
                (original(program, chosen.mpirun), ours(name, chosen.letter, chosen.ranks, n, Path(folder)))
                for n in range(chosen.times)
            ]
            theirs, mine = (max(rate) for rate in zip(*rates, strict=True))
            rows.append((name.upper(), f"{theirs:.1f}", f"{mine:.1f}", f"{theirs / mine:.2f}"))
    print(table(("kernel", "NPB (Mop/s)", "labkit (Mop/s)", "NPB / labkit"), rows))


if __name__ == "__main__":
    main()
