"""Bounds of links and buses against published rates, and the verdicts that follow from them."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labkit import benchmarks
from labkit.apps.cli import main
from labkit.apps.show import answered
from labkit.errors import SpecError
from labkit.judge import answer
from labkit.judge.answer import Answer
from labkit.judge.finding import Finding, Value
from labkit.judge.rules._paths import REASONS, TOLERANCE, leveled
from labkit.judge.sentences import beyond, sentence
from labkit.models import bounds, costs, links
from labkit.models.bounds import Bound, Stated
from labkit.models.costs import Cost, Costs
from labkit.models.inside import LIBRARY_S, OWN_WORK, OWN_WORK_OF, PIPE, THREAD, TWICE, WOKEN
from labkit.point.notes import Note, badge
from labkit.point.spec import Spec
from labkit.read import records, reference
from labkit.read.columnar import of_samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import noted
from labkit.studies import _limits as limits
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


def findings(
    points: list[Samples], stated: Stated | None = None, machine: dict[str, Costs] | None = None
) -> tuple[Finding, ...]:
    """The verdicts on points, the worst first."""
    return answer.of_paths(of_samples(points), records.summary(records.table(points)), stated, machine)


def verdict_of(one: Finding) -> str:
    """The level of a verdict, or that it is a defect."""
    return "defect" if one.form == "defect" else one.level


def number(one: Finding, name: str = "measured") -> float:
    """A value of a finding."""
    value = one.values[name]
    assert isinstance(value, Value)
    return value.value


def wanted(one: Finding) -> list[str]:
    """The benchmarks of the family micro that a finding asks for."""
    return [*dict.fromkeys(re.findall(r"micro\.\w+", f"{one.command} {one.values.get('wanted', '')}"))]


def supported(one: Finding) -> dict[str, Finding]:
    """The causes that the data support, by their codes."""
    return {cause.code: cause for cause in one.causes if cause.supported}


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
    (one,) = findings([four])
    assert (one.level, one.values["reason"]) == ("unknown", REASONS["many links"])
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


def judged(*launches: float, stated: str = "1gbit", **fields: Any) -> Finding:
    """The verdict on launches of one point."""
    over_tcp = {"spec": {"transport": "tcp"}} | fields
    points = [point(value=value, launch=launch, **over_tcp) for launch, value in enumerate(launches)]
    (one,) = findings(points, Stated(link=stated))
    return one


@pytest.mark.parametrize(
    ("launches", "expected"),
    [
        ((112.0, 113.0), "good"),
        ((100.0, 112.0), "unknown"),  # its interval spans the limit
        ((95.0, 96.0), "doubtful"),
        ((60.0, 61.0), "bad"),
        ((60.0, 112.0), "unknown"),  # although some launches are bad, it may be good
        ((60.0, 112.0, 113.0), "unknown"),
        ((118.0, 119.0), "good"),  # within the tolerance
        ((130.0, 131.0), "defect"),
    ],
)
def test_the_interval_decides(launches: tuple[float, ...], expected: str) -> None:
    one = judged(*launches)
    assert verdict_of(one) == expected
    assert number(one, "share") == pytest.approx(number(one) / number(one, "limit"))
    assert one.decided.how == "ranges"
    assert ("is wrong" in sentence(one)) == (expected == "defect")


@pytest.mark.parametrize(("value_us", "woken", "form", "level"), [
    (40.0, (), "beside", "doubtful"), (20.0, None, "beside", "good"), (40.0, None, "no reference", "unknown"),
    (900.0, None, "beside", "bad"), (11.0, (), "awake", "good"),
])  # fmt: skip
def test_programs_that_sleep_have_no_reference_where_nobody_measured_how_long_a_wake_up_takes(
    value_us: float, woken: tuple[()] | None, form: str, level: str
) -> None:
    """A message takes 5 µs on each of two ends; what else a round trip takes may be wake-ups."""
    five = Cost(metric="latency_us", value=5e-6, low=5e-6, high=5e-6, launches=6)
    waking = Cost(metric="wake_up_us", value=1e-6, low=1e-6, high=1e-6, launches=6)
    known = Costs(messages={8: five}, wake_ups={} if woken is None else {"one": waking, "two": waking})
    trips = [
        samples(
            Spec(benchmark="sockets.tcp_rr", size=8, testbed="virtual-cluster:2,rate=200mbit"), launch=launch, host=HOST,
            reported=values("round_trip_us", p50=value_us),
            meta={"fingerprint": "t", "library": "x", "engine": "c", "testbed": {"rate_bps": 200e6, "nodes": 2}},
        )
        for launch in range(6)
    ]  # fmt: skip
    (one,) = findings(trips, None, {"node": known})
    assert (one.form, one.level) == (form, level)
    assert wanted(one) == (["micro.wake_up"] if form == "no reference" else [])


@pytest.mark.parametrize("factor", [8.0, 1 / 8, 1e3])
def test_a_brought_value_off_by_the_ratio_of_two_units_has_a_wrong_unit(factor: float) -> None:
    good = 0.97 * 1e3 / 8 * links.ethernet(1500).share
    own, brought = judged(factor * good), judged(factor * good, origin="imported")
    assert [one.code for one in brought.causes if one.likely] == ["units"]
    assert "its ratio to 117.7 MB/s (link) is that of" in sentence(brought.causes[0])
    named = [one.code for one in own.causes if one.likely]
    assert named == (["units"] if factor > 1 else []), (
        "labkit may misread a tool, but a slow path is likelier than that"
    )


@pytest.mark.parametrize(("launches", "how"), [(1, "one launch"), (2, "ranges"), (6, "tested")])
def test_a_verdict_says_how_sure_it_is(launches: int, how: str) -> None:
    one = judged(*[112.0 + number / 10 for number in range(launches)])
    assert one.decided.how == how
    assert one.certain == (launches > 1)


@pytest.mark.parametrize(
    ("value_us", "expected"), [(4_100.0, "good"), (4_440.0, "good"), (5_000.0, "doubtful"), (6_000.0, "bad")]
)
def test_a_latency_over_a_link_is_judged_by_its_delay(value_us: float, expected: str) -> None:
    """Up to 1/0.9 times the delay it is good, beyond 1/0.7 times it is bad."""
    (one,) = findings([point("mpi.latency", value_us, size=8, meta={"testbed": CLUSTER | {"delay": "4ms"}})])
    assert (verdict_of(one), one.values["what"]) == (expected, "link of a host, delay set to 4,000 µs")
    assert number(one, "times") == one.cost == pytest.approx(value_us / 4_000, rel=1e-3)


@pytest.mark.parametrize(("share", "told"), [(0.99, False), (1.004, False), (1.006, True), (1.019, True), (1.3, False)])
def test_a_share_above_its_bound_has_a_reason(share: float, told: bool) -> None:
    (one,) = findings([point(value=share * 25 * 1448 / 1514, meta={"testbed": CLUSTER})])
    assert beyond(one) == (
        "A value may exceed its bound by up to 2 %, because headers can be smaller than assumed, and clocks are read at "
        "the ends of the path."
        if told
        else ""
    )


@pytest.mark.parametrize(
    ("value_us", "expected"), [(3_000.0, "good less"), (8_100.0, "good beside"), (16_000.0, "unknown messages")]
)
def test_a_put_over_a_link_crosses_it_twice_and_is_never_bad(value_us: float, expected: str) -> None:
    """The library may need more messages to complete it, and may say so before it is complete."""
    (one,) = findings([point("mpi.put_latency", value_us, size=8, meta={"testbed": CLUSTER | {"delay": "4ms"}})])
    assert f"{one.level} {one.form}" == expected
    assert number(one, "limit") == pytest.approx(8_000)
    assert "a message there and one back: link of a host" in sentence(one)


def test_a_latency_below_the_delay_of_its_link_is_a_defect() -> None:
    (one,) = findings([point("mpi.latency", 3_000.0, size=8, meta={"testbed": CLUSTER | {"delay": "4ms"}})])
    assert (one.form, one.level) == ("defect", "bad")
    assert "the delay that the path is said to have, or the measurement, is wrong" in sentence(one)


@pytest.mark.parametrize(
    ("value_us", "expected"), [(27.0, "good"), (28.0, "doubtful"), (52.0, "doubtful"), (54.0, "bad")]
)
def test_a_latency_over_a_fast_link_is_judged_by_its_hosts_too(value_us: float, expected: str) -> None:
    """Two hosts that pass a message to themselves in 10 µs, at the ends of a link of 2 µs."""
    fields: dict[str, Any] = {"size": 8, "host": HOST, "meta": {"testbed": CLUSTER | {"delay": "2us"}}}
    machine = {"node": Costs(messages={8: Cost(metric="latency_us", value=1e-5, low=1e-5, high=1e-5, launches=6)})}
    (one,) = findings([point("mpi.latency", value_us, **fields)], None, machine)
    assert (verdict_of(one), one.values["what"]) == (expected, "link of a host and its ends, delay set to 2 µs")
    assert number(one, "limit") == pytest.approx(12)
    (bare,) = findings([point("mpi.latency", value_us, **fields)], None, {})
    assert (bare.level, bare.form) == ("unknown", "no reference")
    assert wanted(bare) == ["micro.loopback"]


SLOW_NIC = {"name": "eth0", "kind": "ethernet", "speed_Mbps": 10_000, "mtu": 1500}
FAST_NIC = {"name": "eth1", "kind": "ethernet", "speed_Mbps": 100_000, "mtu": 9000}


def growing(*, nics: list[dict[str, Any]], marks: list[str], ratio: float = 2.0, device: str = "") -> list[Samples]:
    """Two launches of a bandwidth over eth0, 64 messages of 64 KiB in 7 ms; half the size has 1/`ratio` of it."""
    carried = crossing({"eth0": [10**6, 10**10]}, nics)
    meta = {**carried.meta, **noted([badge(mark) for mark in marks], [])}
    return [
        samples(
            carried.spec.replace(size=size, device=device),
            [[int(nanoseconds)] * 100],
            meta=meta | {"fingerprint": f"{size}"},
            host=carried.host,
            launch=launch,
        )
        for size, nanoseconds in ((1 << 15, 7e6 * ratio / 2), (1 << 16, 7e6))
        for launch in range(2)
    ]


def test_causes_come_from_the_point() -> None:
    (one,) = findings(growing(nics=[SLOW_NIC, FAST_NIC], marks=["busy machine"]))
    found = supported(one)
    assert {"busy-machine", "small-messages", "small-packets", "wrong-path"} == {*found}
    assert "the bandwidth still grows by 100 % to the largest size" in sentence(found["small-messages"])
    assert "eth0 carried the bytes, but eth1 has 100,000 Mbit/s" in sentence(found["wrong-path"])
    assert "in 2 of 2 launches" in sentence(found["busy-machine"])
    assert all(cause.command for cause in found.values())
    assert "--device eth1" in found["wrong-path"].command
    assert "-m 1048576,4194304,16777216" in found["small-messages"].command
    assert one.causes[-1].code == "rate-limit"
    assert one.causes[-1].against, "a limit would not let the bandwidth grow"
    assert judged(112.0, 113.0).causes == (), "a good value needs no cause"


def test_a_plateau_excludes_small_messages() -> None:
    (one,) = findings(growing(nics=[SLOW_NIC], marks=[], ratio=1.0))
    assert {*supported(one)} == {"rate-limit", "small-packets"}
    assert [cause.code for cause in one.causes if cause.against] == ["small-messages"]


@pytest.mark.parametrize(
    ("nics", "device"),
    [
        ([SLOW_NIC, FAST_NIC], "eth1"),
        ([SLOW_NIC, FAST_NIC | {"state": "down"}], ""),
        ([SLOW_NIC, FAST_NIC | {"speed_Mbps": 10_000}], ""),
        ([SLOW_NIC, FAST_NIC | {"speed_Mbps": None}], ""),
    ],
)
def test_no_interface_is_proposed_that_was_asked_for_or_is_no_better(nics: list[dict[str, Any]], device: str) -> None:
    assert "wrong-path" in supported(findings(growing(nics=[SLOW_NIC, FAST_NIC], marks=[]))[0])
    (one,) = findings(growing(nics=nics, marks=[], device=device), Stated(link="10gbit"))
    assert one.level == "bad"
    assert "wrong-path" not in supported(one)


def test_costs_that_were_measured_are_not_asked_for() -> None:
    points = [point("mpi.latency", 1.0, size=8, meta=noted([badge("shared memory")], []))]
    (bare,) = findings(points)
    copied = Cost(metric="bandwidth_MBps", value=1e10, low=1e10, high=1e10, launches=6)
    (one,) = findings(points, None, {"": Costs(copies={8: copied})})
    assert bare.values["reason"] == one.values["reason"] == REASONS["machine"]
    assert wanted(bare) == ["micro.core_to_core", "micro.memory_copy"]
    assert wanted(one) == ["micro.core_to_core"]


def test_a_thread_s_message_between_measured_sizes_takes_a_time_between_theirs() -> None:
    def cost(us: float) -> Cost:
        return Cost(metric="latency_us", value=us * 1e-6, low=us * 1e-6, high=2 * us * 1e-6, launches=6)

    known = Costs(messages={64: cost(6.0), 4096: cost(8.0), 8192: cost(12.0)})
    expected = {64: 6.0, 2080: 7.0, 4096: 8.0, 6144: 10.0, 8192: 12.0, 16384: 20.0}
    for size, us in expected.items():
        for words, one in filter(None, (known.message(size), known.passing(size))):
            assert (one.value, one.high) == (pytest.approx(us * 1e-6), pytest.approx(2 * us * 1e-6))
            assert ("by" in words) is (size not in known.messages)
    assert known.message(8) is None, "a larger message is no floor"
    single = Costs(messages={64: cost(6.0)})
    beyond = single.message(4096)
    assert beyond is not None
    assert beyond[1].value == 6e-6, "it takes at least as long"
    assert single.passing(4096) is None, "and says nothing of a rate"


def test_both_copies_of_a_message_cost_the_same_in_a_latency_and_in_a_bandwidth() -> None:
    size = 1 << 20
    rate = Cost(metric="bandwidth_MBps", value=1e10, low=1e10, high=1e10, launches=6)
    crossing = dataclasses.replace(rate, value=2.5e9, low=2.5e9, high=2.5e9)
    line = Cost(metric="line_transfer_ns", value=1e-12, low=1e-12, high=1e-12, launches=6)
    machine = {"": Costs(copies={size: rate}, crossings={size: crossing}, line=line)}
    meta = noted([badge("shared memory")], [])
    (slow,) = findings([point("mpi.latency", 600.0, size=size, meta=meta)], None, machine)
    (many,) = findings([point("mpi.bandwidth", 1000.0, size=size, meta=meta)], None, machine)
    assert number(slow, "limit") == pytest.approx(size / number(many, "limit"), rel=1e-3)


def test_the_best_size_of_each_setting_is_judged() -> None:
    points = [
        point(value=value, size=size, meta={"fingerprint": f"{size}"})
        for size, value in ((4096, 60.0), (1 << 20, 113.0))
    ]
    (one,) = findings(points, Stated(link="1gbit"))
    assert (one.subject.points, one.subject.setting, number(one)) == ((f"{1 << 20}",), "1 MiB", 113.0)


def over_delay(times: Mapping[int, float], delay: str = "4ms") -> list[Samples]:
    """Latencies of sizes, µs, over links of 200 Mbit/s with a delay."""
    return [
        point("mpi.latency", value, size=size, meta={"fingerprint": f"{size}", "testbed": CLUSTER | {"delay": delay}})
        for size, value in times.items()
    ]


def test_the_smallest_size_of_a_latency_is_judged() -> None:
    (one,) = findings(over_delay({4096: 4_250.0, 8: 4_100.0}))
    assert (one.subject.setting, number(one)) == ("8 B", 4_100.0)


def test_over_a_long_path_a_larger_size_that_waits_is_judged() -> None:
    """From 512 B on the library waits for the receiver; 1 MiB is a matter of bandwidth."""
    waiting = {8: 4_100.0, 512: 12_300.0, 4096: 12_500.0, 1 << 20: 90_000.0}
    (one,) = findings(over_delay(waiting))
    assert (one.subject.setting, one.level, number(one)) == ("4 KiB", "bad", 12_500.0)
    assert one.cost == pytest.approx(12_500 / 4_100, rel=0.05)
    (slow,) = findings(over_delay(waiting | {8: 9_000.0}))
    assert slow.subject.setting == "8 B", "what the smallest size lacks comes first"


def test_over_a_short_path_larger_sizes_are_not_judged() -> None:
    """Hosts and adapters need more for larger messages, by an amount that is not known."""
    machine = {"node": Costs(messages={8: Cost(metric="latency_us", value=1e-5, low=1e-5, high=1e-5, launches=6)})}
    fields: dict[str, Any] = {"host": HOST, "meta": {"testbed": CLUSTER | {"delay": "2us"}}}
    points = [
        point("mpi.latency", value, size=size, **fields | {"meta": fields["meta"] | {"fingerprint": f"{size}"}})
        for size, value in ((8, 20.0), (32, 90.0))
    ]
    (one,) = findings(points, None, machine)
    assert (one.subject.setting, one.level) == ("8 B", "good")


def test_bandwidth_on_shaped_links_never_exceeds_the_bound_and_reaches_it() -> None:
    """The emulated links of the example let TCP have what their rate and its headers leave, within 2 %."""
    campaign = Campaign(EXAMPLES / "virtual-cluster")
    judgements = findings(list(campaign.samples("sockets.tcp_stream")))
    assert len(judgements) == 6
    assert {str(one.values["what"]).partition(",")[0] for one in judgements} == {"link of a host", "uplink"}
    for one in judgements:
        assert verdict_of(one) == "good"
        assert number(one, "share") == pytest.approx(1, abs=TOLERANCE)


def test_a_small_message_over_an_emulated_link_has_no_floor_and_a_reason() -> None:
    """The rate of a link delays large messages only: what small ones need is at the ends of the link."""
    (one,) = findings([point("mpi.latency", 13.0, size=8, meta={"testbed": CLUSTER})])
    assert (one.level, one.values["reason"]) == ("unknown", REASONS["machine"])
    assert wanted(one) == ["micro.loopback"]


def test_an_unknown_path_has_no_bound_but_a_stated_one() -> None:
    nics = [{"name": "eth0", "kind": "ethernet", "speed_Mbps": 1000, "mtu": 1500}]
    unknown = crossing({"eth0": [2 * 6_800_000_000, 2 * 6_800_000_000]}, nics)
    assert bounds.of_bandwidth(unknown), "the interface carried the bytes"
    unknown = dataclasses.replace(unknown, meta=made.noted({**unknown.meta, "badges": ["path unknown"]}))
    assert bounds.of_bandwidth(unknown) == ()
    (one,) = findings([unknown])
    assert (one.level, one.values["reason"]) == ("unknown", REASONS["path unknown"])
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
    (one,) = findings(points)
    assert (one.form, one.level) == ("no reference", "unknown")
    with pytest.raises(SpecError, match="link='slow'"):
        findings(points, Stated(link="slow"))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["1gbit", "5us"]),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=5), some, max_size=3),
    max_leaves=6,
)
HOSTILE = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.sampled_from(["eth0", "mlx5_0", ""]) | ANYTHING,
            **dict.fromkeys(
                ("kind", "speed_Mbps", "mtu", "state", "rate", "link_layer", "pcie_speed", "pcie_width"), ANYTHING
            ),
        },
    )
    | ANYTHING,
    max_size=3,
)
TESTBEDS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("rate_bps", "uplink_bps", "slow_bps", "rate", "delay", "mtu"), ANYTHING)
)


@given(
    HOSTILE | ANYTHING,
    HOSTILE | ANYTHING,
    TESTBEDS,
    st.dictionaries(st.sampled_from(["vc0.eth0.tx_bytes", "leaf0.up.rx_bytes"]), ANYTHING),
    ANYTHING,
    st.sampled_from(["mpi.bandwidth", "mpi.latency", "verbs.write_bandwidth", "sockets.tcp_rr", "congestion.incast"]),
)
def test_hostile_metadata_raise_nothing_and_bound_nothing_wrongly(
    nics: Any, ports: Any, testbed: dict[str, Any], evidence: dict[str, Any], facts: Any, benchmark: str
) -> None:
    host = {"nics": nics, "rdma_devices": ports, "governor": facts, "smt": facts, "load": facts, "numa_nodes": facts}
    meta = {"testbed": testbed, "evidence": evidence, "rank_hosts": ["a", "b"], "host_B": {"a": {"eth0": facts}}}
    fields: dict[str, Any] = {"options": {"senders": 2}} if benchmark == "congestion.incast" else {}
    one = point(benchmark, 1e-3, meta=meta, host=host, spec=fields)
    for bound in (*bounds.of_bandwidth(one), *bounds.of_latency(one)):
        assert 0 < bound.value < float("inf")
    assert findings([one])


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["4", "many", "", 0, -1, 1, 4])
COUNTS = ("streams", "threads", "senders", "window", "tx_depth", "socket_buffer")
COSTS = st.sampled_from([0.0, 1e-3, 5.0, 1e6])


@settings(max_examples=8, deadline=None)
@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(COUNTS, SCALARS)),
    st.sampled_from([0, 1, 1 << 16]),
    st.lists(COSTS, min_size=2, max_size=3),
    st.lists(COSTS, min_size=6, max_size=6),
    st.sampled_from(["shared memory", "loopback"]),
    st.sampled_from(
        ["mpi.bandwidth", "mpi.latency", "mpi.put_bandwidth", "sockets.tcp_stream", "sockets.tcp_rr", "rpc.bandwidth"]
    ),
)
@example({"streams": "4"}, 1 << 16, [5.0, 5.0], [5.0] * 6, "loopback", "sockets.tcp_stream")
@example({"threads": 10**400}, 1 << 16, [5.0, 5.0], [5.0] * 6, "shared memory", "mpi.bandwidth")
@example({}, 1 << 16, [0.0, 0.0], [0.0] * 6, "shared memory", "mpi.bandwidth")
@example({}, 1 << 16, [5.0, 5.0], [0.0] * 6, "loopback", "mpi.latency")
@example({}, 0, [5.0, 5.0], [5.0] * 6, "shared memory", "mpi.bandwidth")
def test_hostile_options_and_costs_raise_nothing_and_bound_nothing(
    options: dict[str, Any], size: int, launches: list[float], machine: list[float], place: str, benchmark: str
) -> None:
    """Options of samples from elsewhere may be of any type, and a cost or a size may be 0."""
    measured = [
        *micro("memory_copy", "bandwidth_MBps", machine[0], machine[0], size=1 << 16),
        *micro("core_to_core_copy", "bandwidth_MBps", machine[1], size=1 << 16),
        *micro("core_to_core", "line_transfer_ns", machine[2], machine[0]),
        *micro("system_call", "system_call_ns", machine[3]),
        *micro("wake_up", "wake_up_us", machine[4], cores="one"),
        *micro("loopback", "latency_us", machine[5], size=1 << 16),
        *micro("loopback", "latency_us", machine[4], size=8),
    ]
    fields: dict[str, Any] = {"size": size, "meta": noted([badge(place)], []), "host": HOST}
    spec = {"options": options}
    points = [point(benchmark, one, launch=launch, spec=spec, **fields) for launch, one in enumerate(launches)]
    trips = [point("mpi.latency", machine[2], **{**fields, "size": 8, "meta": {**fields["meta"], "fingerprint": "g"}})]
    known = costs.measured_costs(records.summary(records.table(measured)))
    for bound in (*bounds.of_bandwidth(points[0], None, known), *bounds.of_latency(points[0], None, known)):
        assert 0 < bound.value < float("inf")
        assert not bounds.directions_of(benchmark) or all(points[0].spec.count(name) for name in COUNTS[:3])
    assert answered.table(Answer("c", findings([*points, *trips, *measured])), everything=True)


# ---- the command -----------------------------------------------------------------------------------------------------


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What `labkit explain` prints of an example."""
    assert main(["explain", str(EXAMPLES / words[0]), *words[1:]]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_the_command_answers_each_topic_in_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, "two-cores")
    lines = text.splitlines()
    assert len(lines) <= answered.LINES
    assert re.search(r"^doubtful +MPI one-sided bandwidth over shared memory: mpi\.put_bandwidth, ", text, re.MULTILINE)
    steps = lines[lines.index("next:") + 1 :]
    assert 1 <= len([one for one in steps if re.match(r"  \d\. ", one)]) <= answer.STEPS
    everything = explained(capsys, "two-cores", "--all")
    assert len(everything.splitlines()) > answered.LINES
    assert re.search(
        r"verbs\.write_bandwidth, soft-RoCE \(links of 24 Mbit/s\), 4 KiB: .* \(cable, rate set to 24 Mbit/s\)",
        _joined(everything),
    )


