"""Effects of a machine's properties on numbers measured on it: checks, warnings and badges.

Pure functions of plain values, so they judge a stored description as well as this machine's. A description may lack a
fact, as that of an imported log does. Then there is no check of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

from labkit.point.notes import Note, badge, note
from labkit.point.units import GiB, MiB, format_share, format_size, plural

Facts = Mapping[str, Any]
State = Literal["ok", "warn", "bad"]

BUSY = 0.1  # part of the usable processors that others may keep busy
STEAL = 0.01  # part of the time the hypervisor kept the processors to itself
RAISE_QUOTA = (
    "raise the quota of processor time: resources.limits.cpu of Kubernetes, --cpus of Docker, CPUQuota of systemd, or "
    "cpu.max of the control group"
)
DRIFT = 0.1  # part by which the frequency may change during a point
# read without a system call and finer than 1 µs; kvm-clock and the like cost more or step
GOOD_CLOCKS = ("tsc", "arch_sys_counter", "timebase", "tod", "hyperv_clocksource_tsc_page")
BAD_CLOCKS = ("jiffies", "refined-jiffies", "hpet", "acpi_pm")
STEADY_GOVERNORS = ("performance", "userspace")


class Others(TypedDict):
    """What processes other than labkit's used of the machine.

    Parameters
    ----------
    span_s : of the time between two looks.
    processors : mean number of processors that they kept busy.
    unseen : of these, those kept busy by processes that cannot be seen from here.
    named : the busiest processes, as [name, number, processors].
    """

    span_s: float
    processors: float
    unseen: float
    named: list[list[Any]]


class Load(TypedDict):
    """How busy a machine is.

    Parameters
    ----------
    monotonic_s : when, to set differences of the counters against.
    load_1, load_5, load_15 : mean number of tasks that ran or waited in the last minutes.
    pressure : for cpu, memory and io, the percentage of the last 10 s in which some task waited for it
        (``some_avg10``), and the total since boot (``some_total_us``).
    context_switches, cpu_steal_s : since boot.
    frequency_MHz : None if it is not shown.
    others : of a span that ends now; None if it is too short.
    """

    monotonic_s: float
    load_1: float
    load_5: float
    load_15: float
    pressure: dict[str, dict[str, float] | None]
    context_switches: int
    cpu_steal_s: float | None
    frequency_MHz: float | None
    others: NotRequired[Others | None]


@dataclass(frozen=True)
class Check:
    """One line of ``labkit doctor``.

    Parameters
    ----------
    name : name of what was looked at.
    state : ``ok``; ``warn``: numbers may be false, or something cannot be used; ``bad``: labkit cannot do its work.
    found : what is.
    wanted : what should be.
    remedy : the command that gets there, or what to do where there is none.
    """

    name: str
    state: State
    found: str
    wanted: str
    remedy: str


def check(name: str, ok: bool, found: str, wanted: str, remedy: str, *, bad: bool = False) -> Check:
    """Return a check that is ok, or else a warning or bad."""
    return Check(name, "ok" if ok else "bad" if bad else "warn", found, wanted, remedy)


def of_machine(description: Facts) -> list[Check]:
    """Return the checks of the machine alone, which also work on a stored description.

    Parameters
    ----------
    description : as from `labkit.host.describe`.
    """
    # an imported point states few facts, and so does one without its start record: each rule asks for its own
    return [check for rule in _MACHINE if (check := rule(description)) is not None]


def _load(facts: Facts) -> Check | None:
    load, cores = facts.get("load", {}), facts.get("cpus_usable")
    others = load.get("others")
    if others is None or cores is None:
        return None
    busiest = ", ".join(f"{name} (process {pid}) {share:.2f}" for name, pid, share in others["named"])
    return check(
        "load",
        not _busy(facts, load),
        f"other processes use {others['processors']:.2f} of {_so_many(cores)}{': ' if busiest else ''}{busiest}",
        f"at most {BUSY * cores:g}; labkit's own processes do not count",
        "top -o %CPU   # see what runs, stop it or wait; on a cluster, request whole nodes: sbatch --exclusive",
    )


def _governor(facts: Facts) -> Check | None:
    governor, highest = facts.get("governor"), facts.get("frequency_max_MHz")
    wanted = "the governor 'performance'"
    if governor is None and facts.get("virtualisation") != "none":
        return None
    if governor is None:
        return check("CPU frequency", True, "the kernel does not control the frequency", wanted, "")
    now = facts.get("load", {}).get("frequency_MHz")
    shown = f", {now:.0f} of {highest:.0f} MHz now" if now and highest else ""
    return check(
        "CPU frequency",
        governor in STEADY_GOVERNORS,
        f"governor {governor}{shown}",
        wanted,
        "echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
    )


def _smt(facts: Facts) -> Check | None:
    if facts.get("smt") is None:
        return None
    return check(
        "SMT",
        not facts["smt"],
        "two or more threads share a core" if facts["smt"] else "each core has one thread",
        "one core per rank",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control   # or bind ranks to cores: mpirun --bind-to core",
    )


def _numa(facts: Facts) -> Check | None:
    nodes = facts.get("numa_nodes")
    if facts.get("numa_balancing") is None or nodes is None:
        return None
    return check(
        "NUMA balancing",
        nodes == 1 or not facts["numa_balancing"],
        f"{'on' if facts['numa_balancing'] else 'off'}, {plural(nodes, 'NUMA node')}",
        "off if there are several nodes: it moves pages during a measurement",
        "sudo sysctl kernel.numa_balancing=0",
    )


def _huge_pages(facts: Facts) -> Check | None:
    mode = facts.get("huge_pages")
    return mode and check(
        "transparent huge pages",
        mode != "always",
        mode,
        "madvise or never: else the kernel merges pages during a measurement",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    )


def _better_clock(facts: Facts) -> str:
    """Return the best clock that the machine offers; empty if it offers no good one."""
    return next((name for name in GOOD_CLOCKS if name in facts.get("clock_sources", [])), "")


def _clock(facts: Facts) -> Check | None:
    source = facts.get("clock_source")
    better = _better_clock(facts)
    switch = "echo {} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return source and check(
        "clock source",
        source in GOOD_CLOCKS,
        source,
        f"{better or 'tsc'}: fine, and read without a system call",
        switch.format(better) if better else "labkit measure micro.clock   # shows what a clock read costs here",
        bad=source in BAD_CLOCKS,
    )


def _virtualisation(facts: Facts) -> Check | None:
    below = facts.get("virtualisation")
    if below is None:
        return None
    return check(
        "virtualisation",
        below == "none",
        "bare machine" if below == "none" else f"virtual machine ({below})",
        "a physical machine: a hypervisor interrupts, and neighbours share cores and links",
        "measure on a physical machine, or state in your text that it was virtual",
    )


def _memory(facts: Facts) -> Check | None:
    free, total = facts.get("memory_available_B"), facts.get("memory_total_B")
    if free is None or total is None:
        return None
    return check(
        "memory",
        free >= GiB,
        f"{free / GiB:.1f} GiB available of {total / GiB:.1f} GiB",
        "1 GiB or more available",
        "close other programs, or measure smaller sizes: labkit measure BENCHMARK -m 1:1Mi",
        bad=free < 128 * MiB,
    )


def _shared_memory(facts: Facts) -> Check | None:
    free, container = facts.get("shared_memory_free_B"), facts.get("container")
    if free is None or container is None:
        return None
    inside = container in ("docker", "podman")
    return check(
        "/dev/shm",
        free >= 256 * MiB,
        f"{format_size(free // MiB * MiB)} free",
        "256 MiB or more, for ranks on one host",
        f"{container} run --shm-size=1g ..." if inside else "sudo mount -o remount,size=1g /dev/shm",
    )


def _locked_memory(facts: Facts) -> Check | None:
    limit = facts.get("memory_lock_limit_B")
    if not facts.get("rdma_devices"):
        return None
    return check(
        "locked memory",
        limit is None,
        "no limit" if limit is None else f"{limit // 1024} KiB",
        "no limit, for RDMA",
        "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/rdma.conf   # then log in again",
    )


_MACHINE: tuple[Callable[[Facts], Check | None], ...] = (
    _load,
    _governor,
    _smt,
    _numa,
    _huge_pages,
    _clock,
    _virtualisation,
    _memory,
    _shared_memory,
    _locked_memory,
)


def _busy(facts: Facts, load: Load) -> Note | None:
    """Return a note if processes other than labkit's use the machine; None if they do not, or nobody looked."""
    others, cores = load.get("others"), facts["cpus_usable"]
    if not others or others["processors"] <= BUSY * cores:
        return None
    name, share = "hidden processes", others["unseen"]
    name, _, share = max([[name, 0, share], *others["named"]], key=lambda one: float(one[2]))
    # the busiest process is a value of the note, not of its text: so points that differ in it have the same warning
    load_of_others = f"other processes use {others['processors']:.2f} of {_so_many(cores)}"
    text = f"busy machine ({load_of_others}): times are unreliable, rerun when idle"
    return note("busy-machine", text, processors=others["processors"], cores=cores, most=name, share=share)


