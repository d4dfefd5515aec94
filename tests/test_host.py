"""The real machine for what is looked up, recorded machines for what is made of it."""

import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from labkit import host, tools
from labkit.host import machine, network, others
from labkit.io import control_groups, programs
from labkit.io.control_groups import Quota
from labkit.point import conditions
from labkit.point.notes import texts
from labkit.run import launch
from labkit.run import programs as run_programs
from tests.waiting import until

KEYS = {
    "hostname",
    "architecture",
    "kernel",
    "distribution",
    "virtualisation",
    "container",
    "cpu_model",
    "cpu_threads",
    "cpu_cores",
    "cpu_sockets",
    "frequency_nominal_MHz",
    "frequency_max_MHz",
    "numa_nodes",
    "numa_cpus",
    "core_cpus",
    "memory_total_B",
    "nics",
    "rdma_devices",
    "versions",
    "cpus_online",
    "cpu_affinity",
    "cpu_quota",
    "cpus_usable",
    "smt",
    "governor",
    "numa_balancing",
    "ptrace_scope",
    "huge_pages",
    "memory_available_B",
    "shared_memory_free_B",
    "memory_lock_limit_B",
    "clock_source",
    "clock_sources",
    "uptime_s",
    "load",
}

QUIET = {
    "monotonic_s": 1000.0,
    "load_1": 0.2,
    "load_5": 0.2,
    "load_15": 0.1,
    "pressure": {what: {"some_avg10": 0.0, "some_total_us": 5e6} for what in ("cpu", "memory", "io")},
    "context_switches": 1000,
    "cpu_steal_s": 3.0,
    "frequency_MHz": 3500.0,
}
# a node of a cluster as it should be
NODE = {
    "hostname": "n017",
    "architecture": "x86_64",
    "kernel": "5.14.0-427.el9.x86_64",
    "distribution": "Rocky Linux 9.4",
    "virtualisation": "none",
    "container": "none",
    "cpu_model": "AMD EPYC 9354 32-Core Processor",
    "cpu_threads": 64,
    "cpu_cores": 64,
    "cpu_sockets": 2,
    "frequency_nominal_MHz": 3500.0,
    "frequency_max_MHz": 3799.0,
    "numa_nodes": 2,
    "memory_total_B": 400 * 2**30,
    "nics": [],
    "rdma_devices": [
        {
            "name": "mlx5_0",
            "type": "MT4129",
            "firmware": "28.39.2048",
            "link_layer": "InfiniBand",
            "rate": "400 Gb/sec (4X NDR)",
            "state": "ACTIVE",
        },
    ],
    "versions": {},
    "cpus_online": "0-63",
    "cpu_affinity": list(range(64)),
    "cpu_quota": None,
    "cpus_usable": 64,
    "smt": False,
    "governor": "performance",
    "numa_balancing": False,
    "huge_pages": "madvise",
    "memory_available_B": 390 * 2**30,
    "shared_memory_free_B": 200 * 2**30,
    "memory_lock_limit_B": None,
    "clock_source": "tsc",
    "clock_sources": ["tsc", "hpet"],
    "uptime_s": 1e6,
    "load": QUIET,
}
PROGRAMS = launch.programs() | tools.programs() | host.PROGRAMS
ASKED = {name: program for name, program in PROGRAMS.items() if program.commands and not program.read_version}
EVERYTHING = {
    "programs": {name: {"path": f"/usr/bin/{name}", "version": "1.2"} for name in PROGRAMS},
    "kernels": ["int", "ptr"],
    "fonts": True,
}
# a laptop's guest as it should not be
SPOILT = {
    "virtualisation": "kvm",
    "container": "docker",
    "cpu_threads": 8,
    "cpu_quota": 1.5,
    "cpus_usable": 1,
    "smt": True,
    "governor": "powersave",
    "numa_balancing": True,
    "huge_pages": "always",
    "memory_available_B": 2**26,
    "shared_memory_free_B": 64 * 2**20,
    "memory_lock_limit_B": 8 * 2**20,
    "clock_source": "hpet",
    "clock_sources": ["hpet", "acpi_pm"],
    "load": QUIET | {"others": {"span_s": 1.0, "processors": 0.97, "unseen": 0.0, "named": [["burn", 7, 0.96]]}},
}


