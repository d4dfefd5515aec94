"""Descriptions of testbeds, what soft-roce asks of the link, what the pyverbs tool tells its ends: nothing is started."""

import dataclasses
import json
import os
import platform
from pathlib import Path
from typing import Any

import pytest

from labkit import Effort, Spec, benchmarks, testbeds
from labkit.errors import DataError, LaunchError, SpecError
from labkit.kernels.verbs.plan import Plan, turns
from labkit.run import measuring
from labkit.testbeds import _guest, _kept, _rdma, soft_roce, virtual_cluster
from labkit.tools import pyverbs

GIDS = """rxe0|Ethernet|0|fe80:0000:0000:0000:0000:00ff:fe00:0010|RoCE v2
mlx5_0|Ethernet|2|0000:0000:0000:0000:0000:ffff:0a4d:0001|IB/RoCE v1
mlx5_0|Ethernet|3|0000:0000:0000:0000:0000:ffff:0a4d:0001|RoCE v2
mlx4_0|InfiniBand|0|fe80:0000:0000:0000:0002:c903:0030:1234|IB/RoCE v1
noise
"""


def resolved(name: str, **options: object) -> Spec:
    """A spec of a verbs benchmark, checked."""
    size = int(options.pop("size", 8))  # type: ignore[call-overload]
    return benchmarks.resolve(Spec(benchmark=f"verbs.{name}", size=size, ranks=1, options=options))  # type: ignore[arg-type]


def test_a_description_is_read_and_written_alike() -> None:
    for text in ("local", "soft-roce", "soft-roce,cpus=1,delay=2ms"):
        assert testbeds.text_of(*testbeds.parse(text)) == text
    assert testbeds.text_of("soft-roce", "", {"loss": "1", "delay": "2ms"}) == "soft-roce,delay=2ms,loss=1"
    with pytest.raises(SpecError, match="There is no testbed 'soft-rose'"):
        testbeds.open("soft-rose")
    with pytest.raises(SpecError, match="key=value"):
        testbeds.parse("soft-roce,delay")


