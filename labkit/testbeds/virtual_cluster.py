"""Hosts with a network, host name and memory of their own on this machine, joined by switches with shaped links.

Network namespaces, bridges and HTB, as root or, in a user namespace, as anybody. Every namespace is held by a process
that ends with its owner, so nothing is left behind, and several clusters are strangers to one another.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labkit import supervise
from labkit.errors import LaunchError, SpecError, known
from labkit.notes import badge
from labkit.spec import Spec
from labkit.supervise import supervisor
from labkit.testbeds import Testbed
from labkit.testbeds._links import Options, address, has_ipv6, options_of, plan
from labkit.tools import Place
from labkit.worker.links import read

ARGUMENT = "nodes"
BADGE = "emulated link"
NEEDS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "sed": "sed"}
_HERE = Path(__file__).parent
SHELL = str(_HERE / "_virtual_host.sh")
_UP_S = 60.0  # on a machine under load; 0.2 s on an idle one


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Make the hosts and their network, and take all of it away again.

    Raises
    ------
    SpecError
        For impossible options, missing programs, or where the kernel does not allow it, or has no HTB or netem.
    LaunchError
        If it does not come up.
    """
    chosen = options_of(argument, options)
    absent = sorted({package for program, package in NEEDS.items() if not shutil.which(program, path=_path())})
    if absent:
        raise SpecError(
            "The testbed virtual-cluster needs packages that are not installed. Run: sudo apt-get install "
            f"{' '.join(absent)}"
        )
    words = json.dumps(plan(chosen, os.geteuid() != 0, has_ipv6()))
    environment = os.environ | {"PATH": _path(), "LC_ALL": "C"}
    command = [sys.executable, "-I", "-S", str(_HERE / "_fabric.py")]
    with supervise.start([*command, words], env=environment) as tree:
        said = json.loads(_answer(tree, command))
        if "error" in said:
            raise _refusal(said["error"], chosen)
        testbed = attach({"pids": said["pids"], "options": {**options, "nodes": str(chosen.nodes)}})
        networks = {_network(pid) for pid in said["pids"]} - {""}
        try:
            yield testbed
        finally:
            tree.stop()
            _empty(networks)


