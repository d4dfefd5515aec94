"""Simulated networks: platforms, traces, calibration; SimGrid's times against what can be worked out by hand."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import Effort, Spec, benchmarks, host, measure, testbeds
from labkit.errors import DataError, LaunchError, SpecError
from labkit.formats import smpi_replay
from labkit.judge import checking
from labkit.models import loggp_engine, schedules
from labkit.read import records
from labkit.report import sources
from labkit.testbeds import simulated
from labkit.testbeds.simulation import Network, calibration, collectives, network_of, platforms, program, workloads

ONE = Effort(launches=1)


def network(topology: str = "fat-tree", **options: Any) -> Network:
    return network_of(topology, {name: str(value) for name, value in options.items()})


def resolved(name: str, ranks: int, size: int = 8, **options: Any) -> Spec:
    return benchmarks.resolve(Spec(benchmark=name, ranks=ranks, size=size, options=options))


def us(name: str, testbed: str, folder: Path, *, ranks: int = 2, size: int = 8, **options: Any) -> float:
    """The slowest rank's time of a simulated iteration; half of it for a ping-pong."""
    spec = Spec(benchmark=name, ranks=ranks, size=size, testbed=testbed, options=options)
    (samples,) = measure([spec], ONE, into=folder / f"{len(list(folder.iterdir()))}").samples()
    assert samples.origin == "simulated"
    return float(samples.time_ns[:, -1].max()) / 1000 / (2 if name == "mpi.latency" else 1)


