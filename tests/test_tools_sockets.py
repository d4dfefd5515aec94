"""Tools of sockets beside those of test_tools: exact command lines, what they refuse, and real runs over the loopback."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks, tools
from labkit.errors import DataError, LaunchError, SpecError
from labkit.point.notes import texts
from labkit.point.spec import Effort, Spec
from labkit.run import measuring, programs
from labkit.tools import Invocation, fi_pingpong, fio, iperf, iperf3, netperf, netpipe, qperf, sockperf
from tests.test_tools import SHORT, need, reported, resolved, run
from tests.waiting import marked

SLOW = pytest.mark.slow  # as another test runs the same tool or the same benchmark
Make = Callable[[Spec, Effort], Invocation]
SPECS = {
    "tcp_rr": 64,
    "udp_rr": 64,
    "tcp_stream": 65536,
    "udp_stream": 1400,
    "tcp_bidirectional": 65536,
    "under_load": 64,
    "unix_rr": 64,
    "fabric_pingpong": 64,
    "netpipe": 0,
}


def job(make: Make, name: str, effort: Effort = SHORT, **options: object) -> Invocation:
    return make(resolved(f"sockets.{name}", SPECS[name], **options), effort)


# ---- command lines


@pytest.mark.parametrize(
    ("make", "name", "options", "server", "client"),
    [
        (
            netperf.udp_rr,
            "udp_rr",
            {},
            "netserver -4 -L {address} -p {port} -D",
            "-t UDP_RR -l 1 -c -C -j -- -r 64,64 -k ",
        ),
        (netperf.udp_stream, "udp_stream", {"socket_buffer": 8192}, "", "-R 1 -m 1400 -s 8192 -S 8192 -k "),
        (netperf.tcp_rr, "tcp_rr", {"congestion": "reno"}, "", "-r 64,64 -D -K reno,reno -k "),
        (iperf3.tcp_stream, "tcp_stream", {"streams": 4, "congestion": "cubic"}, "", "-l 65536 -P 4 -C cubic -J"),
        (iperf3.tcp_bidirectional, "tcp_bidirectional", {"nodelay": True}, "", "-l 65536 -N --bidir -J"),
        (iperf3.udp_stream, "udp_stream", {}, "iperf3 -s -1 -B {address} -p {port}", "-l 1400 -u -b 0 -J"),
        (iperf3.udp_stream, "udp_stream", {"offered": 10, "streams": 4}, "", "-P 4 -u -b 20000000 -J"),
        (
            iperf.tcp_rr,
            "tcp_rr",
            {},
            "iperf -s -B {address} -p {port}",
            "iperf -c {address} -p {port} -t 1 -l 64 --bounceback --bounceback-period=0 --bounceback-no-quickack -e -f k",
        ),
        (
            iperf.tcp_stream,
            "tcp_stream",
            {"ip": "ipv6", "streams": 2, "nodelay": True, "congestion": "reno"},
            "iperf -s -V -B {address} -p {port}",
            "iperf -c {address} -p {port} -V -t 1 -l 65536 -N -P 2 -Z reno -e -f k",
        ),
        (iperf.tcp_bidirectional, "tcp_bidirectional", {"socket_buffer": 8192}, "", "-w 8192 --full-duplex -e -f k"),
        (
            iperf.udp_stream,
            "udp_stream",
            {"offered": 0.5},
            "iperf -s -u -B {address} -p {port}",
            "-u -b 4000000 -e -f k",
        ),
        (
            iperf.udp_stream,
            "udp_stream",
            {"offered": 0.5, "multicast": True},
            f"sh -c {iperf._RECEIVER} sh 239.255.77.1 {{own_address}} {{port}}",
            "iperf -c 239.255.77.1 -B {own_address} -p {port} -t 1 -l 1400 -u -b 4000000 -e -f k",
        ),
        (
            qperf.udp_rr,
            "udp_rr",
            {"socket_buffer": 8192},
            "qperf -lp {port}",
            "-t 1 -m 64 -sb 8192 -uu -vvc -vvs udp_lat",
        ),
        (qperf.tcp_stream, "tcp_stream", {}, "", "-m 65536 -uu -vvc -vvs tcp_bw"),
        (qperf.udp_stream, "udp_stream", {}, "", "-m 1400 -uu -vvc -vvs udp_bw"),
        (
            sockperf.udp_rr,
            "udp_rr",
            {},
            "sockperf server -i {address} -p {port} -m 64",
            "sockperf ping-pong -i {address} -p {port} -m 64 -t 1 --full-log packets.csv",
        ),
        (
            sockperf.udp_rr,
            "udp_rr",
            {"multicast": True},
            "sockperf server -i 239.255.77.1 -p {port} --mc-rx-if {own_address} --mc-tx-if {own_address} -m 64",
            "ping-pong -i 239.255.77.1 -p {port} --mc-rx-if {own_address} --mc-tx-if {own_address} -m 64 -t 1 ",
        ),
        (
            sockperf.under_load,
            "under_load",
            {"message_rate": 500, "nodelay": False},
            "sockperf server --tcp -i {address} -p {port} -m 64 --tcp-avoid-nodelay",
            "sockperf under-load --tcp -i {address} -p {port} -m 64 --tcp-avoid-nodelay --mps 500 --reply-every 1 -t 1 ",
        ),
        (
            netpipe.tcp_rr,
            "tcp_rr",
            {},
            "NPtcp -P {port} -l 64 -u 64 -p 0 -o server.out",
            "NPtcp -h {address} -P {port} -l 64 -u 64 -p 0 -o np.out",
        ),
        (
            netpipe.ladder,
            "netpipe",
            {"max_size": "1Ki", "direction": "both", "repeats": 9, "socket_buffer": 8192},
            "",
            "-l 1 -u 1024 -p 3 -2 -b 8192 -n 9 -o np.out",
        ),
        (
            fi_pingpong.pingpong,
            "fabric_pingpong",
            {},
            "fi_pingpong -p tcp -e msg -I 1000 -S 64 -B {port}",
            "fi_pingpong -p tcp -e msg -I 1000 -S 64 -P {port} {address}",
        ),
        (
            fi_pingpong.pingpong,
            "fabric_pingpong",
            {"provider": "tcp;ofi_rxm", "ip": "ipv6"},
            "",
            "-e rdm -I 1000 -S 64 -6",
        ),
        (fio.unix_rr, "unix_rr", {}, "", "--name=listener --rw=read --runtime=600ms --name=labkit --rw=write"),
    ],
)
def test_command_lines(make: Make, name: str, options: dict[str, object], server: str, client: str) -> None:
    made = job(make, name, **options)
    assert client in " ".join(made.client)
    assert not server or " ".join(made.server) == server
    assert made.listens == ("udp" if (made.tool.name, name) in UDP else "tcp")


UDP = {("iperf", "udp_stream"), ("sockperf", "udp_rr")}  # the others are told over TCP what to do


@pytest.mark.parametrize(
    ("make", "name", "options", "effort", "message"),
    [
        (
            netperf.udp_stream,
            "udp_stream",
            {"offered": 5},
            SHORT,
            r"offered=5.0, but netperf cannot.*use iperf3 or iperf",
        ),
        (netperf.tcp_stream, "tcp_stream", {"streams": 2}, SHORT, "Set streams=1, or use iperf3 or iperf"),
        (netperf.udp_stream, "udp_stream", {}, Effort(iterations=9), "netperf runs for a time, not for a count"),
        (
            sockperf.tcp_rr,
            "tcp_rr",
            {"congestion": "reno"},
            SHORT,
            "congestion=reno, but sockperf cannot.*Set congestion=''",
        ),
        (sockperf.udp_rr, "udp_rr", {"ip": "ipv6"}, SHORT, "Set ip=ipv4"),
        (qperf.udp_stream, "udp_stream", {"streams": 2}, SHORT, "streams=2, but qperf"),
        (iperf.tcp_rr, "tcp_rr", {"nodelay": False}, SHORT, "nodelay=False, but iperf cannot set it. Set nodelay=True"),
        (iperf.tcp_rr, "tcp_rr", {}, Effort(iterations=9), "iperf runs for a time, not for a count"),
        (iperf.udp_stream, "udp_stream", {"streams": 2}, SHORT, "or use iperf3"),
        (iperf.udp_stream, "udp_stream", {"multicast": True, "ip": "ipv6"}, SHORT, "over IPv4 only. Set ip=ipv4"),
        (iperf3.udp_stream, "udp_stream", {"multicast": True}, SHORT, "or use iperf"),
        (netperf.udp_stream, "udp_stream", {"multicast": True}, SHORT, "or use iperf"),
        (qperf.udp_stream, "udp_stream", {"multicast": True}, SHORT, "or use iperf"),
        (netperf.udp_rr, "udp_rr", {"multicast": True}, SHORT, "or use sockperf"),
        (qperf.udp_rr, "udp_rr", {"multicast": True}, SHORT, "or use sockperf"),
        (iperf.tcp_stream, "tcp_stream", {"streams": 2}, Effort(iterations=9), "on one stream only"),
        (netpipe.tcp_rr, "tcp_rr", {"ip": "ipv6"}, SHORT, "ip=ipv6, but netpipe"),
        (netpipe.ladder, "netpipe", {"min_size": 64, "max_size": 8}, SHORT, "0 < min_size <= max_size"),
    ],
)
def test_what_a_tool_cannot_do_is_refused(
    make: Make, name: str, options: dict[str, object], effort: Effort, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        job(make, name, effort, **options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tcp_stream", {"streams": 0}, "Set streams=1"),
        ("udp_stream", {"offered": -1}, "offered=-1"),
        ("under_load", {"message_rate": 0}, "message_rate=0"),
        ("fabric_pingpong", {"provider": ""}, "provider is empty"),
        ("under_load", {"ip": "ipv6"}, "ip="),
    ],
)
def test_what_no_tool_can_do_is_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        resolved(f"sockets.{name}", SPECS[name], **options)


def test_a_unix_socket_does_not_reach_other_hosts() -> None:
    spec = resolved("sockets.unix_rr", 64)
    for changed in (spec.replace(testbed="soft-roce"), spec.replace(hosts=("node1", "node2"))):
        with pytest.raises(SpecError, match=re.escape("Set testbed=local, and leave hosts out")):
            fio.unix_rr(changed, SHORT)


@pytest.mark.parametrize("name", ["tcp_rr", "tcp_stream", "udp_rr", "netpipe", "fabric_pingpong"])
def test_hosts_are_those_of_a_testbed(name: str) -> None:
    spec = resolved(f"sockets.{name}", SPECS.get(name, 64)).replace(hosts=("vc0", "vc1"))
    for make in benchmarks.get(spec.benchmark).tools:
        try:
            usual = make(spec.replace(hosts=()), SHORT)
        except SpecError:  # a tool that cannot do it anywhere
            continue
        assert make(spec.replace(testbed="virtual-cluster:2"), SHORT).client == usual.client
    with pytest.raises(SpecError, match=r"--hosts vc0,vc1, but .* Leave --hosts out, name two hosts of --testbed"):
        programs.launched(spec, SHORT)


@pytest.mark.parametrize(
    ("hosts", "said"), [(("vc0", "vc9"), "no host 'vc9'"), (("vc0", "vc1", "vc2"), "--hosts vc0,vc1,vc2, .* Name two")]
)
def test_hosts_that_a_cluster_has_not_are_refused_before_it_is_up(hosts: tuple[str, ...], said: str) -> None:
    spec = Spec(benchmark="sockets.tcp_rr", size=1, testbed="virtual-cluster:3", hosts=hosts)
    with pytest.raises(SpecError, match=said):
        measuring.expand([spec], SHORT)


# ---- real runs over the loopback


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        pytest.param(netperf, "udp_rr", marks=SLOW),
        pytest.param(sockperf, "udp_rr", marks=SLOW),
        pytest.param(qperf, "udp_rr", marks=SLOW),
        (iperf, "tcp_rr"),
        pytest.param(netpipe, "tcp_rr", marks=SLOW),
        pytest.param(fi_pingpong, "fabric_pingpong", marks=SLOW),
        (fio, "unix_rr"),
    ],
)
def test_round_trips(tool: object, name: str, mark: str) -> None:
    need(tool)
    options = {} if name in ("fabric_pingpong", "unix_rr") else {"tool": tool.TOOL.name}  # type: ignore[attr-defined]
    outcome = run(f"sockets.{name}", 64, **options)
    statistic = "value" if tool is netpipe else "mean"
    trips = reported(outcome, "round_trip_us", statistic) * reported(outcome, "transaction_rate_per_s", statistic)
    assert trips == pytest.approx(1e6, rel=0.3)
    assert (outcome.origin == "measured") == (tool in (sockperf, fio))
    assert ("loopback" in texts(outcome.badges)) == (tool is not fio)
    assert marked(mark) == []


@pytest.mark.parametrize(
    ("tool", "name", "options"),
    [
        pytest.param(netperf, "udp_stream", {}, marks=SLOW),
        pytest.param(iperf, "udp_stream", {"offered": 2}, marks=SLOW),
        (iperf, "udp_stream", {"offered": 2, "multicast": True}),
        pytest.param(qperf, "udp_stream", {}, marks=SLOW),
        (iperf3, "udp_stream", {"offered": 2, "streams": 2}),
        pytest.param(iperf, "tcp_stream", {"streams": 2}, marks=SLOW),
        (iperf3, "tcp_bidirectional", {}),
        pytest.param(iperf, "tcp_bidirectional", {}, marks=SLOW),
    ],
)
def test_streams(tool: object, name: str, options: dict[str, object], mark: str) -> None:
    need(tool)
    outcome = run(f"sockets.{name}", SPECS[name], tool=tool.TOOL.name, **options)  # type: ignore[attr-defined]
    arrived = reported(outcome, "bandwidth_MBps")
    assert arrived > 0
    if name == "udp_stream":
        assert arrived <= reported(outcome, "sent_MBps") * 1.05
        assert 0 <= reported(outcome, "lost_percent") <= 100
        assert not options or reported(outcome, "sent_MBps") <= 2.2, "never above what is offered"
    assert outcome.meta["definition"]
    assert marked(mark) == []


@pytest.mark.slow
def test_round_trips_through_a_multicast_group_keep_every_time() -> None:
    need(sockperf)
    outcome = run("sockets.udp_rr", 64, Effort(iterations=100, time_limit=60), multicast=True)
    assert outcome.time_ns.shape == (1, 100)
    assert (outcome.time_ns > 0).all()
    assert "239.255.77.1" in outcome.command
    assert "sockperf stands in for netperf" not in texts(outcome.badges)


def test_datagrams_to_a_group_that_reach_nobody_are_named() -> None:
    made = job(iperf.udp_stream, "udp_stream", multicast=True)
    alone = "[  1] local 127.0.0.1 port 5 connected with 239.255.77.1 port 6\n[  1] Sent 897 datagrams\n"
    with pytest.raises(DataError, match=r"none of the datagrams to the multicast group 239\.255\.77\.1 arrived"):
        made.parse(f"{alone}Server listening on UDP port 6 with pid 1\n", Path())


@pytest.mark.slow
def test_under_load_keeps_every_message_and_its_lateness(mark: str) -> None:
    need(sockperf)
    outcome = run(
        "sockets.under_load", 64, Effort(time_cap=0.2, iterations=100, warmup=10, time_limit=20), message_rate=1000
    )
    assert outcome.time_ns.shape == outcome.extras["late_ns"].shape == (1, 100)
    assert reported(outcome, "message_rate_per_s") <= 1100
    assert reported(outcome, "late_us", "max") * 1e3 >= outcome.extras["late_ns"].max() - 1
    assert "transaction_rate_per_s" not in {v.name for v in outcome.reported}
    assert marked(mark) == []


def test_a_sender_that_cannot_keep_up_says_so() -> None:
    start = np.arange(100, dtype=np.int64) * 2_000_000  # half the rate
    parsed = sockperf._paced(tools.Parsed(time_ns=start + 1, extras={"start_ns": start}), 1000)
    assert texts(parsed.warnings) == ("the sender reached 500 of 1000 messages per second.",)
    assert parsed.extras["late_ns"].tolist() == (np.arange(100) * 1_000_000).tolist()


def test_the_ladder_has_every_size(mark: str) -> None:
    need(netpipe)
    outcome = run("sockets.netpipe", 0, max_size=64, perturbation=0, repeats=5)
    sizes = {v.labels["block_size_B"] for v in outcome.reported}
    assert {1, 2, 64} <= sizes
    assert {v.statistic for v in outcome.reported} == {"value"}
    assert texts(outcome.warnings) == (
        "NPtcp listens on all addresses of the machine while it runs.",
        "the best of NetPIPE's trials, not their mean",
    )
    assert marked(mark) == []


def test_a_congestion_control_that_is_not_there_is_an_error() -> None:
    need(iperf3)
    with pytest.raises(LaunchError, match="unable to set TCP_CONGESTION"):
        run("sockets.tcp_stream", 65536, tool="iperf3", congestion="nosuch")


def test_every_tool_says_what_it_is() -> None:
    for module in (iperf, netpipe, fi_pingpong):
        assert module.__name__.rpartition(".")[2] == module.TOOL.name
        assert module.TOOL.package
        assert all(module.TOOL.programs)


def test_auto_takes_the_tool_that_can(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("bin")
    for program in ("netperf", "netserver", "iperf3"):
        (path / program).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(path))
    jobs = benchmarks.get("sockets.udp_stream").tools
    assert tools.available(jobs, resolved("sockets.udp_stream", 1400), SHORT).tool.name == "netperf"
    assert tools.available(jobs, resolved("sockets.udp_stream", 1400, offered=5), SHORT).tool.name == "iperf3"
