"""Queues of a virtual cluster that drop or mark from a length on: their lines, and TCP between real hosts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from labkit import studies, testbeds
from labkit.errors import SpecError
from labkit.testbeds import _links, virtual_cluster
from labkit.worker import counters
from tests.testbeds.test_virtual_cluster import transfers

MARK = {"queue": "mark", "threshold": "30000", "rate": "100mbit"}


def planned(nodes: str, lacks: tuple[str, ...] = (), **options: str) -> Any:
    relay = "/there/delayed_link" if lacks else ""
    return _links.plan(_links.options_of(nodes, {**MARK, **options}), False, relay=relay, lacks=lacks)


def test_the_kernels_queue_follows_its_present_length_and_keeps_what_it_cannot_mark() -> None:
    plan = planned("2")
    queue = "red limit 1048576 min 30000 max 31514 avpkt 1514 burst 20 probability 1 bandwidth 100000000bit ecn nodrop"
    assert f"qdisc add dev vc1 parent 1:1 handle 10: {queue}" in plan["tc"]
    assert "link set eth0 gso_max_segs 1" in plan["hosts"][1]["ip"]
    assert plan["hosts"][1]["settings"] == {"net/ipv4/tcp_ecn": "1"}
    assert not any("red" in line for line in plan["hosts"][1]["tc"]), "a host's own queue is not a switch"
    drops = planned("2", queue="drop", tcp="reno")
    assert not any("ecn" in line for line in drops["tc"])
    assert drops["hosts"][0]["settings"] == {"net/ipv4/tcp_congestion_control": "reno"}


def test_without_sch_red_the_program_holds_the_queues_of_all_ports_of_switches() -> None:
    plan = planned("2", ("red",), per_leaf="1", uplink="50mbit", delay="1ms")
    port, uplink = (f"{rate}:1048576:30000:mark" for rate in (100000000, 50000000))
    assert plan["cables"] == [("to-vc0", "vc0"), ("to-vc1", "vc1"), ("up0", "down0"), ("up1", "down1")]
    assert plan["relay"][:3] == ["/there/delayed_link", "{0}:{1}:0:0", f"{{1}}:{{0}}:0:0:{port}"]
    assert plan["relay"][5:7] == [f"{{4}}:{{5}}:0:0:{uplink}", f"{{5}}:{{4}}:0:0:{uplink}"]
    assert not plan["tc"], "nothing else shapes these ports"
    assert not any("veth" in line for line in plan["ip"])
    assert any("netem delay 1ms" in line for line in plan["hosts"][0]["tc"]), "the kernel delays"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("queue=mark,qos=shares", "qos=shares conflicts with queue=mark"),
        ("queue=mark,threshold=100", "threshold=100, but it must be 1514 B to 1 MiB"),
        ("threshold=30000", "threshold=30000 has no effect with queue=tail"),
        ("tcp=no;such", "must be the name of a congestion control"),
        ("tcp=none_such", "tcp=none_such, but hosts may use .*modprobe tcp_none_such; sysctl"),
    ],
)
def test_impossible_queues_are_refused(options: str, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint), testbeds.open(f"virtual-cluster:2,{options}"):
        pass


def grown_by(queue: str) -> dict[str, int]:
    """Sums over hosts of the counters that grew while a host sent 4 MB to one with a slower link."""
    where = f"virtual-cluster:2,rate=100mbit,throttle=vc1:25mbit,tcp=reno,queue={queue},threshold=30000"
    with testbeds.open(where) as cluster:
        assert cluster.counters is not None
        before = cluster.counters()
        transfers(cluster, [("vc0", "vc1")], 4_000_000)
        more = counters.grown(before, cluster.counters())
        methods = {"red", "delayed_link"} if queue != "tail" else {None}
        assert cluster.facts.get("queued_by") in methods
    sums: dict[str, int] = {}
    for name, by in more.items():
        short = name.partition(":")[2] or name
        sums[short] = sums.get(short, 0) + by
    return sums


@pytest.mark.netns
def test_tcp_gets_marks_in_the_place_of_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    def check() -> None:
        marked, dropped = grown_by("mark"), grown_by("drop")
        assert marked["IpExt.InCEPkts"] > 0
        assert "IpExt.InCEPkts" not in dropped
        assert dropped["Tcp.RetransSegs"] > marked.get("Tcp.RetransSegs", 0)

    check()  # by the queues of the kernel, where it has sch_red
    if virtual_cluster._has("red") and os.access("/dev/net/tun", os.R_OK | os.W_OK):
        monkeypatch.setattr(virtual_cluster, "_has", lambda kind: False)
        check()  # by labkit's program


def test_the_notebook_compares_the_same_interference_with_and_without_marks(tmp_path: Path) -> None:
    made = {"measure": False, "campaign": str(tmp_path / "c"), "victims": "fft", "aggressors": "incast"}
    study = studies.get("interference_and_qos")(qos="off,drop,mark", **made)
    beds = [testbeds.parse(spec.testbed)[2] for spec in study.specs()]
    assert [bed.get("queue") for bed in beds] == [None, "drop", "mark"]
    assert {name: value for name, value in beds[1].items() if beds[2].get(name) != value} == {"queue": "drop"}
    assert beds[1]["tcp"] == "reno"
    for spec in study.specs():
        testbeds.outline(spec.testbed)  # all of them are possible
