"""Virtual hosts on this machine, each with its network, host name and memory, joined by switches with shaped links.

labkit makes network namespaces, bridges and HTB, as root or, in a user namespace, as an ordinary user. A process holds
every namespace and ends with its owner, so nothing remains. Several clusters do not affect each other.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
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
from labkit.testbeds._links import Options, address, has_ipv6, lacking, options_of, plan
from labkit.testbeds._links import bits as bits
from labkit.tools import Place
from labkit.worker import counters
from labkit.worker.links import read

if TYPE_CHECKING:  # a separate program
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
    _refuse_tcp(chosen.tcp)
    lacks = lacking(chosen, _has)
    relay = _relay(lacks) if lacks else ""
    with _held(plan(chosen, os.geteuid() != 0, has_ipv6(), relay, lacks)) as (tree, answer):
        if "error" in answer:
            raise _refusal(answer["error"])
        handle = {"pids": answer["pids"], "options": {**options, "nodes": str(chosen.nodes)}, "relay": lacks}
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


_TRIED = {"netem": "netem", "red": "red limit 60000 min 15000 max 16500 avpkt 1500 burst 10 ecn nodrop"}
_DOES = {"netem": "delay and loss", "red": "queue=drop and queue=mark"}


@cache
def _has(kind: str) -> bool:
    """Whether the kernel can delay and lose packets itself (netem), or mark them (red)."""
    tried: Plan = {"ordinary": os.geteuid() != 0, "hosts": [], "ip": [], "tc": [], "cables": [], "relay": []}
    tried["tc"].append(f"qdisc add dev lo root {_TRIED[kind]}")
    with _held(tried) as (_, answer):
        return "qdisc kind is unknown" not in answer.get("error", "")


def _refuse_tcp(name: str) -> None:
    """Refuse a congestion control that a new network may not have.

    Raises
    ------
    SpecError
        If the kernel does not have it, or keeps it for root.
    """
    if not name:
        return
    files = (Path(f"/proc/sys/net/ipv4/tcp_{which}_congestion_control") for which in ("allowed", "available"))
    allowed, known = (file.read_text().split() for file in files)
    if name in allowed:
        return
    load = "" if name in known else f"modprobe tcp_{name}; "
    raise SpecError(
        f"testbed virtual-cluster: tcp={name}, but hosts may use {', '.join(allowed)}. Set one of these, or as root: "
        f"{load}sysctl -w net.ipv4.tcp_allowed_congestion_control='{' '.join([*allowed, name])}'."
    )


def _relay(lacks: Sequence[str]) -> str:
    """Return labkit's program that does what the kernel lacks.

    Raises
    ------
    SpecError
        If it was not built, or cannot be used here.
    """
    program, device = programs.path("delayed_link"), Path("/dev/net/tun")
    wrong = "" if os.access(device, os.R_OK | os.W_OK) else f"this user may not open {device}"
    wrong = wrong if program.exists() else f"there is no {programs.how('delayed_link', 'a C compiler')}"
    if wrong:
        raise SpecError(
            f"testbed virtual-cluster: this kernel lacks sch_{lacks[0]}, so {_DOES[lacks[0]]} need TAP devices, but "
            f"{wrong}. Load sch_{lacks[0]} as root (modprobe sch_{lacks[0]}), cure that, or leave the option out."
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
    own = handle.get("relay") or ()
    methods = {"delayed_by": "netem"} if options.delay or options.loss else {}
    methods |= {"queued_by": "red"} if options.queue != "tail" else {}
    methods = {what: "delayed_link" if kind in own else kind for what, kind in methods.items()}

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
        ip = str(spec.values.get("ip"))
        own = [{"own_address": address(options.hosts.index(host), ip)} for host in (server, clients[0])]
        return Place(
            address=own[0]["own_address"],
            server=tuple(on(server, [])),
            client=words[0],
            clients=words if "senders" in spec.values else (),
            server_words=own[0],
            client_words=own[1],
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
        counters=lambda: congestion(dict(zip(options.hosts, pids, strict=True)), fabric),
        switches=fabric,
        facts={**description.facts, **methods},
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
    """Return the client's host, then the hosts of the services."""
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


def congestion(hosts: Mapping[str, int], fabric: int) -> dict[str, int]:
    """Return the counters of loss and marks of all hosts, and of the queues at the ports of all switches.

    Parameters
    ----------
    hosts : name → process that holds it.
    fabric : process that holds the switches.
    """
    found = {
        f"{host}:{name}": value
        for host, pid in hosts.items()
        for name, value in counters.protocols(Path(f"/proc/{pid}/net")).items()
    }
    words = [SHELL, str(fabric), sys.executable, "-I", "-S", counters.__file__]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return found | (json.loads(done.stdout) if done.returncode == 0 else {})


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