# ---- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topology", "options", "said"),
    [
        ("fat-tre", {}, "topology='fat-tre', but it must be 'fat-tree'"),
        ("fat-tree", {"nodes": 1}, "nodes=1, but it must be 2 to 4096"),
        ("fat-tree", {"rate": "fast"}, "'fast' is not a rate"),
        ("fat-tree", {"rate": "1kbit"}, "rate='1kbit', but it must be 1mbit"),
        ("fat-tree", {"latency": "0s"}, "latency is 0"),
        ("fat-tree", {"latency": "soon"}, "is not a duration"),
        ("fat-tree", {"shape": "4x4"}, "shape is an option of a dragonfly or a torus"),
        ("fat-tree", {"taper": 3, "per_leaf": 10, "routing": "hash"}, "routing=hash needs whole uplinks"),
        ("fat-tree", {"nodes": 300, "routing": "hash"}, "need at most 256"),
        ("fat-tree", {"nodes": 20, "routing": "d-mod-k"}, "needs full leaves"),
        ("fat-tree", {"placement": "halo3d"}, "names hosts of ethernet2020"),
        ("fat-tree", {"pingpong": "0:1us", "overhead": "1us"}, "overhead conflicts with it"),
        ("fat-tree", {"pingpong": "0:1us+0:2us"}, "names a size twice"),
        ("fat-tree", {"pingpong": "later"}, "is not a table"),
        ("ethernet2020", {"nodes": 48}, "ethernet2020 has 96 hosts"),
        ("torus", {"taper": 3}, "taper is an option of a fat tree"),
        ("torus", {"shape": "4x4"}, "has 16 hosts; set nodes=16"),
        ("dragonfly", {"shape": "4x24"}, "a dragonfly has 4 numbers"),
        ("dragonfly", {"shape": "4x3x2x4"}, "fewer routers of a chassis"),
        ("dragonfly", {"nodes": 97}, "make no dragonfly"),
        ("torus", {"speed": 1}, "testbed simulated has no 'speed'"),
    ],
)
def test_impossible_networks_are_refused(topology: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        network(topology, **options)


@given(st.integers(2, 600))
def test_the_shape_of_a_torus_holds_the_hosts(nodes: int) -> None:
    a, b, c = network("torus", nodes=nodes).sides
    assert a * b * c == nodes
    assert a <= b <= c


@pytest.mark.parametrize("nodes", [8, 96, 256, 1024, 4096])
def test_the_shape_of_a_dragonfly_can_be_routed(nodes: int) -> None:
    groups, chassis, routers, hosts = network("dragonfly", nodes=nodes).sides
    assert groups * chassis * routers * hosts == nodes
    assert routers >= groups >= 2


def test_ranks_fill_hosts_in_order_and_by_the_host_files_of_the_paper() -> None:
    tree = network("ethernet2020")
    assert tree.hosts_of(3, ppn=2) == ["n0", "n0", "n1"]
    assert tree.hosts_of(2, chosen=["n5", "n3"]) == ["n5", "n3"]
    with pytest.raises(SpecError, match="ranks=200, but the simulated network has 96 hosts"):
        tree.hosts_of(200)
    with pytest.raises(SpecError, match="'n200'"):
        tree.hosts_of(2, chosen=["n1", "n200"])
    halo = network("ethernet2020", placement="halo3d").hosts_of(48)
    fft = network("ethernet2020", placement="fft").hosts_of(48)
    assert len(set(halo)) == len(set(fft)) == 48
    assert not set(halo) & set(fft)  # the paper runs both at once
    assert {int(host[1:]) // 12 for host in halo} == set(range(8))
    assert network(placement="random").hosts_of(8, seed=1) != network(placement="random").hosts_of(8, seed=2)


# ---- platforms and traces --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topology", "options"),
    [
        ("fat-tree", {"nodes": 20}),
        ("fat-tree", {"nodes": 24, "taper": 3, "routing": "d-mod-k"}),
        ("fat-tree", {"nodes": 20, "taper": 3, "routing": "hash", "processing": "30gbit"}),
        ("ethernet2020", {}),
        ("dragonfly", {"nodes": 32}),
        ("torus", {"nodes": 27}),
    ],
)
def test_a_platform_is_well_formed_and_has_every_host(topology: str, options: dict[str, Any]) -> None:
    one = network(topology, **options)
    root = ET.fromstring(platforms.platform(one))
    hosts = {host.get("id") for host in root.iter("host")}
    for cluster in root.iter("cluster"):
        first, last = map(int, str(cluster.get("radical")).split("-"))
        hosts |= {f"n{k}" for k in range(first, last + 1)}
    assert hosts == set(one.hosts)


def test_every_pair_of_hosts_of_a_hashed_tree_has_one_route_over_two_or_four_links() -> None:
    one = network(nodes=24, taper=3, routing="hash")
    root = ET.fromstring(platforms.platform(one, seed=1))
    routes = {(route.get("src"), route.get("dst")): len(route) for route in root.iter("route")}
    assert len(routes) == 24 * 24
    assert Counter(routes.values()) == {1: 24, 2: 2 * 12 * 11, 4: 2 * 12 * 12}
    assert platforms.platform(one, seed=1) == platforms.platform(one, seed=1) != platforms.platform(one, seed=2)


SIMULATED = [
    ("mpi.latency", 2, {}),
    ("mpi.bandwidth", 2, {}),
    ("mpi.bibandwidth", 2, {}),
    ("apps.halo3d26", 12, {"periodic": True}),
    ("apps.halo3d26", 8, {}),
    ("apps.fft_subcom3d", 12, {}),
]


@pytest.mark.parametrize(("name", "ranks", "options"), SIMULATED)
def test_every_message_of_a_trace_is_received_once(name: str, ranks: int, options: dict[str, Any]) -> None:
    work = program(resolved(name, ranks, **options), 2, 1)
    sent, received = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    for rank in work.ranks:
        open_requests = 0
        for action in rank.actions:
            word, *values = action.split()
            if word in ("isend", "irecv"):
                peer, tag, size, _ = map(int, values)
                pair = (rank.number, peer) if word == "isend" else (peer, rank.number)
                (sent if word == "isend" else received)[(*pair, tag, size)] += 1
                open_requests += 1
            elif word == "waitall":
                assert int(values[0]) == open_requests
                open_requests = 0
        assert open_requests == 0
        assert len(rank.marks) == 2
    assert sent == received
    assert sum(sent.values()) == 3 * workloads.messages(resolved(name, ranks, **options))


def test_what_has_no_meaning_in_a_simulation_is_refused() -> None:
    for name, options, said in (
        ("mpi.put_latency", {}, "mpi.put_latency cannot be simulated. These can: apps.fft"),
        ("mpi.latency", {"layout": "vector"}, "layout=vector"),
        ("mpi.allreduce", {"threads": 2}, "threads=2"),
        ("mpi.allreduce", {"cadence": "synchronised"}, "clocks agree"),
    ):
        with pytest.raises(SpecError, match=said):
            workloads.check(resolved(name, 2, **options))
    with pytest.raises(SpecError, match="has recursive-doubling, ring, reduce-bcast"):
        workloads.check(resolved("mpi.allreduce", 4), "fast")
    with pytest.raises(SpecError, match="8 B cannot be cut into 12 blocks"):
        workloads.check(resolved("mpi.allreduce", 12), "ring")
    with pytest.raises(SpecError, match="has pairwise and linear"):
        workloads.check(resolved("apps.fft_subcom3d", 4), "bruck")
    with pytest.raises(SpecError, match="at most 4,000,000"):
        program(resolved("mpi.alltoall", 4096, 8192), 1, 0)


# ---- calibration -----------------------------------------------------------------------------------------------------

SIZES = st.lists(st.integers(0, 1 << 22), min_size=1, max_size=8, unique=True).map(sorted)


@given(SIZES, st.data())
def test_fitted_overheads_give_the_times_of_the_table(sizes: list[int], data: st.DataObject) -> None:
    latency, rate = 1e-6, 12.5e9
    rows = [(size, latency + size / rate + data.draw(st.floats(0, 1e-4))) for size in sizes]
    segments = calibration.fitted(rows, latency, rate)
    assert [one.size for one in segments] == sorted({one.size for one in segments})
    assert segments[0].size == 0
    for size, time in rows:
        segment = [one for one in segments if one.size <= size][-1]
        assert latency + size / rate + segment.base + segment.per_byte * size == pytest.approx(
            time, rel=1e-6, abs=1e-12
        )


def test_a_table_below_the_network_is_refused_and_its_text_is_read_as_it_is_written() -> None:
    with pytest.raises(SpecError, match="latency and rate of the network alone take 2 µs"):
        network(latency="2us", pingpong="0:1us+1Ki:3us")
    rows = ((0, 1.3e-6), (1000, 2e-6), (1 << 20, 9.2e-5))
    assert calibration.table(calibration.text(rows)) == rows


# ---- the log ---------------------------------------------------------------------------------------------------------


def test_a_log_is_read_by_rank_and_a_broken_one_is_refused() -> None:
    good = [
        "[0.0] [xbt] message",
        "0.000001:1:0 barrier 0.000001",
        "0.000002:2:1 barrier 0.0",
        "0.1:1:Simulation time 0.1",
    ]
    assert smpi_replay.ends(good, 2) == [[1e-6], [2e-6]]
    with pytest.raises(DataError, match="without a simulation time"):
        smpi_replay.ends(good[:-1], 2)
    for line in ("0.1:1:7 barrier 0.1", "soon:1:0 barrier", "Segmentation fault"):
        with pytest.raises(DataError, match="time:actor:rank action"):
            smpi_replay.ends([line, *good], 2)


def test_without_simgrid_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(host, "find", lambda program: None)
    with pytest.raises(LaunchError, match="sudo apt-get install libsimgrid-dev"):
        measure([Spec(benchmark="mpi.latency", testbed="simulated")], ONE, into=tmp_path / "none")
    assert not (tmp_path / "none").exists()


# ---- SimGrid ---------------------------------------------------------------------------------------------------------


@pytest.mark.simgrid
def test_a_message_takes_the_latency_of_its_links_and_its_bytes_over_their_rate(tmp_path: Path) -> None:
    near = "simulated:fat-tree,nodes=8,per_leaf=4,latency=1us,rate=80gbit"
    campaign = measure(
        [Spec(benchmark="mpi.latency", size=size, testbed=near) for size in (8, 100_000)]
        + [Spec(benchmark="mpi.latency", size=8, testbed=near, hosts=("n0", "n4"))],
        ONE,
        into=tmp_path / "campaign",
    )
    table = records.table(campaign.samples())
    assert set(table["origin"]) == {"simulated"}
    assert set(table["launch"]) == {0}
    times = sorted(table["latency_us_p50"])
    assert times == pytest.approx([1.0, 2.0, 11.0], rel=0.01)  # 2 links; 4 links; 100 kB at 10 GB/s


@pytest.mark.simgrid
def test_a_fitted_network_repeats_the_table_and_a_taper_slows_an_alltoall(tmp_path: Path) -> None:
    rows = ((8, 1.5e-6), (4096, 2.9e-6), (65536, 12e-6))
    text = f"simulated:fat-tree,nodes=8,per_leaf=4,latency=1us,pingpong={calibration.text(rows)}"
    for size, time in rows:
        assert us("mpi.latency", text, tmp_path, size=size) == pytest.approx(time * 1e6, rel=0.01)
    wide, narrow = (f"simulated:fat-tree,nodes=8,per_leaf=4,taper={taper}" for taper in (1, 4))
    flat = us("mpi.alltoall", wide, tmp_path, ranks=8, size=65536)
    slow = us("mpi.alltoall", narrow, tmp_path, ranks=8, size=65536)
    assert flat >= 7 * 65536 / 12.5e3 * 0.999  # what a host's link allows
    assert slow >= 16 * 65536 / 12.5e3 * 0.999  # what the uplink of a leaf allows: 16 messages at the rate of a link
    assert slow > 2 * flat


@pytest.mark.simgrid
@pytest.mark.parametrize("topology", ["dragonfly,nodes=8", "torus,nodes=8", "ethernet2020,placement=fft"])
def test_every_topology_can_be_simulated(topology: str, tmp_path: Path) -> None:
    assert 0 < us("apps.fft_subcom3d", f"simulated:{topology}", tmp_path, ranks=8, size=1000) < 1000


@pytest.mark.simgrid
@pytest.mark.parametrize(
    ("name", "algorithm", "schedule"),
    [
        ("allreduce", "recursive-doubling", "recursive doubling"),
        *(
            pytest.param(name, algorithm, schedule, marks=pytest.mark.slow)
            for name, algorithm, schedule in (
                ("bcast", "binomial", "binomial"),
                ("bcast", "scatter-allgather", "scatter and ring"),
                ("reduce", "binomial", "binomial"),
                ("gather", "binomial", "binomial"),
                ("scatter", "binomial", "binomial"),
                ("allgather", "ring", "ring"),
                ("allgather", "bruck", "Bruck"),
                ("alltoall", "pairwise", "pairwise"),
                ("alltoall", "bruck", "Bruck"),
            )
        ),
    ],
)
def test_without_shared_links_a_simulation_agrees_with_the_engine_of_loggp(
    name: str, algorithm: str, schedule: str, tmp_path: Path
) -> None:
    latency, rate, size = 1e-6, 12.5e9, 128
    line = loggp_engine.Segment(time=loggp_engine.Line(latency, 1 / rate), gap=loggp_engine.Line(0.0, 1 / rate))
    exact = Effort(launches=1, iterations=1, warmup=0)
    for ranks in (8, 12):
        stages = schedules.ALGORITHMS[f"mpi.{name}"][schedule](ranks, size)
        expected = loggp_engine.finish(stages, ranks, loggp_engine.Costs((line,))).max() * 1e9
        bed = f"simulated:fat-tree,nodes={ranks},per_leaf={ranks},latency=1us,algorithm={algorithm}"
        spec = Spec(benchmark=f"mpi.{name}", size=size, ranks=ranks, testbed=bed)
        (only,) = measure([spec], exact, into=tmp_path / str(ranks)).samples()
        assert only.time_ns.max() == pytest.approx(expected, rel=0.02)


@pytest.mark.simgrid
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "algorithm"), [(name, one) for name, those in collectives.ALGORITHMS.items() for one in those]
)
@pytest.mark.parametrize("ranks", [2, 5, 8, 17])
def test_every_algorithm_can_be_simulated_with_any_number_of_ranks(
    name: str, algorithm: str, ranks: int, tmp_path: Path
) -> None:
    size = 0 if name == "barrier" else 4096
    assert us(f"mpi.{name}", f"simulated:fat-tree,algorithm={algorithm}", tmp_path, ranks=ranks, size=size) > 0


