"""What the machine is and how busy, read from /proc and /sys. Everything is plain values, ready for JSON.

What cannot be told is None or empty: a virtual machine shows no governor, a kernel without pressure accounting no
pressure.
"""

from __future__ import annotations

import copy
import os
import platform
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import labkit
from labkit.host.network import interfaces, rdma_devices
from labkit.io import control_groups
from labkit.point.conditions import Load

EMULATED = "LABKIT_EMULATED"  # variable that names the testbed whose hosts share one machine, for jobs inside it
_SAME_FREQUENCY = 0.03  # part by which the frequency of a processor varies where nothing scales it
_CPU, _NODES = Path("/sys/devices/system/cpu"), Path("/sys/devices/system/node")
_MANY = 8  # frequencies asked for; each question interrupts a processor


def read(path: Path | str) -> str:
    """Text of a file of the kernel without white space around it; empty if it cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def number(path: Path | str) -> int | None:
    """Whole number in a file of the kernel; None without one."""
    text = read(path)
    return int(text) if text.lstrip("-").isdecimal() else None


def describe() -> dict[str, Any]:
    """Describe this machine: what it is (looked up once) and the state it is in (now).

    Returns
    -------
    Plain values. Units are in the names; ``load`` is a `load_snapshot`, ``nics`` as in
    `labkit.host.network.interfaces`, ``cpus_usable`` what affinity and the container's quota leave.
    """
    return copy.deepcopy(_lasting()) | _passing() | {"load": load_snapshot()}


def lasting() -> dict[str, Any]:
    """Describe what of this machine does not change while this process lives: a part of `describe`."""
    return copy.deepcopy(_lasting())


def identity(spec_library: str) -> dict[str, str]:
    """Return the properties that numbers depend on beside the spec; the same after a reboot and under load.

    Parameters
    ----------
    spec_library : MPI library or tool, with its version.
    """
    lasting = _lasting()
    links = {
        " ".join(
            filter(None, [nic["driver"], nic["model"], f"{nic['speed_Mbps']} Mbit/s" if nic["speed_Mbps"] else ""])
        )
        for nic in lasting["nics"]
        if nic["physical"] and nic["state"] == "up"
    }
    links |= {f"{device['type']} {device['rate']}".strip() for device in lasting["rdma_devices"]}
    return {"library": spec_library, "cpu_model": lasting["cpu_model"], "nic": ", ".join(sorted(links)) or "none"}


def gpus() -> list[str]:
    """Models of this machine's NVIDIA GPUs, from its driver; empty without one."""
    texts = [read(path) for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("Model")]
    models = [line.partition(":")[2].strip() for line in lines]
    return models or ["NVIDIA GPU"] * len(list(Path("/dev").glob("nvidia[0-9]*")))


def other(facts: Mapping[str, Any]) -> str:
    """Describe how a machine differs from this one; empty if the facts show no difference.

    Many virtual machines have the same name, so the processor counts as well.

    Parameters
    ----------
    facts : as `describe` returned them, on any machine.
    """
    own = _lasting()
    if facts.get("hostname") != own["hostname"]:
        return f"it was {facts.get('hostname') or 'an unknown machine'}, but this is {own['hostname']}"
    for name, words in (("cpu_model", "the processor {}"), ("cpu_threads", "{} processors")):
        if facts.get(name) is not None and facts[name] != own[name]:
            return f"it had {words.format(facts[name])}, but this machine has {words.format(own[name])}"
    then, now = facts.get("frequency_nominal_MHz"), own["frequency_nominal_MHz"]
    fixed = then and now and not facts.get("frequency_max_MHz") and not own["frequency_max_MHz"]
    if fixed and abs(then / now - 1) > _SAME_FREQUENCY:
        return f"its processors had {then:,.0f} MHz, but those of this machine have {now:,.0f} MHz"
    return ""