@pytest.mark.slow
def test_the_command_has_forms_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(explained(capsys, "two-cores", "--benchmark", "verbs.*", "--format", "json"))
    assert {"campaign", "topics", "findings", "steps", "settled", "rules", "warnings"} == set(document)
    assert {one["verdict"] for one in document["topics"]} <= {*answer.VERDICTS}
    verdicts = [one for one in document["findings"] if one["kind"] == "verdict"]
    assert {"functional", "no reference"} == {one["form"] for one in verdicts}, "an emulated device is not hardware"
    assert all(one["sentence"] and one["level"] == "unknown" for one in verdicts)
    text = explained(capsys, "two-cores", "--benchmark", "verbs.write*", "--format", "csv")
    assert text.startswith("benchmark,setting,quantity,value,low,high,limit,cost_times,unit")


def _joined(text: str) -> str:
    """A text whose lines are joined."""
    return re.sub(r"\n +", " ", text)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--benchmark", "gpu.*"], "has no points of benchmark 'gpu.*'. It has: "),
        (["--link", "slow"], "link='slow', but it must read like 25gbit"),
        (["--pcie", "16"], "pcie='16', but it must read like 3x16"),
    ],
)
def test_a_wrong_command_is_one_clear_error(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(EXAMPLES / "two-cores"), *words]) != 0
    assert error in capsys.readouterr().err


