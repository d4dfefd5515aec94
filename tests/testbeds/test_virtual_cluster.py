"""The virtual cluster: its options and lines, and the real thing with messages on its links."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import labkit
from labkit import Spec, benchmarks, figures, testbeds, tools
from labkit.errors import DataError, LaunchError, SpecError
from labkit.judge import all_pairs, answer
from labkit.judge.sentences import sentence
from labkit.point.notes import badge, texts
from labkit.point.spec import Effort, Reported
from labkit.read import columnar, records
from labkit.run import launch, measuring, paths
from labkit.run.launch import Placement
from labkit.store.campaign import Campaign
from labkit.testbeds import _links, virtual_cluster

ROOT = Path(labkit.__file__).parent.parent
TAKE = """
import socket
server = socket.create_server(("", 5001))
for _ in range(int(__import__("sys").argv[1])):
    peer, left = server.accept()[0], True
    while left:
        left = peer.recv(1 << 20)
    peer.sendall(b"+")
"""
GIVE = """
import socket, sys, time
while True:
    try:
        peer = socket.create_connection((sys.argv[1], 5001))
        break
    except ConnectionRefusedError:
        time.sleep(0.01)
began = time.perf_counter()
peer.sendall(bytes(int(sys.argv[2])))
peer.shutdown(socket.SHUT_WR)
peer.recv(1)
print(time.perf_counter() - began)
"""

LISTEN = """
import json, socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 5002))
print("ready", flush=True)
numbers, first = [], 0.0
while not numbers or numbers[-1] >= 0:
    numbers.append(int(server.recv(99)))
    first = first or time.monotonic()
print(json.dumps([first, numbers[:-1]]))
"""
SEND = """
import pathlib, socket, sys, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while " 0x2 " not in pathlib.Path("/proc/net/arp").read_text():  # what Linux kept until ARP answered mixes with what follows
    client.sendto(b"", (sys.argv[1], 5003))
    time.sleep(0.1)
client.connect((sys.argv[1], 5002))
began = time.monotonic()
for number in range(int(sys.argv[2])):
    client.send(b"%d" % number)
    time.sleep(0.0002)
for _ in range(50):
    client.send(b"-1")
print(began)
"""


def transfers(cluster: testbeds.Testbed, pairs: Sequence[tuple[str, str]], size: int) -> list[float]:
    """Seconds that transfers of so many bytes take, all at once."""
    with ExitStack() as stack:
        for _, target in pairs:
            taker = subprocess.Popen(cluster.on(target, [sys.executable, "-I", "-S", "-c", TAKE, "1"]))
            stack.callback(taker.wait, 30)
            stack.callback(taker.terminate)
        givers = [
            subprocess.Popen(
                cluster.on(source, [sys.executable, "-I", "-S", "-c", GIVE, target, str(size)]),
                stdout=subprocess.PIPE,
                text=True,
            )
            for source, target in pairs
        ]
        return [float(giver.communicate(timeout=240)[0]) for giver in givers]


def inside(networks: set[str]) -> list[int]:
    """Processes in some network namespaces."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and virtual_cluster._network(int(entry.name)) in networks:
            pids.append(int(entry.name))
    return pids


def gone(networks: set[str], seconds: float = 240) -> bool:
    """Whether nobody is left in some network namespaces, which ends them."""
    end = time.monotonic() + seconds
    while inside(networks) and time.monotonic() < end:
        time.sleep(0.05)
    return not inside(networks)


def links() -> str:
    """Interfaces of this machine, and what is pinned."""
    words = (["ip", "-o", "link"], ["ip", "netns", "list"])
    return "".join(subprocess.run(one, capture_output=True, text=True, check=True).stdout for one in words)


# options and lines


