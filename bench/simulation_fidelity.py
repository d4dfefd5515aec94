"""Simulated beside measured: points of a campaign on the virtual cluster, and the same points on a simulated tree.

Run as ``python bench/simulation_fidelity.py [CAMPAIGN]`` (default: the example campaign). The simulated tree has the
topology and the rates of the virtual cluster, times the share of a frame that is payload. Its overheads are fitted to
the measured `mpi.latency` alone; all other points are held out. The second simulation is half duplex, as Open MPI's
default TCP protocol runs a large exchange (docs/virtual-cluster.md).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence

import numpy as np

from labkit import Campaign, Effort, Spec, benchmarks, measure, testbeds
from labkit.io import project
from labkit.store.samples import Samples
from labkit.testbeds.simulation import calibration

PAYLOAD = 1448 / 1514  # B of TCP's data in a frame, as docs/virtual-cluster.md states
HELD_OUT = ("mpi.bandwidth", "mpi.bcast", "mpi.allreduce", "mpi.alltoall", "apps.fft_subcom3d", "apps.halo3d26")
LATENCY_S = 1e-6  # of the simulated links; the overhead has the rest
ONE = Effort(launches=1)


def median_us(many: Sequence[Samples]) -> float:
    """Median over launches of the median time of the slowest rank, µs; one way of a ping-pong."""
    medians = [float(np.median(one.time_ns.max(axis=0))) / 1000 for one in many]
    return float(np.median(medians)) / (2 if many[0].spec.benchmark == "mpi.latency" else 1)


def by_point(campaign: Campaign, name: str) -> list[list[Samples]]:
    """Launches of each measured point on the virtual cluster."""
    points: dict[Spec, list[Samples]] = {}
    for one in campaign.samples(name):
        if one.spec.testbed.startswith("virtual-cluster"):
            points.setdefault(one.spec, []).append(one)
    return list(points.values())


def twin(spec: Spec, table: str, *, half: bool = False) -> Spec:
    """The same point on a simulated tree; with `half`, hosts move data in one direction at a time."""
    facts = testbeds.outline(spec.testbed).facts
    options = {
        "nodes": str(facts["nodes"]),
        "per_leaf": str(facts["per_leaf"]),
        "rate": f"{facts['rate_bps'] * PAYLOAD / 1e6:.6g}mbit",
        "taper": f"{facts.get('taper', 1.0):g}",
        "latency": f"{LATENCY_S * 1e6:g}us",
        "pingpong": table,
    }
    options |= {"processing": options["rate"]} if half else {}
    bed = "simulated:fat-tree," + ",".join(f"{name}={options[name]}" for name in sorted(options))
    ppn = -(-spec.ranks // facts["nodes"])
    return benchmarks.resolve(spec).replace(testbed=bed, launcher="auto", transport="auto", ppn=ppn, hosts=())


def _least(one: Samples) -> float:
    """Least one-way time that the simulated links allow, s: shaped links let two frames pass, simulated ones do not."""
    facts = testbeds.outline(one.spec.testbed).facts
    return LATENCY_S + one.spec.size / (facts["rate_bps"] / 8 * PAYLOAD)


def main(folder: str) -> None:
    """Print a row for each point."""
    campaign = Campaign(folder)
    fitted = sorted(by_point(campaign, "mpi.latency"), key=lambda point: point[0].spec.size)
    table = calibration.text([(point[0].spec.size, max(median_us(point) * 1e-6, _least(point[0]))) for point in fitted])
    print("| point | ranks | testbed | measured (µs) | simulated (µs) | error | half duplex (µs) | error | |")
    print("|:--|--:|:--|--:|--:|--:|--:|--:|:--|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("mpi.latency", *HELD_OUT):
            for number, point in enumerate(by_point(campaign, name)):
                spec = point[0].spec
                known, cells = median_us(point), list[str]()
                for half in (False, True):
                    into = f"{scratch}/{name}-{number}-{half}"
                    predicted = median_us(list(measure([twin(spec, table, half=half)], ONE, into=into).samples()))
                    cells += [f"{predicted:.4g}", f"{100 * (predicted / known - 1):+.0f} %"]
                print(
                    f"| {benchmarks.label(benchmarks.resolve(spec))} | {spec.ranks} | {spec.testbed} | {known:.4g} | "
                    f"{' | '.join(cells)} | {'fitted' if name == 'mpi.latency' else 'held out'} |",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    example = str(project.CAMPAIGNS / "examples" / "virtual-cluster")
    parser.add_argument("campaign", nargs="?", default=example, metavar="CAMPAIGN", help="with measured points")
    main(parser.parse_args().campaign)
