"""Bounds of links and buses against published rates, and the verdicts that follow from them."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit import benchmarks
from labkit.apps.cli import main
from labkit.apps.show import explained
from labkit.errors import SpecError
from labkit.models import bounds, costs, links, verdict
from labkit.models.bounds import Stated
from labkit.models.costs import Cost, Costs
from labkit.point.notes import badge
from labkit.point.spec import Spec
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import noted
from tests import made
from tests.made import samples, values

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "data" / "campaigns" / "examples"


# ---- known links -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10 Gb/sec (4X)", 8e9),
        ("20 Gb/sec (4X DDR)", 16e9),
        ("40 Gb/sec (4X QDR)", 32e9),
        ("40 Gb/sec (4X FDR10)", 40e9),
        ("56 Gb/sec (4X FDR)", 54.545e9),
        ("100 Gb/sec (4X EDR)", 100e9),
        ("200 Gb/sec (4X HDR)", 200e9),
        ("400 Gb/sec (4X NDR)", 400e9),
        ("25 Gb/sec (1X EDR)", 25e9),
    ],
)
def test_data_rates_of_infiniband(text: str, rate: float) -> None:
    assert links.infiniband_rate(text) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize(
    ("generation", "width", "gigabytes"),
    [(1, 8, 2.0), (2, 8, 4.0), (3, 8, 7.877), (3, 16, 15.754), (4, 16, 31.508), (5, 16, 63.015)],  # PCI-SIG, FAQ
)
def test_data_rates_of_pcie(generation: int, width: int, gigabytes: float) -> None:
    rate, efficiency = links.pcie(generation, width)
    assert rate / 8e9 == pytest.approx(gigabytes, rel=1e-3)
    assert 0.9 < efficiency.share < 1


@pytest.mark.parametrize(
    ("efficiency", "megabytes"),
    [
        (links.ethernet(1500), 117.69),  # the well-known 941 Mbit/s of TCP on gigabit Ethernet
        (links.ethernet(9000), 123.75),
        (links.ethernet(1500, "udp"), 119.64),
    ],
)
def test_what_gigabit_ethernet_carries(efficiency: links.Efficiency, megabytes: float) -> None:
    assert 1e9 / 8e6 * efficiency.share == pytest.approx(megabytes, abs=0.01)


@given(st.integers(256, 9000), st.integers(256, 9000))
def test_larger_packets_never_carry_less(one: int, other: int) -> None:
    small, large = sorted((one, other))
    for of in (links.ethernet, links.roce, links.infiniband):
        assert 0 < of(small).share <= of(large).share < 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: links.infiniband_rate("fast"), "rate='fast', but it must read like '100 Gb/sec (4X EDR)'"),
        (lambda: links.infiniband_rate("1 Gb/sec (4X ABC)"), "ABC"),
        (lambda: links.pcie(9, 16), "There is no PCI Express generation '9'"),
        (lambda: links.pcie_of("x16"), "pcie='x16', but it must read like 3x16"),
        (lambda: links.ethernet(52), "mtu=52, but then no payload fits"),
        (lambda: links.ethernet(1500, "sctp"), "There is no protocol 'sctp'"),
        (Stated(link="10 apples").check, "link='10 apples', but it must read like 25gbit"),
        (Stated(link="0gbit").check, "link='0gbit', but it must read like 25gbit"),
        (Stated(delay="soon").check, "delay='soon', but it must read like 300ns"),
        (Stated(mtu=-1).check, "mtu=-1, but it must be 256 to 65536 B"),
    ],
)
def test_wrong_statements_are_one_clear_error(call: Any, error: str) -> None:
    with pytest.raises(SpecError, match=re.escape(error)):
        call()


# ---- paths -----------------------------------------------------------------------------------------------------------

CLUSTER = {"nodes": 4, "per_leaf": 2, "rate_bps": 200e6, "uplink_bps": 100e6, "slow_bps": {"vc3": 20e6}}


def point(benchmark: str = "mpi.bandwidth", value: float = 20.0, **fields: Any) -> Samples:
    """A point of 1 MiB with a reported value in the unit of its metric."""
    metric = "bandwidth_MBps" if bounds.directions_of(benchmark) else "latency_us"
    meta = {"fingerprint": "f", "library": "x", "engine": "c", **fields.pop("meta", {})}
    spec = Spec(benchmark=benchmark, size=fields.pop("size", 1 << 20), **fields.pop("spec", {}))
    return samples(spec, reported=values(metric, mean=value), meta=meta, **fields)


@pytest.mark.parametrize(
    ("carried", "name", "rate"),
    [
        ({}, "link of a host", 200e6),
        ({"vc0.eth0.tx_bytes": 10, "vc1.eth0.rx_bytes": 10, "leaf0.up.tx_bytes": 1}, "link of a host", 200e6),
        ({"vc0.eth0.tx_bytes": 10, "leaf0.up.tx_bytes": 10, "vc2.eth0.rx_bytes": 10}, "uplink", 100e6),
        ({"vc0.eth0.tx_bytes": 10, "leaf0.up.tx_bytes": 10, "vc3.eth0.rx_bytes": 10}, "link of vc3", 20e6),
    ],
)
def test_the_slowest_link_that_carried_the_bytes_binds(carried: dict[str, int], name: str, rate: float) -> None:
    (bound,) = bounds.of_bandwidth(point(meta={"testbed": CLUSTER, "evidence": carried}))
    assert (bound.name, bound.source) == (name, "testbed")
    assert bound.value == pytest.approx(rate / 8 * 1448 / 1514)


def test_pairs_of_ranks_on_many_hosts_have_no_common_link() -> None:
    hosts = ["vc0", "vc1", "vc2", "vc3"]
    meta = {"testbed": CLUSTER, "rank_hosts": hosts, "fingerprint": "f"}
    four = point("mpi.put_bandwidth", value=40.0, spec={"ranks": 4}, meta=meta)
    assert bounds.of_bandwidth(four) == ()
    (judged,) = verdict.judge(of_samples([four]), records.summary(records.table([four])))
    assert judged.reason == "pairs of ranks on more than two hosts have links of their own, which add up"
    two = point("mpi.put_bandwidth", spec={"ranks": 4}, meta=meta | {"rank_hosts": ["vc0", "vc0", "vc1", "vc1"]})
    assert [bound.name for bound in bounds.of_bandwidth(two)] == ["link of a host"]


@pytest.mark.parametrize(
    ("carried", "name", "rate"),
    [
        ({}, "link of the receiver", 200e6),
        ({"vc3.eth0.tx_bytes": 5, "vc1.eth0.tx_bytes": 5, "vc0.eth0.rx_bytes": 10}, "link of the receiver", 200e6),
        ({"vc3.eth0.rx_bytes": 10, "vc1.eth0.tx_bytes": 5}, "link of vc3", 20e6),
        ({"leaf0.up.rx_bytes": 6, "vc0.eth0.rx_bytes": 10}, "link of the receiver", 200e6),
        ({"leaf0.up.rx_bytes": 10, "vc0.eth0.rx_bytes": 10}, "uplink", 100e6),
    ],
)
def test_an_incast_is_bounded_by_what_all_its_bytes_cross(carried: dict[str, int], name: str, rate: float) -> None:
    """A slow sender bounds its own bytes alone, and so does an uplink that some senders do not need."""
    fields: dict[str, Any] = {"spec": {"options": {"senders": 2}}, "meta": {"testbed": CLUSTER, "evidence": carried}}
    (bound,) = bounds.of_bandwidth(point("congestion.incast", **fields))
    assert (bound.name, bound.source) == (name, "testbed")
    assert bound.value == pytest.approx(rate / 8 * 1448 / 1514)


def test_both_directions_count_twice_and_a_slot_may_bind() -> None:
    stated = Stated(link="100gbit", mtu=9000, pcie="3x8")
    one, both = (bounds.of_bandwidth(point(name), stated) for name in ("mpi.bandwidth", "mpi.bibandwidth"))
    assert [bound.name for bound in one] == ["PCIe 3.0 x8", "link"], "the lowest comes first"
    assert both[0].value == 2 * one[0].value
    assert bounds.of_bandwidth(point("mpi.allreduce"), stated) == ()


@pytest.mark.parametrize(
    ("benchmark", "crossings"), [("mpi.latency", 1), ("verbs.read_latency", 2), ("sockets.tcp_rr", 2)]
)
def test_a_delay_is_a_floor(benchmark: str, crossings: int) -> None:
    one = point(benchmark, size=8, meta={"testbed": {"mtu": 4200, "delay": "4ms"}})
    (floor,) = bounds.of_latency(one)
    assert floor.value == pytest.approx(crossings * 4e-3)


def crossing(carried: dict[str, list[int]], nics: list[dict[str, Any]], **fields: Any) -> Samples:
    """A bandwidth of 64 messages of 1 MiB in each of 100 iterations, with what rank 0's host received and sent."""
    meta = {"fingerprint": "f", "library": "x", "engine": "c", "rank_hosts": ["a", "b"], "host_B": {"a": carried}}
    spec = benchmarks.resolve(Spec(benchmark="mpi.bandwidth", size=1 << 20, **fields))
    return samples(spec, [[30_000_000] * 100], meta=meta, host={"nics": nics, "virtualisation": "none"})