def test_a_campaign_without_points_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made.campaign(tmp_path / "empty", [])
    assert main(["explain", str(tmp_path / "empty")]) != 0
    assert "has no points. Measure into it" in capsys.readouterr().err


def test_defects_are_said() -> None:
    found = Answer("c", (judged(200.0, 201.0),))
    wrong = "the rate that the path is said to have, or the measurement, is wrong"
    assert wrong in _joined(answered.table(found))
    (warning,) = json.loads(answered.as_json(found))["warnings"]
    assert wrong in warning


# ---- measured bounds -------------------------------------------------------------------------------------------------

HOST = {"hostname": "node", "name": "node"}
SHARED, LOOPBACK, UNIX = (noted([badge(text)], []) for text in ("shared memory", "loopback", "Unix socket"))


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
    *micro("core_to_core_copy", "bandwidth_MBps", 10_000.0, 10_000.0, size=1 << 16),
    *micro("core_to_core_copy", "bandwidth_MBps", 5_000.0, 5_000.0, size=1 << 20),
    *micro("core_to_core", "line_transfer_ns", 38.0, 40.0, 42.0),
    *micro("system_call", "system_call_ns", 100.0, 100.0),
    *micro("wake_up", "wake_up_us", 9.0, 9.0),
    *micro("wake_up", "wake_up_us", 2.0, 2.0, cores="one"),
]


