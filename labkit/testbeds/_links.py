"""Hosts, switches and shaped links of a virtual cluster: options, and lines for ip and tc."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from labkit.errors import SpecError
from labkit.point.spec import validated
from labkit.point.units import parse_duration, parse_rate
from labkit.testbeds import _qos

if TYPE_CHECKING:  # a program of its own
    from labkit.testbeds._fabric import HostPlan, Plan

MOST = 64  # hosts; one switch forwards for all of them on shared cores
NET, NET6 = "10.77.0", "fd6c:6162:6b69:77:"  # private (RFC 1918, RFC 4193)
_FRAME = 1514  # B; the link does not shape what fits in the burst, so the burst holds two frames
_BURST_S = 20e-6
_QUEUE = 1 << 20  # B at a port; it must hold several packets of 64 KiB, which the kernel passes on
_BRIDGE = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the testbed virtual-cluster.

    Parameters
    ----------
    nodes : number of hosts.
    rate : of every host's link, in each direction: ``200mbit``.
    per_leaf : hosts on a leaf switch, of a two-level tree with one spine; 0 for a single switch.
    uplink : rate between a leaf and the spine; empty for the sum of its hosts' rates, a taper of 1:1.
    delay : delay of all packets that a host sends: ``1ms``; empty for none. The kernel's netem does it, or, where the
        kernel has none, labkit's program ``delayed_link``.
    loss : of packets that a host sends, in %.
    qos : how usual and bulk traffic share a link: one queue for both, by ``shares``, or by ``priority`` of the usual.
    shares : of the usual and the bulk traffic, when both have packets to send.
    bulk : hosts, joined by ``+``, whose packets are bulk; packets marked CS1 (DSCP 8) always are.
    throttle : a host with a slower link, in each direction: ``vc3:20mbit``; empty for none.
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
        If the text is no rate.
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


def shaped(interface: str, rate_bps: float, netem: str = "", options: Options | None = None) -> list[str]:
    """Return lines for tc that shape the packets that leave an interface.

    Parameters
    ----------
    netem : delay and loss, in netem's notation.
    options : of the cluster, for its classes of traffic; None for one class.
    """
    burst = max(2 * _FRAME, round(rate_bps / 8 * _BURST_S))
    queue, with_classes = f"bfifo limit {_QUEUE}", options is not None and options.qos != "off"
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


def plan(options: Options, ordinary: bool, ipv6: bool = False, relay: str = "") -> Plan:
    """Return the plan of the cluster for the process that holds it.

    Parameters
    ----------
    ordinary : whether the user is not root.
    ipv6 : whether hosts also get an IPv6 address.
    relay : path of the program that delays and loses frames in place of netem; empty where the kernel has netem.
    """
    tree, ip, tc = options.leaves > 1, ["link set lo up"], []
    for k in range(options.leaves):
        ip += [f"link add leaf{k} {_BRIDGE}", f"link set leaf{k} addrgenmode none up"]
    if tree:
        ip += [f"link add spine {_BRIDGE}", "link set spine addrgenmode none up"]
        for k in range(options.leaves):
            ip += [
                f"link add up{k} type veth peer name down{k}",
                f"link set up{k} master leaf{k} addrgenmode none up",
                f"link set down{k} master spine addrgenmode none up",
            ]
            tc += shaped(f"up{k}", options.uplink_bps, options=options)
            tc += shaped(f"down{k}", options.uplink_bps, options=options)
    netem = f"delay {options.delay} " if options.delay else ""
    if options.loss:
        netem += f"loss {options.loss:g}%"
    cables = [(f"to-{name}", name) for name in options.hosts] if relay and netem else []
    hosts: list[HostPlan] = []
    for i, name in enumerate(options.hosts):
        cable = (
            f"link set {cables[i][0]} name eth0 netns" if cables else f"link add {name} type veth peer name eth0 netns"
        )
        ip += [f"{cable} {{{i}}}", f"link set {name} master leaf{options.leaf(i)} addrgenmode none up"]
        tc += shaped(name, options.link_bps(name), options=options)
        lines = ["link set lo up", "link set eth0 addrgenmode none", f"addr add {address(i)}/24 dev eth0"]
        if ipv6:
            lines.append(f"addr add {address(i, 'ipv6')}/64 dev eth0 nodad")
        lines.append("link set eth0 up")
        tcs = shaped("eth0", options.link_bps(name), "" if cables else netem.strip(), options)
        hosts.append({"name": name, "address": address(i), "ip": lines, "tc": tcs})
    words = [relay, f"{_seconds(options.delay or '0s') * 1e9:.0f}", f"{options.loss / 100:.9f}"] if cables else []
    return {"ordinary": ordinary, "hosts": hosts, "ip": ip, "tc": tc, "cables": cables, "relay": words}


def address(number: int, ip: str = "ipv4") -> str:
    """Return the address of a host."""
    return f"{NET6}:{number + 1:x}" if ip == "ipv6" else f"{NET}.{number + 1}"


def has_ipv6() -> bool:
    """Whether new network namespaces have IPv6."""
    off = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    return off.exists() and off.read_text().strip() == "0"
