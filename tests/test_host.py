"""The real machine for what is looked up, recorded machines for what is made of it."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labkit import host
from labkit.host import machine, programs

KEYS = {
    "hostname", "architecture", "kernel", "distribution", "virtualisation", "container", "cpu_model", "cpu_threads",
    "cpu_cores", "cpu_sockets", "frequency_nominal_MHz", "frequency_max_MHz", "numa_nodes", "memory_total_B", "nics",
    "rdma_devices", "versions", "cpus_online", "cpu_affinity", "cpu_quota", "cpus_usable", "smt", "governor",
    "numa_balancing", "huge_pages", "memory_available_B", "shared_memory_free_B", "memory_lock_limit_B",
    "clock_source", "clock_sources", "uptime_s", "load",
}  # fmt: skip

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
    "hostname": "n017", "architecture": "x86_64", "kernel": "5.14.0-427.el9.x86_64", "distribution": "Rocky Linux 9.4",
    "virtualisation": "none", "container": "none", "cpu_model": "AMD EPYC 9354 32-Core Processor", "cpu_threads": 64,
    "cpu_cores": 64, "cpu_sockets": 2, "frequency_nominal_MHz": 3500.0, "frequency_max_MHz": 3799.0, "numa_nodes": 2,
    "memory_total_B": 400 * 2**30, "nics": [],
    "rdma_devices": [
        {"name": "mlx5_0", "type": "MT4129", "firmware": "28.39.2048", "link_layer": "InfiniBand",
         "rate": "400 Gb/sec (4X NDR)", "state": "ACTIVE"},
    ],
    "versions": {}, "cpus_online": "0-63", "cpu_affinity": list(range(64)), "cpu_quota": None, "cpus_usable": 64,
    "smt": False, "governor": "performance", "numa_balancing": False, "huge_pages": "madvise",
    "memory_available_B": 390 * 2**30, "shared_memory_free_B": 200 * 2**30, "memory_lock_limit_B": None,
    "clock_source": "tsc", "clock_sources": ["tsc", "hpet"], "uptime_s": 1e6, "load": QUIET,
}  # fmt: skip
EVERYTHING = {
    "programs": {name: {"path": f"/usr/bin/{name}", "version": "1.2"} for name in host.PROGRAMS},
    "kernels": ["int", "ptr"],
    "fonts": True,
}
# a laptop's guest as it should not be
SPOILT = {
    "virtualisation": "kvm", "container": "docker", "cpu_threads": 8, "cpu_quota": 1.5, "cpus_usable": 1, "smt": True,
    "governor": "powersave", "numa_balancing": True, "huge_pages": "always", "memory_available_B": 2**26,
    "shared_memory_free_B": 64 * 2**20, "memory_lock_limit_B": 8 * 2**20, "clock_source": "hpet",
    "clock_sources": ["hpet", "acpi_pm"],
    "load": QUIET | {"load_1": 13.0, "pressure": {"cpu": {"some_avg10": 41.0, "some_total_us": 5e6}}},
}  # fmt: skip


@pytest.fixture
def node():
    return copy.deepcopy(NODE)


@pytest.fixture
def spoilt(node):
    return node | copy.deepcopy(SPOILT)


def by_name(checks):
    return {check.name: check for check in checks}


def test_description_of_this_machine_is_whole_and_plain():
    found = host.describe()
    assert set(found) == KEYS
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["hostname"] == os.uname().nodename
    assert found["cpu_affinity"] == sorted(os.sched_getaffinity(0))
    assert 1 <= found["cpus_usable"] <= found["cpu_threads"]
    assert 1 <= found["cpu_sockets"] <= found["cpu_cores"] <= found["cpu_threads"]
    assert found["memory_total_B"] == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < found["memory_available_B"] < found["memory_total_B"]
    assert found["cpu_model"]
    assert found["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["clock_source"] in found["clock_sources"]


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


def test_no_commit_outside_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr("labkit.__file__", str(tmp_path / "labkit" / "__init__.py"))
    assert machine._commit() == ""
    (tmp_path / ".git").mkdir()
    assert machine._commit() == ""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine._commit() == ""


@pytest.mark.parametrize(
    ("groups", "limits", "quota"),
    [
        ("0::/job\n", {"cpu.max": "max 100000"}, None),
        ("0::/job\n", {"job/cpu.max": "150000 100000", "cpu.max": "max 100000"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "400000 100000", "a/cpu.max": "200000 100000"}, 2.0),
        (
            "1:cpu,cpuacct:/job\n0::/\n",
            {"cpu/job/cpu.cfs_quota_us": "50000", "cpu/job/cpu.cfs_period_us": "100000"},
            0.5,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ("5:memory:/x\n", {}, None),
    ],
)
def test_quota_of_control_groups(tmp_path, monkeypatch, groups, limits, quota):
    for name, text in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "groups").write_text(groups)

    def elsewhere(path):
        return {"/proc/self/cgroup": tmp_path / "groups", "/sys/fs/cgroup": tmp_path}.get(str(path), Path(path))

    real = machine.read
    monkeypatch.setattr(machine, "read", lambda path: real(elsewhere(path)))
    monkeypatch.setattr(machine, "Path", elsewhere)
    assert machine._quota() == quota


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
        nic, nic | {"name": "eth1"}, nic | {"name": "eth2", "state": "down", "driver": "igb"},
        nic | {"name": "docker0", "physical": False, "driver": "bridge"},
    ]  # fmt: skip
    monkeypatch.setattr(machine, "_lasting", lambda: node)
    assert host.identity("x")["nic"] == "MT4129 400 Gb/sec (4X NDR), ice 8086:159b 25000 Mbit/s"
    node |= {"nics": [], "rdma_devices": []}
    assert host.identity("x")["nic"] == "none"


def test_a_good_node_passes_every_check(node):
    checks = host.checks(node, EVERYTHING)
    assert {check.state for check in checks} == {"ok"}
    assert len(by_name(checks)) == len(checks)


def test_a_spoilt_machine_fails_every_check_of_the_machine_with_a_remedy(spoilt):
    checks = by_name(host.checks(spoilt, {"programs": {}, "kernels": [], "fonts": False, "pyverbs": ""}))
    assert {check.state for check in checks.values()} == {"warn", "bad"}
    assert {name for name, check in checks.items() if check.state == "bad"} == {"clock source", "memory", "MPI"}
    assert all(check.remedy and check.wanted and check.found for check in checks.values())
    assert checks["load"].found == "load average 13.0 on 1 cores, tasks waited for a processor in 41 % of the last 10 s"
    assert checks["cores"].found == "1 for 2 ranks (8 in the machine, the container may use 1.5)"
    assert checks["CPU frequency"].found == "governor powersave, 3500 of 3799 MHz now"
    assert checks["/dev/shm"].remedy.startswith("docker run --shm-size=")
    assert checks["kernels"].remedy == "sudo apt-get install gcc libc6-dev && make setup"


def test_the_remedy_for_a_bad_clock_names_a_better_one(spoilt):
    clock = by_name(host.checks(spoilt | {"clock_sources": ["hpet", "tsc"]}, EVERYTHING))["clock source"]
    assert clock.remedy == "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"


def test_every_program_that_is_missing_names_its_package_and_its_stand_in(node):
    checks = by_name(
        host.checks(node, EVERYTHING | {"programs": {"openmpi": {"path": "/x/mpirun", "version": "4.1.4"}}})
    )
    assert checks["MPI"].found == "openmpi 4.1.4 (/x/mpirun)"
    assert checks["netperf"].found == "not installed; instead: iperf3 (streams), sockperf or qperf (round trips)"
    assert checks["sockperf"].remedy == "sudo apt-get install sockperf"
    assert checks["perftest"].state == "warn"
    assert "slurm" not in checks
    without_rdma = by_name(host.checks(node | {"rdma_devices": []}, EVERYTHING | {"programs": {}}))
    assert not {"perftest", "ucx_perftest", "locked memory"} & set(without_rdma)


def test_facts_that_are_not_known_are_passed_over(node):
    unknown = dict.fromkeys(("smt", "governor", "numa_balancing", "huge_pages", "clock_source", "memory_available_B",
                             "shared_memory_free_B", "frequency_max_MHz", "memory_lock_limit_B"))  # fmt: skip
    load = QUIET | {"pressure": dict.fromkeys(("cpu", "memory", "io")), "frequency_MHz": None, "cpu_steal_s": None}
    checks = host.checks(node | unknown | {"load": load}, EVERYTHING)
    assert {check.state for check in checks} == {"ok"}
    assert host.warnings_for_run(node | unknown, load, load) == []
    assert host.badges(node | unknown, load, load) == []


def test_more_ranks_want_more_cores(node):
    assert by_name(host.checks(node, EVERYTHING, ranks=63))["cores"].state == "ok"
    assert by_name(host.checks(node, EVERYTHING, ranks=64))["cores"].state == "warn"


def test_checks_look_the_software_up_themselves():
    checks = by_name(host.checks(host.describe()))
    there = host.installed()
    assert (checks["MPI"].state == "ok") == bool({"openmpi", "mpich", "intelmpi"} & set(there["programs"]))
    assert checks["cores"].found.startswith(f"{host.describe()['cpus_usable']} for 2 ranks")


def test_nothing_to_say_of_a_quiet_node(node):
    assert host.warnings_for_run(node, QUIET, QUIET | {"monotonic_s": 1010.0}, ranks=2) == []
    assert host.badges(node, QUIET, QUIET | {"monotonic_s": 1010.0}, ranks=2) == []


def test_doubts_bring_their_evidence(spoilt):
    assert host.warnings_for_run(spoilt, spoilt["load"], ranks=1) == [
        "load average 13.0 on 1 cores, latency may be false",
        "tasks waited for a processor in 41 % of the last 10 s, latency may be false",
        "1 ranks on 1 cores leave none for the system, the tail may be false",
        "CPU governor is 'powersave', short runs may be slower than long ones",
        "clock source is 'hpet', reading it may be slow or coarse",
        "virtual machine (kvm): the hypervisor may interrupt a measurement",
    ]
    assert host.badges(spoilt, spoilt["load"], ranks=1) == ["busy machine", "CPU frequency"]


def test_the_load_of_our_own_ranks_is_not_held_against_the_machine(node):
    ours = QUIET | {"load_1": 40.0}
    assert host.badges(node, ours) == ["busy machine"]
    assert host.badges(node, ours, ranks=40) == []


def test_pressure_of_the_point_counts_more_than_that_before_it(node):
    def after(waited_s):
        return QUIET | {
            "monotonic_s": 1010.0,
            "pressure": {"cpu": {"some_avg10": 0.0, "some_total_us": 5e6 + waited_s * 1e6}},
        }

    before = QUIET | {"pressure": {"cpu": {"some_avg10": 90.0, "some_total_us": 5e6}}}
    assert host.badges(node, before, after(0.5), ranks=2) == []
    (said,) = host.warnings_for_run(node, before, after(2.3), ranks=2)
    assert said == "tasks waited for a processor in 23 % of the time of the point, latency may be false"
    assert (
        host.badges(node | {"cpus_usable": 2}, before, after(2.3), ranks=4) == []
    )  # our own ranks wait for each other


def test_a_frequency_that_moves_and_time_that_is_stolen(node):
    end = QUIET | {"monotonic_s": 1010.0, "frequency_MHz": 2000.0, "cpu_steal_s": 3.0 + 64.0}
    assert host.warnings_for_run(node, QUIET, end) == [
        "CPU frequency went from 3500 to 2000 MHz during the point, its iterations are not alike",
        "the hypervisor kept the processors to itself for 10.0% of the point",
    ]
    assert host.badges(node, QUIET, end) == ["CPU frequency"]


PRINTED = {
    "openmpi": ("mpirun (Open MPI) 5.0.6\n\nReport bugs to https://www.open-mpi.org/community/help/\n", "5.0.6"),
    "mpich": (
        "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: 2022\n",
        "4.0.2",
    ),
    "intelmpi": ("Intel(R) MPI Library for Linux* OS, Version 2021.10 Build 20230619 (id: c2e19c2f3e)\n", "2021.10"),
    "slurm": ("slurm-wlm 22.05.8\n", "22.05.8"),
    "netperf": ("Netperf version 2.7.0\n", "2.7.0"),
    "iperf3": ("iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.1.0\n", "3.12"),
    "sockperf": ("sockperf, version 3.7-no.git \n   compiled 2021-08-23 12:14:23\n", "3.7-no.git"),
    "qperf": ("qperf 0.4.11\n", "0.4.11"),
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
    "iproute2": ("ip utility, iproute2-6.1.0, libbpf 1.1.2\n", "6.1.0"),
    "qemu": ("QEMU emulator version 7.2.13 (Debian 1:7.2+dfsg-7+deb12u7)\n", "7.2.13"),
}


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """An empty folder that is all there is on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path