UNWOKEN = [one for one in MACHINE if one.spec.benchmark != "micro.wake_up"]
PASSED = [  # 1 GB/s of 64 KiB; 8 B in 5 µs
    *micro("loopback", "latency_us", 65.536, 65.536, size=1 << 16),
    *micro("loopback", "latency_us", 5.0, 5.0, size=8),
]


def judged_inside(
    benchmark: str, value: float, marks: dict[str, Any], machine: Any = MACHINE, **fields: Any
) -> Finding:
    """The verdict on a point whose bytes left no host, beside the costs of that host."""
    point_fields = {"size": 1 << 18, "meta": marks, "host": HOST} | fields
    found = findings([point(benchmark, value, **point_fields), *machine])
    (one,) = [one for one in found if one.subject.benchmark == benchmark]
    return one


def bound_inside(benchmark: str, marks: dict[str, Any], machine: Any = MACHINE, **fields: Any) -> Bound:
    """The bound of a point whose bytes left no host."""
    one = point(benchmark, **{"size": 1 << 18, "meta": marks, "host": HOST} | fields)
    known = costs.measured_costs(records.summary(records.table(machine)))
    of = bounds.of_bandwidth if bounds.directions_of(benchmark) else bounds.of_latency
    return of(one, None, known)[0]


def each_message(copies: float, size: int, pairs: int = 1) -> float:
    """The rate of two copies and a library's own work for each message, MB/s."""
    return pairs * size / (pairs * size / copies + LIBRARY_S * 1e6)