def test_an_interface_that_carried_little_does_not_bound_what_an_adapter_moved() -> None:
    nics = [{"name": "eth0", "kind": "ethernet", "speed_Mbps": 1000, "mtu": 1500}]
    beside = crossing({"lo": [0, 0], "eth0": [90_000, 80_000]}, nics)
    assert bounds.carrier(beside) == ""
    assert bounds.of_bandwidth(beside) == ()
    port = {"name": "mlx5_0", "rate": "100 Gb/sec (4X EDR)", "link_layer": "InfiniBand"}
    named = crossing({"eth0": [90_000, 80_000]}, nics, device="mlx5_0:1")
    (bound,) = bounds.of_bandwidth(dataclasses.replace(named, host={"nics": nics, "rdma_devices": [port]}))
    assert bound.name == "port of mlx5_0"


def test_a_stated_link_of_an_adapter_has_the_headers_of_an_adapter() -> None:
    link = Stated(link="100 Gb/sec (4X EDR)")
    for fields, share in (({"transport": "tcp"}, 1448 / 1538), ({}, 4096 / 4122)):
        (bound,) = bounds.of_bandwidth(point(spec=fields), link)
        assert bound.value == pytest.approx(12.5e9 * share)


def test_interface_and_port_of_the_host_say_the_rate() -> None:
    nics = [
        {"name": "lo", "kind": "loopback", "speed_Mbps": None, "mtu": 65536},
        {
            "name": "eth1",
            "kind": "ethernet",
            "speed_Mbps": 25_000,
            "mtu": 9000,
            "pcie_speed": "8.0 GT/s PCIe",
            "pcie_width": 2,
        },
    ]
    over_tcp = crossing({"lo": [5, 5], "eth1": [10**6, 10**10]}, nics)
    assert [bound.name for bound in bounds.of_bandwidth(over_tcp)] == ["PCIe 3.0 x2", "interface eth1"]
    port = {"name": "mlx5_0", "rate": "100 Gb/sec (4X EDR)", "link_layer": "InfiniBand"}
    (bound,) = bounds.of_bandwidth(point("verbs.write_bandwidth", host={"rdma_devices": [port]}))
    assert bound.value == pytest.approx(12.5e9 * 4096 / 4122)
    assert bounds.of_bandwidth(point("verbs.write_bandwidth", host={"rdma_devices": [port | {"rate": "?"}]})) == ()