@pytest.fixture
def node():
    return copy.deepcopy(NODE)


@pytest.fixture
def spoilt(node):
    return node | copy.deepcopy(SPOILT)


def by_name(checks):
    return {check.name: check for check in checks}


def test_description_of_this_machine_is_whole_and_plain():
    description = host.describe()
    assert set(description) == KEYS
    assert json.loads(json.dumps(description, allow_nan=False)) == description
    assert description["hostname"] == os.uname().nodename
    assert description["cpu_affinity"] == sorted(os.sched_getaffinity(0))
    assert 1 <= description["cpus_usable"] <= description["cpu_threads"]
    assert 1 <= description["cpu_sockets"] <= description["cpu_cores"] <= description["cpu_threads"]
    assert description["memory_total_B"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < description["memory_available_B"] < description["memory_total_B"]
    assert description["cpu_model"]
    assert description["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert description["clock_source"] in description["clock_sources"]


def test_the_loopback_interface_is_what_it_is():
    (loopback,) = [nic for nic in host.describe()["nics"] if nic["name"] == "lo"]
    assert loopback["kind"] == "loopback"
    assert loopback["physical"] is False
    assert loopback["mtu"] == 65536
    assert loopback["speed_Mbps"] is None


def test_no_address_is_recorded():
    text = json.dumps(host.describe()["nics"])
    addresses = {path.read_text().strip() for path in Path("/sys/class/net").glob("*/address")} - {""}
    assert addresses
    assert not any(address in text for address in addresses)


def test_a_caller_cannot_change_what_is_remembered():
    host.describe()["nics"].clear()
    host.describe()["versions"]["labkit"] = "none"
    assert host.describe()["nics"]
    assert host.describe()["versions"]["labkit"] != "none"


def test_commit_is_gits():
    root = Path(machine.__file__).parents[2]
    head = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    commit = machine._commit()
    assert head.stdout.startswith(commit.removesuffix("-dirty"))
    assert bool(commit) == (root / ".git").exists()


def test_a_commit_is_dirty_if_files_of_it_changed(tmp_path, monkeypatch):
    monkeypatch.setattr("labkit.__file__", str(tmp_path / "labkit" / "__init__.py"))

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", "-C", tmp_path, *identity, *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "--quiet")
    assert machine._commit() == "", "there is none yet"
    (tmp_path / "file").write_text("a")
    git("add", "file")
    git("commit", "--quiet", "--message", "first")
    head = git("rev-parse", "HEAD")[:12]
    (tmp_path / "other").write_text("not part of it")
    assert machine._commit() == head
    (tmp_path / "file").write_text("bb")
    assert machine._commit() == f"{head}-dirty"
    git("add", "file")
    assert machine._commit() == f"{head}-dirty"
    assert machine._commit() == git("describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
    git("commit", "--quiet", "--message", "second")
    git("checkout", "--quiet", "--detach")
    assert machine._commit() == git("rev-parse", "HEAD")[:12]


def test_no_commit_outside_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr("labkit.__file__", str(tmp_path / "labkit" / "__init__.py"))
    assert machine._commit() == ""
    (tmp_path / ".git").mkdir()
    assert machine._commit() == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine._commit() == ""


@pytest.mark.parametrize(
    ("groups", "files", "found"),
    [
        ("0::/job\n", {"cpu.max": "max 100000"}, []),
        (
            "0::/job\n",
            {"job/cpu.max": "150000 100000", "job/cpu.stat": "usage_usec 7\nnr_periods 9\nnr_throttled 2\n"},
            [(1.5, 9, 2)],
        ),
        (
            "0::/a/b\n",
            {
                "a/b/cpu.max": "400000 100000",
                "a/cpu.max": "200000 100000",
                "a/cpu.stat": "nr_periods 4\nnr_throttled 4",
            },
            [(4.0, 0, 0), (2.0, 4, 4)],
        ),
        (
            "1:cpu,cpuacct:/job\n0::/\n",
            {
                "cpu/job/cpu.cfs_quota_us": "50000",
                "cpu/job/cpu.cfs_period_us": "100000",
                "cpu/job/cpu.stat": "nr_periods 5\nnr_throttled 3\nthrottled_time 12000\n",
            },
            [(0.5, 5, 3)],
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, []),
        ("5:memory:/x\n", {}, []),
    ],
)
def test_quotas_of_control_groups(
    tmp_path: Path, groups: str, files: dict[str, str], found: list[tuple[float, int, int]]
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "groups").write_text(groups)
    quotas = control_groups.quotas(tmp_path, tmp_path / "groups")
    assert [*quotas.values()] == found
    assert control_groups.tightest(quotas) == min((one[0] for one in found), default=None)


def test_the_group_that_waited_most_often_counts() -> None:
    before = {"job": Quota(2.0, 100, 10), "site": Quota(8.0, 100, 0)}
    after = {"job": Quota(2.0, 200, 60), "site": Quota(8.0, 200, 1), "new": Quota(1.0, 5, 5)}
    assert control_groups.throttled(before, after) == 0.5
    assert control_groups.throttled(before, before) == 0.0, "no period ended"


def test_a_tool_keeps_how_often_its_quota_was_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_groups, "quotas", lambda: {"job": Quota(1.5, 30, 16)})
    assert run_programs._throttled({"job": Quota(1.5, 10, 1)}) == {"processor_quota": 1.5, "throttled_share": 0.75}
    monkeypatch.setattr(control_groups, "quotas", dict)
    assert run_programs._throttled({}) == {}


def test_snapshots_go_forward():
    first, second = host.load_snapshot(), host.load_snapshot()
    assert json.loads(json.dumps(first, allow_nan=False)) == first
    assert set(first) == set(QUIET)
    assert second["monotonic_s"] > first["monotonic_s"]
    assert second["context_switches"] >= first["context_switches"] > 0


def test_identity_is_stable_and_names_the_library():
    first = host.identity("Open MPI 4.1.4")
    machine._lasting.cache_clear()
    assert host.identity("Open MPI 4.1.4") == first
    assert set(first) == {"library", "cpu_model", "nic"}
    assert first["library"] == "Open MPI 4.1.4"
    assert host.identity("MPICH 4.2") != first


def test_identity_leaves_out_what_comes_and_goes(node, monkeypatch):
    nic = {"name": "eth0", "driver": "ice", "model": "8086:159b", "speed_Mbps": 25000, "physical": True, "state": "up"}
    node["nics"] = [
        nic,
        nic | {"name": "eth1"},
        nic | {"name": "eth2", "state": "down", "driver": "igb"},
        nic | {"name": "docker0", "physical": False, "driver": "bridge"},
    ]
    monkeypatch.setattr(machine, "_lasting", lambda: node)
    assert host.identity("x")["nic"] == "MT4129 400 Gb/sec (4X NDR), ice 8086:159b 25000 Mbit/s"
    node |= {"nics": [], "rdma_devices": []}
    assert host.identity("x")["nic"] == "none"


def test_a_good_node_passes_every_check(node):
    checks = host.checks(node, EVERYTHING, PROGRAMS)
    assert {check.state for check in checks} == {"ok"}
    assert len(by_name(checks)) == len(checks)


def test_a_spoilt_machine_fails_every_check_of_the_machine_with_a_remedy(spoilt):
    checks = by_name(host.checks(spoilt, {"programs": {}, "kernels": [], "fonts": False, "pyverbs": ""}, PROGRAMS))
    assert {check.state for check in checks.values()} == {"warn", "bad"}
    assert {name for name, check in checks.items() if check.state == "bad"} == {"clock source", "memory", "MPI"}
    assert all(check.remedy and check.wanted and check.found for check in checks.values())
    assert checks["load"].found == "other processes use 0.97 of 1 core: burn (process 7) 0.96"
    assert checks["cores"].found == "1 for 2 ranks (8 in the machine, control groups give the time of 1.5)"
    assert checks["cores"].remedy.startswith("raise the quota of processor time")
    assert checks["CPU frequency"].found == "governor powersave, 3500 of 3799 MHz now"
    assert checks["/dev/shm"].remedy.startswith("docker run --shm-size=")
    assert checks["kernels"].remedy == "sudo apt-get install gcc libc6-dev && make setup"


def test_the_remedy_for_a_bad_clock_names_a_better_one(spoilt):
    clock = by_name(host.checks(spoilt | {"clock_sources": ["hpet", "tsc"]}, EVERYTHING, PROGRAMS))["clock source"]
    assert clock.remedy == "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"


def test_every_program_that_is_missing_names_its_package_and_its_stand_in(node):
    checks = by_name(
        host.checks(node, EVERYTHING | {"programs": {"openmpi": {"path": "/x/mpirun", "version": "4.1.4"}}}, PROGRAMS)
    )
    assert checks["MPI"].found == "openmpi 4.1.4 (/x/mpirun)"
    assert checks["netperf"].found == "not installed; instead: iperf3 (streams), sockperf or qperf (round trips)"
    assert checks["sockperf"].remedy == "make setup   # or only this: sudo apt-get install sockperf"
    assert checks["perftest"].state == "warn"
    assert "slurm" not in checks
    without_rdma = by_name(host.checks(node | {"rdma_devices": []}, EVERYTHING | {"programs": {}}, PROGRAMS))
    assert not {"perftest", "ucx_perftest", "locked memory"} & set(without_rdma)


def test_facts_that_are_not_known_are_passed_over(node):
    unknown = dict.fromkeys(
        (
            "smt",
            "governor",
            "numa_balancing",
            "huge_pages",
            "clock_source",
            "memory_available_B",
            "shared_memory_free_B",
            "frequency_max_MHz",
            "memory_lock_limit_B",
        )
    )
    load = QUIET | {"pressure": dict.fromkeys(("cpu", "memory", "io")), "frequency_MHz": None, "cpu_steal_s": None}
    checks = host.checks(node | unknown | {"load": load}, EVERYTHING, PROGRAMS)
    assert {check.state for check in checks} == {"ok"}
    assert conditions.warnings_for_run(node | unknown, load, load) == []
    assert conditions.badges(node | unknown, load, load) == []


def test_without_a_fact_only_its_checks_are_missing(node):
    assert conditions.of_machine({}) == []
    every = {one.name for one in conditions.of_machine(node)}
    for fact in node:
        left = {
            one.name for one in conditions.of_machine({name: value for name, value in node.items() if name != fact})
        }
        assert len(every - left) <= 2, fact
    load = {name: value for name, value in node["load"].items() if name != "frequency_MHz"}
    assert "governor" in by_name(conditions.of_machine(node | {"load": load}))["CPU frequency"].found


def test_more_ranks_want_more_cores(node):
    assert by_name(host.checks(node, EVERYTHING, PROGRAMS, ranks=63))["cores"].state == "ok"
    assert by_name(host.checks(node, EVERYTHING, PROGRAMS, ranks=64))["cores"].state == "warn"


@pytest.mark.parametrize(
    ("network", "switch", "state", "words"),
    [
        ({}, "auto", "ok", "ext4 (/dev/vda on /), not on a network file system"),
        ({}, "no", "ok", "not on a network file system"),
        (
            {"environment": "nfs4 (s:/home on /home)"},
            "auto",
            "ok",
            "environment on nfs4 (s:/home on /home); ranks load",
        ),
        ({"environment": "lustre (s:/x on /x)"}, "no", "warn", "environment on lustre (s:/x on /x); no copies"),
    ],
)
def test_the_file_system_that_ranks_load_from(node, network, switch, state, words):
    facts = {"filesystem": "ext4 (/dev/vda on /)", "network": network, "switch": switch}
    check = by_name(host.checks(node, EVERYTHING | {"loaded_from": facts}, PROGRAMS))["environment"]
    assert check.state == state
    assert words in check.found
    assert "LABKIT_STAGE" in check.wanted + check.remedy


def test_checks_look_the_software_up_themselves():
    there = host.installed(PROGRAMS)
    checks = by_name(host.checks(host.describe(), there, PROGRAMS))
    assert (checks["MPI"].state == "ok") == bool({"openmpi", "mpich", "intelmpi"} & set(there["programs"]))
    assert checks["cores"].found.startswith(f"{host.describe()['cpus_usable']} for 2 ranks")


def test_nothing_to_say_of_a_quiet_node(node):
    assert conditions.warnings_for_run(node, QUIET, QUIET | {"monotonic_s": 1010.0}, ranks=2) == []
    assert conditions.badges(node, QUIET, QUIET | {"monotonic_s": 1010.0}) == []


def test_doubts_bring_their_evidence(spoilt):
    assert list(texts(conditions.warnings_for_run(spoilt, spoilt["load"], ranks=1))) == [
        "busy machine (other processes use 0.97 of 1 core): times are unreliable, rerun when idle",
        "1 rank on 1 core leaves no core for the system: p99 and max are unreliable, use fewer ranks or more cores",
        "CPU governor is 'powersave': short runs may be slow, set it to performance",
        "clock source is 'hpet': reading it may be slow or coarse",
        "virtual machine (kvm): the hypervisor may interrupt iterations, p99 and max may be too high",
    ]
    assert texts(conditions.badges(spoilt, spoilt["load"])) == ("busy machine", "CPU frequency")


def test_only_what_others_took_makes_a_machine_busy(node):
    others = {"span_s": 1.0, "processors": 6.3, "unseen": 0.0, "named": []}
    full = QUIET | {"load_1": 70.0, "pressure": {"cpu": {"some_avg10": 90.0, "some_total_us": 9e6}}}  # our own ranks
    assert conditions.badges(node, full, full) == []
    assert conditions.badges(node, full, full | {"others": None}) == []  # too short to tell
    assert conditions.badges(node, full, full | {"others": others}) == []  # below a tenth of 64 processors
    more = full | {"others": others | {"processors": 9.0, "unseen": 8.5, "named": [["cc1", 12, 0.5]]}}
    assert texts(conditions.badges(node, full, more)) == ("busy machine",)
    (said,) = conditions.warnings_for_run(node, full, more, ranks=2)
    assert (said.code, said.value("cores")) == ("busy-machine", 64)
    assert (said.value("most"), said.value("share")) == ("hidden processes", 8.5)
    assert said.text.startswith("busy machine (other processes use 9.00 of 64 cores)")


BURN = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"


@pytest.fixture
def burners():
    """A process of labkit's that burns in a child, and one that has nothing to do with it."""
    child = subprocess.Popen(["sh", "-c", '"$0" -c "$1" & wait', sys.executable, BURN], start_new_session=True)
    foreign = subprocess.Popen([sys.executable, "-c", BURN])
    yield child, foreign
    os.killpg(child.pid, signal.SIGKILL)
    foreign.kill()
    child.wait()
    foreign.wait()


def test_a_burner_of_others_is_found_and_our_own_is_not(burners):
    child, foreign = burners
    first = others.look()
    time.sleep(1.5)  # as long as it takes for both to get some of a busy machine
    last = others.look()
    mine = others.ours(last.processes, child.pid)
    children = {number for (number, _), process in last.processes.items() if process.parent == child.pid}
    assert children
    assert {child.pid, *children} <= mine
    assert foreign.pid not in mine
    seen = others.between(first, last, child.pid)
    assert json.loads(json.dumps(seen, allow_nan=False)) == seen
    took = {
        key[0]: p.cpu_time - first.processes[key].cpu_time
        for key, p in last.processes.items()
        if key in first.processes
    }
    share = took[foreign.pid] / (last.moment - first.moment)
    assert share > 0.02, "the burner got no time"
    assert seen["processors"] >= share
    assert not {number for _, number, _ in seen["named"]} & mine
    named = {number: s for _, number, s in seen["named"]}
    assert foreign.pid in named or min(named.values()) >= share  # else others took more
    alone = others.between(first, last, os.getpid())  # both are children of this process
    assert not {number for _, number, _ in alone["named"]} & {foreign.pid, *children}


def test_ranks_that_a_daemon_starts_for_us_are_known_by_their_mark():
    marked = os.environ | {"LABKIT_TREE": "of this test"}
    child = subprocess.Popen(["sleep", "30"], env=marked)
    other = subprocess.Popen([sys.executable, "-c", BURN], env=marked)  # a sibling: not below `child`
    try:
        first = others.look()
        time.sleep(0.8)
        last = others.look()
        assert other.pid not in others.ours(last.processes, child.pid)
        seen = others.between(first, last, child.pid)
        assert other.pid not in {number for _, number, _ in seen["named"]}
    finally:
        for one in (child, other):
            one.kill()
            one.wait()


def test_programs_are_told_by_their_name_not_by_a_folder(tmp_path):
    folder = tmp_path / "labkit"
    folder.mkdir()
    (folder / "sleeper.py").write_text("import time\ntime.sleep(30)")
    words = {
        "sleeper.py": [sys.executable, "-u", folder / "sleeper.py"],
        "http.server": [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "0"],
        "sleep": ["sleep", "30"],
    }
    for name, command in words.items():
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                until(lambda pid=process.pid, name=name: others.program(pid) == name)
            finally:
                process.kill()


def test_what_ended_elsewhere_takes_nothing_from_what_others_took():
    process = others._Process
    ours = {(100, 0): process(0, "shell", 0.0, 0.0), (300, 0): process(100, "python", 1.0, 1.0)}
    burner = {(400, 0): process(1, "sh", 0.0, 0.0)}
    ended = {(200, 0): process(100, "long", 50.0, 50.0), (201, 0): process(200, "longer", 70.0, 70.0)}
    first = others.Look(0.0, 200.0, ours | burner | ended)
    ours |= {(100, 0): process(0, "shell", 0.0, 120.0)}  # it was told what they took
    last = others.Look(2.0, 202.0, ours | {(400, 0): process(1, "sh", 0.0, 2.0)})  # children of it came and went
    assert others.between(first, last, 300)["processors"] == pytest.approx(1.0)


def test_what_came_and_went_between_two_looks_counts():
    sleeper = subprocess.Popen(["sleep", "30"])
    first = others.look()
    short = "for i in 1 2 3; do \"$0\" -c 'sum(range(6000000))'; done; sleep 30"
    parent = subprocess.Popen(["sh", "-c", short, sys.executable], start_new_session=True)
    try:
        time.sleep(2.0)
        last = others.look()
        seen = others.between(first, last, sleeper.pid)
        gone = sum(p.tree_time - p.cpu_time for (number, _), p in last.processes.items() if number == parent.pid)
        assert 0 < gone <= seen["processors"] * seen["span_s"] + 0.05
    finally:
        os.killpg(parent.pid, signal.SIGKILL)
        parent.wait()
        sleeper.kill()
        sleeper.wait()


def test_a_watch_tells_of_half_a_second_or_more():
    watch = host.Watch()
    assert watch.since(time.monotonic()) is None
    seen = watch.after_a_while()
    assert seen["span_s"] >= others.APART
    assert watch.since(time.monotonic())["span_s"] >= others.APART  # the time before counts where the point is short


def test_a_frequency_that_moves_and_time_that_is_stolen(node):
    end = QUIET | {"monotonic_s": 1010.0, "frequency_MHz": 2000.0, "cpu_steal_s": 3.0 + 64.0}
    assert list(texts(conditions.warnings_for_run(node, QUIET, end))) == [
        "CPU frequency changed from 3500 to 2000 MHz: iterations differ, look for heat and turbo",
        "the hypervisor took 10 % of the CPU time: times are unreliable, rerun when idle",
    ]
    assert texts(conditions.badges(node, QUIET, end)) == ("CPU frequency",)


PRINTED = {
    "openmpi": ("mpirun (Open MPI) 5.0.6\n\nReport bugs to https://www.open-mpi.org/community/help/\n", "5.0.6"),
    "mpich": (
        "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: 2022\n",
        "4.0.2",
    ),
    "intelmpi": ("Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619 (id: c2e19c2f3e)\n", "2021.10"),
    "srun": ("slurm-wlm 22.05.8\n", "22.05.8"),
    "netperf": ("Netperf version 2.7.0\n", "2.7.0"),
    "iperf3": ("iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.1.0\n", "3.12"),
    "sockperf": ("sockperf, version 3.7-no.git \n   compiled 2021-08-23 12:14:23\n", "3.7-no.git"),
    "qperf": ("qperf 0.4.11\n", "0.4.11"),
    "nbdkit": ("nbdkit 1.32.5\n", "1.32.5"),
    "iperf": ("iperf version 2.1.8 (12 August 2022) pthreads\n", "2.1.8"),
    "netpipe": ("NPtcp: invalid option -- 'V'\n\n NETPIPE USAGE \n\n", "unknown"),
    "fi_pingpong": ("fi_info: 1.17.0\nlibfabric: 1.17.0\nlibfabric api: 1.17\n", "1.17.0"),
    "fio": ("fio-3.33\n", "3.33"),
    "iozone": ("       'Iozone' Filesystem Benchmark Program\n \n        Version $Revision: 3.489 $\n", "3.489"),
    "perftest": ("Version: 6.10\n", "6.10"),
    "ucx_perftest": ("# Library version: 1.13.1\n# Library path: /lib/libucs.so.0\n", "1.13.1"),
    "cc": ("cc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022\n", "12.2.0-14+deb12u1"),
    "chromium": ("Chromium 130.0.6723.91 built on Debian GNU/Linux 12 (bookworm)\n", "130.0.6723.91"),
    "quarto": ("1.6.40\n", "1.6.40"),
    "smpirun": ("SimGrid version 3.32\n", "3.32"),
    "iproute2": ("ip utility, iproute2-6.1.0, libbpf 1.1.2\n", "6.1.0"),
    "redis": ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n", "7.0.15"),
    "redis_benchmark": ("redis-benchmark 7.0.15\n", "7.0.15"),
    "memcached": ("memcached 1.6.18\n", "1.6.18"),
    "qemu": ("QEMU emulator version 7.2.13 (Debian 1:7.2+dfsg-7+deb12u7)\n", "7.2.13"),
}


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """An empty folder that is all there is on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "chromium"))  # browsers are looked for in other places, too
    return tmp_path


def put(folder, name, text, status=0):
    """A program that prints a text and ends with a status."""
    (folder / "text").mkdir(exist_ok=True)
    (folder / "text" / name).write_text(text)
    (folder / name).write_text(f"#!/bin/sh\n/bin/cat {folder}/text/{name}\nexit {status}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", ASKED)
def test_version_of_every_program_whatever_its_exit_status(bin_folder, name):
    text, version = PRINTED[name]
    put(bin_folder, PROGRAMS[name].commands[-1], text, status=1)
    assert host.present(PROGRAMS)[name] == {"path": str(bin_folder / PROGRAMS[name].commands[-1]), "version": version}


def test_each_mpirun_is_taken_for_what_it_is(bin_folder):
    put(bin_folder, "mpirun", PRINTED["openmpi"][0])
    put(bin_folder, "mpiexec", PRINTED["intelmpi"][0])
    put(bin_folder, "mpirun.mpich", PRINTED["mpich"][0])
    assert {name: entry["version"] for name, entry in host.present(PROGRAMS).items()} == {
        "openmpi": "5.0.6",
        "intelmpi": "2021.10",
        "mpich": "4.0.2",
    }


def test_what_is_missing_broken_or_hanging_is_not_there(bin_folder, monkeypatch):
    monkeypatch.setattr(programs, "_TIMEOUT_S", 0.2)
    assert host.present(PROGRAMS) == {}
    put(bin_folder, "fio", "no version here")
    (bin_folder / "qperf").write_bytes(b"\0\1")
    (bin_folder / "qperf").chmod(0o755)
    (bin_folder / "iperf3").write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    (bin_folder / "iperf3").chmod(0o755)
    assert host.present(PROGRAMS) == {}


def test_a_program_is_asked_again_if_it_could_not_be_started(bin_folder, monkeypatch):
    put(bin_folder, "fio", "fio-3.33")
    with monkeypatch.context() as full:
        full.setattr(programs.subprocess, "run", Mock(side_effect=BlockingIOError("no more processes")))
        assert host.find(PROGRAMS["fio"]) is None
    assert host.find(PROGRAMS["fio"])["version"] == "3.33"


def test_a_program_is_asked_again_only_when_it_changed(bin_folder):
    put(bin_folder, "fio", "fio-3.33")
    assert host.find(PROGRAMS["fio"])["version"] == "3.33"
    (bin_folder / "text" / "fio").write_text("fio-3.40")
    assert host.find(PROGRAMS["fio"])["version"] == "3.33"
    os.utime(bin_folder / "fio", ns=(1, 1))
    assert host.find(PROGRAMS["fio"])["version"] == "3.40"
    (bin_folder / "fio").unlink()
    assert host.find(PROGRAMS["fio"]) is None


def test_what_is_installed_here():
    there = host.installed(PROGRAMS)
    assert json.loads(json.dumps(there)) == there
    assert set(there["kernels"]) <= {"int", "ptr"}
    assert all(Path(entry["path"]).exists() for entry in there["programs"].values())


def test_host_needs_nothing_but_the_standard_library():
    script = "import sys; from labkit import host; host.describe(); print(*{m.partition('.')[0] for m in sys.modules})"
    root = Path(machine.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(root)},
    )
    assert not {"numpy", "pandas", "pyarrow", "pydantic", "psutil", "mpi4py"} & set(done.stdout.split())


def test_a_veth_pair_has_no_rate_of_its_own(tmp_path):
    for name, text in {
        "type": "1",
        "speed": "10000",
        "iflink": "3",
        "ifindex": "2",
        "uevent": "INTERFACE=eth0",
    }.items():
        (tmp_path / name).write_text(f"{text}\n")
    pair = network._interface(tmp_path, ipv6=False)
    assert (pair["driver"], pair["speed_Mbps"]) == ("veth", None)
    (tmp_path / "iflink").write_text("2\n")
    assert network._interface(tmp_path, ipv6=False)["speed_Mbps"] == 10000


def test_hosts_that_a_testbed_calls_emulated_are_marked(monkeypatch):
    monkeypatch.setenv(machine.EMULATED, "slurm:4")
    machine._lasting.cache_clear()
    try:
        described = host.describe()
    finally:
        machine._lasting.cache_clear()
    assert described["emulated"] == "slurm:4"
    assert "emulated link" in texts(conditions.badges(described, described["load"]))