@pytest.mark.parametrize(
    ("benchmark", "size", "value", "limit", "expected"),
    [
        ("mpi.bandwidth", 1 << 18, 4_600.0, 5_000.0, "good"),  # between two sizes the higher rate bounds
        ("mpi.bandwidth", 1 << 18, 1_900.0, 5_000.0, "doubtful"),
        ("mpi.bandwidth", 1 << 18, 900.0, 5_000.0, "bad"),
        ("mpi.bandwidth", 1 << 18, 10_390.0, 5_000.0, "good"),  # the tolerance counts from the end of the interval
        ("mpi.bandwidth", 1 << 18, 10_500.0, 10_000.0, "defect"),
        ("mpi.bandwidth", 1 << 20, 3_000.0, 2_500.0, "good"),
        ("mpi.bibandwidth", 1 << 20, 900.0, 5_000.0, "bad"),  # each direction has a core
    ],
)
def test_a_core_must_copy_what_leaves_no_host(
    benchmark: str, size: int, value: float, limit: float, expected: str
) -> None:
    one = judged_inside(benchmark, value, SHARED, size=size)
    defect = expected == "defect"
    limit = limit if defect else each_message(limit, size, 2 if benchmark == "mpi.bibandwidth" else 1)
    assert (verdict_of(one), number(one, "limit")) == (expected, pytest.approx(limit))
    binds = "copy by one core" if defect else f"{TWICE}, and {OWN_WORK}"
    assert one.values["what"] == binds
    assert re.search(rf"of [\d,]+ MB/s( \[[\d,]+ to [\d,]+\])? \({binds}\)", sentence(one))
    assert bound_inside(benchmark, SHARED, size=size).measured
    assert "in 3 launches for copies of " in str(one.values["how"])
    assert ("the measured bound, or the measurement, is wrong" in sentence(one)) == (expected == "defect")