def test_a_stated_link_does_not_bound_bytes_that_left_no_host() -> None:
    inside = point(meta=noted([badge("shared memory")], []))
    assert bounds.of_bandwidth(inside, Stated(link="100gbit")) == ()


# ---- verdicts --------------------------------------------------------------------------------------------------------


def judged(*launches: float, stated: str = "1gbit", **fields: Any) -> verdict.Judged:
    """The verdict on launches of one point."""
    over_tcp = {"spec": {"transport": "tcp"}} | fields
    points = [point(value=value, launch=launch, **over_tcp) for launch, value in enumerate(launches)]
    (one,) = verdict.judge(of_samples(points), records.summary(records.table(points)), Stated(link=stated))
    return one


@pytest.mark.parametrize(
    ("launches", "expected"),
    [
        ((112.0, 113.0), "good"),
        ((100.0, 112.0), "doubtful"),  # its interval spans the limit
        ((95.0, 96.0), "doubtful"),
        ((60.0, 61.0), "bad"),
        ((60.0, 112.0), "doubtful"),
        ((118.0, 119.0), "good"),  # within the tolerance
        ((130.0, 131.0), "above its bound"),
    ],
)
def test_the_interval_decides(launches: tuple[float, ...], expected: str) -> None:
    one = judged(*launches)
    assert one.verdict == expected
    assert one.share == pytest.approx(one.value / one.limit)
    assert bool(one.reason) == (expected == "above its bound")


