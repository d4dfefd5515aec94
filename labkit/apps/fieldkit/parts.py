"""What a field kit runs: labkit's benchmarks, and the site's own programs that are on the PATH."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labkit import host, testbeds, tools
from labkit.errors import LabkitError, LaunchError, SpecError
from labkit.host import allocation
from labkit.host.counters import READ
from labkit.point.host_list import slots
from labkit.point.spec import Effort, Spec, sweep
from labkit.run import measuring, programs, recording
from labkit.store.campaign import Campaign
from labkit.tools import Invocation, Parsed, Tool

PAIR, ALL, HERE = "pair", "all", "here"  # two ranks, ranks on all hosts, a program without ranks on this host
_EFFORT = Effort(time_cap=0.3)
_STREAMED = Effort(time_cap=2.0)  # a stream of TCP starts slowly
_OWN = "labkit: "  # begins the names of the parts without a program of the site
_FEW = 4  # ranks of collectives on one host, at most
MPI = {  # benchmark → sizes, and where its ranks run
    "mpi.latency": ("8,1Ki,64Ki,1Mi", PAIR),
    "mpi.bandwidth": ("64Ki,1Mi,4Mi", PAIR),
    "mpi.bibandwidth": ("64Ki,1Mi,4Mi", PAIR),
    "mpi.allreduce": ("8,1Ki,64Ki,1Mi", ALL),
    "mpi.alltoall": ("8,1Ki,64Ki", ALL),
}
MACHINE = {  # what a host costs without a network: the references of the judge
    "micro.memory_copy": "64,64Ki,1Mi,4Mi",
    "micro.core_to_core": "",
    "micro.core_to_core_copy": "64Ki,1Mi,4Mi",
    "micro.loopback": "1,64Ki,1Mi",
    "micro.wake_up": "",
}
VERBS = {"verbs.send_latency": "8", "verbs.write_bandwidth": "64Ki,1Mi"}
SITE = {  # program → its arguments, and where it runs
    "osu_latency": ((), PAIR),
    "osu_bw": ((), PAIR),
    "osu_bibw": ((), PAIR),
    "osu_allreduce": ((), ALL),
    "osu_alltoall": ((), ALL),
    "IMB-MPI1": (("PingPong",), PAIR),
    "all_reduce_perf": (("-b", "8", "-e", "128M", "-f", "4"), HERE),
    "sendrecv_perf": (("-b", "8", "-e", "128M", "-f", "4"), HERE),
}

Run = Callable[[Campaign, int, float], object]  # measures round N, counted from 0, in at most so many s


@dataclass(frozen=True)
class Part:
    """Something that each round runs once.

    Parameters
    ----------
    name : for people.
    words : its benchmarks, or its command line.
    run : measures it into a campaign.
    """

    name: str
    words: str
    run: Run


@dataclass(frozen=True)
class Place:
    """Where ranks run.

    Parameters
    ----------
    fields : fields of `Spec`: ``ppn``, ``bind``, ``device``, ``transport``, ``launcher``; those that the user chose.
    hosts : hosts that the user named; else those of the batch job, or this one.
    """

    fields: Mapping[str, Any]
    hosts: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """Names of all hosts; empty where only this one is measured."""
        job = allocation.current()
        return tuple(slots(self.hosts)) or (job.hosts if job else ())

    def ranks(self, where: str) -> dict[str, Any]:
        """Return the fields of a spec for two ranks, or for ranks on all hosts."""
        if where == PAIR:
            return {**self.fields, "ppn": 0, "ranks": 2, "hosts": self.hosts[:2]}
        per_host = int(self.fields.get("ppn", 0))
        here = max(2, min(_FEW, len(os.sched_getaffinity(0))))
        count = len(self.known) * (per_host or 1) if len(self.known) > 1 else per_host or here
        return {**self.fields, "ranks": count, "hosts": self.hosts}


def chosen(place: Place) -> tuple[list[Part], dict[str, str]]:
    """Return what can run here, and what is left out: name → reason.

    Raises
    ------
    SpecError
        If ranks cannot be placed like that.
    """
    found, left_out = list[Part](), dict[str, str]()
    for name, make in _makers(place):
        try:
            found.append(make())
        except LabkitError as error:
            if isinstance(error, SpecError) and name.startswith(_OWN):
                raise
            left_out[name] = error.brief
    return found, left_out


def _makers(place: Place) -> Iterator[tuple[str, Callable[[], Part]]]:
    """Yield each part by its name, with what makes it, or raises why it cannot run here."""
    for words, where in (("messages between two ranks", PAIR), ("collectives", ALL)):
        name, some = f"{_OWN}{words}", {name: sizes for name, (sizes, at) in MPI.items() if at == where}
        yield name, partial(_measured, name, some, place.ranks(where))
    name, ends = f"{_OWN}this machine", {"ranks": 1, "hosts": place.known[:2]}
    yield name, partial(_measured, name, MACHINE, {"ranks": 1})
    yield "iperf3", partial(_measured, "iperf3", {"sockets.tcp_stream": "128Ki"}, ends | {"tool": "iperf3"}, _STREAMED)
    yield "perftest", partial(_perftest, ends, place)
    for program, (arguments, where) in SITE.items():
        yield program, partial(_site, program, arguments, where, place)


def _measured(name: str, benchmarks: Mapping[str, str], fields: Mapping[str, Any], effort: Effort = _EFFORT) -> Part:
    """Return the part that measures some benchmarks, name → sizes.

    Raises
    ------
    SpecError, LaunchError
        If they cannot be measured here.
    """
    specs = [spec for one, sizes in benchmarks.items() for spec in sweep(one, sizes=sizes or 0, **fields)]
    measuring.expand(specs, effort, [0])

    def run(campaign: Campaign, number: int, seconds: float) -> None:
        limited = replace(effort, time_limit=min(effort.time_limit, seconds))
        measuring.measure(specs, limited, into=campaign, launches=[number])

    return Part(name, ", ".join(benchmarks), run)


def _perftest(ends: Mapping[str, Any], place: Place) -> Part:
    """Return the part that runs perftest, if there is an RDMA device."""
    devices, asked = [one["name"] for one in host.lasting()["rdma_devices"]], place.fields.get("device", "")
    if not devices:
        raise LaunchError("this host has no RDMA device")
    device = {"device": asked} if asked.partition(":")[0] in devices else {}
    return _measured("perftest", VERBS, {**ends, **device, "tool": "perftest"})


def _site(program: str, arguments: Sequence[str], where: str, place: Place) -> Part:
    """Return the part that records a program of the site.

    Raises
    ------
    LaunchError
        If it is not on the PATH, or what it needs is missing.
    """
    if shutil.which(program) is None:
        raise LaunchError("not on the PATH")
    fields = place.ranks(where) if where != HERE else {}
    if where == HERE:
        if not (gpus := len(host.gpus())):
            raise LaunchError("this host has no GPU")
        command = [program, *arguments, "-g", str(gpus)]
    else:
        command = with_ranks([program, *arguments], fields)

    def run(campaign: Campaign, number: int, seconds: float) -> None:
        ranks = fields.get("ranks", 0)
        # the testbed of labkit's points, so that `labkit compare` accepts both
        recording.record(command, launches=1, into=campaign, ranks=ranks, testbed="local", time_limit=seconds)

    return Part(program, shlex.join(command), run)


def with_ranks(command: Sequence[str], fields: Mapping[str, Any]) -> list[str]:
    """Return the command line that starts a program on ranks, with the launcher of the MPI that it is linked to.

    Parameters
    ----------
    command : the program, and its arguments.
    fields : fields of `Spec`: ranks and where they run.

    Raises
    ------
    LaunchError
        If no launcher is installed.
    SpecError
        If the hosts cannot hold the ranks.
    """
    kind, folder = tools.linked_mpi(command[0])
    path = shutil.which(command[0]) or command[0]
    program = Invocation(
        tool=Tool(name=command[0], programs=(command[0],), purpose=""), client=(path, *command[1:]), definition="",
        duration=0, time_limit=0, parse=lambda text, folder: Parsed(), mpi=kind, mpi_folder=folder,
    )  # fmt: skip
    started = programs.with_ranks(program, Spec(benchmark="mpi.barrier", **fields), testbeds.outline("local"))
    variables = [f"{name}={value}" for name, value in sorted(started.environment.items())]
    return ["env", *variables, *started.client]


def counting(place: Place) -> Sequence[str]:
    """Return the command that reads the counters of all hosts.

    Raises
    ------
    LaunchError
        If no launcher is installed.
    """
    if len(place.known) < 2:
        return READ
    return with_ranks(READ, {**place.fields, "ranks": len(place.known), "ppn": 1, "hosts": place.hosts})