def test_options_and_what_follows_from_them() -> None:
    text = "virtual-cluster:8,per_leaf=4,rate=200mbit,uplink=267mbit"
    outline = testbeds.outline(text)
    assert outline.hosts == tuple(f"vc{i}" for i in range(8))
    assert texts(outline.badges) == ("emulated link",)
    assert outline.facts["taper"] == pytest.approx(3, rel=0.01)
    assert testbeds.text_of("virtual-cluster", "", {"nodes": "8", "per-leaf": "4"}) == "virtual-cluster:8,per_leaf=4"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (":4,colour=red", "has no 'colour'"),
        (":1", "nodes=1, but it must be 2 to 64"),
        (":many", "nodes='many'"),
        (":4,rate=fast", "'fast' is not a rate. Write it like 200mbit"),
        (":4,rate=1kbit", "1mbit to 100gbit"),
        (":4,per_leaf=4", "below nodes=4"),
        (":4,uplink=100mbit", "a single switch has no uplink"),
        (":4,per_leaf=2,uplink=0mbit", "1mbit to 100gbit"),
        (":4,delay=soon", "like 1ms or 500us"),
        (":4,loss=99", "0 to 50 %"),
        (":4,loss", "key=value"),
        (":4,throttle=vc4:20mbit", "one of its hosts"),
        (":4,throttle=vc1:fast", "is not a rate"),
    ],
)
def test_impossible_options_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint), testbeds.open(f"virtual-cluster{text}"):
        pass


def test_lines_for_a_tree() -> None:
    plan = _links.plan(
        _links.options_of("4", {"per_leaf": "2", "uplink": "133mbit", "rate": "200mbit"}), ordinary=False
    )
    assert [host["name"] for host in plan["hosts"]] == ["vc0", "vc1", "vc2", "vc3"]
    assert "link set vc3 master leaf1 addrgenmode none up" in plan["ip"]
    assert "link add vc3 type veth peer name eth0 netns {3}" in plan["ip"]
    limits = [line for line in plan["tc"] if "rate 133000000bit" in line]
    assert len(limits) == 4  # both ends of both cables to the spine
    assert plan["hosts"][0]["tc"] == _links.shaped("eth0", 200e6)
    assert not any("netem" in line for host in plan["hosts"] for line in host["tc"])


def test_hosts_have_an_address_of_ipv6_where_the_kernel_has_it() -> None:
    options = _links.options_of("2", {})
    address = "addr add fd6c:6162:6b69:77::2/64 dev eth0 nodad"
    assert address in _links.plan(options, ordinary=False, ipv6=True)["hosts"][1]["ip"]
    assert address not in _links.plan(options, ordinary=False)["hosts"][1]["ip"]


def test_lines_for_a_slower_link() -> None:
    options = _links.options_of("4", {"throttle": "vc2:20mbit"})
    plan = _links.plan(options, ordinary=False)
    assert plan["hosts"][2]["tc"] == _links.shaped("eth0", 20e6)
    assert plan["hosts"][1]["tc"] == _links.shaped("eth0", 200e6)
    assert sum("rate 20000000bit" in line for line in plan["tc"]) == 1
    assert options.facts["slow_bps"] == {"vc2": 20e6}
    assert figures.topology(options.facts).data[4].text.endswith("20 Mbit/s")


def test_lines_for_one_switch_with_delay_and_loss() -> None:
    plan = _links.plan(_links.options_of("2", {"delay": "1ms", "loss": "0.1"}), ordinary=True)
    assert not any("spine" in line for line in plan["ip"])
    assert "qdisc add dev eth0 parent 1:1 handle 10: netem delay 1ms loss 0.1% limit 100000" in plan["hosts"][0]["tc"]


def test_lines_for_a_kernel_without_netem() -> None:
    options = _links.options_of("2", {"delay": "1.5ms", "loss": "0.1"})
    plan = _links.plan(options, ordinary=True, relay="/there/delayed_link")
    late = "1500000:0.001000000"
    assert plan["relay"] == [
        "/there/delayed_link",
        f"{{0}}:{{1}}:{late}",
        "{1}:{0}:0:0",
        f"{{2}}:{{3}}:{late}",
        "{3}:{2}:0:0",
    ]
    assert plan["cables"] == [("to-vc0", "vc0"), ("to-vc1", "vc1")]
    assert "link set to-vc1 name eth0 netns {1}" in plan["ip"]
    assert plan["hosts"][0]["tc"] == _links.shaped("eth0", 200e6)
    plain = _links.plan(_links.options_of("2", {}), ordinary=True, relay="/there/delayed_link")
    assert not plain["cables"]
    assert not plain["relay"]


# ranks on its hosts, without any


