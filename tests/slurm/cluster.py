"""A real Slurm on the hosts of a virtual cluster: munged, slurmctld on the first host, a slurmd on each."""

import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from labkit.io import supervise
from labkit.testbeds import Testbed, virtual_cluster

NODES, CPUS = 4, 4  # four processors are declared for each node, whatever the machine has
LEAF = 2  # nodes of a leaf switch
CONF = """ClusterName=virtual
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
KillWait=2
MinJobAge=600
TmpFS={folder}/tmp/%n
PlugStackConfig={folder}/plugstack.conf
TopologyPlugin=topology/tree
NodeName=vc[0-{last}] CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 State=UP OverSubscribe=NO
PartitionName=shut Nodes=ALL MaxTime=60 State=DOWN
"""


def topology(nodes: int) -> str:
    """Pairs of nodes on leaves below one spine."""
    leaves = range(nodes // LEAF)
    lines = [f"SwitchName=leaf{i} Nodes=vc[{i * LEAF}-{i * LEAF + LEAF - 1}]\n" for i in leaves]
    return "".join(lines) + f"SwitchName=spine Switches=leaf[0-{len(leaves) - 1}]\n"


def path() -> str:
    """Where programs are looked for; Slurm's daemons are where only root looks."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def program(name: str) -> str:
    return shutil.which(name, path=path()) or name


@dataclass
class Cluster:
    """Nodes with Slurm.

    Parameters
    ----------
    testbed : the hosts.
    folder : of the configuration, the logs and what jobs write.
    stack : of what must end.
    nodes : how many.
    daemons : in the order of their start.
    """

    testbed: Testbed
    folder: Path
    stack: ExitStack
    nodes: int = NODES
    daemons: list[supervise.Tree] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        variables = {
            name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PRTE_", "SLURM_"))
        }
        return variables | {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": path()}

    def run(
        self, *words: object, host: str = "vc0", timeout: float = 240, **more: str
    ) -> subprocess.CompletedProcess[str]:
        """A command on a node."""
        argv = self.testbed.on(host, [str(word) for word in words])
        environment = self.environment | more
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=timeout, check=False)

    def start(self, host: str) -> None:
        """The slurmd of a node."""
        self._start(f"slurmd-{host}", self.testbed.on(host, [program("slurmd"), "-D", "-N", host]))

    def _start(self, name: str, argv: Sequence[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            started = supervise.start(argv, env=self.environment, stdout=log, stderr=log)
        self.daemons.append(self.stack.enter_context(started))

    def pid(self, host: str) -> int:
        return int((self.folder / f"slurmd-{host}.pid").read_text())

    def up(self) -> None:
        for name in ("munge", "state", "spool", *(f"tmp/vc{i}" for i in range(self.nodes))):
            (self.folder / name).mkdir(parents=True)
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        (self.folder / "slurm.conf").write_text(CONF.format(folder=self.folder, last=self.nodes - 1, cpus=CPUS))
        (self.folder / "topology.conf").write_text(topology(self.nodes))
        (self.folder / "plugstack.conf").touch()
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\nCgroupPlugin=cgroup/v1\n")
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        words = [f"--{option}={self.folder}/munge/{name}" for option, name in files.items()]
        self._start("munged", [program("munged"), "--foreground", "--force", *words])
        until(lambda: (self.folder / "munge" / "socket").exists(), 10)
        self._start("slurmctld", self.testbed.on("vc0", [program("slurmctld"), "-D", "-c"]))
        for i in range(self.nodes):
            self.start(f"vc{i}")
        if not until(lambda: self.idle() == self.nodes, 30 + 2 * self.nodes):
            logs = "\n".join(f"{p.name}: {p.read_text()[-800:]}" for p in sorted(self.folder.glob("*.log")))
            raise RuntimeError(f"Slurm did not come up.\n{logs}")

    def idle(self) -> int:
        return len(self.run("sinfo", "-h", "-N", "-p", "batch", "-t", "idle", "-o", "%N").stdout.split())

    def states(self) -> dict[str, str]:
        words = self.run("sinfo", "-h", "-N", "-p", "batch", "-o", "%N %T").stdout.split()
        return dict(zip(words[::2], words[1::2], strict=True))

    def down(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.run("scancel", "--full", "--user", "root", timeout=10)
        for daemon in reversed(self.daemons):
            daemon.stop()


def until(holds, seconds: float, each: float = 0.1) -> bool:  # type: ignore[no-untyped-def]
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(each)
    return bool(holds())


@contextmanager
def slurm(folder: Path, nodes: int = NODES) -> Iterator[Cluster]:
    """Bring it up, take it down; nothing is left."""
    with ExitStack() as stack:
        options = {"per_leaf": str(LEAF), "rate": "1gbit", "uplink": "1gbit"}
        testbed = stack.enter_context(virtual_cluster.open(str(nodes), options))
        cluster = Cluster(testbed, folder, stack, nodes)
        try:
            cluster.up()
            yield cluster
        finally:
            cluster.down()