@pytest.mark.parametrize(
    ("share", "more", "expected"),
    [(0.14, [], "doubtful"), (0.9, [], "good"), (0.14, [badge("oversubscription")], "good"), (None, [], "good")],
)
def test_a_bandwidth_of_ranks_that_lacked_a_processor_is_not_called_good(
    share: float | None, more: list[Note], expected: str
) -> None:
    facts = {} if share is None else {"idlest_rank": 0, "idlest_share": share}
    one = judged_inside("mpi.bandwidth", 4_600.0, noted([badge("shared memory"), *more], []) | facts)
    assert verdict_of(one) == expected
    assert ("a rank had a processor for 14 % of the time only" in sentence(one)) == (expected == "doubtful")


def test_the_headers_of_a_link_are_those_of_the_packets_that_its_testbed_states() -> None:
    facts = {"testbed": {"rate_bps": 200e6, "nodes": 2}}
    usual, large = (
        bounds.of_bandwidth(point(meta={"testbed": facts["testbed"] | more}))[0] for more in ({}, {"mtu": 9000})
    )
    assert "1448 of 1514 B" in usual.formula
    assert "8948 of 9014 B" in large.formula


def test_each_pair_of_ranks_has_a_core_that_copies() -> None:
    one = judged_inside("mpi.put_bandwidth", 15_000.0, SHARED, size=1 << 18, spec={"ranks": 4})
    assert (verdict_of(one), number(one, "limit")) == ("good", pytest.approx(each_message(10_000.0, 1 << 18, 2)))


@pytest.mark.parametrize(
    ("value", "expected"), [(1_100.0, "good"), (900.0, "doubtful"), (450.0, "bad"), (9_000.0, "good")]
)
def test_the_second_copy_is_of_what_another_core_wrote(value: float, expected: str) -> None:
    """10 GB/s in one core and 3.333 GB/s from the other one make 2.5 GB/s one after the other."""
    machine = [one for one in MACHINE if one.spec.benchmark != "micro.core_to_core_copy"]
    assert judged_inside("mpi.bandwidth", value, SHARED, machine).form == "no reference"
    machine += micro("core_to_core_copy", "bandwidth_MBps", 10_000 / 3, size=1 << 18)
    one = judged_inside("mpi.bandwidth", value, SHARED, machine)
    limit = each_message(2_500.0, 1 << 18)
    assert bound_inside("mpi.bandwidth", SHARED, machine).reference == pytest.approx(limit * 1e6)
    assert (verdict_of(one), number(one, "limit")) == (expected, pytest.approx(limit))


def named(size: int) -> dict[str, Any]:
    """Metadata of a point in shared memory, with its size as its fingerprint."""
    return {**SHARED, "fingerprint": str(size)}


@pytest.mark.parametrize("slow", [4096, 65536])
def test_another_size_that_is_not_good_stands_beside_a_good_bandwidth(slow: int) -> None:
    """With 5 GB/s of two copies and 0.25 µs, a good 4 KiB message takes at most 2.7 µs, one of 64 KiB 33 µs."""
    sizes = (512, 4096, 65536, 1 << 18)
    sweep = [
        point(value=900.0 if size == slow else size / (size / 4600 + 0.3), size=size, meta=named(size), host=HOST)
        for size in sizes
    ]
    lead, other = sorted(
        (one for one in findings([*sweep, *MACHINE]) if one.subject.benchmark == "mpi.bandwidth"),
        key=lambda one: one.level != "good",
    )
    assert (lead.level, lead.subject.points) == ("good", (str(1 << 18),))
    assert (other.level, other.subject.points) == ("doubtful" if slow == 4096 else "bad", (str(slow),))
    over = {"spec": {"transport": "tcp"}, "host": HOST}
    far = [
        point(value=90.0 if size == slow else 4900.0, size=size, meta={"fingerprint": str(size)}, **over)
        for size in sizes
    ]
    assert len(findings(far, Stated(link="40gbit"))) == 1, "nobody knows what a link's hosts add to small messages"


def test_another_size_that_is_not_good_stands_beside_a_good_latency() -> None:
    sweep = [
        point("mpi.latency", value, size=size, meta=named(size), host=HOST)
        for size, value in ((8, 0.2), (4096, 9.0), (65536, 14.0))
    ]
    found = [one for one in findings([*sweep, *MACHINE]) if one.subject.benchmark == "mpi.latency"]
    assert [(one.level, one.subject.points) for one in found] == [
        ("bad", ("4096",)),
        ("good", ("8",)),
    ]


def test_messages_so_small_that_their_copies_hardly_count_do_not_show_the_bandwidth_of_a_path() -> None:
    one = judged_inside("mpi.bandwidth", 200.0, SHARED, size=64)
    assert (one.level, one.form) == ("doubtful", "small")
    assert "a copy takes only 2.4 % of that time" in sentence(one)