def placed(name: str, **fields: Any) -> tuple[list[str], dict[str, str]]:
    """Command line and variables of a launcher on a cluster of four."""
    launcher = next((one for kind, one in launch.installed().items() if kind == name), None)
    if launcher is None:
        pytest.skip(f"{name} is not installed")
    spec = Spec(benchmark="mpi.latency", testbed="virtual-cluster:4", **fields)
    placement = Placement.of(spec, launcher, testbeds.outline(spec.testbed))
    return launcher.command(placement, ["rank"]), launcher.environment(placement)


def test_ranks_go_to_its_hosts_in_order_through_its_shell() -> None:
    command, variables = placed("openmpi")
    assert command[command.index("--host") + 1] == "vc0:1,vc1:1"
    assert command[command.index("--bind-to") + 1] == "none"
    assert "mpi_yield_when_idle" in command
    assert variables["OMPI_MCA_plm_rsh_agent"] == variables["PRTE_MCA_plm_ssh_agent"] == virtual_cluster.SHELL
    command, variables = placed("mpich", ranks=8)
    assert command[command.index("-hosts") + 1] == "vc0:2,vc1:2,vc2:2,vc3:2"
    assert "HYDRA_LAUNCHER_EXEC" not in command
    assert (variables["HYDRA_LAUNCHER"], variables["HYDRA_LAUNCHER_EXEC"]) == ("ssh", virtual_cluster.SHELL)


def test_ranks_go_to_the_hosts_that_are_named() -> None:
    command, _ = placed("openmpi", hosts=("vc0", "vc3"))
    assert command[command.index("--host") + 1] == "vc0:1,vc3:1"
    with pytest.raises(SpecError, match="vc9"):
        placed("openmpi", hosts=("vc9",))
    with pytest.raises(SpecError, match="share the cores of one machine"):
        placed("openmpi", bind="core")
    with pytest.raises(SpecError, match="share no memory"):
        placed("openmpi", transport="shm")


def test_hosts_that_share_a_machine_share_its_cores() -> None:
    shell = {"hosts": ("a", "b"), "remote_shell": "sh"}
    assert not Placement(ranks=2, cores=2, **shell).oversubscribed  # type: ignore[arg-type]
    assert Placement(ranks=4, cores=2, **shell).oversubscribed  # type: ignore[arg-type]


@pytest.mark.parametrize(("carried", "wrong"), [(1.0, False), (1.2, False), (0.0, True), (0.5, True), (2.0, True)])
def test_what_links_carried_is_compared_with_the_payload(carried: float, wrong: bool) -> None:
    spec = benchmarks.resolve(Spec(benchmark="mpi.bandwidth", size=65536, testbed="virtual-cluster:2"))
    placement = Placement(ranks=2, cores=2, hosts=("vc0", "vc1"), remote_shell="sh")
    assert benchmarks.moved(spec, 10) == {0: 10 * 64 * 65536}
    sent = round(carried * benchmarks.moved(spec, 10 + paths.PROBES)[0])
    facts = {
        "rank_hosts": ["vc0", "vc1"],
        "host_B": {"vc0": {"eth0": (900, sent), "lo": (9, 9)}, "vc1": {"eth0": (sent, 900)}},
    }
    assert ("path mismatch" in texts(paths.badges(spec, facts, 10, placement))) is wrong
    answer = benchmarks.resolve(spec.replace(benchmark="mpi.latency", options={}))
    assert set(benchmarks.moved(answer, 10)) == {0, 1}


def test_a_tree_is_drawn_with_its_loads() -> None:
    facts = testbeds.outline("virtual-cluster:4,per_leaf=2,rate=200mbit,uplink=133mbit").facts
    figure = figures.topology(facts, {"vc0.eth0.tx_bytes": 12_500_000, "leaf0.up.tx_bytes": 12_500_000}, seconds=1)
    shown = {trace.text for trace in figure.data if trace.mode == "lines" and trace.x[0] is not None}
    assert len(shown) == 12  # both directions of four hosts and two uplinks
    assert "vc0 – leaf0, up: 200 Mbit/s<br>carried 12.5 MB<br>load 50 %" in shown
    assert "leaf0 – spine, up: 133 Mbit/s<br>carried 12.5 MB<br>load 75 %" in shown
    assert "taper 3:1" in figure.layout.xaxis.title.text
    with pytest.raises(DataError, match="missing nodes"):
        figures.topology({})