def test_what_can_be_changed_while_it_is_up_is_no_other_testbed() -> None:
    assert testbeds.base_of("soft-roce,cpus=1,delay=2ms,rate=8mbit") == "soft-roce,cpus=1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cpus": "99"}, "cpus=99, but it must be 1 to 64"),
        ({"delay": "soon"}, "delay='soon', but it must be like 20ms"),
        ({"loss": "80"}, "loss=80, but it must be 0 to 50"),
        ({"rate": "fast"}, "rate='fast', but it must be like 24mbit"),
        ({"ets": "3:1"}, "two shares like 3:1, with a rate"),
        ({"memory": "lots"}, "memory='lots'"),
        ({"mtu": "100"}, "mtu=100"),
        ({"speed": "1"}, "testbed soft-roce has no 'speed'"),
        ({"where": "cloud"}, "where='cloud'"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        soft_roce.options_of(options)


def test_the_link_gets_what_is_asked_for_and_loses_what_was_there() -> None:
    plain = soft_roce.link(soft_roce.options_of({}))
    assert plain.count("tc qdisc del dev") == 2
    assert "add" not in plain
    netem = soft_roce.link(soft_roce.options_of({"delay": "2ms", "loss": "0.5", "rate": "8mbit"}))
    assert "tc qdisc add dev v0 root netem delay 2ms loss 0.5% rate 8mbit" in netem
    assert "dev v1 root netem delay 2ms loss 0.5% rate 8mbit" in netem
    shares = soft_roce.link(soft_roce.options_of({"ets": "3:1", "rate": "24mbit"}))
    assert "quanta 9000 3000" in shares
    assert "match ip tos 0x68 0xfc flowid 10:2" in shares
    assert "match ip tos 0x28 0xfc flowid 10:3" in shares
    with pytest.raises(SpecError, match="ets conflicts with delay"):
        soft_roce.link(soft_roce.options_of({"ets": "3:1", "rate": "24mbit", "delay": "1ms"}))


def test_the_address_of_a_device_is_the_routed_one_never_the_first_by_chance() -> None:
    entries = _rdma.parsed(GIDS)
    assert len(entries) == 4
    device = _rdma.chosen(entries, "mlx5_0")
    assert (device.index, device.ipv4) == (3, "10.77.0.1")
    assert _rdma.chosen(entries).device == "mlx5_0"
    assert _rdma.chosen(entries, "mlx4_0").index == 0
    with pytest.raises(SpecError, match="rxe0 has no RoCE v2 address for IPv4"):
        _rdma.chosen(entries, "rxe0")
    with pytest.raises(SpecError, match="device='mlx5_9', but active are mlx4_0, mlx5_0, rxe0"):
        _rdma.chosen(entries, "mlx5_9")
    with pytest.raises(SpecError, match="no active RDMA device here: active are none"):
        _rdma.chosen([])


def test_counters_are_named_after_device_and_interface() -> None:
    text = "infiniband/rxe0/ports/1/hw_counters/sent_pkts 7\nnet/v1/statistics/tx_bytes 900\n"
    assert soft_roce.counters(text) == {"rxe0.sent_pkts": 7, "v1.tx_bytes": 900}


def test_the_newest_kernel_with_the_modules_is_taken(tmp_path: Path) -> None:
    boot, modules = tmp_path / "boot", tmp_path / "modules"
    boot.mkdir()
    for release, names in {"6.1.0-9-amd64": "rdma_rxe", "6.1.0-56-amd64": "rdma_rxe", "6.12.1-cloud": "other"}.items():
        (modules / release).mkdir(parents=True)
        (modules / release / "modules.dep").write_text(f"kernel/x/{names}.ko.xz:\n")
        (boot / f"vmlinuz-{release}").touch()
    assert _guest.kernel(["rdma_rxe"], boot, modules) == ("6.1.0-56-amd64", boot / "vmlinuz-6.1.0-56-amd64")
    with pytest.raises(LaunchError, match=r"no readable kernel with siw.*Install Debian package linux-image"):
        _guest.kernel(["siw"], boot, modules)


def test_missing_packages_are_named_all_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    programs = {
        "no-such-a": "package-a",
        "no-such-b": "package-b",
        "sh": "dash",
        str(tmp_path): "here",
        "/no/file": "c",
    }
    assert _guest.missing(programs) == ["c", "package-a", "package-b"]
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # none is up
    monkeypatch.setattr(_guest, "missing", lambda programs: ["cpio", "qemu-system-x86"])
    with pytest.raises(LaunchError, match="apt-get install cpio qemu-system-x86"), testbeds.open("soft-roce"):
        pass
    monkeypatch.setattr(platform, "machine", lambda: "mips")
    with pytest.raises(SpecError, match="This machine is a mips"):
        _guest.needs()


def test_a_note_of_a_testbed_that_is_gone_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with _kept.noted("soft-roce,cpus=1", 60, {"folder": "/x"}):
        assert [one.text for one in testbeds.up()] == ["soft-roce,cpus=1"]
        assert testbeds.resolved("soft-roce") == "soft-roce,cpus=1"
        assert testbeds.resolved("soft-roce,cpus=2") == "soft-roce,cpus=2"
    assert testbeds.up() == []
    gone = tmp_path / f"labkit-{os.getuid()}" / "testbed-1.json"
    gone.write_text(json.dumps({"text": "soft-roce", "pid": 2**22, "started": 5, "until": 0, "handle": {}}))
    assert testbeds.up() == []
    assert not gone.exists()


# ---- what the ends of the pyverbs tool are told ----------------------------------------------------------------


def test_the_ends_are_told_everything_that_was_asked_for() -> None:
    spec = resolved("write_bandwidth", size=4096, tx_depth=32, cq_moderation=8, post_list=4, qps=2, immediate=True)
    job = pyverbs.write_bandwidth(spec, Effort(iterations=128, warmup=0))
    plan = Plan.decode(job.client[-1])
    assert plan == Plan(
        program="bandwidth",
        operation="write_with_immediate",
        size=4096,
        iterations=2,
        warmup=0,
        time_cap=2.0,
        tx_depth=32,
        cq_moderation=8,
        post_list=4,
        qps=2,
    )
    assert job.server[-5:-1] == ("server", "{device}", "{gid}", "{port}")
    assert job.client[-6:-1] == ("client", "{device}", "{gid}", "{port}", "{address}")


def test_the_host_overhead_of_verbs_is_a_loop_of_its_own() -> None:
    job = pyverbs.host_overhead(
        resolved("host_overhead", size=64, connection="UD", inline=32, mtu=1024), Effort(iterations=9)
    )
    assert Plan.decode(job.client[-1]) == Plan(
        program="host_overhead", connection="UD", size=64, iterations=9, time_cap=2.0, inline=32, mtu=1024
    )
    with pytest.raises(SpecError, match="size=2048 B, but a UD message holds at most one packet of 1024 B"):
        resolved("host_overhead", size=2048, connection="UD", mtu=1024)


@pytest.mark.parametrize(
    ("name", "options", "program", "told"),
    [
        ("pingping", {"inline": 32}, "pingping", {"inline": 32}),
        (
            "availability",
            {"operation": "read", "compute_us": 2.5, "tx_depth": 8, "cq_moderation": 2},
            "availability",
            {"operation": "read", "compute_ns": 2500, "tx_depth": 8, "cq_moderation": 2, "iterations": 5},
        ),
        (
            "hotspot_receive",
            {"peers": 3, "window": 4, "srq": True},
            "hotspot_receive",
            {"peers": 3, "window": 4, "srq": True},
        ),
        ("hotspot_send", {"completion": "event"}, "hotspot_send", {"peers": 2, "completion": "event"}),
        ("setup", {"rdma_cm": True}, "connect", {"size": 0}),
        (
            "send_bandwidth",
            {"srq": True, "qps": 2},
            "bandwidth",
            {"srq": True, "qps": 2, "tx_depth": 64, "iterations": 1},
        ),
    ],
)
def test_the_loops_are_told_what_a_benchmark_asks(
    name: str, options: dict[str, object], program: str, told: dict[str, Any]
) -> None:
    job = getattr(pyverbs, name)(resolved(name, **options), Effort(iterations=40, warmup=0))
    asked = {"size": 8, "iterations": 40, "warmup": 0, "time_cap": 2.0} | told
    assert Plan.decode(job.client[-1]) == Plan(program=program, **asked)


def test_buffers_are_used_in_turn_or_one_of_them_again() -> None:
    assert turns(Plan(program="latency", buffers_in_turn=3)) == [0, 1, 2]
    drawn = turns(Plan(program="latency", buffers_in_turn=100, reuse=50))
    assert len(drawn) == 400
    assert 150 < drawn.count(0) < 250
    assert max(drawn) > 90
    assert set(turns(Plan(program="latency", buffers_in_turn=9, reuse=100))) == {0}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("send_latency", {"connection": "XRC"}, "connection='XRC' works with perftest only"),
        ("send_latency", {"rdma_cm": True}, "rdma_cm=True works with perftest only"),
        ("write_latency", {"completion": "event"}, "a plain write gives the peer no completion"),
        ("send_bandwidth", {"bidirectional": True}, "bidirectional=True works with perftest only"),
        ("send_bandwidth", {"multicast": True}, "multicast=True works with perftest only"),
    ],
)
def test_what_the_loops_cannot_do_is_left_to_perftest(name: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        getattr(pyverbs, name)(resolved(name, **options), Effort())


@pytest.mark.parametrize("service", ["XRC", "DC", "SRD"])
def test_soft_roce_refuses_a_service_that_it_lacks_before_its_guest_boots(service: str, tmp_path: Path) -> None:
    spec = Spec(benchmark="verbs.send_latency", size=8, testbed="soft-roce", options={"connection": service})
    with pytest.raises(SpecError, match=f"connection={service}, but soft-RoCE has RC, UC and UD only"):
        measuring.measure(spec, Effort(launches=1, iterations=5), into=tmp_path / "campaign")
    assert not (tmp_path / "campaign").exists()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("read_latency", {"connection": "UC"}, "read needs a reliable one"),
        ("write_latency", {"connection": "UD"}, "UD cannot write into remote memory"),
        ("send_latency", {"connection": "UD", "size": 8192}, "a UD message holds at most one packet of 4096 B"),
        ("atomic_latency", {"size": 4}, "an atomic operation works on 8 B"),
        ("send_latency", {"mtu": 1500}, "mtu=1500"),
        ("send_latency", {"tclass": 300}, "tclass=300"),
        ("send_latency", {"size": 0}, "at least 1 B"),
        ("write_bandwidth", {"tx_depth": 10, "cq_moderation": 4}, "each must divide the one before it"),
        ("write_bandwidth", {"buffers_in_turn": 0}, "there are 1 to 65536 buffers"),
        ("send_latency", {"reuse": 101}, "0 to 100 % use the first again"),
        ("send_bandwidth", {"connection": "UC", "srq": True}, "queue pairs of RC and UD share receives"),
        ("pingping", {"connection": "UD", "size": 8192}, "a UD message holds at most one packet of 4096 B"),
        ("availability", {"compute_us": -1}, "compute_us=-1.0, but it must be 0 to 1000000"),
        ("availability", {"tx_depth": 10, "cq_moderation": 4}, "the second must divide the first"),
        ("hotspot_receive", {"peers": 0}, "peers=0, but it must be 1 to 64"),
        ("hotspot_send", {"window": 2000}, "window=2000, but it must be 1 to 1024"),
        ("hotspot_send", {"srq": True}, "receives only answers"),
        ("hotspot_receive", {"peers": 64, "window": 64, "size": 2**20}, "at most 1073741824 B together"),
        ("echo", {"request": "write", "connection": "UD", "size": 64}, "UD cannot write"),
        ("echo", {"clients": 0, "size": 64}, "clients=0"),
        ("echo", {"size": 8}, "at least 16 B"),
        ("sequencer", {"size": 4}, "the counter has 8 B"),
    ],
)
def test_impossible_points_are_refused(name: str, options: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        resolved(name, **options)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "one JSON object"),
        ("Traceback", "one JSON object"),
        ("[]", "an object"),
        ("null", "an object"),
        ('{"time_ns": [1]}', "no extras in the document"),
        ('{"time_ns": "x", "extras": {}}', "wanted a list"),
        ('{"time_ns": [1.5], "extras": {}}', "wanted a list of whole numbers"),
        ('{"time_ns": [1], "extras": {}, "warnings": [], "facts": {}, "reported": [["a"]]}', "a list of name, unit"),
    ],
)
def test_what_is_no_result_is_refused(text: str, wanted: str) -> None:
    with pytest.raises(DataError, match=wanted):
        pyverbs.parsed(text, Path())