def test_the_work_of_a_library_is_the_sum_of_two_published_parts_and_the_rule_names_both() -> None:
    paper = reference.load("breaking-band-2019")
    parts = [paper["hlp_post"].value, paper["hlp_rx_prog"].value]
    assert sum(parts) == pytest.approx(LIBRARY_S * 1e9, abs=5)
    words = f"{parts[0]} + {parts[1]} ns on a ThunderX2, Zambre et al. 2019"
    assert words in OWN_WORK_OF
    assert OWN_WORK_OF in limits._TIMES["shared-memory"]  # the table of the supplement
    assert words in " ".join((Path(__file__).parents[1] / "docs" / "explain.md").read_text().split())


@pytest.mark.parametrize(
    ("value_us", "expected"), [(0.7, "good"), (1.0, "doubtful"), (1.5, "bad"), (100.0, "bad"), (0.02, "defect")]
)
def test_a_message_through_shared_memory_needs_a_line_of_cache(value_us: float, expected: str) -> None:
    """Up to 2.5 times a line and a library's own work is good, beyond 5 times is bad; below the line is a defect."""
    one = judged_inside("mpi.latency", value_us, SHARED, size=8)
    what = "line of cache" if expected == "defect" else "a line of cache and up to 0.25 µs for the library"
    assert (verdict_of(one), one.values["what"]) == (expected, what)
    needed = 0.04 if expected == "defect" else 0.29
    assert number(one, "limit") == pytest.approx(needed, rel=0.03)  # with a copy of 8 B


def test_a_round_trip_over_loopback_needs_a_wake_up() -> None:
    """The cheaper of one core and two, there and back; without the work of TCP it judges nothing."""
    bound = bound_inside("sockets.tcp_rr", LOOPBACK, size=8)
    assert (bound.name, bound.missing) == ("wake-up", "micro.loopback")
    assert bound.value == pytest.approx(4e-6, rel=0.03)
    one = judged_inside("sockets.tcp_rr", 100.0, LOOPBACK, size=8)
    assert (one.form, one.level, wanted(one)) == ("no reference", "unknown", ["micro.loopback"])
    assert judged_inside("sockets.tcp_rr", 2.0, LOOPBACK, size=8).form == "defect"


@pytest.mark.parametrize(("value_us", "expected"), [(69.0, "good"), (75.0, "doubtful"), (141.0, "bad"), (9.0, "good")])
def test_a_round_trip_over_loopback_is_judged_by_two_messages_of_a_thread_and_two_wake_ups(
    value_us: float, expected: str
) -> None:
    """Two messages of 5 µs, and two wake-ups of 9 µs on another core, which the scheduler may choose."""
    one = judged_inside("sockets.tcp_rr", value_us, LOOPBACK, [*MACHINE, *PASSED], size=8)
    assert (verdict_of(one), one.values["what"]) == (expected, WOKEN)
    assert number(one, "limit") == pytest.approx(28.0)


@pytest.mark.parametrize(("value_us", "expected"), [(4.0, "good"), (44.0, "good"), (48.0, "doubtful"), (92.0, "bad")])
def test_a_round_trip_over_a_unix_socket_is_judged_by_wake_ups(value_us: float, expected: str) -> None:
    """Two wake-ups of 9 µs through a pipe; where both processes share a core, they take less."""
    one = judged_inside("sockets.unix_rr", value_us, UNIX, size=8)
    assert (verdict_of(one), one.values["what"]) == (expected, PIPE)
    assert number(one, "limit") == pytest.approx(18.0, rel=0.01)
    assert ("slept less deeply than the thread" in sentence(one)) == (value_us == 4.0)
    large = judged_inside("sockets.unix_rr", value_us, UNIX, size=1 << 16)
    assert number(large, "limit") == pytest.approx(18.0 + 4 * 65536 / 10_000, rel=0.01), "two copies on each way"


def test_a_unix_socket_has_no_reference_without_the_time_of_a_wake_up() -> None:
    one = judged_inside("sockets.unix_rr", 10.0, UNIX, UNWOKEN, size=8)
    assert (one.form, one.level, wanted(one)) == ("no reference", "unknown", ["micro.wake_up"])
    assert bounds.of_latency(point("sockets.unix_rr", size=8, meta=UNIX), Stated(link="10gbit")) == ()


@pytest.mark.parametrize(("value", "expected"), [(360.0, "good"), (340.0, "doubtful"), (170.0, "bad")])
def test_a_stream_over_loopback_is_judged_by_messages_of_a_thread_each_of_which_may_wake_the_reader(
    value: float, expected: str
) -> None:
    """64 KiB in 65.5 µs, and 9 µs for a wake-up, are 880 MB/s; of these, 40 % are good, and less than 20 % are bad."""
    one = judged_inside("sockets.tcp_stream", value, LOOPBACK, [*MACHINE, *PASSED], size=1 << 16)
    assert (verdict_of(one), one.values["what"]) == (expected, WOKEN)
    assert number(one, "limit") == pytest.approx(65536 / 74.536)


@pytest.mark.parametrize(("value", "form"), [(1_000.0, "no reference"), (3_000.0, ""), (500.0, "")])
def test_a_stream_has_no_reference_where_wake_ups_that_nobody_measured_may_be_what_is_missing(
    value: float, form: str
) -> None:
    """A message may take up to 60 µs more than the 10 µs of a thread that sends to itself."""
    passed = micro("loopback", "latency_us", 10.0, 10.0, size=1 << 16)
    one = judged_inside("sockets.tcp_stream", value, LOOPBACK, [*UNWOKEN, *passed], size=1 << 16)
    assert one.form == form
    assert wanted(one) == (["micro.wake_up"] if form else [])


def test_a_floor_holds_one_copy_of_the_bytes_and_a_reference_two() -> None:
    one = judged_inside("mpi.latency", 1000.0, SHARED, size=1 << 20)
    floor = bound_inside("mpi.latency", SHARED, size=1 << 20)
    assert floor.value == pytest.approx((0.04 + (1 << 20) / 5_000) / 1e6)
    assert number(one, "limit") == pytest.approx(0.04 + 0.25 + 2 * (1 << 20) / 5_000)
    assert floor.good == pytest.approx(2.5 * floor.reference)
    assert "to copy the bytes" in str(one.values["how"])


