"""Short measurements on this machine, some of them over links whose limits the metadata do not name."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.situations._recorded import apart as apart
from bench.situations._recorded import said_to_be
from bench.situations._recorded import typical as typical
from labkit import testbeds
from labkit.point.spec import Effort, Spec
from labkit.run import measuring
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import FINGERPRINT

LINK = "virtual-cluster:2,rate=200mbit"
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
    tools = {"tool": "iperf3"}
    return [
        *ranks,
        *(Spec(benchmark="sockets.tcp_stream", size=s, ranks=1, testbed=testbed, options=tools) for s in sizes),
    ]


def measured(specs: Iterable[Spec], folder: Path, effort: Effort = EFFORT) -> Campaign:
    """Measure into a new campaign."""
    return measuring.measure(list(specs), effort, into=Campaign(folder))


def concealed(campaign: Campaign, folder: Path, testbed: str, **facts: object) -> Campaign:
    """Write the launches of a campaign into another one, over a link that is described as another."""
    told = Campaign(folder, {name: campaign.facts[name] for name in ("host", "created") if name in campaign.facts})
    with told.saving() as saving:
        for name in {point[0] for point in campaign.done()}:
            for one in campaign.samples(name):
                some = one if one.spec.testbed == "local" else said_to_be(one, testbed, **facts)
                saving.add(some, FINGERPRINT.of(one.meta))
    return told


def hidden(specs: Sequence[Spec], folder: Path, **facts: object) -> Campaign:
    """Measure points over a link, and describe it as `LINK`."""
    with tempfile.TemporaryDirectory() as place:
        return concealed(measured(specs, Path(place) / "true"), folder, LINK, **facts)


@contextmanager
def changed_link(testbed: str, *commands: str) -> Iterator[None]:
    """Keep a virtual cluster up whose links are changed on each host by commands of iproute2."""
    with tempfile.TemporaryDirectory() as place:
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = place  # the clusters of others stay apart
        try:
            kept = testbeds.bring_up(testbed, lifetime=300)
            try:
                with testbeds.open(testbed) as cluster:
                    for host in cluster.hosts:
                        for command in commands:
                            program, *words = command.split()
                            path = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or program
                            subprocess.run(cluster.on(host, [path, *words]), check=True, timeout=30)
                yield
            finally:
                testbeds.take_down(kept)
        finally:
            if before is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = before
