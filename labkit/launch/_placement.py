"""Where the ranks of one start go, and how they get there."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.errors import SpecError, known
from labkit.host import allocation
from labkit.host.allocation import Allocation
from labkit.launch import _hosts
from labkit.spec import Spec
from labkit.testbeds import Testbed

NETWORK, FLAGS = "LABKIT_INTERFACE", "LABKIT_LAUNCH_FLAGS"  # a site's, for all that a job starts

if TYPE_CHECKING:
    from labkit.launch import Launcher


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the ranks of one start go.

    Parameters
    ----------
    ranks, ppn, hosts, transport, device, bind : as in `labkit.spec.Spec`.
    settings : its `environment`.
    cores : this machine has; more ranks than that on it are oversubscribed and yield when idle.
    here : names of this machine.
    nodes : hosts of the batch job this runs in; 0 outside of one.
    library : kind of the MPI library: ``openmpi``, ``mpich``, ``intelmpi``.
    version : of the library, as numbers.
    pmi : what srun offers to start ranks with.
    root : started by the superuser, which Open MPI wants to be told.
    remote_shell : program that starts a command on another host in the place of ssh, for hosts that share this
        machine's cores; empty where they have their own.
    network : device for TCP between hosts where the spec names none; a site's setting.
    flags : further words of a site for the launcher.
    patience : s that ssh tries to reach a host; 0 leaves it to ssh.
    """

    ranks: int
    ppn: int = 0
    hosts: tuple[str, ...] = ()
    transport: str = "auto"
    device: str = ""
    bind: str = "auto"
    settings: tuple[tuple[str, str], ...] = ()
    cores: int = 1
    here: tuple[str, ...] = ("localhost", "127.0.0.1")
    nodes: int = 0
    library: str = ""
    version: tuple[int, ...] = (0,)
    pmi: tuple[str, ...] = ()
    root: bool = False
    remote_shell: str = ""
    network: str = ""
    flags: tuple[str, ...] = ()
    patience: int = 0

    @cached_property
    def shares(self) -> tuple[tuple[str, int], ...]:
        """Host → ranks on it, in order; empty where no hosts are named.

        Raises
        ------
        SpecError
            If the hosts cannot hold the ranks.
        """
        return _hosts.shares(self.hosts, self.ranks, self.ppn)

    @property
    def per_host(self) -> int:
        """Most ranks on one host."""
        return max((n for _, n in self.shares), default=self.ppn or -(-self.ranks // max(self.nodes, 1)))

    @property
    def remote(self) -> bool:
        """Whether ranks may run on other hosts."""
        return any(name not in self.here for name, _ in self.shares) or (not self.hosts and self.nodes > 1)

    def waiting(self, *own: str) -> str:
        """Options for the ssh that starts the ranks on other hosts; empty where it is not ssh, or users have their own.

        Parameters
        ----------
        own : variables with which users choose another program, or its options.
        """
        plain = self.patience and self.remote and self.hosts and not self.remote_shell
        if not plain or any(name in os.environ or name in dict(self.settings) for name in own):
            return ""
        return f"-o ConnectTimeout={self.patience}"

    @property
    def oversubscribed(self) -> bool:
        """More ranks than cores on this machine, or than slots on another that says how many it has."""
        if self.remote_shell:
            return self.ranks > self.cores
        if not self.hosts:
            return self.per_host > self.cores
        given = _hosts.slots(self.hosts)
        return any(n > (self.cores if name in self.here else given[name] or n) for name, n in self.shares)

    @property
    def yields(self) -> bool:
        """Whether ranks that wait let others run: where these, or the daemons of other hosts, need the cores."""
        return self.oversubscribed or bool(self.remote_shell)

    @property
    def binding(self) -> str:
        """What a rank is bound to: ``core``, ``socket`` or ``none``; its core, where there are enough of them."""
        if self.bind != "auto":
            return self.bind
        return "none" if self.yields else "core"  # every virtual host would take the first core

    @property
    def interface(self) -> str:
        """Network device for TCP: the one asked for, else the loopback where all ranks are on this machine."""
        return self.device or (self.network if self.remote else "lo")

    @classmethod
    def of(cls, spec: Spec, launcher: Launcher, testbed: Testbed | None = None) -> Placement:
        """The placement a spec asks for, on this machine or on the hosts of a testbed.

        Raises
        ------
        SpecError
            If the testbed has no host of a name.
        """
        name, hosts, shell = platform.node(), spec.hosts, ""
        if testbed is not None and testbed.hosts:
            shell, hosts = testbed.remote_shell, _on(testbed, spec)
        else:
            hosts = given(spec, allocation.current())
        return cls(
            ranks=spec.ranks,
            ppn=spec.ppn,
            hosts=hosts,
            transport=spec.transport,
            device=spec.device,
            bind=spec.bind,
            settings=spec.environment,
            cores=cores(sorted(os.sched_getaffinity(0))),
            here=("localhost", "127.0.0.1", "[::1]", name, name.partition(".")[0]),
            nodes=_hosts.allocated(os.environ),
            library=launcher.kind,
            version=launcher.version,
            pmi=launcher.pmi,
            root=os.geteuid() == 0 or bool(shell),
            remote_shell=shell,
            network=os.environ.get(NETWORK, ""),
            flags=tuple(shlex.split(os.environ.get(FLAGS, ""))),
        )


def given(spec: Spec, job: Allocation | None) -> tuple[str, ...]:
    """Hosts of a batch job that a spec's ranks go to: those it names, else all in turn; one for shared memory.

    Raises
    ------
    SpecError
        If the job has not as many, or not as ``same-leaf`` and ``across-leaves`` ask for.
    """
    word = spec.hosts[0] if len(spec.hosts) == 1 and spec.hosts[0] in allocation.WORDS else ""
    if word and job is None:
        raise SpecError(f"hosts={word} works in batch jobs only. Name hosts, or use labkit submit.")
    if job is None or (spec.hosts and not word):
        return spec.hosts
    most = len(job.hosts)
    if word == "same-leaf":
        most = max((list(job.leaves.values()).count(leaf) for leaf in job.leaves.values()), default=most)
    count = -(-spec.ranks // spec.ppn) if spec.ppn else min(spec.ranks, most)
    return job.chosen(1 if spec.transport == "shm" else count, word)


def _on(testbed: Testbed, spec: Spec) -> tuple[str, ...]:
    """The hosts of a testbed that a spec's ranks go to: those it names, else all in turn, one rank on each."""
    named = _hosts.slots(spec.hosts)
    for host in named:
        if host not in testbed.hosts:
            raise known("host", host, testbed.hosts)
    if named:
        return spec.hosts
    count = min(-(-spec.ranks // (spec.ppn or 1)), len(testbed.hosts))
    return testbed.hosts[:count]


def alike(placement: Placement, launcher: str) -> None:
    """Refuse hosts that hold different numbers of ranks, the last one excepted.

    Raises
    ------
    SpecError
        If they do; says how to make them alike.
    """
    if any(n != placement.per_host for _, n in placement.shares[:-1]):
        given = ", ".join(f"{n} on {host}" for host, n in placement.shares)
        raise SpecError(
            f"hosts give {given}, but {launcher} starts the same number on each host. Set ppn=N, or launcher=openmpi."
        )


def cores(threads: Sequence[int], system: Path = Path("/sys/devices/system/cpu")) -> int:
    """Cores behind some hardware threads; ranks bound to a core do not share it."""
    siblings = set()
    for thread in threads:
        try:
            siblings.add((system / f"cpu{thread}" / "topology" / "thread_siblings_list").read_text())
        except OSError:
            siblings.add(str(thread))
    return len(siblings)