# the real thing


@pytest.mark.netns
def test_messages_cross_the_links_and_are_no_faster_than_these() -> None:
    size, before = 27_000_000, links()
    with testbeds.open("virtual-cluster:4,per_leaf=2,rate=100mbit") as cluster:
        start = cluster.evidence()
        (took,) = transfers(cluster, [("vc0", "vc2")], size)
        carried = {name: value - start[name] for name, value in cluster.evidence().items()}
        assert took >= 2
        assert size * 8 / took <= 1.05 * 100e6
        for name in ("vc0.eth0.tx", "leaf0.up.tx", "leaf1.up.rx", "vc2.eth0.rx"):
            assert size <= carried[f"{name}_bytes"] <= 1.1 * size, name
        for name in ("vc1.eth0.tx", "vc3.eth0.rx", "vc3.eth0.tx"):
            assert carried[f"{name}_bytes"] < 10_000, name
        assert links() == before  # nothing of it is in this machine's own network


@pytest.mark.slow
@pytest.mark.netns
def test_two_at_once_and_the_tapered_one_is_slower() -> None:
    pairs, wins = [("vc0", "vc2"), ("vc1", "vc3")], []
    base = "virtual-cluster:4,per_leaf=2,rate=200mbit"
    with testbeds.open(base) as even, testbeds.open(f"{base},uplink=133mbit") as tapered:
        assert even.hosts == tapered.hosts
        for _ in range(5):
            fast, slow = (max(transfers(one, pairs, 3_000_000)) for one in (even, tapered))
            wins.append(slow > fast)
    assert wins == [True] * 5


@pytest.mark.netns
@pytest.mark.mpi
@pytest.mark.parametrize("launcher", ["openmpi", pytest.param("mpich", marks=pytest.mark.slow)])
def test_ranks_on_its_hosts_send_over_its_links(launcher: str, tmp_path: Path) -> None:
    if launcher not in launch.installed():
        pytest.skip(f"{launcher} is not installed")
    spec = Spec(
        benchmark="mpi.bandwidth",
        size=65536,
        launcher=launcher,
        hosts=("vc0", "vc2"),
        testbed="virtual-cluster:3,per_leaf=2,rate=200mbit",
    )
    (one,) = measuring.measure(spec, Effort(iterations=3, launches=1), into=tmp_path / "held").samples()
    assert one.meta["rank_hosts"] == ["vc0", "vc2"]
    assert one.meta["verified"]
    badges = one.meta["badges"]
    assert "emulated link" in badges
    assert not {"path mismatch", "shared memory", "loopback"} & set(badges)
    assert one.meta["testbed"]["nodes"] == 3
    payload, carried = 3 * 64 * 65536, one.meta["evidence"]
    assert (
        min(carried[f"{name}_bytes"] for name in ("vc0.eth0.tx", "leaf0.up.tx", "leaf1.up.rx", "vc2.eth0.rx"))
        >= payload
    )
    assert carried["vc1.eth0.tx_bytes"] < 10_000
    assert float(one.seconds.min()) >= 64 * 65536 * 8 / 200e6 / 1.05


@pytest.mark.netns
@pytest.mark.mpi
@pytest.mark.slow
def test_two_ranks_are_spread_over_hosts_with_slots_and_told_where_they_are_not(tmp_path: Path) -> None:
    spec = Spec(benchmark="mpi.latency", size=8, hosts=("vc0:4", "vc1:4"), testbed="virtual-cluster:2")
    effort = Effort(launches=1, iterations=20)
    campaign = measuring.measure([spec, spec.replace(ppn=2)], effort, into=tmp_path)
    by_ppn = {one.spec.ppn: one for one in campaign.samples()}
    assert by_ppn[0].meta["rank_hosts"] == ["vc0", "vc1"]
    assert by_ppn[2].meta["rank_hosts"] == ["vc0", "vc0"]
    warning = "all ranks are on vc0 of 2 hosts, so no message crossed the network; set --ppn 1"
    assert [warning in by_ppn[ppn].meta["warnings"] for ppn in (0, 2)] == [False, True]
    assert "shared memory" in by_ppn[2].meta["badges"]