def load_snapshot() -> Load:
    """Return how busy the machine is now; labkit calls it at the start and the end of a point."""
    load = os.getloadavg()
    kernel = dict(line.partition(" ")[::2] for line in read("/proc/stat").splitlines())
    ticks = kernel.get("cpu", "").split()
    return {
        "monotonic_s": time.monotonic(),
        "load_1": load[0],
        "load_5": load[1],
        "load_15": load[2],
        "pressure": {what: _pressure(what) for what in ("cpu", "memory", "io")},
        "context_switches": int(kernel.get("ctxt", 0)),
        "cpu_steal_s": int(ticks[7]) / os.sysconf("SC_CLK_TCK") if len(ticks) > 7 else None,
        "frequency_MHz": _frequency(),
    }


def _pressure(resource_name: str) -> dict[str, float] | None:
    for line in read(f"/proc/pressure/{resource_name}").splitlines():
        kind, *pairs = line.split()
        if kind == "some":
            values = dict(pair.split("=") for pair in pairs)
            return {"some_avg10": float(values["avg10"]), "some_total_us": float(values["total"])}
    return None


def _frequency() -> float | None:
    """Return the mean frequency of the first processors now, in MHz."""
    policies = sorted(_CPU.glob("cpufreq/policy*"), key=lambda path: int(path.name[6:]))[:_MANY]
    frequencies = [value / 1e3 for path in policies if (value := number(path / "scaling_cur_freq"))]
    return sum(frequencies) / len(frequencies) if frequencies else None


@cache
def _lasting() -> dict[str, Any]:
    """Return what does not change while this process lives."""
    cpu = cpuinfo()
    cores = {(read(path / "physical_package_id"), read(path / "core_id")) for path in _CPU.glob("cpu[0-9]*/topology")}
    threads = os.cpu_count() or 1
    return {
        "hostname": socket.gethostname(),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "distribution": _distribution(),
        "virtualisation": _virtualisation(cpu),
        "container": _container(),
        **({"emulated": emulated} if (emulated := os.environ.get(EMULATED)) else {}),
        "cpu_model": cpu.get("model name") or cpu.get("cpu") or cpu.get("Processor") or _arm(cpu) or platform.machine(),
        "cpu_threads": threads,
        "cpu_cores": len(cores) or threads,
        "cpu_sockets": len({package for package, _ in cores}) or 1,
        "frequency_nominal_MHz": float(cpu["cpu MHz"]) if "cpu MHz" in cpu else None,
        "frequency_max_MHz": (number(_CPU / "cpu0/cpufreq/cpuinfo_max_freq") or 0) / 1e3 or None,
        "numa_nodes": len(list(_NODES.glob("node[0-9]*"))) or 1,
        "numa_cpus": {path.parent.name[4:]: read(path) for path in sorted(_NODES.glob("node[0-9]*/cpulist"))},
        "core_cpus": sorted({read(path) for path in _CPU.glob("cpu[0-9]*/topology/thread_siblings_list")} - {""}),
        "memory_total_B": _meminfo("MemTotal"),
        "nics": interfaces(),
        "rdma_devices": rdma_devices(),
        "versions": {
            "labkit": labkit.__version__,
            "commit": _commit(),
            "python": platform.python_version(),
            "numpy": _numpy(),
        },
    }


def _numpy() -> str:
    """Return numpy's version; numpy itself is not loaded for it."""
    if "numpy" in sys.modules:
        return str(sys.modules["numpy"].__version__)
    from importlib.metadata import version  # it loads e-mail and zip files, 0.01 s

    return version("numpy")