@pytest.mark.simgrid
def test_no_rule_asks_for_more_launches_of_a_simulation(tmp_path: Path) -> None:
    campaign = measure([Spec(benchmark="mpi.latency", testbed="simulated")], ONE, into=tmp_path / "c")
    rules = {one.code for one in checking.check(sources.read(campaign.path).view)}
    assert "made-up" in rules
    assert not rules & {"one-launch", "few-launches", "no-tail"}


@pytest.mark.simgrid
def test_a_halo_exchange_counts_its_sleep_once(tmp_path: Path) -> None:
    spec = Spec(benchmark="apps.halo3d26", ranks=8, testbed="simulated", options={"sleep_us": 100.0})
    (only,) = measure([spec], ONE, into=tmp_path / "c").samples()
    assert (only.time_ns - only.extras["exchange_ns"] == 100_000).all()
    assert 0 < only.extras["exchange_ns"].max() < 100_000


@pytest.mark.simgrid
def test_an_incast_has_the_rate_of_the_receiver_and_shares_it(tmp_path: Path) -> None:
    spec = Spec(
        benchmark="congestion.incast",
        size=1 << 20,
        testbed="simulated:fat-tree,nodes=8,per_leaf=4,rate=80gbit",
        options={"senders": 3, "streams": 2},
    )
    (only,) = measure([spec], ONE, into=tmp_path / "c").samples()
    assert only.origin == "simulated"
    whole, *streams = only.reported
    assert whole.value == pytest.approx(10_000, rel=0.01)  # MB/s
    assert [one.labels["sender"] for one in streams] == [0, 0, 1, 1, 2, 2]
    assert [one.value for one in streams] == pytest.approx([10_000 / 6] * 6, rel=0.01)
    with pytest.raises(SpecError, match="Set senders=7, or nodes=9"):
        measure([spec.replace(options={"senders": 8})], ONE, into=tmp_path / "d")


