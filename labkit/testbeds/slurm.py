"""A small Slurm on virtual hosts of this machine, to try `labkit submit` and jobs without a cluster.

The hosts are those of a virtual cluster. munged and slurmctld run on the first one, a slurmd on each. Configuration,
state and logs are in a folder that is removed at the end, as everything that was started.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from labkit.errors import LaunchError, SpecError
from labkit.host.machine import EMULATED
from labkit.io import scratch, supervise
from labkit.testbeds import Kind, Testbed, virtual_cluster

NEEDS = {"slurmctld": "slurmctld", "slurmd": "slurmd", "munged": "munge", "sbatch": "slurm-client"}
COMMANDS = ("sbatch", "salloc", "srun", "squeue", "sinfo", "scancel", "scontrol", "sacct")  # that act on the first host
NODES, CPUS = 4, 4  # hosts if none are asked for; processors that each declares, whatever the machine has
_SITE_FILE = "labkit-site.toml"
_UP_S = 60.0  # until the daemons must be up, on a machine under load
_LEAF = 2  # hosts of a leaf switch
_CONF = """ClusterName=virtual
SlurmctldHost=vc0
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=2,sched_interval=1,batch_sched_delay=0,sched_min_interval=100000
SlurmdParameters=config_overrides
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
MessageTimeout=30
BatchStartTimeout=60
KillWait=2
MinJobAge=600
TmpFS={folder}/tmp/%n
PlugStackConfig={folder}/plugstack.conf
TopologyPlugin=topology/tree
NodeName=vc[0-{last}] CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=NO
PartitionName=shut Nodes=ALL MaxTime=60 State=DOWN
"""
# ranks of all nodes share this machine's cores: they yield, and are not bound
_SITE = """system = "slurm"
launcher = "mpirun"
[environment]
OMPI_MCA_mpi_yield_when_idle = "1"
OMPI_MCA_hwloc_base_binding_policy = "none"
{emulated} = "slurm:{nodes}"
"""


def path() -> str:
    """Return the search path for programs, without those that act on another Slurm of this kind.

    Slurm's daemons are in folders that only root has on the PATH.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    own = [
        one for one in folders if not os.access(Path(one).parent / _SITE_FILE, os.F_OK)
    ]  # false where it may not look
    return os.pathsep.join([*own, "/usr/sbin", "/sbin"])


def program(name: str) -> str:
    """Return the path of a program of Slurm; its name if it is not installed."""
    return shutil.which(name, path=path()) or name


def absent() -> list[str]:
    """Return the packages that are not installed."""
    own = {package for name, package in NEEDS.items() if not shutil.which(name, path=path())}
    return sorted(own.union(virtual_cluster.absent()))


def refusal() -> str:
    """Return why it cannot be brought up, without trying; empty if nothing is known against it."""
    return "" if os.geteuid() == 0 else "Slurm's daemons start jobs of other users, so they need root"


def _links(nodes: int) -> dict[str, str]:
    """Return the options of the virtual cluster: pairs of hosts on leaves, if there are more than two."""
    return {"rate": "1gbit"} | ({"per_leaf": str(_LEAF), "uplink": "1gbit"} if nodes > _LEAF else {})


def topology(nodes: int) -> str:
    """Return a topology.conf: pairs of nodes on leaves below one spine."""
    firsts = range(0, nodes, _LEAF)
    lines = [f"SwitchName=leaf{first // _LEAF} Nodes=vc[{first}-{min(first + _LEAF, nodes) - 1}]" for first in firsts]
    return "\n".join([*lines, f"SwitchName=spine Switches=leaf[0-{len(firsts) - 1}]", ""])