OWNER = """
import json, time
from labkit.io import supervise; from labkit import testbeds
with testbeds.open("virtual-cluster:3") as cluster, supervise.start(cluster.on("vc1", ["sleep", "600"])):
    print(json.dumps(dict(cluster.handle)), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def owner() -> Iterator[subprocess.Popen[str]]:
    """A process that has a cluster up, and its handle on standard output."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.netns
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGINT, signal.SIGTERM))]
)
def test_it_ends_with_its_owner_however_that_ends(owner: subprocess.Popen[str], number: signal.Signals) -> None:
    before = links()
    assert owner.stdout is not None
    pids = json.loads(owner.stdout.readline())["pids"]
    networks = {virtual_cluster._network(pid) for pid in pids}
    assert len(networks) == 4
    owner.send_signal(number)
    owner.wait(240)
    assert gone(networks)
    assert links() == before


@pytest.mark.netns
def test_one_that_is_kept_up_is_used_and_goes_with_all_that_runs_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    kept = testbeds.bring_up("virtual-cluster:2", lifetime=60)
    try:
        assert testbeds.resolved("virtual-cluster") == "virtual-cluster:2"
        with testbeds.open("virtual-cluster:2") as cluster:
            assert subprocess.run(cluster.wrap(["hostname"]), capture_output=True, text=True).stdout == "vc0\n"
            other = subprocess.run(
                cluster.wrap([cluster.remote_shell, "-x", "vc1", "hostname; echo $0"]), capture_output=True, text=True
            )
            assert other.stdout.splitlines()[0] == "vc1", other.stderr
        assert kept.alive
        networks = {virtual_cluster._network(pid) for pid in kept.handle["pids"]}
        words = cluster.on("vc1", ["sh", "-c", "echo in; exec sleep 60"])
        guest = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert guest.stdout is not None
        assert guest.stdout.readline() == "in\n"
    finally:
        testbeds.take_down(kept)
    with guest:
        assert guest.wait(240)
    assert gone(networks)
    with pytest.raises(LaunchError, match="is stopped"):
        cluster.evidence()


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.mpi
def test_a_throttled_link_is_found_by_name(tmp_path: Path) -> None:
    testbed = "virtual-cluster:4,per_leaf=2,rate=200mbit,throttle=vc2:3mbit"
    # 8 KiB fit into TCP's first window: above it, acknowledgements that are delayed by 40 ms hide the slow link.
    spec = Spec(benchmark="mpi.all_pairs", size=8 * 1024, ranks=4, testbed=testbed)
    effort = Effort(launches=2, iterations=24, warmup=1)
    for trial in range(5):  # of four hosts three pairs are healthy: on a busy machine they may scatter too much
        campaign = measuring.measure([spec], effort, into=Campaign(tmp_path / f"pairs-{trial}"))
        first, again = sorted(campaign.samples("mpi.all_pairs"), key=lambda one: one.launch)
        verdict = all_pairs.bad_pairs(first, again, {"vc0": "leaf0", "vc1": "leaf0", "vc2": "leaf1", "vc3": "leaf1"})
        if len(verdict.table) == 3:
            break
    assert set(verdict.table["cause"]) == {"the card or cable of vc2"}, verdict.table
    assert len(verdict.table) == 3


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.mpi
def test_a_rate_limit_that_nobody_states_is_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link is said to run at 200 Mbit/s, but traffic control limits it to 30: nothing else may be blamed."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    testbed = "virtual-cluster:2,rate=200mbit"
    kept = testbeds.bring_up(testbed, lifetime=600)
    try:
        with testbeds.open(testbed) as cluster:
            for host in cluster.hosts:
                limit = "class change dev eth0 parent 1: classid 1:1 htb rate 30mbit ceil 30mbit burst 3028 cburst 3028"
                subprocess.run(
                    cluster.on(host, [str(shutil.which("tc", path=virtual_cluster._path())), *limit.split()]),
                    check=True,
                )
        sizes = (256 * 1024, 1024 * 1024)
        ranks = Spec(benchmark="mpi.bandwidth", testbed=testbed, options={"window": 4})
        stream = Spec(benchmark="sockets.tcp_stream", testbed=testbed, options={"tool": "iperf3"})
        campaign = Campaign(tmp_path / "limited")
        specs = [one.replace(size=size) for one in (ranks, stream) for size in sizes]
        measuring.measure(specs, Effort(launches=3, iterations=4, warmup=1), into=campaign)
    finally:
        testbeds.take_down(kept)
    launches = columnar.read_campaigns(campaign)
    said = [one for one in answer.of_paths(launches, launches.summary) if one.code == "bandwidth-of-path"]
    assert {one.subject.benchmark for one in said} == {"mpi.bandwidth", "sockets.tcp_stream"}
    for one in said:
        assert one.level == "bad"
        causes = [cause.code for cause in one.causes if cause.supported]
        assert causes[0] == "rate-limit", [sentence(cause) for cause in one.causes]
        assert not {"busy-machine", "small-messages", "virtual-machine", "one-processor"} & set(causes)