def _passing() -> dict[str, Any]:
    """Return what may change at any time."""
    affinity, quota = os.sched_getaffinity(0), control_groups.tightest(control_groups.quotas())
    governors = sorted({read(path) for path in _CPU.glob("cpufreq/policy*/scaling_governor")})
    smt, balancing = read(_CPU / "smt/active"), number("/proc/sys/kernel/numa_balancing")
    clock = Path("/sys/devices/system/clocksource/clocksource0")
    shared = os.statvfs("/dev/shm") if Path("/dev/shm").is_dir() else None
    lock_limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return {
        "cpus_online": read(_CPU / "online"),
        "cpu_affinity": sorted(affinity),
        "cpu_quota": quota,
        "cpus_usable": max(1, min(len(affinity), int(quota) if quota else len(affinity))),
        "smt": {"1": True, "0": False}.get(smt),
        "governor": ", ".join(governors) or None,
        "numa_balancing": bool(balancing) if balancing is not None else None,
        "ptrace_scope": number("/proc/sys/kernel/yama/ptrace_scope"),
        "huge_pages": read("/sys/kernel/mm/transparent_hugepage/enabled").partition("[")[2].partition("]")[0] or None,
        "memory_available_B": _meminfo("MemAvailable"),
        "shared_memory_free_B": shared.f_bavail * shared.f_frsize if shared else None,
        "memory_lock_limit_B": None if lock_limit == resource.RLIM_INFINITY else lock_limit,
        "clock_source": read(clock / "current_clocksource") or None,
        "clock_sources": read(clock / "available_clocksource").split(),
        "uptime_s": float(read("/proc/uptime").split()[0]),
    }


def cpuinfo() -> dict[str, str]:
    """Return the first processor's paragraph of /proc/cpuinfo."""
    lines = read("/proc/cpuinfo").partition("\n\n")[0].splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _arm(cpu: dict[str, str]) -> str:
    """Return the numbers that name an ARM processor, whose model the kernel does not know."""
    parts = [cpu.get("CPU implementer"), cpu.get("CPU part"), cpu.get("CPU variant")]
    return f"ARM implementer {parts[0]} part {parts[1]} variant {parts[2]}" if all(parts) else ""


def _meminfo(key: str) -> int | None:
    for line in read("/proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return None


def _distribution() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return release.get("PRETTY_NAME", "")


def _virtualisation(cpu: dict[str, str]) -> str:
    """Return the hypervisor below this machine, or ``none``."""
    vendor = " ".join(read(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name", "bios_vendor"))
    clocks = read("/sys/devices/system/clocksource/clocksource0/available_clocksource")
    signs = {
        "vmware": "VMware" in vendor,
        "microsoft": "hyperv" in clocks or "Virtual Machine" in vendor,
        "virtualbox": "VirtualBox" in vendor or "innotek" in vendor,
        "xen": bool(read("/sys/hypervisor/type")) or "Xen" in vendor,
        "kvm": "kvm-clock" in clocks
        or any(name in vendor for name in ("KVM", "QEMU", "OpenStack", "Google", "Amazon EC2")),
        "unknown": "hypervisor" in cpu.get("flags", "").split(),
    }
    below = "hypervisor" in cpu.get("flags", "").split() or platform.machine() not in ("x86_64", "i686")
    return next((name for name, seen in signs.items() if seen and below), "none")


def _container() -> str:
    """Return the kind of container this process is in, or ``none``."""
    groups = read("/proc/1/cgroup") + read("/proc/self/cgroup")
    signs = {
        "apptainer": "APPTAINER_CONTAINER" in os.environ or "SINGULARITY_CONTAINER" in os.environ,
        "kubernetes": "KUBERNETES_SERVICE_HOST" in os.environ or "kubepods" in groups,
        "podman": Path("/run/.containerenv").exists(),
        "docker": Path("/.dockerenv").exists() or "/docker" in groups,
        "lxc": "/lxc" in groups,
        os.environ.get("container", read("/run/systemd/container")): True,  # noqa: SIM112 (systemd's own spelling)
    }
    return next((name for name, seen in signs.items() if seen), "") or "none"


def _commit() -> str:
    """Return the commit of labkit's checkout, with ``-dirty`` if files changed; empty without a checkout."""
    root = Path(labkit.__file__).parents[1]
    if not (root / ".git").exists():
        return ""
    # one quick look: `git describe --dirty` takes twice as long
    command = ["git", "-C", str(root), "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    command += ["--no-ahead-behind", "--no-renames"]
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, env=environment, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    head, *rest = done.stdout.splitlines()
    commit = head.removeprefix("# branch.oid ")
    if commit == "(initial)":
        return ""
    changed = any(not line.startswith("#") for line in rest)
    return f"{commit[:12]}{'-dirty' if changed else ''}"