def test_a_wake_up_on_two_cores_alone_is_no_floor() -> None:
    machine = [one for one in MACHINE if one.spec.values.get("cores") != "one"]
    assert bound_inside("sockets.tcp_rr", LOOPBACK, machine, size=8).name == "system calls"


def test_costs_of_another_host_bound_nothing() -> None:
    one = judged_inside("mpi.bandwidth", 100.0, SHARED, host={"hostname": "other"})
    assert (one.form, one.level) == ("no reference", "unknown")
    assert "micro.memory_copy" in wanted(one)


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
    said = one.form == "defect"
    if beyond > (1 + TOLERANCE) * 1.001 / (1 - TOLERANCE):
        assert said
    if beyond <= 1:
        assert not said
    assert said == ("is wrong" in _joined(answered.table(Answer("c", (one,)))))


def test_over_loopback_a_copy_bounds_but_judges_nothing() -> None:
    one = judged_inside("sockets.tcp_stream", 1_000.0, LOOPBACK, size=1 << 16)
    assert (one.form, one.level, one.causes) == ("no reference", "unknown", ())
    assert wanted(one) == ["micro.loopback"]
    plain = bound_inside("sockets.tcp_stream", LOOPBACK, size=1 << 16)
    assert plain.value == pytest.approx(65536 / (65536 / 10e9 + 100e-9)), "each send is a system call"
    assert judged_inside("sockets.tcp_stream", 20_000.0, LOOPBACK, size=1 << 16).form == "defect"


@pytest.mark.parametrize(
    ("value", "expected"), [(450.0, "good"), (300.0, "doubtful"), (150.0, "bad"), (20_000.0, "defect")]
)
def test_a_stream_over_loopback_is_judged_by_one_thread(value: float, expected: str) -> None:
    one = judged_inside("sockets.tcp_stream", value, LOOPBACK, [*UNWOKEN, *PASSED], size=1 << 16)
    assert verdict_of(one) == expected
    if expected != "defect":
        assert (one.values["what"], number(one, "limit")) == (THREAD, pytest.approx(1_000.0))


@pytest.mark.parametrize(("transport", "clue"), [("tcp", "transport=tcp was asked for"), ("auto", "the library chose")])
@pytest.mark.parametrize(
    ("benchmark", "value"), [("mpi.bandwidth", 900.0), ("mpi.bandwidth", 1_900.0), ("mpi.latency", 10.0)]
)
def test_ranks_that_share_a_host_are_judged_by_its_memory(
    benchmark: str, value: float, transport: str, clue: str
) -> None:
    size = 8 if benchmark == "mpi.latency" else 1 << 16
    fields: dict[str, Any] = {"size": size, "spec": {"transport": transport}}
    one = judged_inside(benchmark, value, LOOPBACK, **fields)
    assert (one.form, one.level) == ("other path", "bad")
    assert "shared memory" in sentence(one)
    assert {*supported(one)} == {"wrong-path"}
    cause = supported(one)["wrong-path"]
    assert clue in sentence(cause)
    assert "--transport shm" in cause.command
    both = judged_inside(benchmark, value, LOOPBACK, [*MACHINE, *PASSED], **fields)
    assert both.form in ("other path, own bound", "other path, beside")
    assert THREAD in sentence(both)
    assert {*supported(both)} == {"wrong-path"}
    shared = judged_inside(benchmark, value, SHARED, **fields)
    assert number(one, "limit") == number(both, "limit") == number(shared, "limit")


def test_simulated_points_are_not_judged() -> None:
    summary = records.summary(records.table([point()]))
    assert len(answer.of_paths(of_samples([point()]), summary)) == 1
    assert answer.of_paths(of_samples([point()]), summary.assign(origin="simulated")) == ()


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted(EXAMPLES.iterdir()), ids=lambda folder: folder.name)
def test_no_bound_of_the_examples_is_on_the_wrong_side_of_a_measurement(folder: Path) -> None:
    """Of every size and setting, not only of those that are judged."""
    campaign = Campaign.existing(folder)
    points = [one for one in campaign.samples() if bounds.bounded(one.spec.benchmark)]
    known = costs.read(campaign)
    for _, rows in records.summary(records.table(points)).groupby(["benchmark", "message_size_B"]):
        defects = [one for one in answer.of_paths(of_samples(points), rows, None, known) if one.form == "defect"]
        assert not defects, [f"{one.subject}: {sentence(one)}" for one in defects]


def test_a_slot_that_slows_its_adapter_is_no_excuse() -> None:
    """What the slot allows is a bound; the verdict goes by what the adapter could have, as far as its link allows it."""
    nic = {"name": "eth1", "speed_Mbps": 100_000, "mtu": 9000, "pcie_speed": "8.0 GT/s PCIe", "pcie_width": 2}
    best = {"pcie_max_speed": "8.0 GT/s PCIe", "pcie_max_width": 16}
    for more, expected in (({}, 1.0), (best, 6.0)):
        (first, *_) = bounds.of_bandwidth(crossing({"eth1": [10**6, 10**10]}, [{**nic, **more}]))
        assert first.name == "PCIe 3.0 x2"
        assert first.reference / first.value == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize(
    ("low", "value", "high", "level", "words"),
    [
        (95, 96, 97, "good", ""),
        (75, 92, 97, "unknown", "too wide for a verdict"),
        (60, 92, 97, "unknown", "too wide for a verdict"),
        (75, 80, 97, "unknown", "too wide for a verdict"),
        (75, 80, 85, "doubtful", ""),
        (60, 65, 75, "doubtful", "its interval reaches better ones"),
        (60, 65, 69, "bad", ""),
    ],
)
def test_a_verdict_says_what_its_interval_leaves_open(
    low: float, value: float, high: float, level: str, words: str
) -> None:
    """A rate from 90 on is good, and below 70 bad; of a cost the same holds the other way round."""
    rate = Value(value=value, unit="MB/s", low=low, high=high)
    cost = Value(value=160 - value, unit="µs", low=160 - high, high=160 - low)
    for found, said in (leveled(rate, 90, 70, rate=True), leveled(cost, 70, 90, rate=False)):
        assert found == level
        assert said.endswith(words)
        assert bool(said) == bool(words)