def _so_many(count: int) -> str:
    return plural(count, "core")


def _drift(start: Load, end: Load | None, governor: str | None) -> Note | None:
    """Return a note if the frequency changed; None if it did not, or is not known."""
    first, last = start.get("frequency_MHz"), end and end.get("frequency_MHz")
    if not first or not last or abs(last - first) <= DRIFT * max(first, last):
        return None
    steady = governor in STEADY_GOVERNORS
    remedy = "look for heat and turbo" if steady else "set the CPU governor to performance"
    text = f"CPU frequency changed from {first:.0f} to {last:.0f} MHz: iterations differ, {remedy}"
    return note("frequency-drift", text, start_MHz=first, end_MHz=last)


def warnings_for_run(
    description: Facts, start: Load, end: Load | None = None, *, ranks: int = 0, guest: int = 0
) -> list[Note]:
    """Return doubts about numbers measured on this machine, each with its evidence; the samples keep them.

    Parameters
    ----------
    description : as from `labkit.host.describe`.
    start, end : `labkit.host.load_snapshot` at both ends of the point; the last one may have ``others``, which
        `labkit.host.Watch` reports.
    ranks : processes of the lab that keep a core busy.
    guest : cores of the emulated guest that they run in; 0 if they run on this machine.
    """
    busy, cores = _busy(description, start if end is None else end), guest or description["cpus_usable"]
    notes = []
    if busy:
        notes.append(busy)
    governor, clock = description.get("governor"), description.get("clock_source")
    if ranks and cores <= ranks:
        many = f"{ranks} ranks on {_so_many(cores)} leave" if ranks > 1 else f"1 rank on {_so_many(cores)} leaves"
        place = "the guest's system" if guest else "the system"
        text = f"{many} no core for {place}: p99 and max are unreliable, use fewer ranks or more cores"
        notes.append(note("no-core-left", text, ranks=ranks, cores=cores))
    if governor is not None and governor not in STEADY_GOVERNORS:
        text = f"CPU governor is {governor!r}: short runs may be slow, set it to performance"
        notes.append(note("governor", text, governor=governor))
    if drift := _drift(start, end, governor):
        notes.append(drift)
    if clock is not None and clock not in GOOD_CLOCKS:
        notes.append(
            note(
                "clock-source",
                f"clock source is {clock!r}: reading it may be slow or coarse"
                f"{f', set it to {better}' if (better := _better_clock(description)) else ''}",
                source=clock,
            )
        )
    if description["virtualisation"] != "none":
        kind = description["virtualisation"]
        text = f"virtual machine ({kind}): the hypervisor may interrupt iterations, p99 and max may be too high"
        notes.append(note("virtual-machine", text, kind=kind))
    before, after = start["cpu_steal_s"], end["cpu_steal_s"] if end else None
    # the kernel counts stolen time in ticks of 10 ms, which says nothing about a shorter point
    span = (end["monotonic_s"] - start["monotonic_s"]) * description["cpu_threads"] if end else 0.0
    if before is not None and after is not None and span > 0.2:
        share = (after - before) / span
        if share > STEAL:
            text = f"the hypervisor took {format_share(share)} of the CPU time: times are unreliable, rerun when idle"
            notes.append(note("stolen-time", text, share=share))
    return notes


def badges(description: Facts, start: Load, end: Load | None = None) -> list[Note]:
    """Marks that a number carries in every table and figure: ``busy machine``, ``CPU frequency``, ``emulated link``.

    The parameters are the first ones of `warnings_for_run`.
    """
    governor = description.get("governor")
    unsteady = (governor is not None and governor not in STEADY_GOVERNORS) or bool(_drift(start, end, governor))
    busy = bool(_busy(description, start if end is None else end))
    emulated = bool(description.get("emulated"))
    marks = {"busy machine": busy, "CPU frequency": unsteady, "emulated link": emulated}
    return [badge(mark) for mark, seen in marks.items() if seen]
