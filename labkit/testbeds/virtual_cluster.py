"""Virtual hosts on this machine, each with its network, host name and memory, joined by switches with shaped links.

labkit makes network namespaces, bridges and HTB, as root or, in a user namespace, as an ordinary user. A process holds
every namespace and ends with its owner, so nothing remains. Several clusters do not affect each other.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit import benchmarks
from labkit.errors import LabkitError, LaunchError, SpecError, unknown_name
from labkit.io import supervise
from labkit.io.supervise import supervisor
from labkit.kernels import programs
from labkit.point.notes import badge
from labkit.point.spec import Spec
from labkit.testbeds import Kind, Testbed
from labkit.testbeds._links import Options, address, has_ipv6, options_of, plan
from labkit.testbeds._links import bits as bits
from labkit.tools import Place
from labkit.worker.links import read

if TYPE_CHECKING:  # a program of its own
    from labkit.testbeds._fabric import Plan

BADGE = "emulated link"
NEEDS = {"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux", "sed": "sed"}
_HERE = Path(__file__).parent
SHELL = str(_HERE / "_virtual_host.sh")
_UP_S = 60.0  # on a machine under load; 0.2 s on an idle one


def absent() -> list[str]:
    """Return the packages that are not installed."""
    return sorted({package for program, package in NEEDS.items() if not shutil.which(program, path=_path())})


def refusal() -> str:
    """Try two hosts, and return why there can be none; empty if they came up."""
    try:
        with open("2", {}):
            return ""
    except LabkitError as error:
        return str(error)


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Make the hosts and their network, and remove all of it at the end.

    Raises
    ------
    SpecError
        For impossible options, missing programs, or a kernel that does not allow it or has no HTB.
    LaunchError
        If it does not come up.
    """
    chosen = options_of(argument, options)
    if missing := absent():
        raise SpecError(
            "The testbed virtual-cluster needs packages that are not installed. Run: sudo apt-get install "
            f"{' '.join(missing)}"
        )
    relay = "" if not (chosen.delay or chosen.loss) or _has_netem() else _relay()
    with _held(plan(chosen, os.geteuid() != 0, has_ipv6(), relay)) as (tree, answer):
        if "error" in answer:
            raise _refusal(answer["error"])
        handle = {"pids": answer["pids"], "options": {**options, "nodes": str(chosen.nodes)}, "relay": bool(relay)}
        testbed = attach(handle)
        networks = {_network(pid) for pid in answer["pids"]} - {""}
        try:
            yield testbed
        finally:
            tree.stop()
            _end_processes_in(networks)


def _path() -> str:
    """Return the search path for programs; ip and tc are in folders that only root has on the PATH."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


@contextmanager
def _held(planned: Plan) -> Iterator[tuple[supervise.Tree, dict[str, Any]]]:
    """Start the holder of a plan; yield it and what it answers. It ends with this context."""
    command = [sys.executable, "-I", "-S", str(_HERE / "_fabric.py")]
    environment = os.environ | {"PATH": _path(), "LC_ALL": "C"}
    with supervise.start([*command, json.dumps(planned)], env=environment) as tree:
        yield tree, json.loads(_answer(tree, command))


@cache
def _has_netem() -> bool:
    """Whether the kernel can delay and lose packets itself."""
    tried: Plan = {"ordinary": os.geteuid() != 0, "hosts": [], "ip": [], "tc": [], "cables": [], "relay": []}
    tried["tc"].append("qdisc add dev lo root netem")
    with _held(tried) as (_, answer):
        return "qdisc kind is unknown" not in answer.get("error", "")


def _relay() -> str:
    """Return labkit's program that delays and loses frames in place of netem.

    Raises
    ------
    SpecError
        If it was not built, or cannot be used here.
    """
    program, device = programs.path("delayed_link"), Path("/dev/net/tun")
    lacking = "" if os.access(device, os.R_OK | os.W_OK) else f"this user may not open {device}"
    lacking = lacking if program.exists() else f"there is no {programs.how('delayed_link', 'a C compiler')}"
    if lacking:
        raise SpecError(
            f"testbed virtual-cluster: this kernel lacks sch_netem, so delay and loss need TAP devices, but {lacking}. "
            "Load sch_netem as root (modprobe sch_netem), cure that, or leave the option out."
        )
    return str(program)


def _answer(tree: supervise.Tree, command: Sequence[str]) -> str:
    """Return the line that the holder prints."""
    if not tree.readable(_UP_S):
        raise LaunchError(f"The virtual cluster did not start within {_UP_S:g} s.", command=command)
    line = tree.stdout.readline()
    if not line:
        status = tree.wait(10)
        raise LaunchError(
            "The virtual cluster did not start.", command=command, exit_status=status, stderr=tree.stderr_text()
        )
    return line.decode()


def _refusal(error: str) -> SpecError | LaunchError:
    """Return the error for what the holder could not do, with a remedy."""
    if "qdisc kind is unknown" in error:
        return SpecError(
            f"testbed virtual-cluster: shaped links need sch_htb, which this kernel lacks ({error}). "
            "Load the module as root: modprobe sch_htb."
        )
    if "new namespaces" in error or "Permission denied" in error or "not permitted" in error:
        allow = "sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone or AppArmor's restriction of them"
        if os.geteuid() == 0:
            advice = "Give the container CAP_SYS_ADMIN and CAP_NET_ADMIN"
        else:
            advice = f"Run it as root, or ask your administrator to allow user namespaces ({allow})"
        return SpecError(f"testbed virtual-cluster: the kernel does not allow it for this user ({error}). {advice}.")
    hint = ""
    if "/etc/hosts: No such" in error:
        hint = ". labkit mounts over it while the cluster runs; as root: touch /etc/hosts"
    return LaunchError(f"The virtual cluster did not start: {error}{hint}")


def attach(handle: Mapping[str, Any]) -> Testbed:
    """Return the testbed of a running holder, also of another process."""
    options, (fabric, *pids) = options_of("", handle["options"]), handle["pids"]
    description, links = outline("", handle["options"]), links_of(options, fabric, pids)
    by = "delayed_link" if handle.get("relay") else "netem"
    delayed_by = {"delayed_by": by} if options.delay or options.loss else {}

    def on(host: str, argv: Sequence[str]) -> list[str]:
        if host not in options.hosts:
            raise unknown_name("host", host, options.hosts)
        return [SHELL, str(pids[options.hosts.index(host)]), *argv]

    def place(spec: Spec) -> Place:
        """Return the ends of a tool, on the hosts of the spec; by default the server is on the last host."""
        clients, server = _ends(spec, options)
        words = tuple(tuple(on(client, [])) for client in clients)
        if benchmarks.get(spec.benchmark).ends.where == "all":
            ip, hosts = str(spec.values.get("ip")), _serving(spec, options)[1:]
            there = [[address(options.hosts.index(host), ip), *on(host, [])] for host in hosts]
            return Place(address=there[0][0], client=words[0], server_words={"hosts": json.dumps(there)})
        return Place(
            address=address(options.hosts.index(server), str(spec.values.get("ip"))),
            server=tuple(on(server, [])),
            client=words[0],
            clients=words if "senders" in spec.values else (),
        )

    return Testbed(
        description.name,
        badges=description.badges,
        hosts=description.hosts,
        remote_shell=SHELL,
        on=on,
        place=place,
        wrap=lambda argv: on(options.hosts[0], argv),
        evidence=lambda: _counters(links),
        links=links,
        facts={**description.facts, **delayed_by},
        handle=dict(handle),
    )


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Return what is known of it before it is up: hosts, how ranks reach them, badges."""
    chosen = options_of(argument, options)

    def place(spec: Spec) -> Place:
        """Refuse hosts that it will not have."""
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