def test_what_to_check_comes_from_the_point() -> None:
    nics = [
        {
            "name": "eth0",
            "kind": "ethernet",
            "speed_Mbps": 10_000,
            "mtu": 1500,
            "pcie_speed": "2.5 GT/s PCIe",
            "pcie_width": 1,
            "pcie_max_speed": "8.0 GT/s PCIe",
            "pcie_max_width": 8,
        },
        {"name": "eth1", "kind": "ethernet", "speed_Mbps": 100_000, "mtu": 9000},
    ]
    busy = crossing({"eth0": [10**6, 10**10]}, nics)
    points = [
        dataclasses.replace(busy, launch=launch, meta={**busy.meta, **noted([badge("busy machine")], [])})
        for launch in range(2)
    ]
    points = [dataclasses.replace(one, spec=one.spec.replace(size=1 << 16)) for one in points]
    (one,) = verdict.judge(of_samples(points), records.summary(records.table(points)))
    steps = [step.what for step in one.steps]
    assert steps[:5] == [
        "busy machine",
        "messages are too small",
        "wrong interface",
        "degraded PCI Express link",
        "small packets",
    ]
    assert all(step.command and step.why for step in one.steps)
    assert judged(112.0, 113.0).steps == ()


def test_no_step_is_proposed_that_was_in_effect() -> None:
    """Ranks are bound, the faster interface was asked for or is down, the MTU is stated, streams were compared."""
    slow = {"name": "eth0", "kind": "ethernet", "speed_Mbps": 10_000, "mtu": 1500}
    nics = [slow, {"name": "eth1", "speed_Mbps": 10**5}, {"name": "eth2", "speed_Mbps": 10**5, "state": "down"}]
    one = crossing({"eth0": [10**6, 10**10]}, nics)
    host = {**one.host, "smt": True, "cpu_threads": 4, "cpu_cores": 2}

    def steps(stated: Stated | None = None, **changes: Any) -> list[str]:
        spec = one.spec.replace(size=1 << 16, device=changes.pop("device", ""))
        some = dataclasses.replace(one, spec=spec, host=host, meta={**one.meta, **changes})
        return [
            step.what
            for step in verdict.judge(of_samples([some]), records.summary(records.table([some])), stated)[0].steps
        ]

    assert {"wrong interface", "small packets", "SMT"} <= {*steps(rank_affinity=[[0, 1, 2, 3]] * 2)}
    assert not {"wrong interface", "SMT"} & {*steps(rank_affinity=[[0, 2], [1, 3]], device="eth1")}
    assert "small packets" not in steps(Stated(mtu=9000))


def test_costs_that_were_measured_are_not_asked_for() -> None:
    points = [point("mpi.latency", 1.0, size=8, meta=noted([badge("shared memory")], []))]
    summary = records.summary(records.table(points))
    (bare,) = verdict.judge(of_samples(points), summary)
    called = Cost(metric="system_call_ns", value=1e-7, low=1e-7, high=1e-7, launches=6)
    (one,) = verdict.judge(of_samples(points), summary, None, {"": Costs(system_call=called)})
    assert "micro.system_call" in bare.reason
    assert "micro.system_call" not in one.reason
    assert "micro.core_to_core" in one.reason


def test_the_best_size_of_each_setting_is_judged() -> None:
    points = [
        point(value=value, size=size, meta={"fingerprint": f"{size}"})
        for size, value in ((4096, 60.0), (1 << 20, 113.0))
    ]
    (one,) = verdict.judge(of_samples(points), records.summary(records.table(points)), Stated(link="1gbit"))
    assert (one.size, one.value) == (1 << 20, 113.0)


