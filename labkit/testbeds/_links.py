"""Hosts, switches and shaped links of a virtual cluster: options, and lines for ip and tc."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from labkit.errors import SpecError
from labkit.point.spec import validated
from labkit.point.units import format_size, parse_duration, parse_rate, parse_size
from labkit.testbeds import _qos

if TYPE_CHECKING:  # a separate program
    from labkit.testbeds._fabric import HostPlan, Plan

MOST = 64  # hosts; one switch forwards for all of them on shared cores
NET, NET6 = "10.77.0", "fd6c:6162:6b69:77:"  # private (RFC 1918, RFC 4193)
_FRAME = 1514  # B; the link does not shape what fits in the burst, so the burst holds two frames
_BURST_S = 20e-6
_QUEUE = 1 << 20  # B at a port; it must hold several packets of 64 KiB, which the kernel passes on
_NETEM, _RED = "netem", "red"  # of the kernel, or done by `delayed_link`
_TCP = "net/ipv4/tcp_congestion_control"
_BRIDGE = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the testbed virtual-cluster.

    Parameters
    ----------
    nodes : number of hosts.
    rate : rate of every host's link, in each direction: ``200mbit``.
    per_leaf : hosts on a leaf switch, of a two-level tree with one spine; 0 for a single switch.
    uplink : rate between a leaf and the spine; empty for the sum of its hosts' rates, a taper of 1:1.
    delay : delay of all packets that a host sends: ``1ms``; empty for none. The kernel's netem does it, or, where the
        kernel has none, labkit's program ``delayed_link``.
    loss : loss of packets that a host sends, in %.
    qos : how usual and bulk traffic share a link: one queue for both, by ``shares``, or by ``priority`` of the usual.
    shares : shares of the usual and the bulk traffic, when both have packets to send.
    bulk : hosts, joined by ``+``, whose packets are bulk; packets marked CS1 (DSCP 8) always are.
    throttle : a host with a slower link, in each direction: ``vc3:20mbit``; empty for none.
    queue : what ports of switches do with packets that find `threshold` B in the queue: nothing, until its 1 MiB are
        full (``tail``), ``drop`` them, or ``mark`` them (ECN, which TCP of all hosts then negotiates).
    threshold : B in the queue: ``64Ki``.
    tcp : congestion control of TCP on all hosts, such as ``reno`` or ``dctcp``; empty for that of this machine.
    """

    nodes: int = 4
    rate: str = "200mbit"
    per_leaf: int = 0
    uplink: str = ""
    delay: str = ""
    loss: float = 0.0
    qos: Literal["off", "shares", "priority"] = "off"
    shares: str = "1:1"
    bulk: str = ""
    throttle: str = ""
    queue: Literal["tail", "drop", "mark"] = "tail"
    threshold: int | str = "64Ki"
    tcp: str = ""

    @property
    def least(self) -> int:
        """Length of the queue from which its port drops or marks, B."""
        return parse_size(self.threshold)

    @property
    def leaves(self) -> int:
        """Number of leaf switches; 1 for a single switch."""
        return -(-self.nodes // self.per_leaf) if self.per_leaf else 1

    @property
    def rate_bps(self) -> float:
        """Rate of a host's link, bit/s."""
        return bits(self.rate)

    def link_bps(self, host: str) -> float:
        """Return the rate of one host's link, bit/s."""
        name, _, rate = self.throttle.partition(":")
        return bits(rate) if host == name else self.rate_bps

    @property
    def uplink_bps(self) -> float:
        """Rate between a leaf and the spine, bit/s; 0 for a single switch."""
        if self.leaves == 1:
            return 0.0
        return bits(self.uplink) if self.uplink else self.per_leaf * self.rate_bps

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts."""
        return tuple(f"vc{i}" for i in range(self.nodes))

    def leaf(self, number: int) -> int:
        """Return the leaf switch of a host."""
        return number // self.per_leaf if self.per_leaf else 0

    @property
    def facts(self) -> dict[str, Any]:
        """Properties of the cluster, for the metadata and for figures; rates in bit/s."""
        facts: dict[str, Any] = {
            "nodes": self.nodes,
            "per_leaf": self.per_leaf or self.nodes,
            "rate_bps": self.rate_bps,
        }
        if self.leaves > 1:
            taper = self.per_leaf * self.rate_bps / self.uplink_bps
            facts |= {"uplink_bps": self.uplink_bps, "taper": round(taper, 3)}
        if self.delay:
            facts["delay"] = self.delay
        if self.loss:
            facts["loss_percent"] = self.loss
        slow = self.throttle.partition(":")[0]
        if slow:
            facts["slow_bps"] = {slow: self.link_bps(slow)}
        if self.queue != "tail":
            facts |= {"queue": self.queue, "threshold_B": self.least}
        if self.tcp:
            facts["tcp"] = self.tcp
        if self.qos == "off":
            return facts
        facts["qos"] = self.qos
        if self.qos == "shares":
            facts["shares"] = self.shares
        if self.bulk:
            facts["bulk"] = self.bulk
        return facts


def bits(text: str) -> float:
    """Return a rate in bit/s.

    Raises
    ------
    SpecError
        If the text is not a rate.
    """
    try:
        return parse_rate(text)
    except SpecError as error:
        raise SpecError(f"testbed virtual-cluster: {error}") from None


def options_of(argument: str, values: Mapping[str, str]) -> Options:
    """Check options and return them; the argument is the number of hosts.

    Raises
    ------
    SpecError
        For an unknown option or an impossible value.
    """
    given = {**values, "nodes": argument} if argument else values
    options = validated(Options, given, what="testbed virtual-cluster")
    wrong = ""
    if not 2 <= options.nodes <= MOST:
        wrong = f"nodes={options.nodes}, but it must be 2 to {MOST}"
    elif not 1e6 <= options.rate_bps <= 1e11:
        wrong = f"rate={options.rate!r}, but it must be 1mbit to 100gbit"
    elif options.per_leaf < 0 or options.per_leaf >= options.nodes:
        wrong = f"per_leaf={options.per_leaf}, but it must be below nodes={options.nodes}, or 0 for a single switch"
    elif options.uplink and not options.per_leaf:
        wrong = f"uplink={options.uplink!r}, but a single switch has no uplink; set per_leaf, or leave uplink out"
    elif options.uplink and not 1e6 <= options.uplink_bps <= 1e11:
        wrong = f"uplink={options.uplink!r}, but it must be 1mbit to 100gbit"
    elif options.delay and not 0 < _seconds(options.delay) <= 10:
        wrong = f"delay={options.delay!r}, but it must be like 1ms or 500us, at most 10s"
    elif not 0 <= options.loss <= 50:
        wrong = f"loss={options.loss:g}, but it must be 0 to 50 %"
    elif options.qos != "off" and (options.delay or options.loss):
        wrong = f"qos={options.qos} conflicts with delay and loss; leave one of them out"
    elif options.qos != "off" and options.queue != "tail":
        wrong = f"qos={options.qos} conflicts with queue={options.queue}; leave one of them out"
    elif options.queue == "tail" and options.threshold != Options.threshold:
        wrong = f"threshold={options.threshold} has no effect with queue=tail. Set queue=mark, or leave it out"
    elif not _FRAME <= options.least <= _QUEUE:
        wrong = f"threshold={options.threshold}, but it must be {_FRAME} B to {format_size(_QUEUE)}"
    elif options.tcp and not re.fullmatch(r"[a-z0-9_]+", options.tcp):
        wrong = f"tcp={options.tcp!r}, but it must be the name of a congestion control, such as reno"
    elif options.throttle and not _throttled(options):
        wrong = f"throttle={options.throttle!r}, but it must be one of its hosts and 1mbit to 100gbit, like vc1:20mbit"
    if wrong:
        raise SpecError(f"testbed virtual-cluster: {wrong}.")
    _qos.checked(options.qos, options.shares, options.bulk, options.hosts)
    return options


def _throttled(options: Options) -> bool:
    """Whether the slower link has a known host and a possible rate."""
    name = options.throttle.partition(":")[0]
    return name in options.hosts and 1e6 <= options.link_bps(name) <= 1e11


def _seconds(text: str) -> float:
    return parse_duration(text) if re.fullmatch(r"\d+(\.\d+)?(us|ms|s)", text) else 0.0


def shaped(
    interface: str, rate_bps: float, netem: str = "", options: Options | None = None, red: str = ""
) -> list[str]:
    """Return lines for tc that shape the packets that leave an interface.

    Parameters
    ----------
    netem : delay and loss, in netem's notation.
    red : the queue instead of one that drops at its end; empty for that one.
    options : options of the cluster, for its classes of traffic; None for one class.
    """
    burst = max(2 * _FRAME, round(rate_bps / 8 * _BURST_S))
    queue, with_classes = red or f"bfifo limit {_QUEUE}", options is not None and options.qos != "off"
    inner = f"netem {netem} limit 100000" if netem else queue
    lines = [
        f"qdisc add dev {interface} root handle 1: htb default {10 if with_classes else 1}",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate_bps:.0f}bit ceil {rate_bps:.0f}bit "
        f"burst {burst} cburst {burst} quantum 60000",
    ]
    if options is None or not with_classes:
        return [*lines, f"qdisc add dev {interface} parent 1:1 handle 10: {inner}"]
    numbers = [options.hosts.index(host) for host in options.bulk.split("+") if host]
    sources = [(address(number), address(number, "ipv6")) for number in numbers]
    return [
        *lines,
        *_qos.classes(interface, rate_bps, burst, queue, mode=options.qos, shares=options.shares, sources=sources),
    ]


def _red(options: Options, rate_bps: float) -> str:
    """Return the queue of a switch's port for tc, if it acts on the present length; empty if it drops at its end.

    DCTCP wants one threshold and no average (RFC 8257, section 4.1). ``burst`` makes sch_red's averaging as short as
    possible. Packets that cannot be marked stay (``nodrop``).
    """
    if options.queue == "tail":
        return ""
    least, flags = options.least, " ecn nodrop" if options.queue == "mark" else ""
    return (
        f"red limit {_QUEUE} min {least} max {least + _FRAME} avpkt {_FRAME} burst {-(-least // _FRAME)} probability 1 "
        f"bandwidth {rate_bps:.0f}bit{flags}"
    )


def lacking(options: Options, has: Callable[[str], bool]) -> list[str]:
    """Return the queueing disciplines that a cluster needs and the kernel lacks; `has` tells of one."""
    needed = [_NETEM] if options.delay or options.loss else []
    needed += [_RED] if options.queue != "tail" else []
    return [kind for kind in needed if not has(kind)]


def plan(
    options: Options, ordinary: bool, ipv6: bool = False, relay: str = "", lacks: Collection[str] = (_NETEM, _RED)
) -> Plan:
    """Return the plan of the cluster for the process that holds it.

    Parameters
    ----------
    ordinary : whether the user is not root.
    ipv6 : whether hosts also get an IPv6 address.
    relay : path of the program that does what the kernel lacks; empty if it lacks nothing.
    lacks : netem or red, if the kernel lacks them; the program then delays and loses frames, or holds the queues.
    """
    delays = bool(relay and (options.delay or options.loss) and _NETEM in lacks)
    queues = bool(relay and options.queue != "tail" and _RED in lacks)
    tree, ip, tc = options.leaves > 1, ["link set lo up"], []
    for k in range(options.leaves):
        ip += [f"link add leaf{k} {_BRIDGE}", f"link set leaf{k} addrgenmode none up"]
    if tree:
        ip += [f"link add spine {_BRIDGE}", "link set spine addrgenmode none up"]
        for k in range(options.leaves):
            ip += [] if queues else [f"link add up{k} type veth peer name down{k}"]
            ip += [
                f"link set up{k} master leaf{k} addrgenmode none up",
                f"link set down{k} master spine addrgenmode none up",
            ]
            for end in () if queues else (f"up{k}", f"down{k}"):
                tc += shaped(end, options.uplink_bps, options=options, red=_red(options, options.uplink_bps))
    netem = f"delay {options.delay} " if options.delay else ""
    if options.loss:
        netem += f"loss {options.loss:g}%"
    cables = [(f"to-{name}", name) for name in options.hosts] if delays or queues else []
    hosts: list[HostPlan] = []
    for i, name in enumerate(options.hosts):
        cable = (
            f"link set {cables[i][0]} name eth0 netns" if cables else f"link add {name} type veth peer name eth0 netns"
        )
        ip += [f"{cable} {{{i}}}", f"link set {name} master leaf{options.leaf(i)} addrgenmode none up"]
        rate = options.link_bps(name)
        tc += [] if queues else shaped(name, rate, options=options, red=_red(options, rate))
        lines = ["link set lo up", "link set eth0 addrgenmode none", f"addr add {address(i)}/24 dev eth0"]
        if ipv6:
            lines.append(f"addr add {address(i, 'ipv6')}/64 dev eth0 nodad")
        lines.append("link set eth0 up")
        if options.queue != "tail" and not cables:  # else 64 KiB are one packet of the queue
            lines.append("link set eth0 gso_max_segs 1")
        tcs = shaped("eth0", rate, "" if delays else netem.strip(), options)
        settings = {"net/ipv4/tcp_ecn": "1"} if options.queue == "mark" else {}
        settings |= {_TCP: options.tcp} if options.tcp else {}
        hosts.append({"name": name, "address": address(i), "ip": lines, "tc": tcs, "settings": settings})
    late = f"{_seconds(options.delay or '0s') * 1e9:.0f}:{options.loss / 100:.9f}" if delays else "0:0"
    words = [relay] if cables else []
    for i, (_, name) in enumerate(cables):
        words += _ways(i, late, f"0:0{_queue(options, options.link_bps(name))}" if queues else "0:0")
    if queues and tree:
        uplink = f"0:0{_queue(options, options.uplink_bps)}"
        for k in range(options.leaves):
            words += _ways(len(cables), uplink, uplink)
            cables.append((f"up{k}", f"down{k}"))
    return {"ordinary": ordinary, "hosts": hosts, "ip": ip, "tc": tc, "cables": cables, "relay": words}


def _ways(cable: int, there: str, back: str) -> list[str]:
    """Return both directions of a cable for `delayed_link`."""
    near, far = f"{{{2 * cable}}}", f"{{{2 * cable + 1}}}"
    return [f"{near}:{far}:{there}", f"{far}:{near}:{back}"]


def _queue(options: Options, rate_bps: float) -> str:
    """Return the queue of a port for `delayed_link`."""
    return f":{rate_bps:.0f}:{_QUEUE}:{options.least}:{options.queue}"


def address(number: int, ip: str = "ipv4") -> str:
    """Return the address of a host."""
    return f"{NET6}:{number + 1:x}" if ip == "ipv6" else f"{NET}.{number + 1}"


def has_ipv6() -> bool:
    """Whether new network namespaces have IPv6."""
    off = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    return off.exists() and off.read_text().strip() == "0"