def _path() -> str:
    """Where programs are looked for; ip and tc are where only root looks."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _answer(tree: supervise.Tree, command: Sequence[str]) -> str:
    """The line that the holder prints."""
    if not select.select([tree.stdout], [], [], _UP_S)[0]:
        raise LaunchError(f"The virtual cluster did not start within {_UP_S:g} s.", command=command)
    line = tree.stdout.readline()
    if not line:
        status = tree.wait(10)
        raise LaunchError(
            "The virtual cluster did not start.", command=command, exit_status=status, stderr=tree.stderr_text()
        )
    return line.decode()


def _refusal(error: str, options: Options) -> SpecError | LaunchError:
    """What the holder could not do, with what can be done about it."""
    if "qdisc kind is unknown" in error:
        what = "delay and loss need sch_netem" if options.delay or options.loss else "shaped links need sch_htb"
        return SpecError(
            f"testbed virtual-cluster: {what}, which this kernel lacks ({error}). "
            "Load the module as root (modprobe), or leave the option out."
        )
    if "new namespaces" in error or "Permission denied" in error or "not permitted" in error:
        allow = "sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone or AppArmor's restriction of them"
        way = f"Run it as root, or ask your administrator to allow user namespaces ({allow})"
        way = "Give the container CAP_SYS_ADMIN and CAP_NET_ADMIN" if os.geteuid() == 0 else way
        return SpecError(f"testbed virtual-cluster: the kernel does not allow it for this user ({error}). {way}.")
    missing = (
        ". labkit mounts over it while the cluster runs; as root: touch /etc/hosts"
        if "/etc/hosts: No such" in error
        else ""
    )
    return LaunchError(f"The virtual cluster did not start: {error}{missing}")


def attach(handle: Mapping[str, Any]) -> Testbed:
    """The testbed of a holder that runs, perhaps that of another process."""
    options, (fabric, *pids) = options_of("", handle["options"]), handle["pids"]
    shown, links = outline("", handle["options"]), links_of(options, fabric, pids)

    def on(host: str, argv: Sequence[str]) -> list[str]:
        if host not in options.hosts:
            raise known("host", host, options.hosts)
        return [SHELL, str(pids[options.hosts.index(host)]), *argv]

    def place(spec: Spec) -> Place:
        """Clients on the first hosts, the server on the last, or on those that are named."""
        clients, server = _ends(spec, options)
        words = tuple(tuple(on(client, [])) for client in clients)
        return Place(
            address=address(options.hosts.index(server), str(spec.values.get("ip"))),
            server=tuple(on(server, [])),
            client=words[0],
            clients=words if spec.has("senders") else (),
        )

    return Testbed(
        shown.name,
        badges=shown.badges,
        hosts=shown.hosts,
        remote_shell=SHELL,
        on=on,
        place=place,
        wrap=lambda argv: on(options.hosts[0], argv),
        evidence=lambda: _carried(links),
        links=links,
        facts=shown.facts,
        handle=dict(handle),
    )


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """What is known of it before it is up: hosts, how ranks reach them, what every number carries."""
    chosen = options_of(argument, options)

    def place(spec: Spec) -> Place:
        """Refuses hosts that it will not have."""
        _ends(spec, chosen)
        return Place()

    return Testbed(
        f"virtual-cluster:{chosen.nodes}",
        badges=(badge(BADGE),),
        hosts=chosen.hosts,
        remote_shell=SHELL,
        place=place,
        facts=chosen.facts | {"rootless": os.geteuid() != 0},
    )


def _ends(spec: Spec, options: Options) -> tuple[list[str], str]:
    """Hosts of the clients and of the server of a tool."""
    if spec.family == "verbs" or spec.transport == "verbs":
        raise SpecError(f"{spec.benchmark} needs RDMA devices, but virtual hosts have none. Use --testbed soft-roce.")
    if spec.values.get("ip") == "ipv6" and not has_ipv6():
        raise SpecError(
            "ip=ipv6, but virtual hosts have no IPv6 on this kernel. Set ip=ipv4, or "
            "net.ipv6.conf.default.disable_ipv6=0 with sysctl."
        )
    named = [host.partition(":")[0] for host in spec.hosts]
    for host in named:
        if host not in options.hosts:
            raise known("host", host, options.hosts)
    if not spec.has("senders"):
        if len(named) > 2:
            raise SpecError(
                f"--hosts {','.join(spec.hosts)}, but {spec.benchmark} has a client and a server. Name two."
            )
        client, server = (options.hosts[0], *named)[-2:] if named else (options.hosts[0], options.hosts[-1])
        return [client], server
    *others, server = named or options.hosts
    senders = spec.option("senders")
    if len(others) < senders or (named and len(others) > senders):
        raise SpecError(
            f"senders={senders}, but there are {len(others)} hosts besides the receiver, which is the last host. "
            f"Set senders={max(len(others), 1)}, or use {senders + 1} hosts."
        )
    return others[:senders], server


def links_of(options: Options, fabric: int, pids: Sequence[int]) -> dict[str, tuple[str, str]]:
    """Where every link's bytes are counted: ``vc0.eth0`` by the host, ``leaf0.up`` by the leaf's port to the spine."""
    found = {f"{host}.eth0": (f"/proc/{pid}/net/dev", "eth0") for host, pid in zip(options.hosts, pids, strict=True)}
    tree = options.leaves if options.leaves > 1 else 0
    return found | {f"leaf{k}.up": (f"/proc/{fabric}/net/dev", f"up{k}") for k in range(tree)}


def _carried(links: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """B that every link has carried.

    Raises
    ------
    LaunchError
        If the cluster is gone.
    """
    found = read(links)
    if len(found) < 2 * len(links):
        raise LaunchError("The virtual cluster is stopped. Start it again.")
    return found


def _empty(networks: Collection[str]) -> None:
    """End what others still run on hosts that are gone; without a network it would hang."""

    def inside() -> list[int]:
        return [pid for pid in supervisor.processes() if _network(pid) in networks]

    supervisor.end(inside, lambda: bool(inside()), 2.0)


def _network(pid: int) -> str:
    """Which network namespace a process is in; empty where that cannot be seen."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""