def test_a_result_becomes_samples_with_its_facts() -> None:
    result = {
        "time_ns": [5, 6],
        "extras": {"a_ns": [1, 2]},
        "warnings": [{"code": "w", "text": "W 3", "values": {"n": 3}}],
        "facts": {"verified": True},
        "reported": [["transaction_rate_per_s", "1/s", "mean", 9.0]],
    }
    parsed = pyverbs.parsed("noise\n" + json.dumps(result), Path())
    assert parsed.time_ns.tolist() == [5, 6]
    assert parsed.extras["a_ns"].tolist() == [1, 2]
    assert parsed.facts == {"verified": True}
    assert parsed.warnings[0].as_dict() == result["warnings"][0]
    assert parsed.reported[0].value == 9.0


def test_doctor_says_why_no_virtual_cluster_comes_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(lacking: list[str], refusal: str) -> tuple[str, str, str]:
        kind = dataclasses.replace(virtual_cluster.TESTBED, absent=lambda: lacking, refusal=lambda: refusal)
        monkeypatch.setattr(testbeds, "get", lambda name: kind)
        one = next(check for check in testbeds.checks() if check.name == "testbed virtual-cluster")
        return one.state, one.found, one.remedy

    assert found([], "This kernel has no HTB.") == ("warn", "This kernel has no HTB.", "")
    assert found([], "")[:2] == ("ok", "can be brought up")
    assert found(["iproute2"], "") == ("warn", "needs iproute2", "sudo apt-get install iproute2")