def put(folder, name, text, status=0):
    """A program that prints a text and ends with a status."""
    (folder / "text").mkdir(exist_ok=True)
    (folder / "text" / name).write_text(text)
    (folder / name).write_text(f"#!/bin/sh\n/bin/cat {folder}/text/{name}\nexit {status}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("name", host.PROGRAMS)
def test_version_of_every_program_whatever_its_exit_status(bin_folder, name):
    text, version = PRINTED[name]
    put(bin_folder, host.PROGRAMS[name].commands[-1], text, status=1)
    assert host.tools()[name] == {"path": str(bin_folder / host.PROGRAMS[name].commands[-1]), "version": version}


def test_each_mpirun_is_taken_for_what_it_is(bin_folder):
    put(bin_folder, "mpirun", PRINTED["openmpi"][0])
    put(bin_folder, "mpiexec", PRINTED["intelmpi"][0])
    put(bin_folder, "mpirun.mpich", PRINTED["mpich"][0])
    assert {name: found["version"] for name, found in host.tools().items()} == {
        "openmpi": "5.0.6",
        "intelmpi": "2021.10",
        "mpich": "4.0.2",
    }


def test_what_is_missing_broken_or_hanging_is_not_there(bin_folder, monkeypatch):
    monkeypatch.setattr(programs, "_TIMEOUT_S", 0.2)
    assert host.tools() == {}
    put(bin_folder, "fio", "no version here")
    (bin_folder / "qperf").write_bytes(b"\0\1")
    (bin_folder / "qperf").chmod(0o755)
    (bin_folder / "iperf3").write_text("#!/bin/sh\nexec /bin/sleep 30\n")
    (bin_folder / "iperf3").chmod(0o755)
    assert host.tools() == {}


def test_a_program_is_asked_again_only_when_it_changed(bin_folder):
    put(bin_folder, "fio", "fio-3.33")
    assert host.find("fio")["version"] == "3.33"
    (bin_folder / "text" / "fio").write_text("fio-3.40")
    assert host.find("fio")["version"] == "3.33"
    os.utime(bin_folder / "fio", ns=(1, 1))
    assert host.find("fio")["version"] == "3.40"
    (bin_folder / "fio").unlink()
    assert host.find("fio") is None


def test_what_is_installed_here():
    there = host.installed()
    assert json.loads(json.dumps(there)) == there
    assert set(there["kernels"]) <= {"int", "ptr"}
    assert all(Path(found["path"]).exists() for found in there["programs"].values())


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
