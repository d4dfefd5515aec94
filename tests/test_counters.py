"""Counters of loss, pause and congestion: what is read, what is kept, and where it is shown and used."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from labkit import benchmarks, testbeds
from labkit.apps.show import grown
from labkit.errors import LaunchError
from labkit.judge import causes
from labkit.judge.sentences import sentence
from labkit.point.spec import Effort, Spec
from labkit.read import columnar
from labkit.run import counted, measuring, schedule
from labkit.run.point import Point
from labkit.store.pseudonyms import Pseudonyms
from labkit.worker import counters
from tests import made
from tests.test_causes_of_system import EVEN, MPI, judged, launches

SNMP = """Tcp: RtoMin OutSegs RetransSegs InErrs
Tcp: 200 {sent} {again} 0
Udp: InDatagrams RcvbufErrors
Udp: 7 {full}
"""
NETSTAT = """TcpExt: SyncookiesSent TCPTimeouts TCPDelivered
TcpExt: 0 {timeouts} 9
IpExt: InOctets InCEPkts
IpExt: 800 {marked}
"""
DEV = """Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 9 9 9 9 9 9 0 0 9 9 9 9 9 0 0 0
  none0: 800 7 0 {dropped} 0 0 0 0 800 7 0 0 0 0 0 0
"""


def kernel(root: Path, **values: int) -> counters.Host:
    """A host whose kernel shows some counters."""
    usual = dict.fromkeys(("sent", "again", "full", "timeouts", "marked", "dropped"), 0) | values
    (root / "net").mkdir(exist_ok=True)
    for name, text in {"snmp": SNMP, "netstat": NETSTAT, "dev": DEV}.items():
        (root / "net" / name).write_text(text.format(**usual))
    port = root / "class/infiniband/mlx5_0/ports/1"
    for name in ("counters/port_xmit_wait", "counters/port_xmit_data", "hw_counters/np_cnp_sent", "hw_counters/absent"):
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(f"{usual['marked']}\n" if name != "hw_counters/absent" else "N/A\n")
    return counters.Host(root, root)


def test_counters_of_loss_and_marks_are_read_and_those_of_traffic_are_not(tmp_path: Path) -> None:
    assert kernel(tmp_path, again=3, marked=5, dropped=2).read() == {
        "Tcp.OutSegs": 0, "Tcp.RetransSegs": 3, "Tcp.InErrs": 0, "Udp.RcvbufErrors": 0, "TcpExt.TCPTimeouts": 0,
        "IpExt.InCEPkts": 5, "none0.rx_errors": 0, "none0.rx_dropped": 2, "none0.rx_fifo_errors": 0,
        "none0.tx_errors": 0, "none0.tx_dropped": 0, "mlx5_0.1.port_xmit_wait": 5, "mlx5_0.1.np_cnp_sent": 5,
    }  # fmt: skip


def test_only_what_grew_is_kept_and_segments_sent_beside_those_sent_again(tmp_path: Path) -> None:
    before = kernel(tmp_path, sent=100, again=3, marked=5).read()
    after = kernel(tmp_path, sent=300, again=3, marked=9, full=1).read()
    marks = {"IpExt.InCEPkts": 4, "mlx5_0.1.port_xmit_wait": 4, "mlx5_0.1.np_cnp_sent": 4}
    assert counters.grown(before, after) == {"Udp.RcvbufErrors": 1, **marks}
    again = kernel(tmp_path, sent=350, again=5, marked=9, full=1).read()
    assert counters.grown(after, again) == {"Tcp.OutSegs": 50, "Tcp.RetransSegs": 2}
    assert counters.grown(again, before) == {}, "a counter that was set back did not grow"
    assert counters.grown({}, after) == {}, "nobody knows since when it counts"


def test_the_counters_of_drivers_are_those_of_ethtool() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        assert counters.driver_names(one.fileno(), "lo") == []
        assert counters.driver_names(one.fileno(), "no-such-interface") == []
        names = {name: counters.driver_names(one.fileno(), name) for _, name in socket.if_nameindex()}
    assert all(each and each.isprintable() for some in names.values() for each in some)
    assert counters.Host().read().keys() >= {"Tcp.RetransSegs", "TcpExt.TCPTimeouts", "IpExt.InCEPkts"}


def test_without_sockets_the_files_of_the_kernel_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object) -> None:
        raise PermissionError(1, "no sockets here")

    monkeypatch.setattr(counters._socket, "socket", refused)
    assert kernel(tmp_path, again=3).read()["Tcp.RetransSegs"] == 3


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("print('leaf1.ethernet7.pause 12'); print('leaf2.drops: 3')", ""),
        ("print('many')", "printed 'many'. It must print lines"),
        ("raise SystemExit('no route')", "the command failed.*must print lines"),
    ],
)
def test_a_site_gives_a_command_for_the_counters_of_its_switches(
    script: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted.of_site() == {}
    monkeypatch.setenv(schedule.COUNTERS, f"'{sys.executable}' -c \"{script}\"")
    if complaint:
        with pytest.raises(LaunchError, match=complaint):
            counted.of_site()
    else:
        assert counted.of_site() == {"leaf1.ethernet7.pause": 12, "leaf2.drops": 3}
    monkeypatch.setenv(schedule.COUNTERS, "/no/such/command")
    with pytest.raises(LaunchError, match="LABKIT_COUNTERS names a command that does not run"):
        counted.of_site()


def test_with_such_a_command_each_point_has_a_start_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    specs = [benchmarks.resolve(Spec(benchmark="mpi.latency", size=size)) for size in (8, 64)]
    points = [Point(spec, 0, f"{spec.size:032x}", "none") for spec in specs]
    assert len(schedule.starts(points, Effort())) == 1
    monkeypatch.setenv(schedule.COUNTERS, "true")
    assert len(schedule.starts(points, Effort())) == 2


def test_a_run_says_what_a_sites_counters_grew_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = tmp_path / "count"
    count.write_text("4")
    script = f"from pathlib import Path; p = Path('{count}'); n = int(p.read_text()); p.write_text(str(2 * n)); print('leaf.drops', n)"
    monkeypatch.setenv(schedule.COUNTERS, f"'{sys.executable}' -c \"{script}\"")
    campaign = measuring.measure(
        [Spec(benchmark="micro.clock")], Effort(launches=1, iterations=100), into=tmp_path / "c"
    )
    (one,) = campaign.samples()
    assert one.meta["counters"]["leaf.drops"] == 4
    assert "micro.clock: leaf.drops 4" in grown.lines(columnar.read_campaigns(campaign))


@pytest.mark.netns
def test_packets_that_a_full_port_drops_are_counted(tmp_path: Path) -> None:
    if not shutil.which("iperf3"):
        pytest.skip("iperf3 is not installed")
    options = {"offered": 12.0, "tool": "iperf3"}  # MB/s into a link with a quarter of that
    where = "virtual-cluster:2,rate=100mbit,throttle=vc1:25mbit"
    spec = Spec(benchmark="sockets.udp_stream", size=1400, testbed=where, options=options)
    campaign = measuring.measure([spec], Effort(launches=1, time_cap=1.0), into=tmp_path / "c")
    (one,) = campaign.samples()
    dropped = one.meta["counters"]["switch.vc1.dropped_packets"]
    lost = next(value.value for value in one.reported if value.name == "lost_percent")
    assert dropped > 0
    assert lost > 0
    assert f"switch.vc1.dropped_packets {dropped:,}" in grown.lines(columnar.read_campaigns(campaign))


@pytest.mark.netns
def test_queues_of_the_switch_are_read_from_outside_and_this_thread_stays_in_its_network() -> None:
    with testbeds.open("virtual-cluster:2") as cluster:
        assert cluster.counters is not None
        read = cluster.counters()
        assert {"switch.vc0.dropped_packets", "switch.vc1.dropped_packets", "vc0:Tcp.RetransSegs"} <= read.keys()
        if os.geteuid():
            return
        with closing(counters.Queues(cluster.switches)) as there, closing(counters.Queues()) as here:
            assert there.read().keys() == {name for name in read if name.startswith("switch.")}
            assert here.read().keys().isdisjoint(there.read())


@pytest.mark.netns
@pytest.mark.mpi
def test_the_first_rank_of_each_host_reads_its_counters(tmp_path: Path) -> None:
    spec = Spec(benchmark="mpi.bandwidth", size=65536, ranks=2, transport="tcp", testbed="virtual-cluster:2,loss=5")
    (one,) = measuring.measure([spec], Effort(launches=1, iterations=5), into=tmp_path / "c").samples()
    assert {"vc0:Tcp.OutSegs", "vc0:Tcp.RetransSegs"} <= one.meta["counters"].keys()
    assert all(one.meta["counters"].values())


def test_points_are_listed_with_what_grew_most_first() -> None:
    def point(size: int, launch: int, **grown: int) -> object:
        spec = Spec(benchmark="mpi.latency", size=size, transport="tcp")
        more = {"counters": {name.replace("_", "."): by for name, by in grown.items()}} if grown else {}
        return made.samples(spec, [1000] * 20, launch=launch, meta={"fingerprint": f"{size:032x}", **more})

    some = [point(8, 0, a_drop=1), point(8, 1, a_drop=2, a_pause=9), point(64, 0), point(512, 0, b_drop=100)]
    assert grown.lines(columnar.of_samples(some)).splitlines() == [  # type: ignore[arg-type]
        "counters that grew during points, sums over launches:",
        "  mpi.latency 512 B tcp: b.drop 100",
        "  mpi.latency 8 B tcp: a.pause 9, a.drop 3",
    ]
    assert grown.lines(columnar.of_samples([point(64, 0)])) == ""  # type: ignore[list-item]


def test_pause_marks_and_losses_are_evidence() -> None:
    def case(code: str, **grown: int) -> str:
        counts = {f"a:{name.replace('__', '.')}": by for name, by in grown.items()}
        found = judged(code, launches(MPI, EVEN, counters=counts))
        return sentence(found) if found is not None and found.supported else ""

    assert "a:eth0.rx_prio3_pause grew by 40" in case("contention", eth0__rx_prio3_pause=40)
    assert "a:IpExt.InCEPkts grew by 7" in case("contention", IpExt__InCEPkts=7)
    assert "a:mlx5_0.1.packet_seq_err grew by 3" in case("packet-loss", mlx5_0__1__packet_seq_err=3)
    assert case("contention", TcpExt__TCPTimeWaitOverflow=9) == case("packet-loss", TcpExt__TCPSACKDiscard=9) == ""
    many = case("packet-loss", Tcp__OutSegs=1000, Tcp__RetransSegs=20)
    assert "the hosts sent 20 segments of TCP again, 2 % of all" in many
    assert case("packet-loss", Tcp__OutSegs=1000, Tcp__RetransSegs=2) == ""
    assert {"packet-loss", "contention"} <= causes.every().keys()


def test_a_redacted_archive_keeps_the_counters_and_not_the_hosts() -> None:
    hosts = ["gpu-node7.site.example", "gpu-node8"]
    counts = {f"{hosts[0]}:Tcp.RetransSegs": 3, f"{hosts[0]}:Tcp.OutSegs": 90, f"{hosts[1]}:mlx5_0.1.np_cnp_sent": 2}
    names = Pseudonyms()
    names.learn({"rank_hosts": hosts})
    redacted = names.value({"rank_hosts": hosts, "counters": counts})
    first, second = redacted["rank_hosts"]
    expected = {f"{first}:Tcp.RetransSegs": 3, f"{first}:Tcp.OutSegs": 90, f"{second}:mlx5_0.1.np_cnp_sent": 2}
    assert redacted["counters"] == expected
    assert "gpu-node" not in str(redacted)