def test_bandwidth_on_shaped_links_never_exceeds_the_bound_and_reaches_it() -> None:
    """The emulated links of the example let TCP have what their rate and its headers leave, within 2 %."""
    campaign = Campaign(EXAMPLES / "virtual-cluster")
    points = list(campaign.samples("sockets.tcp_stream"))
    judgements = verdict.judge(of_samples(points), records.summary(records.table(points)))
    assert len(judgements) == 6
    assert {one.bound.name for one in judgements if one.bound} == {"link of a host", "uplink"}
    for one in judgements:
        assert one.verdict == "good"
        assert one.share == pytest.approx(1, abs=verdict.TOLERANCE)


def test_a_small_message_over_an_emulated_link_has_no_floor_and_a_reason() -> None:
    points = [point("mpi.latency", 13.0, size=8, meta={"testbed": CLUSTER})]
    (one,) = verdict.judge(of_samples(points), records.summary(records.table(points)))
    assert (one.verdict, one.reason) == ("no bound", "the link has no delay, and its rate delays larger messages only")


def test_an_unknown_path_has_no_bound_but_a_stated_one() -> None:
    nics = [{"name": "eth0", "kind": "ethernet", "speed_Mbps": 1000, "mtu": 1500}]
    unknown = crossing({"eth0": [2 * 6_800_000_000, 2 * 6_800_000_000]}, nics)
    assert bounds.of_bandwidth(unknown), "the interface carried the bytes"
    unknown = dataclasses.replace(unknown, meta=made.noted({**unknown.meta, "badges": ["path unknown"]}))
    assert bounds.of_bandwidth(unknown) == ()
    (one,) = verdict.judge(of_samples([unknown]), records.summary(records.table([unknown])))
    assert (one.verdict, one.reason.partition(":")[0]) == (
        "no bound",
        "too few bytes passed to prove the path of the messages",
    )
    assert [bound.name for bound in bounds.of_bandwidth(unknown, Stated(link="1gbit"))] == ["link"]


@pytest.mark.parametrize(
    "facts",
    [
        {"testbed": {"delay": "soon"}},
        {"testbed": {"rate_bps": "many", "slow_bps": 3}},
        {"testbed": {"rate_bps": 0}},
        {"testbed": {"rate": "1gbit", "mtu": 1}},
    ],
)
@pytest.mark.parametrize("benchmark", ["mpi.bandwidth", "mpi.latency"])
def test_facts_that_cannot_be_read_bound_nothing(benchmark: str, facts: dict[str, Any]) -> None:
    points = [point(benchmark, meta=facts, host={"nics": [{"speed_Mbps": "fast"}, 3], "rdma_devices": {"a": 1}})]
    (one,) = verdict.judge(of_samples(points), records.summary(records.table(points)))
    assert one.verdict == "no bound"
    with pytest.raises(SpecError, match="link='slow'"):
        verdict.judge(of_samples(points), records.summary(records.table(points)), Stated(link="slow"))


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_prints_bounds_reasons_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(EXAMPLES / "two-cores")]) == 0
    text = capsys.readouterr().out
    assert re.search(r"verbs\.write_bandwidth +testbed soft-roce,rate=24mbit +4 KiB .* cable +bad", text)
    assert "no bound:\n  shared memory: the processor copies" in text
    assert "check next:\n  1. " in text
    assert main(["explain", str(EXAMPLES / "two-cores"), "--benchmark", "verbs.*", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"records", "rule", "observations", "warnings"} == set(document)
    by_verdict = {row["verdict"] for row in document["records"]}
    assert {"bad", "good", "no bound", "above its floor"} <= by_verdict
    assert main(["explain", str(EXAMPLES / "two-cores"), "--benchmark", "verbs.write*", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("benchmark,setting,message_size_B,metric")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--benchmark", "gpu.*"], "has no points of benchmark 'gpu.*' that have bounds"),
        (["--link", "slow"], "link='slow', but it must read like 25gbit"),
        (["--pcie", "16"], "pcie='16', but it must read like 3x16"),
    ],
)
def test_a_wrong_command_is_one_clear_error(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(EXAMPLES / "two-cores"), *words]) != 0
    assert error in capsys.readouterr().err


def test_defects_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained.table([judged(200.0, 201.0)])
    assert "above its bound: the rate that the path is said to have, or the measurement, is wrong" in text


# ---- measured bounds -------------------------------------------------------------------------------------------------

HOST = {"hostname": "node", "name": "node"}
SHARED, LOOPBACK = noted([badge("shared memory")], []), noted([badge("loopback")], [])


