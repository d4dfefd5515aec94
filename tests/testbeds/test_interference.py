"""Classes of traffic on links, incast and two jobs on a virtual cluster, and what is left when a run is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from labkit import Spec, benchmarks, testbeds
from labkit.errors import SpecError
from labkit.point.spec import Effort, Reported
from labkit.run import interference, measuring
from labkit.store.campaign import Campaign
from labkit.studies import incast, interference_and_qos
from labkit.testbeds import _links, virtual_cluster
from labkit.tools import Parsed, _incast
from tests.notebooks.test_examples import TWO_CORES
from tests.notebooks.test_measured import Shown
from tests.testbeds.test_virtual_cluster import gone, links

from .. import made

TREE = "virtual-cluster:4,per_leaf=2,rate=200mbit,uplink=200mbit"  # 2:1
SHORT = {"iterations": 40, "lead": 0.2}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (":4,qos=fast", "qos='fast'"),
        (":4,shares=3:1", "have no effect with qos=off"),
        (":4,qos=shares,shares=3", "two shares like 1:1"),
        (":4,qos=priority,bulk=vc9", "there is no host vc9. Join names with"),
        (":4,qos=shares,delay=1ms", "conflicts with delay and loss"),
    ],
)
def test_impossible_classes_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        testbeds.outline(f"virtual-cluster{text}")


def test_lines_for_classes() -> None:
    shares = _links.options_of("4", {"qos": "shares", "shares": "3:1", "bulk": "vc1+vc3", "rate": "200mbit"})
    lines = _links.shaped("eth0", 200e6, options=shares)
    assert any("classid 1:10 htb rate 150000000bit ceil 200000000bit" in line and "prio 0" in line for line in lines)
    assert any("classid 1:20 htb rate 50000000bit ceil 200000000bit" in line and "prio 0" in line for line in lines)
    assert sum("flowid 1:20" in line for line in lines) == 6
    assert any("ip src 10.77.0.4/32" in line for line in lines)
    assert any("ipv6 prio 2" in line and "ip6 src fd6c:6162:6b69:77::4/128" in line for line in lines)
    first = _links.options_of("4", {"qos": "priority"})
    assert any("classid 1:20" in line and "prio 1" in line for line in _links.shaped("eth0", 200e6, options=first))
    assert _links.shaped("eth0", 200e6, options=_links.options_of("4", {})) == _links.shaped("eth0", 200e6)


def test_two_jobs_have_hosts_of_their_own() -> None:
    spec = benchmarks.resolve(Spec(benchmark="congestion.interference", size=10_000, ranks=2, testbed=TREE))
    victim, others = interference.split(spec, testbeds.outline(TREE))
    assert (victim.benchmark, victim.hosts, others) == ("apps.fft_subcom3d", ("vc0", "vc2"), ("vc1", "vc3"))
    with pytest.raises(SpecError, match="each of the two jobs needs two"):
        interference.split(spec, testbeds.outline("virtual-cluster:2"))


@pytest.mark.parametrize("limit", [1.0, 60.0, 86400.0])
@pytest.mark.parametrize("aggressor", ["udp", "incast"])
def test_no_load_goes_on_for_ever(aggressor: str, limit: float) -> None:
    options = {"aggressor": aggressor, "lead": 300.0}
    spec = benchmarks.resolve(Spec(benchmark="congestion.interference", size=8, ranks=2, options=options, testbed=TREE))
    seconds = interference.bound(spec, Effort(time_limit=limit))
    assert limit < seconds or limit > interference.LONGEST
    for job, _, _ in interference.pair_of(spec).flows(spec, 2, seconds):
        assert 300 < int(job.client[job.client.index("-t") + 1]) == job.time_limit <= interference.LONGEST == 600


def test_several_clients_become_a_sum_and_streams() -> None:
    parts = [
        Parsed(reported=(Reported("bandwidth_MBps", "MB/s", "mean", rate), Reported("retransmits", "", "total", 3.0)))
        for rate in (4.0, 6.0)
    ]
    reported = _incast.combine(parts).reported
    total = [v for v in reported if v.rank is None and not v.labels]
    assert [(v.name, v.value) for v in total] == [("bandwidth_MBps", 10.0), ("retransmits", 6.0)]
    assert [(v.rank, v.value, v.labels["sender"]) for v in reported if v.rank is not None] == [(0, 4.0, 0), (1, 6.0, 1)]


@pytest.mark.parametrize(("each", "said"), [(0.5, "The link is used to 33 % only"), (1.4, "2.8 MB/s on average.")])
def test_shares_of_a_link_that_is_not_full_say_nothing(each: float, said: str, tmp_path: Path) -> None:
    spec = benchmarks.resolve(
        Spec(
            benchmark="congestion.incast",
            size=10240,
            transport="verbs",
            testbed="soft-roce,ets=3:1,rate=24mbit",
            options={"senders": 2, "classes": "104:40"},
        )
    )
    parts = [Parsed(reported=(Reported("bandwidth_MBps", "MB/s", "mean", each),))] * 2
    one = made.samples(spec, reported=_incast.combine(parts).reported, meta={"fingerprint": "0" * 16})
    Campaign(tmp_path).save(one, "0" * 16)
    study = incast.Study(campaign=str(tmp_path), measure=False, verbs_testbed="soft-roce,rate=24mbit")
    findings = str(study.findings())
    assert said in findings
    assert ("nothing can be said of them" in findings) is (each < 1)


@pytest.mark.slow
@pytest.mark.netns
def test_incast_fills_the_link_to_the_receiver_and_no_more(tmp_path: Path) -> None:
    asked = {"senders": "3", "sizes": "128Ki", "streams": "2", "duration": 1, "launches": 1, "campaign": str(tmp_path)}
    asked["testbed"] = "virtual-cluster:4,rate=50mbit"
    study = incast.Study(**asked)
    before = links()
    study.run()
    assert links() == before
    rows = study.rows(option_streams=2)
    assert len(rows) == 1
    # clients divide by their own time, so the counter of the link is what cannot be passed
    for one in study.samples:
        carried = one.meta["evidence"]["vc3.eth0.rx_bytes"]
        assert carried * 8 <= 50e6 * 1.05 * one.meta["elapsed"]
    assert len(study.streams) == 3 + 6
    assert 1 / 6 < rows["jain"].iloc[0] <= 1
    assert "Jain's index" in str(study.findings())
    shown = Shown("61-incast", asked)
    assert len(shown.figures) == 2
    assert len(shown.figures[1]["data"][0]["x"]) == 6
    assert str(study.findings()) in shown.texts
    assert any(text.startswith("*Omitted: ") for text in shown.texts)


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.mpi
def test_a_victim_suffers_beside_an_incast_in_every_pair(tmp_path: Path) -> None:
    asked = {"victims": "fft", "aggressors": "incast", "qos": "off", "testbed": TREE, "launches": 5, **SHORT}
    study = interference_and_qos.Study(**asked, campaign=str(tmp_path))
    before = links()
    study.run()
    assert links() == before
    (group,) = study.groups()
    factor = study.factor(group)
    assert factor.low > 1, f"{factor}"
    assert [one.meta["order"][0] for one in group] == ["alone", "beside"] * 2 + ["alone"]
    assert all(one.time_ns.shape == one.phases["alone_ns"].shape == (2, 40) for one in group)
    assert all(np.all(one.time_ns > 0) and one.meta["verified"] for one in group)
    assert "The median rose in 5 of 5 interleaved pairs" in str(study.findings())
    shown = Shown("64-interference-and-qos", asked | {"campaign": str(tmp_path)})
    pairs, scatter = shown.figures
    assert len(pairs["data"][0]["x"]) == 5
    assert len(scatter["data"]) == 4
    assert str(study.findings()) in shown.texts
    assert any(text.startswith("*Omitted: ") for text in shown.texts)


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.mpi
def test_the_cluster_proves_its_links(tmp_path: Path) -> None:
    asked = {"rates": "50mbit", "tapers": "2", "sizes": "8", "launches": 1, "time_cap": 0.2, "campaign": str(tmp_path)}
    shown = Shown("60-virtual-cluster", asked)
    assert len(shown.figures) == 3
    assert any("of what the link carries as payload" in text for text in shown.texts)
    assert any("No stream was faster than its link." in text for text in shown.texts)


@pytest.mark.parametrize("name", ["60-virtual-cluster", "61-incast", "64-interference-and-qos"])
def test_without_its_samples_a_notebook_says_so(name: str) -> None:
    shown = Shown(name, {"campaign": str(TWO_CORES), "measure": False})
    assert any(text.startswith("*Omitted: ") for text in shown.texts)


@pytest.mark.netns
@pytest.mark.mpi
@pytest.mark.slow
def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    before = links()
    words = [sys.executable, "-m", "labkit", "measure", "congestion.interference", "--testbed", TREE]
    words += ["-o", "aggressor=udp", "-o", "lead=60", "--ranks", "2", "-i", "10", "--launches", "2"]
    with subprocess.Popen(
        [*words, "--into", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as run:
        networks = _flooded(run.pid)
        run.kill()
        run.wait(240)
    assert len(networks) == 2  # that of the server and that of the client
    assert gone(networks)
    assert links() == before


def _flooded(owner: int, seconds: float = 40) -> set[str]:
    """Networks in which processes of iperf3 run that belong to one owner, once there are two."""
    end, this_network = time.monotonic() + seconds, virtual_cluster._network(os.getpid())
    networks: set[str] = set()
    while len(networks) < 2 and time.monotonic() < end:
        time.sleep(0.1)
        networks = {virtual_cluster._network(pid) for pid in _iperf3() if _descends(pid, owner)} - {this_network, ""}
    return networks


def _iperf3() -> list[int]:
    """Processes of that name."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text() == "iperf3\n":
                pids.append(int(entry.name))
        except OSError:
            continue
    return pids


def _descends(pid: int, owner: int) -> bool:
    """Whether a process is among what another one started."""
    while pid > 1:
        if pid == owner:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def test_on_a_network_without_classes_it_says_what_is_left_out() -> None:
    study = interference_and_qos.Study(aggressors="halo3d26", victims="fft", testbed="local", ranks=2)
    assert {spec.testbed for spec in study.specs()} == {"local"}
    assert not study.adjustable


def test_interference_needs_the_time_it_was_told(tmp_path: Path) -> None:
    spec = Spec(benchmark="congestion.interference", size=8, ranks=2, options={"lead": -1.0}, testbed=TREE)
    with pytest.raises(SpecError, match=r"lead=-1.0, but it must be 0 to 300. Set lead=0"):
        measuring.measure([spec], Effort(iterations=2), into=tmp_path)
