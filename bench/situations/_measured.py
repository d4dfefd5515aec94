"""Short measurements on this machine, some of them over links whose limits the metadata do not name."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from bench.situations import NotShownError
from bench.situations._recorded import above as above
from bench.situations._recorded import apart as apart
from bench.situations._recorded import below as below
from bench.situations._recorded import said_to_be
from bench.situations._recorded import typical as typical
from labkit import testbeds
from labkit.point.spec import Effort, Spec
from labkit.run import measuring
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT
from labkit.testbeds import Testbed

LINK = "virtual-cluster:2,rate=200mbit"
FULL = 25.0  # MB/s that this link carries
STREAM, ROUND_TRIP = "sockets.tcp_stream", "sockets.tcp_rr"
_SEGMENT = 1448  # B of payload in a packet of 1500 B
EFFORT = Effort(launches=3, iterations=4, warmup=1, time_cap=0.2)
COSTS = (
    Spec(benchmark="micro.core_to_core", size=64, ranks=1),
    Spec(benchmark="micro.loopback", size=1, ranks=1),
    Spec(benchmark="micro.loopback", size=65536, ranks=1),
    Spec(benchmark="micro.memory_copy", size=65536, ranks=1),
    Spec(benchmark="micro.core_to_core_copy", size=65536, ranks=1),
)


def of_machine() -> list[Spec]:
    """Return what the machine costs without a network, as points."""
    return list(COSTS)


def messages(testbed: str, sizes: Sequence[int] = (8, 64, 512, 1024)) -> list[Spec]:
    """Return latencies of ranks and of TCP over a testbed."""
    ranks = [Spec(benchmark="mpi.latency", size=size, testbed=testbed) for size in sizes]
    return [*ranks, Spec(benchmark="sockets.tcp_rr", size=8, ranks=1, testbed=testbed)]


def streams(testbed: str, sizes: Sequence[int] = (64 * 1024, 256 * 1024)) -> list[Spec]:
    """Return bandwidths of ranks and of TCP over a testbed."""
    ranks = [Spec(benchmark="mpi.bandwidth", size=size, testbed=testbed, options={"window": 4}) for size in sizes]
    return [*ranks, *connections(testbed, sizes)]


def connections(testbed: str, sizes: Sequence[int] = (64 * 1024, 256 * 1024)) -> list[Spec]:
    """Return bandwidths of TCP over a testbed."""
    tools = {"tool": "iperf3"}
    return [Spec(benchmark=STREAM, size=s, ranks=1, testbed=testbed, options=tools) for s in sizes]


def measured(specs: Iterable[Spec], folder: Path, effort: Effort = EFFORT) -> Campaign:
    """Measure into a new campaign."""
    return measuring.measure(list(specs), effort, into=Campaign(folder))


def rewritten(campaign: Campaign, folder: Path, change: Callable[[Samples], Samples]) -> Campaign:
    """Write the launches of a campaign into another one, each as a function changes it."""
    told = Campaign(folder, {name: campaign.facts[name] for name in ("host", "created") if name in campaign.facts})
    with told.saving() as saving:
        for name in sorted({point[0] for point in campaign.done()}):
            for one in campaign.samples(name):
                saving.add(some := change(one), FINGERPRINT.of(some.meta))
    return told


def told(one: Samples, testbed: str = LINK, **facts: object) -> Samples:
    """Return a launch over a link that is described as another; one without a network as it is."""
    return one if one.spec.testbed == "local" else said_to_be(one, testbed, **facts)


def hidden(specs: Sequence[Spec], folder: Path, testbed: str = LINK, **facts: object) -> Campaign:
    """Measure points over a link, and describe it as another."""
    return changed(specs, folder, lambda one: told(one, testbed, **facts))


def changed(
    specs: Sequence[Spec],
    folder: Path,
    change: Callable[[Samples], Samples],
    efforts: Mapping[str, Effort] = {},  # it is only read
) -> Campaign:
    """Measure points, and write each launch as a function changes it.

    Parameters
    ----------
    efforts : of benchmarks that need another one than the usual.
    """
    with tempfile.TemporaryDirectory() as place:
        true = measured([one for one in specs if one.benchmark not in efforts], Path(place) / "true")
        for name, effort in efforts.items():
            measured([one for one in specs if one.benchmark == name], true.path, effort)
        return rewritten(true, folder, change)


def slow_stream(campaign: Campaign, least: float, full: float = FULL) -> str:
    """Return that a connection of TCP carries less than the link."""
    rate = typical(campaign.samples(STREAM), "bandwidth_MBps")
    return below("MB/s of a stream and of the link as it should be", rate, full, least)


def late_trips(campaign: Campaign, ms: float) -> str:
    """Return that a round trip takes longer than the delay of one direction."""
    trip = typical(campaign.samples(ROUND_TRIP), "round_trip_us")
    return above("µs of a round trip and of the delay of one direction", trip, 1000.0 * ms, 1.6)


def lossy_stream(campaign: Campaign, percent: float) -> str:
    """Return that segments were sent again, at least a quarter of those that should be lost, and that this cost bandwidth.

    On a short link a lost segment costs little more than sending it again, so the segments are the proof. iperf3 stops
    to count when the last block is sent, not when it has arrived, so it misses some.
    """
    again = segments = 0.0
    for one in campaign.samples(STREAM):
        again += sum(each.value for each in one.reported if each.name == "retransmits" and each.t is None)
        segments += (one.effort.iterations or 0) * one.spec.size / _SEGMENT
    share = 100 * again / segments if segments else 0.0
    if not share >= percent / 4:
        raise NotShownError(
            f"{share:.2g} % of the segments were sent again, but {percent:g} % of packets should be lost"
        )
    return f"{slow_stream(campaign, 1.2)}; {again:g} segments sent again, {share:.2g} %"


@contextmanager
def kept_up(testbed: str) -> Iterator[Testbed]:
    """Keep a virtual cluster up that measurements use, apart from the clusters of others."""
    with tempfile.TemporaryDirectory() as place:
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = place  # the clusters of others stay apart
        try:
            kept = testbeds.bring_up(testbed, lifetime=300)
            try:
                with testbeds.open(testbed) as cluster:
                    yield cluster
            finally:
                testbeds.take_down(kept)
        finally:
            if before is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = before


@contextmanager
def changed_link(testbed: str, *commands: str) -> Iterator[None]:
    """Keep a virtual cluster up whose links are changed on each host by commands of iproute2."""
    with kept_up(testbed) as cluster:
        change(cluster, *commands)
        yield


def change(cluster: Testbed, *commands: str) -> None:
    """Run commands of iproute2 on each host of a cluster."""
    for host in cluster.hosts:
        for command in commands:
            name, *words = command.split()
            subprocess.run(cluster.on(host, [program(name), *words]), check=True, timeout=30)


def program(name: str) -> str:
    """Return the path of a program that may be in a folder of root."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or name