def micro(name: str, metric: str, *launches: float, size: int = 0, **options: Any) -> list[Samples]:
    """Launches of a point of the family micro, in the unit of its metric."""
    spec = benchmarks.resolve(Spec(benchmark=f"micro.{name}", size=size, ranks=1, options=options))
    meta = {"fingerprint": f"{name}{size}{options}", "library": "none", "engine": "c"}
    return [
        samples(spec, reported=values(metric, mean=value), meta=meta, launch=launch, host=HOST)
        for launch, value in enumerate(launches)
    ]


MACHINE = [
    *micro("memory_copy", "bandwidth_MBps", 9_800.0, 10_000.0, 10_200.0, size=1 << 16),
    *micro("memory_copy", "bandwidth_MBps", 5_000.0, 5_000.0, 5_000.0, size=1 << 20),
    *micro("core_to_core", "line_transfer_ns", 38.0, 40.0, 42.0),
    *micro("system_call", "system_call_ns", 100.0, 100.0),
    *micro("wake_up", "wake_up_us", 9.0, 9.0),
    *micro("wake_up", "wake_up_us", 2.0, 2.0, cores="one"),
]


def judged_inside(benchmark: str, value: float, marks: dict[str, Any], machine: Any = MACHINE, **fields: Any) -> Any:
    """The verdict on a point whose bytes left no host, beside the costs of that host."""
    point_fields = {"size": 1 << 18, "meta": marks, "host": HOST} | fields
    points = [point(benchmark, value, **point_fields), *machine]
    (one,) = verdict.judge(of_samples(points), records.summary(records.table(points)))
    return one


@pytest.mark.parametrize(
    ("benchmark", "size", "value", "limit", "expected"),
    [
        ("mpi.bandwidth", 1 << 18, 4_600.0, 5_000.0, "good"),  # between two sizes the higher rate bounds
        ("mpi.bandwidth", 1 << 18, 3_600.0, 5_000.0, "doubtful"),
        ("mpi.bandwidth", 1 << 18, 3_400.0, 5_000.0, "bad"),
        ("mpi.bandwidth", 1 << 18, 10_390.0, 5_000.0, "good"),  # the tolerance counts from the end of the interval
        ("mpi.bandwidth", 1 << 18, 10_500.0, 10_000.0, "above its bound"),
        ("mpi.bandwidth", 1 << 20, 3_000.0, 2_500.0, "good"),
        ("mpi.bibandwidth", 1 << 20, 3_000.0, 5_000.0, "bad"),  # each direction has a core
    ],
)
def test_a_core_must_copy_what_leaves_no_host(
    benchmark: str, size: int, value: float, limit: float, expected: str
) -> None:
    one = judged_inside(benchmark, value, SHARED, size=size)
    assert (one.verdict, one.limit) == (expected, pytest.approx(limit))
    assert one.binds == ("copy by one core" if expected == "above its bound" else "two copies, one after the other")
    assert f"({limit:,.0f} MB/s): {expected}" in verdict.sentence(one)
    assert one.bound.measured
    assert "in 3 launches for copies of " in one.bound.formula
    assert ("the measured bound, or the measurement, is wrong" in one.reason) == (expected == "above its bound")


def test_each_pair_of_ranks_has_a_core_that_copies() -> None:
    one = judged_inside("mpi.put_bandwidth", 15_000.0, SHARED, size=1 << 18, spec={"ranks": 4})
    assert (one.verdict, one.limit) == ("good", pytest.approx(10_000.0))


@pytest.mark.parametrize(
    ("value", "expected"), [(2_300.0, "good"), (1_800.0, "doubtful"), (1_700.0, "bad"), (9_000.0, "good")]
)
def test_the_second_copy_is_of_what_another_core_wrote(value: float, expected: str) -> None:
    """10 GB/s in one core and 3.333 GB/s from the other one make 2.5 GB/s one after the other."""
    machine = [*MACHINE, *micro("core_to_core_copy", "bandwidth_MBps", 10_000 / 3, size=1 << 18)]
    one = judged_inside("mpi.bandwidth", value, SHARED, machine)
    assert one.bound.judging == pytest.approx(2.5e9)
    assert (one.verdict, one.limit) == (expected, pytest.approx(2_500))