def test_a_guest_has_its_processor_time_however_busy_the_machine_is() -> None:
    """Only processor time counts, not waiting for a processor; labkit also gives up on an idle guest."""
    busy = _guest.Boot(60)
    assert not any(busy.over(now, used=now * 0.02, waited=now * 0.9) for now in range(0, 3000, 10))
    assert "60 s of processor time" in busy.over(3001, used=60.02, waited=2700)
    hung = _guest.Boot(60)
    assert not any(hung.over(now, used=min(now, 20), waited=0) for now in (0, 30, 61, 100))
    assert "hardly any processor time" in hung.over(122, used=20, waited=0)


def test_a_guest_that_does_not_answer_is_told_in_few_lines() -> None:
    text = _guest._unanswered("No answer.", "\r\n".join(f"[{n}] line" for n in range(100)) + "\n\n", "")
    assert text.splitlines()[-1] == "  [99] line"
    assert len(text.splitlines()) < 20
    assert "Its console is empty." in _guest._unanswered("No answer.", "", "")


def test_a_bare_name_means_the_testbed_that_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running testbed of six hosts is not replaced by the default of four."""
    running: list[object] = []
    assert testbeds.running("virtual-cluster") == "virtual-cluster"
    for text in ("virtual-cluster:6,rate=50mbit", "soft-roce,cpus=2"):
        running.append(type("Up", (), {"text": text})())
    monkeypatch.setattr(testbeds, "up", lambda: running)
    assert testbeds.running("virtual-cluster") == "virtual-cluster:6,rate=50mbit"
    assert testbeds.running("soft-roce") == "soft-roce,cpus=2"
    assert testbeds.running("virtual-cluster:4") == "virtual-cluster:4", "who says which gets that one"
    assert testbeds.running("local") == "local"
    running.append(type("Up", (), {"text": "virtual-cluster:2"})())
    with pytest.raises(SpecError, match="2 of them are up: virtual-cluster:6,rate=50mbit; virtual-cluster:2"):
        testbeds.running("virtual-cluster")


def test_a_file_without_a_testbed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testbeds, "names", lambda: ["_links"])
    with pytest.raises(SpecError, match=r"testbeds/_links\.py defines no TESTBED\. Define a Kind of labkit\.testbeds"):
        testbeds.get("_links")