def _serving(spec: Spec, options: Options) -> list[str]:
    """Return the host of the client of services, then those of the services."""
    hosts = [host.partition(":")[0] for host in spec.hosts] or list(options.hosts)
    return hosts if len(hosts) > 1 else [options.hosts[0], *hosts]


def _ends(spec: Spec, options: Options) -> tuple[list[str], str]:
    """Return the hosts of the clients and of the server of a tool."""
    benchmark = benchmarks.get(spec.benchmark)
    if benchmark.ends.rdma or spec.transport == "verbs":
        raise SpecError(f"{spec.benchmark} needs RDMA devices, but virtual hosts have none. Use --testbed soft-roce.")
    if spec.values.get("ip") == "ipv6" and not has_ipv6():
        raise SpecError(
            "ip=ipv6, but virtual hosts have no IPv6 on this kernel. Set ip=ipv4, or "
            "net.ipv6.conf.default.disable_ipv6=0 with sysctl."
        )
    hosts = [host.partition(":")[0] for host in spec.hosts]
    for host in hosts:
        if host not in options.hosts:
            raise unknown_name("host", host, options.hosts)
    if benchmark.ends.where == "all":
        client, server, *_ = _serving(spec, options)
        return [client], server
    if "senders" not in spec.values:
        if len(hosts) > 2:
            raise SpecError(
                f"--hosts {','.join(spec.hosts)}, but {spec.benchmark} has a client and a server. Name two."
            )
        client, server = (options.hosts[0], *hosts)[-2:] if hosts else (options.hosts[0], options.hosts[-1])
        return [client], server
    *clients, server = hosts or options.hosts
    senders = spec.values["senders"]
    if len(clients) < senders or (hosts and len(clients) > senders):
        raise SpecError(
            f"senders={senders}, but beside the receiver, the last host, there is room for {len(clients)}. "
            f"Set senders={max(len(clients), 1)}, or use {senders + 1} hosts."
        )
    return clients[:senders], server


def links_of(options: Options, fabric: int, pids: Sequence[int]) -> dict[str, tuple[str, str]]:
    """Return where every link's bytes are counted: ``vc0.eth0`` by the host, ``leaf0.up`` by the port to the spine."""
    links = {f"{host}.eth0": (f"/proc/{pid}/net/dev", "eth0") for host, pid in zip(options.hosts, pids, strict=True)}
    tree = options.leaves if options.leaves > 1 else 0
    return links | {f"leaf{k}.up": (f"/proc/{fabric}/net/dev", f"up{k}") for k in range(tree)}


def _counters(links: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """Return the counters of every link, in B.

    Raises
    ------
    LaunchError
        If the cluster is gone.
    """
    counters = read(links)
    if len(counters) < 2 * len(links):
        raise LaunchError("The virtual cluster is stopped. Start it again.")
    return counters


def _end_processes_in(networks: Collection[str]) -> None:
    """End processes that still run on removed hosts; without a network they would hang."""

    def processes() -> list[int]:
        return [pid for pid in supervisor.processes() if _network(pid) in networks]

    supervisor.end(processes, lambda: bool(processes()), 2.0)


def _network(pid: int) -> str:
    """Return the network namespace of a process; empty if it cannot be read."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


TESTBED = Kind(open=open, outline=outline, argument="nodes", attach=attach, absent=absent, refusal=refusal)