def received(cluster: testbeds.Testbed, count: int) -> tuple[list[int], float]:
    """Numbers of the datagrams that arrive, in their order, and s until the first one of them has."""
    command = cluster.on("vc1", [sys.executable, "-I", "-S", "-c", LISTEN])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdin is not None
        assert listener.stdout is not None
        assert listener.stdout.readline() == "ready\n"
        words = cluster.on("vc0", [sys.executable, "-I", "-S", "-c", SEND, "vc1", str(count)])
        sent = float(subprocess.run(words, capture_output=True, text=True, check=True, timeout=240).stdout)
        first, numbers = json.loads(listener.communicate(timeout=240)[0])
    return numbers, first - sent


def without_netem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let labkit's own program delay and lose frames, also where the kernel could."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("this user may not make TAP devices here")
    monkeypatch.setattr(virtual_cluster, "_has", lambda kind: False)


@pytest.mark.netns
def test_packets_are_late_and_lost_as_stated_and_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = ["netem", "delayed_link"] if virtual_cluster._has("netem") else ["delayed_link"]
    for by in ways:
        if by == "delayed_link":
            without_netem(monkeypatch)
        with testbeds.open("virtual-cluster:2,delay=20ms,loss=20") as cluster:
            assert cluster.facts["delayed_by"] == by
            numbers, late = received(cluster, 1000)
        assert late >= 0.02
        assert numbers == sorted(numbers)
        assert 700 <= len(numbers) <= 900, "0.2 of 1000 are lost, give or take eight standard deviations"


@pytest.mark.netns
def test_nothing_is_lost_where_only_a_delay_is_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_netem(monkeypatch)
    with testbeds.open("virtual-cluster:2,delay=20ms") as cluster:
        assert len(received(cluster, 300)[0]) == 300
        took = transfers(cluster, [("vc0", "vc1")], 1)
        assert min(took) >= 0.04  # the byte and the answer
        crossed = cluster.evidence()
    assert crossed["vc0.eth0.tx_bytes"] >= 300 * 8, "the host's end of the cable counts"
    with testbeds.open("virtual-cluster:2") as cluster:
        assert "delayed_by" not in cluster.facts


