"""Causes in the machine and in its links: when they are found, when they are excluded, and when nothing is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks.mpi.all_pairs import partners
from labkit.judge import causes
from labkit.judge.cause import Case
from labkit.judge.finding import Count, Finding, Subject, Value
from labkit.judge.sentences import cause, sentence
from labkit.judge.view import View
from labkit.models import links
from labkit.models.bounds import Stated
from labkit.point.notes import badge, note
from labkit.point.spec import Reported, Spec
from labkit.read import columnar, records
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, noted
from tests import made

MPI = Spec(benchmark="mpi.bandwidth", size=1 << 20, transport="tcp", hosts=("a", "b"))
STREAM = Spec(benchmark="sockets.tcp_stream", size=1 << 20, hosts=("a", "b"))
HOST = {
    "hostname": "a", "virtualisation": "none", "cpu_threads": 8, "cpu_cores": 8, "cpus_usable": 8, "smt": False,
    "governor": "performance", "frequency_max_MHz": 3000.0, "load": {"frequency_MHz": 3000.0}, "container": "none",
    "numa_nodes": 2, "numa_balancing": False, "numa_cpus": {"0": "0-3", "1": "4-7"}, "core_cpus": [*map(str, range(8))],
    "nics": [{"name": "eth0", "speed_Mbps": 10_000, "mtu": 1500, "state": "up", "numa_node": 1}],
}  # fmt: skip
EVEN, WIDE = [500.0] * 6, [400.0, 420.0, 500.0, 500.0, 600.0, 640.0]  # MB/s of launches


def launches(spec: Spec, rates: Sequence[float], host: Mapping[str, Any] = {}, **meta: Any) -> list[Samples]:
    """Launches of a point that reach some bandwidths, MB/s."""
    where = {"rank_hosts": ["a", "b"], **meta}
    return [
        made.samples(
            spec, launch=launch, host={**HOST, **host}, reported=made.values("bandwidth_MBps", p50=rate),
            meta={"fingerprint": repr(spec), "start": f"2026-01-01T00:00:0{launch}Z", **where},
        )
        for launch, rate in enumerate(rates)
    ]  # fmt: skip


def marks(*codes: str) -> dict[str, Any]:
    """Metadata with badges, or warnings, of some codes."""
    return noted([badge(code) for code in codes], [note(code, code) for code in codes])


def judged(
    code: str, *points: list[Samples], rule: str = "bandwidth-of-path", path: str = "interface eth0",
    limit: float = 1000.0, stated: Stated | None = None,
) -> Finding | None:  # fmt: skip
    """What a cause says of the first of some points; the others are verdicts beside it."""
    some = [one for point in points for one in point]
    read = columnar.of_samples(some)
    view = View("c", read.records, records.summary(read.records), read, stated=stated)
    verdicts = [_verdict(view, point[0], rule, path, limit) for point in points]
    case = Case(about=verdicts[0], view=view, samples=points[0][0], others=tuple(verdicts[1:]))
    found = causes.every()[code].test(case)
    if found is not None:
        assert sentence(found)  # each clue has a template, and each of its values is there
    return found


def _verdict(view: View, one: Samples, rule: str, path: str, limit: float) -> Finding:
    name = FINGERPRINT.of(one.meta)
    row = view.summary.set_index("fingerprint").loc[name]
    metric = next(m for m in ("bandwidth_MBps", "round_trip_us", "latency_us") if row.get(f"{m}_p50", np.nan) > 0)
    unit = "MB/s" if metric == "bandwidth_MBps" else "µs"
    value, low, high = (float(row[f"{metric}_{end}"]) for end in ("p50", "low", "high"))
    measured = Value(value=value, unit=unit, low=low, high=high, launches=int(row["launches"]))
    values: dict[str, Value | Count | str] = {
        "measured": measured,
        "limit": Value(value=limit, unit=unit),
        "path": path,
    }
    subject = Subject(benchmark=one.spec.benchmark, points=(name,))
    return Finding(code=rule, kind="verdict", level="bad", subject=subject, values=values)


def supported(found: Finding | None) -> bool:
    """Whether a cause is named."""
    assert found is not None
    return found.supported


def excluded(found: Finding | None) -> bool:
    """Whether the data contradict a cause."""
    return found is not None and bool(found.against)


# ---- disturbances: others that agree deny them -----------------------------------------------------------------------

DISTURBED: tuple[tuple[str, dict[str, Any], dict[str, Any], list[float]], ...] = (
    ("busy-machine", {}, marks("busy-machine"), WIDE),
    ("oversubscription", {}, marks("oversubscription"), WIDE),
    ("oversubscription", {}, marks("no-core-left"), WIDE),
    ("oversubscription", {}, {"rank_hosts": ["a", "a"], "rank_affinity": [[0], [0]]}, WIDE),
    ("unbound-ranks", {}, {"rank_affinity": [[0, 1, 2, 3]] * 2}, WIDE),
    ("frequency", {}, marks("frequency-drift"), WIDE),
    ("frequency", {"governor": "powersave"}, {}, WIDE),
    ("smt", {"smt": True, "cpu_threads": 16}, {"rank_affinity": [[*range(8)]] * 2}, WIDE),
    ("smt", {"smt": True, "core_cpus": ["0,1", "2,3"], "cpu_threads": 16},
     {"rank_hosts": ["a", "a"], "rank_affinity": [[0], [1]]}, WIDE),
    ("virtual-machine", {}, marks("stolen-time"), WIDE),
    ("virtual-machine", {"virtualisation": "kvm"}, {}, WIDE),
)  # fmt: skip
HOLDS_ALWAYS = ("unbound-ranks", "frequency", "smt", "virtual-machine")  # of every point of a campaign


@pytest.mark.parametrize(("code", "host", "meta", "rates"), DISTURBED)
def test_a_disturbance_is_named_where_something_in_the_data_speaks_for_it(
    code: str, host: dict[str, Any], meta: dict[str, Any], rates: list[float]
) -> None:
    assert supported(judged(code, launches(MPI, rates, host, **meta)))
    assert judged(code, launches(MPI, rates)) is None, "nothing is said where the data do not show it"


@pytest.mark.parametrize(("code", "host", "meta", "rates"), DISTURBED)
def test_a_disturbance_is_not_named_where_another_benchmark_has_the_same_value(
    code: str, host: dict[str, Any], meta: dict[str, Any], rates: list[float]
) -> None:
    found = judged(code, launches(MPI, EVEN, host, **meta), launches(STREAM, EVEN, host))
    assert found is None or excluded(found)


@pytest.mark.parametrize("host", [{"virtualisation": "kvm"}, {"governor": "powersave"}, {"smt": True}])
def test_a_condition_that_holds_for_every_point_explains_nothing_by_itself(host: dict[str, Any]) -> None:
    free: dict[str, Any] = {"rank_affinity": [[*range(8)]] * 2}
    for code in HOLDS_ALWAYS:
        assert judged(code, launches(MPI, EVEN, host, **free)) is None


def test_unbound_ranks_are_found_by_a_binding_that_is_faster_and_excluded_by_one_that_is_not() -> None:
    free: dict[str, Any] = {"rank_affinity": [[0, 1, 2, 3]] * 2}
    bound: dict[str, Any] = {"rank_affinity": [[0], [1]]}
    loose, core = MPI.replace(bind="none"), MPI.replace(bind="core")
    found = judged("unbound-ranks", launches(loose, EVEN, **free), launches(core, [900.0] * 6, **bound))
    assert found is not None
    assert found.supported
    bound_value = found.values["without"]
    assert isinstance(bound_value, Value)
    assert bound_value.value == pytest.approx(900)
    assert (found.command, found.measure) == ("", ()), "it is measured already"
    same = judged("unbound-ranks", launches(loose, EVEN, **free), launches(core, EVEN, **bound))
    assert excluded(same)
    assert judged("unbound-ranks", launches(core, WIDE, **bound)) is None


def test_ranks_on_cores_of_their_own_exclude_smt() -> None:
    host = {"smt": True, "core_cpus": ["0,1", "2,3"], "cpu_threads": 16}
    assert excluded(judged("smt", launches(MPI, WIDE, host, rank_hosts=["a", "a"], rank_affinity=[[0], [2]])))


def test_ranks_on_two_numa_nodes() -> None:
    apart, together = [[0], [4]], [[0], [1]]
    near: dict[str, Any] = {"rank_hosts": ["a", "a"]}
    one, two = MPI.replace(bind="core", hosts=("a",)), MPI.replace(bind="socket", hosts=("a",))
    found = judged("numa-distance", launches(one, EVEN, **near, rank_affinity=apart), path="shared memory")
    assert found is not None
    assert found.supported
    assert "node 0, rank 1 on node 1" in sentence(found)
    assert judged("numa-distance", launches(one, EVEN, **near, rank_affinity=together)) is None
    assert judged("numa-distance", launches(one, EVEN, {"numa_cpus": None}, **near, rank_affinity=apart)) is None
    others = launches(two, EVEN, **near, rank_affinity=together)
    assert excluded(judged("numa-distance", launches(one, EVEN, **near, rank_affinity=apart), others))


def test_a_rank_far_from_its_adapter() -> None:
    spec = MPI.replace(device="eth0")
    found = judged("numa-distance", launches(spec, EVEN, rank_affinity=[[0], [0]]))
    assert found is not None
    assert "eth0 on node 1" in sentence(found)
    assert judged("numa-distance", launches(spec, EVEN, rank_affinity=[[5], [0]])) is None


# ---- one processor ---------------------------------------------------------------------------------------------------


def streams(number: int, rate: float) -> list[Samples]:
    """Launches with some streams."""
    return launches(STREAM.replace(options={"streams": number}), [rate] * 6)


def test_one_processor_is_the_limit_where_more_streams_are_faster() -> None:
    assert supported(judged("one-processor", streams(1, 500), streams(4, 1500)))
    assert supported(judged("one-processor", streams(4, 1500), streams(1, 500)))
    assert excluded(judged("one-processor", streams(1, 500), streams(4, 505)))


def test_one_stream_alone_asks_for_more() -> None:
    found = judged("one-processor", launches(STREAM, EVEN))
    assert found is not None
    assert found.supported
    assert found.command.endswith("--factor streams=1,2,4")
    assert excluded(judged("one-processor", launches(STREAM, EVEN), launches(MPI, EVEN)))
    assert judged("one-processor", launches(STREAM, [4.0] * 6)) is None, "a processor is not a limit of a slow link"
    assert judged("one-processor", launches(MPI, EVEN)) is None


@pytest.mark.parametrize(("micros", "holds"), [(1500.0, True), (50.0, False)])
def test_one_processor_is_compared_with_what_a_thread_passes_to_itself(micros: float, holds: bool) -> None:
    micro = [
        made.samples("micro.loopback", launch=launch, host=HOST, reported=made.values("latency_us", p50=micros),
                     meta={"fingerprint": "m"})
        for launch in range(6)
    ]  # fmt: skip
    micro = [one.__class__(**{**vars(one), "spec": one.spec.replace(size=1 << 20)}) for one in micro]
    found = _with_costs("one-processor", launches(STREAM, EVEN), micro)
    assert found.supported is holds
    assert bool(found.against) is not holds


def _with_costs(code: str, point: list[Samples], costs: list[Samples]) -> Finding:
    read = columnar.of_samples([*point, *costs])
    view = View("c", read.records, records.summary(read.records), read)
    about = _verdict(view, point[0], "bandwidth-of-path", "interface eth0", 1000)
    found = causes.every()[code].test(Case(about=about, view=view, samples=point[0]))
    assert found is not None
    assert sentence(found)
    return found


# ---- links and adapters ----------------------------------------------------------------------------------------------

SLOT = {"pcie_speed": "8.0 GT/s PCIe", "pcie_max_speed": "16.0 GT/s PCIe", "pcie_width": 8, "pcie_max_width": 16}


def adapter(**facts: Any) -> dict[str, Any]:
    """A host whose only adapter has some facts."""
    return {"nics": [{"name": "eth0", "speed_Mbps": 100_000, "mtu": 9000, "state": "up", **facts}]}


def test_a_slot_with_fewer_lanes_explains_what_it_carries() -> None:
    spec = MPI.replace(device="eth0")
    found = judged("degraded-slot", launches(spec, [6000.0] * 6, adapter(**SLOT)), limit=12_000)
    assert found is not None
    assert found.supported
    assert "generation 3 and 8 lanes, but it can generation 4 and 16 lanes" in sentence(found)
    predicted = found.values["predicted"]
    assert isinstance(predicted, Value)
    assert predicted.value == pytest.approx(7200, rel=0.01)
    assert excluded(judged("degraded-slot", launches(spec, EVEN, adapter(**SLOT))))
    whole = SLOT | {"pcie_speed": "16.0 GT/s PCIe", "pcie_width": 16}
    assert judged("degraded-slot", launches(spec, EVEN, adapter(**whole))) is None


def test_an_interface_with_a_smaller_mtu_than_stated() -> None:
    spec, small = MPI.replace(device="eth0"), adapter(mtu=576, speed_Mbps=1000)
    found = judged("small-packets", launches(spec, [110.0] * 6, small), limit=118.7, stated=Stated(mtu=1500))
    assert found is not None
    assert found.supported
    assert "the MTU of eth0 is 576 B, not 1500 B as stated" in sentence(found)
    predicted = found.values["predicted"]
    assert isinstance(predicted, Value)
    assert predicted.value == pytest.approx(118.7 * (524 / 614) / (1448 / 1538), rel=0.001)
    slow = judged("small-packets", launches(spec, [40.0] * 6, small), limit=118.7, stated=Stated(mtu=1500))
    assert excluded(slow), "headers do not explain two thirds"
    usual = adapter(mtu=1500, speed_Mbps=1000)
    assert judged("small-packets", launches(spec, [40.0] * 6, usual), stated=Stated(mtu=1500)) is None


def test_small_packets_on_a_fast_link() -> None:
    spec = MPI.replace(device="eth0")
    found = judged("small-packets", launches(spec, EVEN, adapter(mtu=1500)))
    assert found is not None
    assert "9000 B carry 5.2 % more payload" in sentence(found)
    assert found.command.startswith("ip link set dev eth0 mtu 9000")
    assert judged("small-packets", launches(spec, EVEN, adapter())) is None
    verbs = Spec(benchmark="verbs.write_bandwidth", size=1 << 20)
    assert supported(judged("small-packets", launches(verbs, EVEN, active_mtu=1024)))
    assert judged("small-packets", launches(verbs, EVEN, active_mtu=4096)) is None


def test_a_device_that_shows_function_is_the_cause_itself() -> None:
    assert supported(judged("emulated-device", launches(MPI, EVEN, **marks("functional"))))
    assert judged("emulated-device", launches(MPI, EVEN)) is None


def test_bytes_on_another_path_than_asked_for() -> None:
    found = judged("wrong-path", launches(MPI, EVEN, **marks("path-mismatch")))
    assert found is not None
    assert found.supported
    assert found.command == "labkit doctor"
    assert judged("wrong-path", launches(MPI, EVEN)) is None


# ---- the path --------------------------------------------------------------------------------------------------------

EMULATED = MPI.replace(testbed="virtual-cluster:4", hosts=())
FACTS = {"nodes": 4, "per_leaf": 4, "rate_bps": 200e6}


def rank_times(spec: Spec, seconds: Sequence[float], **meta: Any) -> list[Samples]:
    """A launch with times, s."""
    facts = {"fingerprint": repr(spec), "rank_hosts": ["a", "b"], **meta}
    return [made.samples(spec, np.array(seconds) * 1e9, host=HOST, meta=facts)]


def test_lost_packets_are_counted_stated_or_waited_for() -> None:
    counters = {"rxe0.sent_pkts": 1000, "rxe0.completer_retry_err": 7}
    found = judged("packet-loss", launches(MPI, EVEN, evidence=counters))
    assert found is not None
    assert "adapters counted 7 retransmissions after a timeout" in sentence(found)
    assert excluded(judged("packet-loss", launches(MPI, EVEN, evidence=counters | {"rxe0.completer_retry_err": 0})))
    assert judged("packet-loss", launches(MPI, EVEN)) is None
    loss = judged("packet-loss", launches(EMULATED, EVEN, testbed={**FACTS, "loss_percent": 0.1, "delay": "1ms"}))
    assert loss is not None
    predicted = loss.values["predicted"]
    assert isinstance(predicted, Value)
    assert predicted.value == pytest.approx(1448 / 2e-3 * (1.5 / 1e-3) ** 0.5 / 1e6)
    steady = [100e-6] * 200
    waited = judged("packet-loss", rank_times(LATENCY, [*steady, 0.41]), rule="latency-of-path")
    assert waited is not None
    assert "the longest iteration took 205 ms" in sentence(waited)
    assert judged("packet-loss", rank_times(LATENCY, [*steady, 0.01]), rule="latency-of-path") is None


LATENCY = Spec(benchmark="mpi.latency", size=8, transport="tcp", hosts=("a", "b"))
ROUND_TRIP = Spec(benchmark="sockets.tcp_rr", size=8, hosts=("a", "b"))


def delayed(more: Mapping[int, float], spec: Spec = LATENCY, metric: str = "latency_us") -> list[list[Samples]]:
    """Points of sizes that take some µs more than 10 µs and their bytes at 1 Gbit/s."""
    points = []
    for size, excess in more.items():
        own = spec.replace(size=size)
        points.append(
            [
                made.samples(
                    own, launch=launch, host={**HOST, "nics": []}, reported=made.values(metric, p50=10 + excess),
                    meta={"fingerprint": repr(own), "rank_hosts": ["a", "b"]},
                )
                for launch in range(6)
            ]
        )  # fmt: skip
    return points


def test_a_longer_path_takes_the_same_time_more_at_all_sizes() -> None:
    constant = delayed({8: 1000, 64: 1001, 512: 1003, 1024: 1004})
    found = judged("path-delay", *constant, rule="latency-of-path", limit=10)
    assert found is not None
    assert found.supported
    assert "4 sizes take 1,002 µs more for each crossing" in sentence(found)
    growing = delayed({8: 200, 64: 300, 512: 500, 1024: 900})
    assert excluded(judged("path-delay", *growing, rule="latency-of-path", limit=10))
    assert judged("path-delay", *delayed({8: 20, 64: 20, 512: 20}), rule="latency-of-path", limit=10) is None


def test_a_longer_path_delays_both_directions_of_every_benchmark() -> None:
    (one,) = delayed({8: 1000})
    (same,) = delayed({8: 2000}, ROUND_TRIP, "round_trip_us")
    (fast,) = delayed({8: 20}, ROUND_TRIP, "round_trip_us")
    found = judged("path-delay", one, same, rule="latency-of-path", limit=10)
    assert found is not None
    assert found.supported
    predicted = found.values["predicted"]
    assert isinstance(predicted, Value)
    assert predicted.value == pytest.approx(1010, rel=0.01)
    assert excluded(judged("path-delay", one, fast, rule="latency-of-path", limit=10))


def over_delay(more: Mapping[int, float]) -> list[list[Samples]]:
    """Latencies of sizes over a delay of 1 ms, with some µs more; the largest size first."""
    return [
        [replace(one, meta={**one.meta, "testbed": {"rate_bps": 1e9, "delay": "1ms"}}) for one in point]
        for point in reversed(delayed({size: 990 + excess for size, excess in more.items()}))
    ]


def test_messages_that_wait_for_the_receiver_take_a_round_trip_more() -> None:
    over: dict[str, Any] = {"rule": "latency-of-path", "limit": 1010, "path": "the emulated link"}
    found = judged("eager-limit", *over_delay({8: 10, 64: 12, 512: 14, 1024: 2060, 4096: 2100}), **over)
    assert found is not None
    assert found.supported
    assert "from 1 KiB on a message takes 2,0" in sentence(found)
    without = found.values["without"]
    assert isinstance(without, Value)
    assert without.value == pytest.approx(1070, rel=0.05)
    assert judged("eager-limit", *over_delay({8: 10, 64: 12, 512: 14, 1024: 900, 4096: 1000}), **over) is None
    assert judged("eager-limit", *over_delay({8: 2000, 64: 2012, 512: 2014, 1024: 2060, 4096: 2100}), **over) is None


@pytest.mark.parametrize(
    ("late", "warmup", "codes"),
    [
        (16384, 0, {"eager-limit": False, "slow-start": False}),  # behind ten segments: either may be it
        (16384, 100, {"eager-limit": True}),  # the window has grown long before the median message
        (4096, 0, {"eager-limit": True}),  # ten segments hold it
        (65536, 0, {"eager-limit": True}),  # the slow start would take two round trips more
    ],
)
def test_the_slow_start_of_tcp_is_told_from_an_eager_limit_where_the_data_allow_it(
    late: int, warmup: int, codes: dict[str, bool]
) -> None:
    """What is late takes a round trip of 2 ms more; whether a cause is likely, or only possible."""
    sizes = [one for one in (8, 64, 512, 1024, 4096, 16384, 65536) if one < late]
    points = over_delay({**{size: 10 + size * 8e-3 for size in sizes}, late: 2060 + late * 8e-3})
    points[0] = [replace(one, meta={**one.meta, "warmup": warmup}) for one in points[0]]
    over: dict[str, Any] = {"rule": "latency-of-path", "limit": 1010 + late * 8e-3, "path": "the emulated link"}
    found = {code: judged(code, *points, **over) for code in ("eager-limit", "slow-start")}
    assert {code: likely(one) for code, one in found.items() if one is not None} == codes


def test_a_longer_path_is_seen_from_any_size() -> None:
    """The judged size need not be the smallest."""
    points = delayed({1024: 1004, 8: 1000, 64: 1001, 512: 1003})
    assert supported(judged("path-delay", *points, rule="latency-of-path", limit=10))
    growing = delayed({1024: 900, 8: 200, 64: 300, 512: 500})
    assert excluded(judged("path-delay", *growing, rule="latency-of-path", limit=10))


def test_a_slow_link_of_the_testbed_explains_its_own_rate() -> None:
    slow = {**FACTS, "slow_bps": {"vc1": 20e6}}
    meta: dict[str, Any] = {"rank_hosts": ["vc0", "vc1"], "testbed": slow}
    where: dict[str, Any] = {"path": "the emulated link", "limit": 24.0}
    found = judged("slow-part", launches(EMULATED, [2.3] * 6, **meta), **where)
    assert found is not None
    assert found.supported
    assert sentence(found) == "a slow host, link or uplink (the link of vc1 has 10 % of the rate of the others)"
    assert excluded(judged("slow-part", launches(EMULATED, [1.0] * 6, **meta), **where))
    assert excluded(judged("slow-part", launches(EMULATED, [12.0] * 6, **meta), **where))
    assert [(one.spec.benchmark, one.spec.ranks, one.launches) for one in found.measure] == [("mpi.all_pairs", 4, 2)]
    pairs = [
        made.samples(found.measure[0].spec, np.full((4, 60), 9000), launch=launch, meta={"fingerprint": "p"})
        for launch in range(2)
    ]
    decided = judged("slow-part", launches(EMULATED, [2.3] * 6, **meta), pairs, **where)
    assert decided is not None
    assert decided.measure == (), "all pairs were measured"
    elsewhere = launches(EMULATED, [2.3] * 6, rank_hosts=["vc0", "vc2"], testbed=slow)
    assert judged("slow-part", elsewhere, **where) is None
    tree = {**FACTS, "per_leaf": 2, "uplink_bps": 50e6}
    across = launches(EMULATED, [5.5] * 6, rank_hosts=["vc0", "vc2"], testbed=tree)
    assert supported(judged("slow-part", across, **where))
    within = launches(EMULATED, [5.5] * 6, rank_hosts=["vc0", "vc1"], testbed=tree)
    assert judged("slow-part", within, **where) is None


def test_a_host_that_all_pairs_found_slow() -> None:
    pairs = Spec(benchmark="mpi.all_pairs", size=8, ranks=12, hosts=())
    hosts = [f"n{rank:02}" for rank in range(12)]
    generator = np.random.default_rng(1)
    met = partners(12)
    rounds = met[np.arange(len(met) * 40) % len(met)].T  # (ranks, iterations)
    slow = (rounds == 5) | (np.arange(12)[:, None] == 5)
    times = 10_000 * (1 + 0.01 * generator.random(rounds.shape)) * np.where(slow, 2.0, 1.0)
    found = [made.samples(pairs, times, meta={"fingerprint": "p", "rank_hosts": hosts})]

    def of(one: str, other: str) -> Finding | None:
        read = columnar.of_samples([*launches(MPI, EVEN, rank_hosts=[one, other]), *found])
        view = View("c", read.records, records.summary(read.records), read)
        point = launches(MPI, EVEN, rank_hosts=[one, other])
        about = _verdict(view, point[0], "bandwidth-of-path", "interface eth0", 1000)
        said = causes.every()["slow-part"].test(Case(about=about, view=view, samples=point[0]))
        assert said is None or sentence(said)
        return said

    named = of("n03", "n05")
    assert named is not None
    assert named.supported
    assert "the card or cable of n05" in sentence(named)
    assert excluded(of("n03", "n04"))
    assert of("n03", "elsewhere") is None


def test_another_job_makes_launches_differ() -> None:
    assert supported(judged("contention", launches(MPI, WIDE)))
    assert supported(judged("contention", launches(MPI, EVEN, evidence={"mlx5_0.port_xmit_wait": 40})))
    assert judged("contention", launches(MPI, EVEN)) is None
    near: dict[str, Any] = {"rank_hosts": ["a", "a"], **marks("shared-memory")}
    assert judged("contention", launches(MPI, WIDE, **near)) is None, "no link is shared inside a host"
    assert judged("contention", launches(EMULATED, WIDE)) is None, "an emulated link has no other job"


def test_other_hosts_that_moved_bytes_meanwhile_use_the_same_links() -> None:
    four = {f"vc{host}.eth0.tx_bytes": count for host, count in enumerate((9_000_000, 8_000_000, 40_000, 30_000))}
    four |= {"vc2.eth0.rx_bytes": 9_000_000, "vc3.eth0.rx_bytes": 8_000_000, "leaf0.up.tx_bytes": 17_000_000}
    ranks = launches(EMULATED, EVEN, rank_hosts=["vc0", "vc2"], evidence=four)
    found = judged("contention", ranks)
    assert likely(found)
    assert found is not None
    assert "meanwhile vc1, vc3 moved 8 MB over the same network" in sentence(found)
    tool = STREAM.replace(testbed=EMULATED.testbed, hosts=())
    assert likely(judged("contention", launches(tool, EVEN, rank_hosts=[], evidence=four)))
    alone = {name: count for name, count in four.items() if name[:3] in ("vc0", "vc2")}
    assert judged("contention", launches(tool, EVEN, rank_hosts=[], evidence=alone)) is None
    every = ["vc0", "vc1", "vc2", "vc3"]
    assert judged("contention", launches(EMULATED, EVEN, rank_hosts=every, evidence=four)) is None


def test_settings_of_a_host_are_named_where_times_scatter() -> None:
    host = {"numa_balancing": True}
    found = judged("host-settings", launches(MPI, WIDE, host))
    assert found is not None
    assert found.supported
    assert found.command == "sudo sysctl kernel.numa_balancing=0"
    assert judged("host-settings", launches(MPI, EVEN, host)) is None
    assert judged("host-settings", launches(MPI, WIDE)) is None


def test_two_benchmarks_with_one_value_are_at_a_limit_of_the_link_however_their_sizes_run() -> None:
    small, other = launches(MPI.replace(size=1 << 18), [430.0] * 6), launches(STREAM, [501.0] * 6)
    for code, named in (("rate-limit", False), ("small-messages", True)):
        assert supported(judged(code, launches(MPI, EVEN), small)) is named
        assert excluded(judged(code, launches(MPI, EVEN), small)) is not named
        assert supported(judged(code, launches(MPI, EVEN), small, other)) is not named
    flat = launches(MPI.replace(size=1 << 18), EVEN)
    assert supported(judged("rate-limit", launches(MPI, EVEN), flat))
    assert excluded(judged("small-messages", launches(MPI, EVEN), flat))
    assert judged("small-messages", launches(MPI, EVEN)) is None


def likely(found: Finding | None) -> bool:
    """Whether a cause is more than possible."""
    assert found is not None
    return found.likely


def test_even_launches_make_a_limit_of_the_link_possible_and_a_usual_rate_makes_it_likely() -> None:
    tenfold = Stated(link="10gbit")
    assert not likely(judged("rate-limit", launches(MPI, EVEN), stated=tenfold))
    whole = 1e3 * links.ethernet(1500).share / 8  # MB/s of 1 Gbit/s with full packets
    found = judged("rate-limit", launches(MPI, [whole] * 6), stated=tenfold)
    assert likely(found)
    assert found is not None
    assert "1,000 Mbit/s, a usual rate" in sentence(found)
    assert not likely(judged("rate-limit", launches(MPI, [whole * 1.05] * 6), stated=tenfold))


def test_a_value_that_grows_more_than_its_size_was_disturbed_and_overlapping_intervals_do_not_grow() -> None:
    half = MPI.replace(size=MPI.size // 2)
    assert judged("small-messages", launches(MPI, EVEN), launches(half, [200.0] * 6)) is None
    assert supported(judged("small-messages", launches(MPI, EVEN), launches(half, [200.0, 260.0] * 3)))
    assert judged("small-messages", launches(MPI, WIDE), launches(half, [430.0, 410.0] * 3)) is None
    found = judged("small-messages", launches(MPI, EVEN), launches(half, [300.0] * 6))
    assert found is not None
    without = found.values["without"]
    assert isinstance(without, Value)
    assert without.value == pytest.approx(1000.0), "2.5 times the bandwidth, and no more than the limit"


def test_segments_sent_again_and_bytes_that_do_not_arrive_are_lost_packets() -> None:
    again = [Reported("retransmits", "", "total", 30.0)]
    stream = [replace(one, reported=(*one.reported, *again)) for one in launches(STREAM, WIDE, written_B=1_000_000)]
    found = judged("packet-loss", stream)
    assert likely(found)
    assert found is not None
    assert "30 segments sent again, 4.3 % of all" in sentence(found)
    few = [replace(one, meta={**one.meta, "written_B": 100_000_000}) for one in stream]
    assert judged("packet-loss", few) is None, "a queue that overflows now and then is not a fault"
    evidence = {"vc0.eth0.tx_bytes": 1_000_000, "vc1.eth0.rx_bytes": 940_000, "leaf0.up.tx_bytes": 900_000}
    assert likely(judged("packet-loss", launches(EMULATED, WIDE, evidence=evidence)))
    evidence["vc1.eth0.rx_bytes"] = 999_000
    assert judged("packet-loss", launches(EMULATED, WIDE, evidence=evidence)) is None


def test_segments_that_overtake_others_are_no_lost_packets_as_long_as_all_bytes_arrive() -> None:
    counters = {"vc0.eth0.tx_bytes": 1_000_000, "vc1.eth0.rx_bytes": 1_000_000, "vc0.sent_segments": 900,
                "vc0.retransmitted_segments": 40, "vc0.reordered_segments": 12}  # fmt: skip
    some = launches(EMULATED, WIDE, evidence=counters)
    found = judged("reordering", some)
    assert likely(found)
    assert found is not None
    without = found.values["without"]
    assert isinstance(without, Value)
    assert without.value == pytest.approx(records.summary(records.table(some))["bandwidth_MBps_p50"][0] * 900 / 860)
    assert excluded(judged("packet-loss", some))
    lost = launches(EMULATED, WIDE, evidence={**counters, "vc0.reordered_segments": 0})
    assert judged("reordering", lost) is None
    found = judged("packet-loss", lost)
    assert likely(found)
    assert found is not None
    assert "40 segments of TCP again, 4.4 % of all" in sentence(found)
    assert judged("reordering", launches(MPI, WIDE)) is None


def test_a_rank_without_a_processor_is_stopped_unless_others_compete_for_processors() -> None:
    def idle(share: float, waited_s: float, *codes: str) -> list[Samples]:
        loads = {"load_start": (0.0, 0.0), "load_end": (1.0, waited_s)}
        load = {
            name: {"monotonic_s": at, "pressure": {"cpu": {"some_total_us": waited * 1e6}}}
            for name, (at, waited) in loads.items()
        }
        return launches(MPI, WIDE, idlest_rank=1, idlest_share=share, **load, **marks(*codes))

    found = judged("stopped-rank", idle(0.1, 0.05, "shared-memory"))
    assert likely(found)
    assert found is not None
    assert "rank 1 had a processor for 10 % of the time" in sentence(found)
    assert excluded(judged("stopped-rank", idle(0.4, 0.9, "shared-memory")))
    short = [replace(one, meta={**one.meta, "timed_s": 0.2}) for one in idle(0.1, 0.3, "shared-memory")]
    assert excluded(judged("stopped-rank", short)), "for 0.3 s some process waited, and the rank for 0.18 s"
    assert judged("stopped-rank", idle(0.98, 0.05, "shared-memory")) is None
    assert judged("stopped-rank", idle(0.1, 0.05, "shared-memory", "oversubscription")) is None
    assert judged("stopped-rank", idle(0.1, 0.05)) is None, "over TCP a rank may sleep until a message comes"
    assert judged("stopped-rank", launches(MPI, WIDE)) is None


def test_emulated_hosts_share_cores_at_all_points_so_that_this_tells_none_apart() -> None:
    crowded = marks("oversubscription")
    assert likely(judged("oversubscription", launches(MPI, WIDE, **crowded)))
    emulated = [
        replace(one, spec=one.spec.replace(testbed="virtual-cluster:4,rate=200mbit"))
        for one in launches(MPI, WIDE, **crowded)
    ]
    found = judged("oversubscription", emulated)
    assert supported(found)
    assert not likely(found)


def test_a_quota_of_processor_time_explains_waits_before_other_causes_do() -> None:
    waited = {
        f"load_{end}": {"monotonic_s": at, "pressure": {"cpu": {"some_total_us": at * 0.9e6}}}
        for end, at in (("start", 0.0), ("end", 1.0))
    }
    own = {"idlest_rank": 1, "idlest_share": 0.25, **marks("shared-memory", "oversubscription")}

    def limited(share: float) -> list[Samples]:
        return launches(MPI, WIDE, processor_quota=0.5, throttled_share=share, **own, **waited)

    found = judged("processor-quota", limited(0.97))
    assert likely(found)
    assert found is not None
    assert "processes waited in 97 % of the periods" in sentence(found)
    predicted = found.values["predicted"]
    assert isinstance(predicted, Value)
    assert predicted.value == 250.0, "a quarter of 1000 MB/s"
    for other in ("stopped-rank", "busy-machine", "oversubscription"):
        assert judged(other, limited(0.97)) is None, other
    assert supported(judged("oversubscription", limited(0.0)))
    assert excluded(judged("processor-quota", limited(0.0)))
    assert judged("processor-quota", launches(MPI, WIDE)) is None, "nobody looked, or there is none"


def test_a_host_with_which_all_points_are_slower_than_all_others_is_slow() -> None:
    def pairs(slow: str, rate: float, *names: str) -> list[list[Samples]]:
        some = [MPI.replace(hosts=(one, two)) for one in names for two in names if one < two]
        return [
            launches(one, [rate if slow in one.hosts else 900.0], rank_hosts=[*one.hosts])
            for one in sorted(some, key=lambda one: slow not in one.hosts)
        ]

    found = judged("slow-part", *pairs("c", 300.0, "a", "b", "c", "d"))
    assert likely(found)
    assert found is not None
    assert "all 3 points with c are slower than all others, of which the slowest has 900 MB/s" in sentence(found)
    assert judged("slow-part", *pairs("c", 890.0, "a", "b", "c", "d")) is None, "by 1 %"
    assert judged("slow-part", *pairs("c", 300.0, "a", "b", "c")) is None, "one other pair proves nothing"


def test_a_small_segment_tells_the_mtu_of_the_path() -> None:
    small = STREAM.replace(testbed="virtual-cluster:2,rate=200mbit", hosts=("vc0", "vc1"))
    share = links.ethernet(300, frame=links.SHAPED_FRAME).share / links.ethernet(1500, frame=links.SHAPED_FRAME).share
    found = judged("small-packets", launches(small, [24.0 * share] * 6, segment_B=248), limit=24.0)
    assert likely(found)
    assert found is not None
    assert "an MTU of about 300 B, not 1500 B" in sentence(found)
    assert excluded(judged("small-packets", launches(small, [5.0] * 6, segment_B=248), limit=24.0))
    assert judged("small-packets", launches(small, [20.0] * 6, segment_B=1448), limit=24.0) is None
    ranks = MPI.replace(testbed=small.testbed, hosts=())
    counters = {
        "vc0.eth0.tx_bytes": 3140 * 314,
        "vc0.sent_segments": 3140,
        "vc1.eth0.tx_bytes": 900,
        "vc1.sent_segments": 9,
    }
    assert likely(judged("small-packets", launches(ranks, [24.0 * share] * 6, evidence=counters), limit=24.0))
    counters["vc0.sent_segments"] = 680
    assert judged("small-packets", launches(ranks, [20.0] * 6, evidence=counters), limit=24.0) is None


def test_a_small_segment_is_compared_with_the_mtu_that_the_testbed_states() -> None:
    small = STREAM.replace(testbed="virtual-cluster:2,rate=200mbit", hosts=("vc0", "vc1"))
    facts = {"testbed": {"rate_bps": 200e6, "nodes": 2, "mtu": 9000}, "segment_B": 1448}
    found = judged("small-packets", launches(small, [23.9] * 6, **facts), limit=24.8)
    assert likely(found)
    assert found is not None
    assert "an MTU of about 1500 B, not 9000 B" in sentence(found)


def test_processes_that_wait_for_processors_make_a_machine_busy_although_nobody_saw_the_others() -> None:
    def load(waited_s: float) -> dict[str, Any]:
        ends = ((0.0, 0.0), (1.0, waited_s))
        return {
            name: {"monotonic_s": at, "pressure": {"cpu": {"some_total_us": waited * 1e6}}}
            for name, (at, waited) in zip(("load_start", "load_end"), ends, strict=True)
        }

    assert likely(judged("busy-machine", launches(MPI, WIDE, **load(0.95))))
    assert judged("busy-machine", launches(MPI, WIDE, **load(0.3))) is None
    assert judged("busy-machine", launches(MPI.replace(ranks=16), WIDE, **load(0.95))) is None, "ranks wait themselves"
    emulated = launches(MPI, WIDE, testbed={"nodes": 16}, **load(0.95))
    assert judged("busy-machine", emulated) is None, "switches and other hosts wait for the same processors"
    assert judged("busy-machine", launches(MPI, WIDE, load_start={"pressure": None}, load_end={})) is None


@pytest.mark.parametrize(
    ("used", "rates", "holds"),
    [
        ((4.0, 5.0, 4.5, 4.2, 5.2, 4.8), [490.0, 492.0, 491.0, 490.0, 493.0, 491.0], False),  # 3.9 to 2.7 cores left
        ((4.0, 4.1, 4.0, 4.1, 4.0, 4.1), [490.0, 492.0, 491.0, 490.0, 493.0, 491.0], True),
        ((4.0, 5.0, 4.5, 4.2, 5.2, 4.8), WIDE, True),
    ],
)
def test_a_value_that_stays_the_same_while_the_load_changes_does_not_come_from_it(
    used: Sequence[float], rates: Sequence[float], holds: bool
) -> None:
    spec = MPI.replace(ranks=8)
    some = [
        replace(one, meta={**one.meta, **noted([], [note("busy-machine", "busy", processors=processors, cores=8)])})
        for one, processors in zip(launches(spec, rates), used, strict=True)
    ]
    found = judged("busy-machine", some)
    assert supported(found) is holds
    assert found is not None
    assert ("while the load would change them by" in sentence(found)) is not holds


def test_what_a_minority_of_launches_shows_does_not_explain_their_median() -> None:
    some = launches(MPI, WIDE)
    marked = [replace(one, meta={**one.meta, **marks("busy-machine")}) if one.launch < 3 else one for one in some]
    assert judged("busy-machine", marked) is None
    more = [replace(one, meta={**one.meta, **marks("busy-machine")}) if one.launch < 4 else one for one in some]
    assert supported(judged("busy-machine", more))


def test_messages_are_not_too_small_where_a_rank_lacked_a_processor() -> None:
    inside = {"rank_hosts": ["a", "a"], **marks("shared-memory")}
    for share, holds in ((0.14, False), (0.95, True)):
        sizes = [launches(MPI.replace(size=size), [rate] * 6, idlest_rank=0, idlest_share=share, **inside)
                 for size, rate in ((1 << 20, 900.0), (1 << 19, 500.0))]  # fmt: skip
        assert supported(judged("small-messages", *sizes)) is holds


def test_messages_are_not_too_small_where_loss_or_others_explain_what_grows() -> None:
    half, whole = EMULATED.replace(size=EMULATED.size // 2), EMULATED
    counters = {"vc0.sent_segments": 900, "vc0.retransmitted_segments": 40}
    assert likely(judged("small-messages", launches(whole, EVEN), launches(half, [300.0] * 6)))
    assert excluded(judged("small-messages", launches(whole, EVEN, evidence=counters), launches(half, [300.0] * 6)))


def test_a_socket_buffer_that_holds_no_two_messages_limits_what_is_under_way() -> None:
    small = STREAM.replace(options={"socket_buffer": 16384, "tool": "iperf3"})
    found = judged("few-outstanding", launches(small, EVEN))
    assert likely(found)
    assert found is not None
    assert [one.spec.values["socket_buffer"] for one in found.measure] == [0]
    assert judged("few-outstanding", launches(small.replace(size=4096), EVEN)) is None


def test_a_round_trip_that_waits_as_long_as_tcp_delays_acknowledgements_waits_for_that() -> None:
    def trips(value_us: float, spec: Spec) -> list[Samples]:
        name = "round_trip_us" if spec.benchmark.startswith("sockets") else "latency_us"
        return [replace(one, reported=made.values(name, p50=value_us)) for one in launches(spec, EVEN)]

    over = {"rule": "latency-of-path", "limit": 100.0}
    round_trip, half = Spec(benchmark="sockets.tcp_rr", size=8, hosts=("a", "b")), MPI.replace(benchmark="mpi.latency")
    for spec, wait in ((round_trip, 40e3), (round_trip, 200e3), (half, 20e3)):
        assert likely(judged("timer", trips(wait + 100, spec), **over)), (spec, wait)
    for spec, wait in ((round_trip, 20e3), (round_trip, 4e3), (half.replace(transport="rc"), 40e3)):
        assert judged("timer", trips(wait + 100, spec), **over) is None, (spec, wait)


def test_a_tool_that_pauses_between_messages_lets_processors_sleep() -> None:
    over: dict[str, Any] = {"rule": "latency-of-path", "limit": 20.0}

    def trips(every_us: float, *, starts: bool = True, reached: float = 0.0) -> list[Samples]:
        times = np.full((1, 50), 100_000)
        begun = (np.arange(50)[None] * every_us * 1000).astype(np.int64)
        rate = (Reported("transaction_rate_per_s", "1/s", "mean", reached),) if reached else ()
        extras = {"start_ns": begun} if starts else {}
        return [
            replace(one, time_ns=times, ranks=(0,), origin="measured", extras=extras, reported=rate)
            for one in launches(ROUND_TRIP, EVEN)
        ]

    for paused in (trips(20_000), trips(0, starts=False, reached=50)):
        found = judged("cadence", paused, **over)
        assert likely(found)
        assert found is not None
        assert "under way in 0.5 % of the time" in sentence(found)
    for steady in (trips(105), trips(0, starts=False, reached=9500), trips(0, starts=False)):
        assert judged("cadence", steady, **over) is None


def test_a_cause_that_many_healthy_points_show_too_is_only_possible() -> None:
    found = judged("virtual-machine", launches(MPI, WIDE, {"virtualisation": "kvm"}))
    assert supported(found)
    assert not likely(found)
    assert found is not None
    about = Finding(code="bandwidth-of-path", kind="verdict", level="bad", subject=Subject(), causes=(found,))
    assert cause(about) == "unknown; possible: virtual machine"
    assert not about.explained


@pytest.mark.parametrize("code", ["small-packets", "degraded-slot", "numa-distance", "wrong-path"])
def test_interfaces_of_this_machine_say_nothing_of_hosts_in_a_testbed(code: str) -> None:
    """Both may have an eth0, so counters of one could be taken for those of the other."""
    slow = {"name": "eth0", "speed_Mbps": 10_000, "mtu": 1500, "state": "up", "numa_node": 1, **SLOT}
    host = {"nics": [slow, {"name": "eth1", "speed_Mbps": 100_000, "mtu": 9000, "state": "up"}]}
    meta: dict[str, Any] = {"rank_affinity": [[0], [0]], "chunks": [10]}
    meta["host_B"] = {"a": {"eth0": [2_000_000_000, 2_000_000_000]}}
    spec = benchmarks.resolve(MPI)
    here = launches(spec, [6000.0] * 6, host, **meta)
    there = launches(spec.replace(testbed="virtual-cluster:2"), [6000.0] * 6, host, **meta)
    assert supported(judged(code, here, limit=9000))
    assert judged(code, there, limit=9000) is None


def test_the_page_on_explaining_lists_every_cause() -> None:
    page = (Path(__file__).parents[1] / "docs" / "explain.md").read_text()
    assert causes.described() in page, "docs/explain.md: paste what labkit.judge.causes.described() returns"
