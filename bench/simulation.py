"""Growth of simulations with the number of ranks: time of the processor, wall time, peak memory of SimGrid.

Run as ``python bench/simulation.py [RANKS…]``. Each simulation runs in a process of its own, so that its peak memory is
known. The networks are fat trees of 100 Gbit/s with leaves of 64 hosts.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

CELLS = {"nx": 100, "ny": 100, "nz": 100, "vars": 8}  # those of Kenny et al. 2020
RANKS = (64, 256, 1024, 4096)
CASES = {
    "allreduce 8 B": ("mpi.allreduce", 8, {}),
    "halo exchange, faces of 640 kB": ("apps.halo3d26", 8, {"neighbours": "18", "periodic": True, **CELLS}),
}


def simulated(name: str, size: int, options: dict[str, object], ranks: int) -> dict[str, float]:
    """Cost of one simulation, run in this process."""
    from labkit import Spec, benchmarks
    from labkit.run.simulations import overheads
    from labkit.testbeds.simulation import network_of, platforms, program, workloads
    from labkit.tools import smpirun

    network = network_of("fat-tree", {"nodes": str(ranks), "per_leaf": "64"})
    spec = benchmarks.resolve(Spec(benchmark=name, size=size, ranks=ranks, options=options))
    began = time.monotonic()
    work = program(spec, 1, 0)
    texts = platforms.platform(network), network.hosts_of(ranks), work.trace
    written = time.monotonic() - began
    result = smpirun.replay(*texts, (*work.settings, *overheads(network)), 590)
    return {
        "messages": workloads.messages(spec),
        "written_s": written,
        "cpu_s": result.cpu_s,
        "wall_s": time.monotonic() - began,
        "simgrid_MB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
        "labkit_MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "time_us": 1e6 * max(ends[-1] for ends in result.ends),
    }


def main(ranks: list[int]) -> None:
    """Print a row for each case and number of ranks."""
    print("| case | ranks | messages | CPU (s) | wall (s) | SimGrid (MB) | labkit (MB) | simulated (µs) |")
    print("|:--|--:|--:|--:|--:|--:|--:|--:|")
    for case in CASES:
        for count in ranks:
            words = [sys.executable, __file__, "--one", case, str(count)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"| {case} | {count} | failed: {done.stderr.strip().splitlines()[-1][:200]} |")
                continue
            row = json.loads(done.stdout)
            print(
                f"| {case} | {count} | {row['messages']:,} | {row['cpu_s']:.1f} | {row['wall_s']:.1f} | "
                f"{row['simgrid_MB']:.0f} | {row['labkit_MB']:.0f} | {row['time_us']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    if "--one" in sys.argv:
        print(json.dumps(simulated(*CASES[sys.argv[2]], int(sys.argv[3]))))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("ranks", nargs="*", type=int, default=list(RANKS), metavar="RANKS", help="numbers of ranks")
        main(parser.parse_args().ranks)