class Cluster:
    """Virtual hosts with Slurm's daemons.

    Parameters
    ----------
    testbed : the hosts.
    folder : folder of the configuration, the logs and the state.
    stack : stack of what must end.
    """

    def __init__(self, testbed: Testbed, folder: Path, stack: ExitStack) -> None:
        self.testbed, self.folder, self._stack = testbed, folder, stack
        self.daemons: list[supervise.Tree] = []  # in the order of their start

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the daemons and of what jobs inherit."""
        return {
            name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PRTE_", "SLURM_"))
        } | {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path()}

    def up(self) -> None:
        """Write the configuration, start the daemons, and wait until all nodes are idle.

        Raises
        ------
        LaunchError
            If they do not come up; with the ends of the logs.
        """
        hosts = self.testbed.hosts
        for name in ("munge", "state", "spool", "bin", *(f"tmp/{host}" for host in hosts)):
            (self.folder / name).mkdir(parents=True)
        self._configure(len(hosts))
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        words = [f"--{option}={self.folder}/munge/{name}" for option, name in files.items()]
        self._start("munged", [program("munged"), "--foreground", "--force", *words])
        until((self.folder / "munge" / "socket").exists, 10)
        self._start("slurmctld", self.testbed.on(hosts[0], [program("slurmctld"), "-D", "-c"]))
        until(lambda: "is UP" in self.run("scontrol", "ping").stdout, _UP_S)  # a slurmd that comes first waits long
        for host in hosts:
            self.start(host)
        if not until(lambda: self._idle() == len(hosts), _UP_S + 2 * len(hosts)):
            logs = "\n".join(f"{one.name}: {one.read_text()[-800:]}" for one in sorted(self.folder.glob("*.log")))
            raise LaunchError(f"Slurm did not come up.\n{logs}")

    def _configure(self, nodes: int) -> None:
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        (self.folder / "slurm.conf").write_text(_CONF.format(folder=self.folder, last=nodes - 1, cpus=CPUS))
        (self.folder / "topology.conf").write_text(topology(nodes))
        (self.folder / "plugstack.conf").touch()
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n")
        (self.folder / _SITE_FILE).write_text(_SITE.format(emulated=EMULATED, nodes=nodes))
        for name in COMMANDS:
            words = shlex.join(self.testbed.on(self.testbed.hosts[0], [program(name)]))
            (self.folder / "bin" / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            (self.folder / "bin" / name).chmod(0o755)

    def start(self, host: str) -> None:
        """Start the slurmd of a node."""
        self._start(f"slurmd-{host}", self.testbed.on(host, [program("slurmd"), "-D", "-N", host]))

    def _start(self, name: str, argv: Sequence[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            started = supervise.start(argv, env=self.environment, stdout=log, stderr=log)
        self.daemons.append(self._stack.enter_context(started))

    def run(
        self, *words: object, host: str = "vc0", timeout: float = 240, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a node, with further variables, and return what it printed."""
        argv = self.testbed.on(host, [str(word) for word in words])
        environment = self.environment | more
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=timeout, check=False)

    def _idle(self) -> int:
        return len(self.run("sinfo", "-h", "-N", "-p", "batch", "-t", "idle", "-o", "%N").stdout.split())

    def down(self) -> None:
        """Cancel all jobs, and end the daemons."""
        with suppress(subprocess.TimeoutExpired):
            self.run("scancel", "--full", "--user", "root", timeout=10)
        for daemon in reversed(self.daemons):
            daemon.stop()


def until(holds: Callable[[], object], seconds: float, each: float = 0.1) -> bool:
    """Wait until something comes true, for some seconds at most; return whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(each)
    return bool(holds())


@contextmanager
def cluster(folder: Path, nodes: int = NODES) -> Iterator[Cluster]:
    """Bring Slurm up in a folder, and take it down at the end.

    Raises
    ------
    SpecError, LaunchError
        If the hosts or the daemons do not come up.
    """
    with ExitStack() as stack:
        testbed = stack.enter_context(virtual_cluster.open(str(nodes), _links(nodes)))
        made = Cluster(testbed, folder, stack)
        try:
            made.up()
            yield made
        finally:
            made.down()


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Bring Slurm up, and remove all of it at the end.

    Raises
    ------
    SpecError
        If it takes no such options, the user is not root, or programs are missing.
    LaunchError
        If it does not come up.
    """
    nodes = len(outline(argument, options).hosts)
    if missing := absent():
        raise SpecError(
            f"The testbed slurm needs packages that are not installed. Run: apt-get install {' '.join(missing)}"
        )
    if why := refusal():
        raise SpecError(f"The testbed slurm cannot be started by this user: {why}. Run it as root, or in a container.")
    with scratch.folder("labkit-slurm-") as folder, cluster(folder, nodes) as made:
        yield attach({"folder": str(folder), "hosts": dict(made.testbed.handle)})


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Return the facts that are known before it is up: the facts of its virtual cluster."""
    if unknown := [name for name in options if name != "nodes"]:
        raise SpecError(f"testbed slurm: there is no option {unknown[0]}. It takes a number of nodes: slurm:{NODES}.")
    nodes = argument or options.get("nodes", "") or str(NODES)
    return _named(virtual_cluster.outline(nodes, _links(int(nodes) if nodes.isdecimal() else NODES)))


def attach(handle: Mapping[str, Any]) -> Testbed:
    """Return the testbed of a running Slurm, also of another process."""
    hosts, variables = virtual_cluster.attach(handle["hosts"]), [f"SLURM_CONF={handle['folder']}/slurm.conf"]
    inside = ["env", *variables, f"PATH={path()}"]
    return replace(
        _named(hosts),
        on=lambda host, argv: hosts.on(host, [*inside, *argv]),
        wrap=lambda argv: hosts.wrap([*inside, *argv]),
        handle=dict(handle),
    )


def _named(hosts: Testbed) -> Testbed:
    return replace(hosts, name=f"slurm:{len(hosts.hosts)}")


def shell(handle: Mapping[str, Any]) -> str:
    """Return the lines of the shell with which a user's own commands find this Slurm."""
    folder, nodes = shlex.quote(str(handle["folder"])), handle["hosts"]["options"]["nodes"]
    lines = [f"PATH={folder}/bin:$PATH", f"SLURM_CONF={folder}/slurm.conf", f"LABKIT_SITE={folder}/{_SITE_FILE}"]
    return "\n".join(f"export {line}" for line in (*lines, f"{EMULATED}=slurm:{nodes}"))


TESTBED = Kind(open=open, outline=outline, argument="nodes", attach=attach, absent=absent, refusal=refusal, shell=shell)