@contextmanager
def running(*commands: Sequence[str]) -> Iterator[None]:
    """Run programs of somebody else, with what they start, for as long as the context lasts, at most.

    labkit counts what this process starts as its own; so a shell starts them, and ends.
    """
    others: list[int] = []
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("LABKIT_")}
    script = ["sh", "-c", 'setsid "$@" </dev/null >/dev/null 2>&1 & echo $!', "sh"]
    try:
        for words in commands:
            shell = subprocess.run([*script, *words], env=foreign, capture_output=True, text=True, check=True)
            others.append(int(shell.stdout))
        yield
    finally:
        for pid in others:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # its group is its own


@contextmanager
def control_group(controller: str, settings: Mapping[str, str]) -> Iterator[None]:
    """Put this process, and what it starts, into a new control group (version 1), whose files get some texts."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    own = next((place for _, names, place in lines if controller in names.split(",")), "/")
    parent = Path("/sys/fs/cgroup") / controller / own.lstrip("/")
    group = parent / f"labkit-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise NotShownError(f"no control group {group} can be made: {error}") from None
    try:
        for name, text in settings.items():
            (group / name).write_text(text)
        (group / "cgroup.procs").write_text(str(os.getpid()))
        try:
            yield
        finally:
            (parent / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()


_SPIN = """
import os, time
if {cores}: os.sched_setaffinity(0, {cores})
end = time.monotonic() + {seconds}
while time.monotonic() < end: pass
"""
_LONGEST_S = 40


def spinning(count: int, cores: Sequence[int] = ()) -> AbstractContextManager[None]:
    """Run programs that compute, for 40 s at most; on some cores only if these are given."""
    words = [sys.executable, "-c", _SPIN.format(seconds=_LONGEST_S, cores=list(cores))]
    return running(*[words] * count)


def heavy(*sizes: int) -> list[Spec]:
    """Return windows of messages of ranks that share memory.

    From 1 MiB an iteration of 64 MiB takes longer than a time slice, so that other programs delay each.
    """
    return [Spec(benchmark="mpi.bandwidth", size=size, transport="shm") for size in sizes]


_HEAVY = Effort(launches=3, iterations=6, warmup=1, time_cap=1.0)
_BEFORE = "alone.json"  # beside the samples: s of an iteration before the disturbance


def disturbed(
    specs: Sequence[Spec], folder: Path, disturbance: AbstractContextManager[None], effort: Effort = _HEAVY
) -> Campaign:
    """Measure points of one benchmark under a disturbance, after what the machine costs without it."""
    name = specs[0].benchmark
    with tempfile.TemporaryDirectory() as place:
        alone = typical(measured(specs, Path(place) / "before", effort).samples(name))
    measured(of_machine(), folder)
    with disturbance:
        campaign = measured(specs, folder, effort)
    (folder / _BEFORE).write_text(json.dumps(alone))
    return campaign


def slower(campaign: Campaign, name: str, least: float) -> str:
    """Return that a benchmark takes longer under the disturbance than before it."""
    alone = json.loads((campaign.path / _BEFORE).read_text())
    now = typical(campaign.samples(name))
    return above("s of an iteration under the disturbance and before", now, alone, least)