@pytest.mark.parametrize(
    ("benchmark", "marks", "name", "floor_us"),
    [
        ("mpi.latency", SHARED, "line of cache", 0.04),
        ("mpi.latency", LOOPBACK, "system calls", 0.2),  # a library polls
        ("sockets.tcp_rr", LOOPBACK, "wake-up", 4.0),  # the cheaper of one core and two, there and back
    ],
)
def test_a_message_needs_a_line_or_the_kernel(
    benchmark: str, marks: dict[str, Any], name: str, floor_us: float
) -> None:
    one = judged_inside(benchmark, 100.0, marks, size=8)
    assert (one.bound.name, one.verdict) == (name, "above its floor")
    assert one.limit == pytest.approx(floor_us, rel=0.03)  # with a copy of 8 B
    assert judged_inside(benchmark, floor_us / 2, marks, size=8).verdict == "below its floor"


def test_a_floor_holds_one_copy_of_the_bytes() -> None:
    one = judged_inside("mpi.latency", 1000.0, SHARED, size=1 << 20)
    assert one.limit == pytest.approx(0.04 + (1 << 20) / 5_000)
    assert "to copy the bytes" in one.bound.formula


def test_a_wake_up_on_two_cores_alone_is_no_floor() -> None:
    machine = [one for one in MACHINE if one.spec.values.get("cores") != "one"]
    assert judged_inside("sockets.tcp_rr", 100.0, LOOPBACK, machine, size=8).bound.name == "system calls"


def test_costs_of_another_host_bound_nothing() -> None:
    one = judged_inside("mpi.bandwidth", 100.0, SHARED, host={"hostname": "other"})
    assert (one.bound, one.verdict) == (None, "no bound")
    assert "micro.memory_copy" in one.reason


@settings(max_examples=30)
@given(st.floats(1, 1e5), st.floats(1, 1e5), st.sampled_from(["mpi.bandwidth", "mpi.latency"]))
@pytest.mark.slow
def test_a_value_beyond_its_bound_is_always_said(value: float, cost: float, benchmark: str) -> None:
    """No bound lies on the wrong side of a measurement by more than the tolerance without a warning."""
    machine = [
        *micro("memory_copy", "bandwidth_MBps", *[1e12 if benchmark == "mpi.latency" else cost] * 2, size=1 << 18),
        *micro("core_to_core", "line_transfer_ns", cost * 1e3, cost * 1e3),
    ]
    one = judged_inside(benchmark, value, SHARED, machine)
    beyond = value / cost if benchmark == "mpi.bandwidth" else cost / value
    said = bool(verdict.defects([one]))
    if beyond > (1 + verdict.TOLERANCE) * 1.001 / (1 - verdict.TOLERANCE):
        assert said
    if beyond <= 1:
        assert not said
    assert said == ("is wrong" in explained.table([one]))


def test_over_loopback_a_copy_bounds_but_judges_nothing() -> None:
    one = judged_inside("mpi.bandwidth", 1_000.0, LOOPBACK)
    assert (one.bound.name, one.verdict, one.steps) == ("copy by one core", "within its bound", ())
    plain = judged_inside("sockets.tcp_stream", 1_000.0, LOOPBACK, size=1 << 16)
    assert plain.limit == pytest.approx(65536 / (65536 / 10e9 + 100e-9) / 1e6), "each send is a system call"
    assert judged_inside("mpi.bandwidth", 20_000.0, LOOPBACK).verdict == "above its bound"


def test_simulated_points_are_not_judged() -> None:
    summary = records.summary(records.table([point()]))
    assert len(verdict.judge(of_samples([point()]), summary)) == 1
    assert verdict.judge(of_samples([point()]), summary.assign(origin="simulated")) == []


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(EXAMPLES.iterdir()), ids=lambda folder: folder.name)
def test_no_bound_of_the_examples_is_on_the_wrong_side_of_a_measurement(folder: Path) -> None:
    """Of every size and setting, not only of those that are judged."""
    campaign = Campaign.existing(folder)
    points = [one for one in campaign.samples() if bounds.bounded(one.spec.benchmark)]
    known = costs.read(campaign)
    for _, rows in records.summary(records.table(points)).groupby(["benchmark", "message_size_B"]):
        defects = verdict.defects(verdict.judge(of_samples(points), rows, None, known))
        assert not defects, [verdict.sentence(one) for one in defects]
