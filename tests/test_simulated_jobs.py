"""Two simulated jobs that share links: which pairs there are, and that they slow one another down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit import Effort, Spec, benchmarks, measure
from labkit.errors import SpecError
from labkit.run import simulated_interference
from labkit.run.simulations import overheads
from labkit.testbeds.simulation import Network, Program, network_of, platforms, program, workloads
from labkit.tools import smpirun

ONE = Effort(launches=1)


def network(**options: Any) -> Network:
    return network_of("fat-tree", {name: str(value) for name, value in options.items()})


def resolved(name: str, ranks: int, size: int, **options: Any) -> Spec:
    return benchmarks.resolve(Spec(benchmark=name, ranks=ranks, size=size, options=options))


@pytest.mark.simgrid
@pytest.mark.slow
def test_a_victim_waits_for_a_halo_that_shares_its_uplinks_and_for_no_other(tmp_path: Path) -> None:
    bed = "simulated:fat-tree,nodes=16,per_leaf=4,taper=4,latency=1us"
    spec = Spec(benchmark="congestion.interference", size=10_000, ranks=8, testbed=bed, options={"cells": 100})
    (beside,) = measure([spec], ONE, into=tmp_path / "c").samples()
    assert beside.origin == "simulated"
    alone = beside.extras["alone_ns"]
    assert beside.time_ns.shape == alone.shape
    assert beside.time_ns.mean() > 1.2 * alone.mean()
    with pytest.raises(SpecError, match="aggressor=udp, but simulated jobs have halo3d26 or incast"):
        measure([spec.replace(options={"aggressor": "udp"})], ONE, into=tmp_path / "d")


@pytest.mark.simgrid
@pytest.mark.parametrize(
    ("victim", "aggressor", "ranks", "size"),
    [
        ("latency", "incast", 2, 1_000_000),
        pytest.param("allreduce", "halo3d26", 4, 262_144, marks=pytest.mark.slow),
        pytest.param("allreduce", "incast", 6, 65536, marks=pytest.mark.slow),
        pytest.param("fft", "incast", 4, 200_000, marks=pytest.mark.slow),
    ],
)
def test_other_pairs_of_jobs_interfere_where_they_share_an_uplink(
    victim: str, aggressor: str, ranks: int, size: int, tmp_path: Path
) -> None:
    bed = "simulated:fat-tree,nodes=16,per_leaf=8,taper=8,latency=1us"
    hosts = ("n0", "n1", "n8", "n2", "n3", "n9", "n10", "n4", "n5", "n11", "n12", "n13")  # both jobs cross the spine
    options = {"victim": victim, "aggressor": aggressor, "cells": 100, "streams": 1}
    spec = Spec(benchmark="congestion.interference", size=size, ranks=ranks, testbed=bed, hosts=hosts, options=options)
    (one,) = measure([spec], Effort(launches=1, iterations=20), into=tmp_path / "c").samples()
    assert one.time_ns.mean() > 1.2 * one.extras["alone_ns"].mean()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"aggressor": "incast", "aggressor_size": 1024}, "a simulated incast sends 65536 B or more"),
        ({"victim": "allreduce", "algorithm": "reduce-bcast"}, "an allreduce can, by recursive-doubling or ring"),
    ],
)
def test_pairs_of_jobs_that_cannot_be_simulated_are_refused(options: dict[str, Any], said: str) -> None:
    bed = network(nodes=16, algorithm=options.pop("algorithm", "auto"))
    spec = resolved("congestion.interference", 4, 1024, **options)
    with pytest.raises(SpecError, match=said):
        simulated_interference.jobs(spec, bed)


@pytest.mark.simgrid
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [4, 6, 7])
@pytest.mark.parametrize("size", [8, 65536])
def test_a_written_allreduce_takes_as_long_as_that_of_simgrid(ranks: int, size: int) -> None:
    bed, spec = network(nodes=8, per_leaf=4), resolved("mpi.allreduce", ranks, size)
    whole = program(spec, 1, 0)
    times = []
    for job in (whole.ranks, workloads.written(spec, 1, 0, alone=False)):
        texts = platforms.platform(bed), bed.hosts_of(ranks), Program(job).trace
        ends = smpirun.replay(*texts, (*whole.settings, *overheads(bed)), 60).ends
        times.append(max(workloads.times(rank.marks, ends[rank.number])[0] for rank in job))
    assert times[1] == pytest.approx(
        times[0], rel=0.15 if size > 8 else 0.01
    )  # SimGrid's ring has unequal blocks apart
