"""The batch job that this process runs in: its number, its hosts, and their switches."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from labkit.errors import DataError, SpecError
from labkit.io import safe_read
from labkit.point.host_list import expanded
from labkit.point.notes import joined
from labkit.point.units import plural

LEFT_OUT_FILE = (
    "LABKIT_LEFT_OUT"  # the file of hosts that are not to be used; each line has a host, a tab and the reason
)
WORDS = ("same-leaf", "across-leaves")  # what a spec may name instead of hosts


@dataclass(frozen=True)
class Allocation:
    """Resources that a batch system gave a job.

    Parameters
    ----------
    system : ``slurm``, ``pbs`` or ``flux``.
    job : its number.
    index : its index in an array of jobs; empty outside of one.
    hosts : in the batch system's order, without those that were left out.
    tasks : ranks requested for each host; 0 if the batch system does not say.
    leaves : host → its switch; empty if the batch system does not know.
    """

    system: str
    job: str
    index: str = ""
    hosts: tuple[str, ...] = ()
    tasks: int = 0
    leaves: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The number as the batch system prints it: ``1234``, or ``1234_2`` in an array."""
        return f"{self.job}_{self.index}" if self.index else self.job

    def chosen(self, count: int, where: str = "") -> tuple[str, ...]:
        """Choose hosts of the job.

        Parameters
        ----------
        count : number of hosts.
        where : ``same-leaf``, ``across-leaves`` (alternating between switches), or empty for the first ones.

        Raises
        ------
        SpecError
            If the job has too few hosts, or too few in that arrangement.
        """
        if count > len(self.hosts):
            raise SpecError(
                f"The request needs {plural(count, 'host')}, but job {self.name} has {len(self.hosts)} to use "
                f"({', '.join(self.hosts)}). Submit with --nodes {count}, or set ppn."
            )
        if not where:
            return self.hosts[:count]
        groups: dict[str, list[str]] = {}
        for host in self.hosts:
            groups.setdefault(self.leaves.get(host, ""), []).append(host)
        if "" in groups:
            raise SpecError(
                f"hosts={where}, but Slurm does not know the switches of {', '.join(groups[''])}: "
                "scontrol show topology names none. Name the hosts themselves."
            )
        shown = joined(f"{leaf}: {', '.join(hosts)}" for leaf, hosts in groups.items())
        if where == "same-leaf":
            fitting = next((hosts for hosts in groups.values() if len(hosts) >= count), None)
            if fitting is None:
                raise SpecError(
                    f"hosts=same-leaf, but no switch of job {self.name} has {plural(count, 'host')} ({shown}). Submit "
                    "with more "
                    "nodes, or with --constraint or the site's option --switches=1."
                )
            return tuple(fitting[:count])
        if len(groups) < 2 or count < 2:
            raise SpecError(
                f"hosts=across-leaves, but that needs two hosts on two switches, and {count} of {shown} were "
                "requested. Submit with more nodes."
            )
        turns = itertools.chain.from_iterable(itertools.zip_longest(*groups.values()))
        return tuple(host for host in turns if host is not None)[:count]

    def facts(self) -> dict[str, Any]:
        """Return plain values for the metadata."""
        values: dict[str, Any] = {"system": self.system, "job": self.job, "name": self.name, "hosts": list(self.hosts)}
        if self.index:
            values["index"] = self.index
        if self.leaves:
            values["leaves"] = dict(self.leaves)
        return values

    def placement(self, hosts: Sequence[str]) -> dict[str, Any]:
        """Return hosts of the job, their leaf switches and how far apart they are, as plain values for the metadata."""
        leaves = {host: self.leaves.get(host, "") for host in hosts}
        return {"hosts": list(hosts), "leaves": leaves, "span": span(hosts, self.leaves)}


def leaves(text: str) -> dict[str, str]:
    r"""Return host → switch, from ``scontrol show topology`` or a topology.conf.

    Examples
    --------
    >>> leaves("SwitchName=s0 Level=0 LinkSpeed=1 Nodes=a[0-1]\nSwitchName=top Level=1 Nodes=a[0-1] Switches=s0")
    {'a0': 's0', 'a1': 's0'}
    """
    switches: dict[str, str] = {}
    for line in text.splitlines():
        fields: dict[str, str] = dict(re.findall(r"(\w+)=(\S+)", line.partition("#")[0]))
        if "SwitchName" in fields and "Nodes" in fields and "Switches" not in fields:
            switches |= dict.fromkeys(expanded(fields["Nodes"]), fields["SwitchName"])
    return switches