@pytest.mark.simgrid
def test_random_uplinks_differ_from_launch_to_launch_and_nothing_else_is_repeated(tmp_path: Path) -> None:
    bed = "simulated:fat-tree,nodes=16,per_leaf=8,taper=2,routing=hash"
    campaign = measure(
        [Spec(benchmark="mpi.alltoall", ranks=16, size=65536, testbed=bed)], Effort(launches=2), into=tmp_path / "c"
    )
    first, second = sorted(campaign.samples(), key=lambda one: one.launch)
    assert first.time_ns.max() != second.time_ns.max()
    again = measure([Spec(benchmark="mpi.latency", testbed="simulated")], Effort(launches=6), into=tmp_path / "d")
    (only,) = again.samples()
    assert [note.code for note in only.badges] == ["simulation"]


@pytest.mark.parametrize(
    ("options", "hosts", "launches"),
    [
        ("", (), [0]),
        (",routing=hash", (), [0, 1, 2]),
        (",placement=random", (), [0, 1, 2]),
        (",placement=random", ("n1", "n2"), [0]),
    ],
)
def test_a_simulation_without_random_choices_has_one_launch(
    options: str, hosts: tuple[str, ...], launches: list[int]
) -> None:
    network = testbeds.outline(f"simulated:fat-tree,nodes=16,per_leaf=8,taper=2{options}").network
    assert network is not None
    assert list(network.repeats(range(3), hosts)) == launches


def test_the_testbed_is_known() -> None:
    assert "simulated" in testbeds.names()
    described = testbeds.outline("simulated:fat-tree,nodes=96,taper=3")
    assert described.facts["uplink_bps"] == pytest.approx(4 * 100e9)
    assert described.hosts == ()
    assert bool(shutil.which("smpirun")) == (not simulated.absent())