def test_the_program_that_delays_says_how_it_is_called() -> None:
    program = ROOT / "labkit" / "kernels" / "programs" / "delayed_link"
    for word in ("1000", "3:4:0", "3:4:0:0:1e8:9000:900:none"):
        done = subprocess.run([str(program), word], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "FROM:TO:DELAY_NS:LOSS" in done.stderr


def test_where_neither_the_kernel_nor_labkit_can_delay_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(virtual_cluster, "_has", lambda kind: False)
    monkeypatch.setattr(virtual_cluster.programs, "path", lambda name: tmp_path / name)
    refused = "lacks sch_netem, so delay and loss need TAP devices, but .*modprobe sch_netem"
    with pytest.raises(SpecError, match=refused), testbeds.open("virtual-cluster:2,delay=1ms"):
        pass


@pytest.mark.netns
def test_an_ordinary_user_can_have_one() -> None:
    if os.geteuid():
        pytest.skip("all of these tests already run as an ordinary user")
    folders = [str(ROOT), sysconfig.get_paths()["purelib"]]
    words = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "env",
        "-u",
        "XDG_RUNTIME_DIR",
        "HOME=/",
        "TMPDIR=/tmp",
        "PYTHONDONTWRITEBYTECODE=1",
        f"PYTHONPATH={os.pathsep.join(folders)}",
    ]
    pythons = [
        one
        for one in (sys.executable, "/usr/bin/python3")
        if not subprocess.run([*words, one, "-c", "import labkit.testbeds, pydantic"], capture_output=True).returncode
    ]
    if not pythons:
        pytest.skip("no Python with labkit that other users may run")
    script = """
import subprocess
from labkit import testbeds
with testbeds.open("virtual-cluster:2") as cluster:
    words = "echo $(hostname) $(id -u) && ping -c1 -W5 vc1 >/dev/null; cat /proc/net/dev | grep -c eth0"
    print(subprocess.run(cluster.wrap(["sh", "-c", words]), capture_output=True, text=True).stdout)
    print(cluster.facts["rootless"], *sorted({one.rpartition(".")[2] for one in cluster.evidence()}))
"""
    done = subprocess.run([*words, pythons[0], "-c", script], capture_output=True, text=True, timeout=240, cwd="/")
    if "does not allow it" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    counted = ["reordered_segments", "retransmitted_segments", "rx_bytes", "sent_segments", "tx_bytes"]
    assert done.stdout.split() == ["vc0", "0", "1", "True", *counted], done.stderr


# tools between two of its hosts


def outcome(**fields: Any) -> tools.Outcome:
    usual: dict[str, Any] = {"time_ns": np.empty((0, 0), np.int64), "ranks": (), "reported": (), "extras": {}}
    return tools.Outcome(version="", source="", commands=(), **usual | fields)


@pytest.mark.parametrize(("carried", "wrong"), [(1.0, False), (1.4, False), (0.0, True), (0.9, True), (1.6, True)])
def test_what_links_carried_is_compared_with_what_a_tool_moved(carried: float, wrong: bool) -> None:
    spec = benchmarks.resolve(Spec(benchmark="sockets.tcp_stream", size=65536, testbed="virtual-cluster:2"))
    seen = {"vc0.eth0.tx_bytes": round(carried * 50 * 65536), "vc1.eth0.tx_bytes": 900}
    counted = paths.of_tool(spec, Effort(iterations=50), outcome(), seen, 3.0)
    assert counted == ([badge("path mismatch")] if wrong else [])
    rate = outcome(reported=(Reported("bandwidth_MBps", "MB/s", "mean", 50 * 65536e-6),))
    by_time = paths.of_tool(spec, Effort(time_cap=1), rate, seen, 1.0)
    assert by_time == counted


def test_messages_of_a_warm_up_are_no_mismatch() -> None:
    spec = benchmarks.resolve(Spec(benchmark="sockets.tcp_rr", size=16384, testbed="virtual-cluster:2"))
    result = outcome(time_ns=np.ones((1, 375), np.int64), ranks=(0,), meta={"messages": 670})
    for sent, said in ((670, ()), (0, ("path mismatch",)), (1200, ("path mismatch",))):
        doubts = paths.of_tool(spec, Effort(time_cap=1), result, {"vc0.eth0.tx_bytes": sent * 16384}, 4.0)
        assert texts(doubts) == said