_part: ContextVar[tuple[str, ...]] = ContextVar("part", default=())


@contextmanager
def narrowed(hosts: Sequence[str]) -> Iterator[None]:
    """Let `current` return only these hosts of the job in this thread, while other threads use the others."""
    before = _part.set(tuple(hosts))
    try:
        yield
    finally:
        _part.reset(before)


def shared() -> bool:
    """Whether other threads use other hosts of the job meanwhile."""
    return bool(_part.get())


def current() -> Allocation | None:
    """Return the job that this process runs in; None outside of one."""
    job = _usable_job()
    if job is None or not _part.get():
        return job
    part = frozenset(_part.get())
    hosts = tuple(host for host in job.hosts if host in part)
    return Allocation(job.system, job.job, job.index, hosts, job.tasks, job.leaves)


def _usable_job() -> Allocation | None:
    """Return the job without the hosts that were left out."""
    job = _batch_job()
    if job is None or not os.environ.get(LEFT_OUT_FILE):
        return job
    try:
        lines = safe_read.text(Path(os.environ[LEFT_OUT_FILE]), "replace").splitlines()
    except DataError:
        return job
    absent = {line.partition("\t")[0] for line in lines}
    hosts = tuple(host for host in job.hosts if host not in absent)
    return Allocation(job.system, job.job, job.index, hosts, job.tasks, job.leaves)


@cache
def _batch_job() -> Allocation | None:
    return _slurm(os.environ) or _pbs(os.environ) or _flux(os.environ)


def _slurm(environment: Mapping[str, str]) -> Allocation | None:
    if not environment.get("SLURM_JOB_ID") or not environment.get("SLURM_JOB_NODELIST"):
        return None
    hosts = tuple(expanded(environment["SLURM_JOB_NODELIST"]))
    known = leaves(_output("scontrol", "show", "topology")) or leaves(_topology(environment))
    tasks = re.match(r"\d+", environment.get("SLURM_NTASKS_PER_NODE", ""))
    return Allocation(
        "slurm",
        environment.get("SLURM_ARRAY_JOB_ID") or environment["SLURM_JOB_ID"],
        environment.get("SLURM_ARRAY_TASK_ID", ""),
        hosts,
        int(tasks[0]) if tasks else 0,
        {host: known[host] for host in hosts if host in known},
    )


def _topology(environment: Mapping[str, str]) -> str:
    """Return the text of the topology.conf beside slurm.conf."""
    folder = Path(environment.get("SLURM_CONF") or "/etc/slurm/slurm.conf").parent
    try:
        return safe_read.text(folder / "topology.conf", "replace")
    except DataError:
        return ""


def _pbs(environment: Mapping[str, str]) -> Allocation | None:
    try:
        lines = safe_read.text(Path(environment["PBS_NODEFILE"])).split()
    except (KeyError, DataError):
        return None
    hosts = tuple(dict.fromkeys(lines))
    job, index = re.match(r"([^\[.]*)", environment.get("PBS_JOBID", "")), environment.get("PBS_ARRAY_INDEX", "")
    return Allocation("pbs", job[1] if job else "", index, hosts, len(lines) // max(len(hosts), 1))


def _flux(environment: Mapping[str, str]) -> Allocation | None:
    if "FLUX_URI" not in environment:
        return None
    job, hosts = _output("flux", "getattr", "jobid").strip(), _output("flux", "getattr", "hostlist").strip()
    return Allocation("flux", job, hosts=tuple(expanded(hosts))) if job and hosts else None


def _output(*words: str) -> str:
    """Return what a command prints; empty if it fails."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def span(hosts: Sequence[str], known: Mapping[str, str]) -> str:
    """Return the distance between hosts: ``one host``, ``same leaf``, ``across leaves``; empty if that is not known."""
    if len(set(hosts)) < 2:
        return "one host"
    switches = {known.get(host, "") for host in hosts}
    if "" in switches:
        return ""
    return "same leaf" if len(switches) == 1 else "across leaves"
