"""The placement of ranks on hosts: ranks for each host, binding, and network device."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from labkit import benchmarks
from labkit.errors import SpecError, unknown_name
from labkit.host import allocation
from labkit.host.allocation import Allocation
from labkit.host.machine import EMULATED
from labkit.point import host_list
from labkit.point.spec import Spec
from labkit.testbeds import Testbed

RDMA = ("rc", "ud")  # paths of UCX over an adapter: reliable connections, unreliable datagrams
NETWORK, FLAGS = "LABKIT_INTERFACE", "LABKIT_LAUNCH_FLAGS"  # a site's, for all that a job starts


class Starts(Protocol):
    """What a placement must know of the launcher: kind and version of the library, and what srun offers."""

    @property
    def kind(self) -> str:
        """Kind of the MPI library."""

    @property
    def version(self) -> tuple[int, ...]:
        """Version of the library."""

    @property
    def pmi(self) -> tuple[str, ...]:
        """What srun offers to start ranks with."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the ranks of one start go.

    Parameters
    ----------
    ranks, ppn, hosts, transport, device, bind : as in `labkit.point.spec.Spec`.
    settings : its `environment`.
    cores : this machine has; more ranks than that on it are oversubscribed and yield when idle.
    local_names : names of this machine.
    nodes : hosts of the batch job this runs in; 0 outside of one.
    library : kind of the MPI library: ``openmpi``, ``mpich``, ``intelmpi``.
    version : version of the library, as numbers.
    pmi : what srun offers to start ranks with.
    root : started by the superuser, which Open MPI wants to be told.
    remote_shell : program that starts a command on another host in place of ssh, for hosts that share this
        machine's cores; empty if they have their own.
    network : a site's device for TCP between hosts, if the spec names none.
    flags : further arguments of a site for the launcher.
    patience : s that ssh tries to reach a host; 0 leaves it to ssh.
    by_input : whether rank 0 reads its plan from standard input.
    pgas : whether the ranks use OpenSHMEM or coarrays.
    rdma : variables of UCX that a testbed sets for ranks over RDMA.
    threads : threads that each rank computes with.
    """

    ranks: int
    ppn: int = 0
    hosts: tuple[str, ...] = ()
    transport: str = "auto"
    device: str = ""
    bind: str = "auto"
    settings: tuple[tuple[str, str], ...] = ()
    cores: int = 1
    local_names: tuple[str, ...] = ("localhost", "127.0.0.1")
    nodes: int = 0
    library: str = ""
    version: tuple[int, ...] = (0,)
    pmi: tuple[str, ...] = ()
    root: bool = False
    remote_shell: str = ""
    network: str = ""
    flags: tuple[str, ...] = ()
    patience: int = 0
    by_input: bool = False
    pgas: bool = False
    rdma: tuple[tuple[str, str], ...] = ()
    threads: int = 1

    @cached_property
    def shares(self) -> tuple[tuple[str, int], ...]:
        """Host → ranks on it, in order; empty if no hosts are named.

        Raises
        ------
        SpecError
            If the hosts cannot hold the ranks.
        """
        return host_list.shares(self.hosts, self.ranks, self.ppn)

    @property
    def per_host(self) -> int:
        """Most ranks on one host."""
        return max((n for _, n in self.shares), default=self.ppn or -(-self.ranks // max(self.nodes, 1)))

    @property
    def remote(self) -> bool:
        """Whether ranks may run on other hosts."""
        return any(name not in self.local_names for name, _ in self.shares) or (not self.hosts and self.nodes > 1)

    def ssh_options(self, *variables: str) -> str:
        """Options for the ssh that starts ranks on other hosts; empty if it is not ssh, or if users set their own.

        Parameters
        ----------
        variables : variables with which users choose another program or its options.
        """
        own_ssh = self.patience and self.remote and self.hosts and not self.remote_shell
        if not own_ssh or any(name in os.environ or name in dict(self.settings) for name in variables):
            return ""
        return f"-o ConnectTimeout={self.patience}"

    @property
    def emulated(self) -> bool:
        """Whether the hosts are virtual ones of this machine, also in a job on ``labkit testbed up slurm``."""
        return bool(self.remote_shell or os.environ.get(EMULATED))

    @property
    def oversubscribed(self) -> bool:
        """Whether there are more threads than cores on this machine, or more ranks than slots on another host."""
        if self.emulated:
            return self.ranks * self.threads > self.cores
        if not self.hosts:
            return self.per_host * self.threads > self.cores
        slots, most = host_list.slots(self.hosts), self.cores // self.threads
        return any(n > (most if name in self.local_names else slots[name] or n) for name, n in self.shares)

    @property
    def yields(self) -> bool:
        """Whether waiting ranks yield, because other ranks or the daemons of virtual hosts need the cores."""
        return self.oversubscribed or bool(self.remote_shell)

    @property
    def binding(self) -> str:
        """What a rank is bound to: ``core``, ``socket`` or ``none``; by default a core, if there are enough."""
        if self.bind != "auto":
            return self.bind
        return "none" if self.yields or self.threads > 1 else "core"  # every virtual host would take the first core

    @property
    def over_ucx(self) -> dict[str, str]:
        """Variables that make UCX send over RDMA, also between ranks of one host; empty for other paths."""
        if self.transport not in RDMA:
            return {}
        device = {"UCX_NET_DEVICES": self.device if ":" in self.device else f"{self.device}:1"} if self.device else {}
        return {"UCX_TLS": f"{self.transport},self", **dict(self.rdma), **device}

    @property
    def interface(self) -> str:
        """Network device for TCP: the spec's, else the site's, or the loopback if all ranks are here."""
        return self.device or (self.network if self.remote else "lo")

    @classmethod
    def of(cls, spec: Spec, launcher: Starts, testbed: Testbed | None = None) -> Placement:
        """The placement a spec asks for, on this machine or on the hosts of a testbed.

        Raises
        ------
        SpecError
            If the testbed has no host of a name.
        """
        name, hosts, remote_shell = platform.node(), spec.hosts, ""
        if testbed is not None and testbed.hosts:
            remote_shell, hosts = testbed.remote_shell, _testbed_hosts(testbed, spec)
        else:
            hosts = job_hosts(spec, allocation.current())
        return cls(
            ranks=spec.ranks,
            ppn=spec.ppn,
            hosts=hosts,
            transport=spec.transport,
            device=spec.device,
            bind=spec.bind,
            settings=spec.environment,
            cores=cores(sorted(os.sched_getaffinity(0))),
            local_names=("localhost", "127.0.0.1", "[::1]", name, name.partition(".")[0]),
            nodes=host_list.allocated(os.environ),
            library=launcher.kind,
            version=launcher.version,
            pmi=launcher.pmi,
            root=os.geteuid() == 0 or bool(remote_shell),
            remote_shell=remote_shell,
            network=os.environ.get(NETWORK, ""),
            flags=tuple(shlex.split(os.environ.get(FLAGS, ""))),
            pgas=benchmarks.get(spec.benchmark).pgas,
            rdma=tuple(testbed.rdma.items()) if testbed is not None else (),
        )


def job_hosts(spec: Spec, job: Allocation | None) -> tuple[str, ...]:
    """Hosts of a batch job for the ranks of a spec: the named ones, else all, one after the other.

    One for shared memory.

    Raises
    ------
    SpecError
        If the job has too few hosts, or none that fit ``same-leaf`` or ``across-leaves``.
    """
    rule = spec.hosts[0] if len(spec.hosts) == 1 and spec.hosts[0] in allocation.WORDS else ""
    if rule and job is None:
        raise SpecError(f"hosts={rule} works in batch jobs only. Name hosts, or use labkit submit.")
    if job is None or (spec.hosts and not rule):
        return spec.hosts
    most = len(job.hosts)
    if rule == "same-leaf":
        most = max((list(job.leaves.values()).count(leaf) for leaf in job.leaves.values()), default=most)
    count = -(-spec.ranks // spec.ppn) if spec.ppn else min(spec.ranks, most)
    return job.chosen(1 if spec.transport == "shm" else count, rule)


def _testbed_hosts(testbed: Testbed, spec: Spec) -> tuple[str, ...]:
    """Hosts of a testbed for the ranks of a spec: the named ones, else all, with one rank each."""
    slots = host_list.slots(spec.hosts)
    for host in slots:
        if host not in testbed.hosts:
            raise unknown_name("host", host, testbed.hosts)
    if slots:
        return spec.hosts
    count = min(-(-spec.ranks // (spec.ppn or 1)), len(testbed.hosts))
    return testbed.hosts[:count]


def refuse_uneven(placement: Placement, launcher: str) -> None:
    """Refuse hosts with different numbers of ranks; only the last one may differ.

    Raises
    ------
    SpecError
        If they do.
    """
    per_host = placement.per_host  # worked out from all hosts
    if any(n != per_host for _, n in placement.shares[:-1]):
        counts = ", ".join(f"{n} on {host}" for host, n in placement.shares)
        raise SpecError(
            f"hosts give {counts}, but {launcher} starts the same number on each host. Set ppn=N, or launcher=openmpi."
        )


def cores(threads: Sequence[int], system: Path = Path("/sys/devices/system/cpu")) -> int:
    """Number of cores that the hardware threads belong to; ranks bound to a core do not share it."""
    siblings = set()
    for thread in threads:
        try:
            siblings.add((system / f"cpu{thread}" / "topology" / "thread_siblings_list").read_text())
        except OSError:
            siblings.add(str(thread))
    return len(siblings)