@pytest.mark.netns
@pytest.mark.parametrize(
    ("tool", "name", "iterations", "ip"),
    [
        pytest.param("netperf", "tcp_stream", 60, "ipv6", marks=pytest.mark.slow),
        ("iperf3", "tcp_stream", 60, "ipv6"),
        pytest.param("iperf", "tcp_stream", 60, "ipv4", marks=pytest.mark.slow),
        pytest.param("sockperf", "tcp_rr", None, "ipv4", marks=pytest.mark.slow),
    ],
)
def test_a_tool_sends_from_one_host_to_the_other_and_its_server_is_ended(
    tool: str, name: str, iterations: int | None, ip: str, tmp_path: Path
) -> None:
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    if ip == "ipv6" and not _links.has_ipv6():
        pytest.skip("this kernel gives new networks no IPv6")
    before = {process.pid for process in psutil.process_iter()}
    options = {"tool": tool, "ip": ip}
    spec = Spec(benchmark=f"sockets.{name}", size=65536, testbed="virtual-cluster:2,rate=200mbit", options=options)
    effort = Effort(launches=1, iterations=iterations, time_cap=0.1)
    (one,) = measuring.measure(spec, effort, into=tmp_path / "held").samples()
    # iperf3 leaves what is on its way when the count is reached
    payload = one.meta.get("received_B") or 65536 * (iterations or one.meta["messages"])
    carried = one.meta["evidence"]
    assert one.meta["address"] == _links.address(1, ip)
    assert 0.95 * payload <= carried["vc0.eth0.tx_bytes"] <= 1.5 * payload
    back = carried["vc1.eth0.tx_bytes"]
    assert 0.95 * payload <= back <= 1.5 * payload if name == "tcp_rr" else back < 0.1 * payload
    assert not {"path mismatch", "loopback"} & set(one.meta["badges"])
    server, _ = one.meta["commands"]
    left = [p for p in psutil.process_iter(["cmdline"]) if p.pid not in before and p.info["cmdline"] == server[2:]]
    assert not left, left


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.parametrize(("name", "tool"), [("udp_stream", "iperf"), ("udp_rr", "sockperf")])
def test_datagrams_to_a_group_reach_the_member_on_another_host(name: str, tool: str, tmp_path: Path) -> None:
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    options = {"multicast": True} | ({"offered": 2} if name == "udp_stream" else {})
    spec = Spec(benchmark=f"sockets.{name}", size=1000, testbed="virtual-cluster:3,rate=200mbit", options=options)
    (one,) = measuring.measure(spec, Effort(launches=1, iterations=200), into=tmp_path / "held").samples()
    assert one.meta["engine"] == tool
    assert one.meta["evidence"]["vc0.eth0.tx_bytes"] >= 200 * 1000
    assert one.meta["evidence"]["vc2.eth0.rx_bytes"] >= 0.5 * 200 * 1000
    assert not {"path mismatch", "loopback"} & set(one.meta["badges"])


@pytest.mark.netns
def test_tools_that_stay_on_one_host_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("iperf3"):
        pytest.skip("iperf3 is not installed")
    testbed = "virtual-cluster:2"
    with testbeds.open(testbed) as cluster:
        inside = tuple(cluster.on("vc1", []))
        astray = replace(cluster, place=lambda spec: replace(cluster.place(spec), client=inside))
        monkeypatch.setattr(testbeds, "open", lambda *words: nullcontext(astray))
        spec = Spec(benchmark="sockets.tcp_stream", size=65536, testbed=testbed, options={"tool": "iperf3"})
        campaign = measuring.measure(spec, Effort(launches=1, iterations=60), into=tmp_path / "held")
    (one,) = campaign.samples()
    assert "path mismatch" in one.meta["badges"]
    assert texts(records.table([one])["badges"].iloc[0]).count("path mismatch") == 1


@pytest.mark.netns
@pytest.mark.mpi
@pytest.mark.slow
def test_four_hosts_carry_congestors_halo_and_fft(tmp_path: Path) -> None:
    where: dict[str, Any] = {"ranks": 4, "testbed": "virtual-cluster:4,per_leaf=2,rate=200mbit"}
    specs = [
        Spec(benchmark="congestion.gpcnet_loaded", size=8, options={"share": 50.0, "congestor_size": 4096}, **where),
        Spec(benchmark="apps.halo3d26", size=8, **where),
        Spec(benchmark="apps.fft_subcom3d", size=512, **where),
    ]
    campaign = measuring.measure(specs, Effort(launches=1, iterations=10, warmup=1), into=tmp_path / "held")
    by_name = {one.spec.benchmark: one for one in campaign.samples()}
    assert set(by_name) == {spec.benchmark for spec in specs}
    for one in by_name.values():
        assert one.meta["rank_hosts"] == ["vc0", "vc1", "vc2", "vc3"]
        assert {"emulated link", "oversubscription"} <= set(one.meta["badges"])
    assert by_name["apps.halo3d26"].time_ns.shape == (4, 10)
    assert by_name["apps.fft_subcom3d"].time_ns.shape == (4, 10)
    assert by_name["congestion.gpcnet_loaded"].extras
