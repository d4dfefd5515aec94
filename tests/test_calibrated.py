"""Simulated networks that are fitted to the ping-pong of a campaign; a single exchange written so that it is cheap."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from labkit import Campaign, Effort, Spec, benchmarks, measure, testbeds
from labkit.errors import DataError, SpecError
from labkit.point.spec import Reported
from labkit.read import records
from labkit.run import fingerprints
from labkit.run.simulations import overheads
from labkit.testbeds.simulation import measured, network_of, platforms, program, workloads
from labkit.tools import smpirun
from tests.made import samples, values

BED = "simulated:fat-tree,nodes=4,per_leaf=4,rate=80gbit"


def saved(folder: Path, us: dict[int, list[float]], **spec: object) -> Path:
    """Add a ping-pong to a campaign: size → one-way time of each launch, µs."""
    campaign = Campaign(folder)
    for size, launches in us.items():
        for number, one_way in enumerate(launches):
            point = benchmarks.resolve(Spec(benchmark="mpi.latency", size=size, launcher="openmpi", **spec))  # type: ignore[arg-type]
            times = [2000 * one_way] * 2 + [1e9]  # half the round trip; the median ignores what is far off
            made = samples(point, times, launch=number, meta={"fingerprint": "x"})
            campaign.save(made, fingerprints.fingerprint(point, "x"))
    return folder


def test_the_times_of_a_campaign_are_half_round_trips_medians_of_launches(tmp_path: Path) -> None:
    folder = saved(tmp_path / "c", {8: [2.0, 1.0, 9.0], 4096: [3.0]}, transport="tcp")
    assert dict(measured.table(str(folder))) == pytest.approx({8: 2e-6, 4096: 3e-6})
    bed = testbeds.resolved(f"{BED},calibrate={folder}")
    assert bed == "simulated:fat-tree,nodes=4,per_leaf=4,pingpong=8:2us+4Ki:3us,rate=80gbit", "the point says it itself"
    assert testbeds.outline(bed).network == testbeds.outline(f"{BED},calibrate={folder}").network


def test_imported_times_count_and_simulated_ones_never_do(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    spec = benchmarks.resolve(Spec(benchmark="mpi.latency", size=8, testbed="elsewhere"))
    rows: tuple[Reported, ...] = tuple(values(mean=2.5, max=9.0))
    imported = samples(spec, reported=rows, meta={"fingerprint": "x"}, origin="imported")
    campaign.save(dataclasses.replace(imported, spec=spec.replace(size=16), origin="simulated"), "b" * 16)
    with pytest.raises(SpecError, match=r"has no measured mpi\.latency"):
        measured.table(str(campaign.path))
    campaign.save(imported, "a" * 16)
    assert measured.table(str(campaign.path)) == ((8, 2.5e-6),)


def test_one_of_several_paths_is_selected_by_words(tmp_path: Path) -> None:
    folder = saved(tmp_path / "c", {8: [2.0]}, transport="tcp")
    saved(folder, {8: [1.0]}, transport="shm")
    saved(folder, {8: [5.0]}, transport="tcp", options={"binding": "pickle"})
    with pytest.raises(SpecError, match=r"it has several paths: .*tcp, openmpi, local.* as in path="):
        measured.table(str(folder))
    with pytest.raises(SpecError, match="path='ib' selects none of its paths"):
        measured.table(str(folder), "ib")
    times = [measured.table(str(folder), path)[0][1] for path in ("tcp", "shm", "tcp+binding=pickle")]
    assert times == pytest.approx([2e-6, 1e-6, 5e-6])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("calibrate=FOLDER", "calibrate needs the rate of the links"),
        ("rate=1gbit,overhead=1us,calibrate=FOLDER", "calibrate sets what overhead says"),
        ("rate=1gbit,pingpong=0:1us,calibrate=FOLDER", "calibrate sets what pingpong says"),
        ("rate=1gbit,path=tcp", "Set calibrate to the campaign"),
        ("rate=1gbit,latency=9us,calibrate=FOLDER", "latency and rate of the network alone take 9"),
    ],
)
def test_options_that_contradict_a_calibration_are_refused(options: str, said: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "c", {8: [2.0]}, transport="tcp")
    with pytest.raises(SpecError, match=said):
        testbeds.outline(f"simulated:fat-tree,{options.replace('FOLDER', str(folder))}")
    with pytest.raises(DataError, match="There is no campaign"):
        testbeds.resolved(f"{BED},calibrate={tmp_path / 'nothing'}")


@pytest.mark.simgrid
def test_a_calibrated_network_repeats_what_was_measured(tmp_path: Path) -> None:
    folder = saved(tmp_path / "c", {8: [2.0], 65536: [20.0]}, transport="tcp")
    points = [Spec(benchmark="mpi.latency", size=size, testbed=f"{BED},calibrate={folder}") for size in (8, 65536)]
    campaign = measure(points, Effort(launches=1), into=tmp_path / "simulated")
    table = records.table(campaign.samples())
    assert sorted(table["latency_us_p50"]) == pytest.approx([2, 20], rel=0.01)
    assert set(table["testbed"]) == {testbeds.resolved(points[0].testbed)}


# ---- a single halo exchange ------------------------------------------------------------------------------------------


@pytest.mark.simgrid
@pytest.mark.parametrize(
    ("ranks", "options"),
    [
        (12, {"nx": 40, "ny": 40, "nz": 2}),  # faces of 102 kB and 5 kB
        pytest.param(12, {"nx": 40, "ny": 40, "nz": 2, "periodic": True}, marks=pytest.mark.slow),
        pytest.param(5, {"nx": 100, "ny": 10, "nz": 10, "periodic": True}, marks=pytest.mark.slow),  # sends to itself
        pytest.param(24, {"nx": 10, "ny": 10, "nz": 10, "neighbours": "26"}, marks=pytest.mark.slow),
    ],
)
def test_a_single_exchange_takes_as_long_as_one_whose_short_sends_end_at_once(
    ranks: int, options: dict[str, object]
) -> None:
    network = network_of("fat-tree", {"nodes": "24", "per_leaf": "5", "taper": "2", "overhead": "1us"})
    spec = benchmarks.resolve(Spec(benchmark="apps.halo3d26", size=8, ranks=ranks, options={"vars": 8, **options}))
    cheap = program(spec, 1, 0)
    plain = dataclasses.replace(cheap, ranks=workloads.written(spec, 1, 0), settings=(workloads.BARRIER,))
    times = []
    for work in (cheap, plain):
        texts = platforms.platform(network), network.hosts_of(ranks), work.trace
        ends = smpirun.replay(*texts, (*work.settings, *overheads(network)), 60).ends
        times.append([workloads.times(rank.marks, ends[rank.number])[0] for rank in work.ranks])
    assert any(" wait " in f" {action}" for action in cheap.ranks[0].actions)
    assert not any(action.startswith("wait ") for action in plain.ranks[0].actions)
    assert times[0] == times[1]
    assert "periodic" in options or len(set(times[0])) > 1, "ranks at a corner and in the middle differ"
