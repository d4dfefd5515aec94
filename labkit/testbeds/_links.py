"""Hosts, switches and shaped links of a virtual cluster: options, and the lines for ip and tc that make them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from labkit.errors import SpecError
from labkit.spec import validated
from labkit.testbeds import _qos
from labkit.units import parse_duration

MOST = 64  # hosts; one switch forwards for all of them on the cores they share
NET, NET6 = "10.77.0", "fd6c:6162:6b69:77:"  # private (RFC 1918, RFC 4193)
_BIT = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_FRAME = 1514  # B; what fits in the burst is not shaped, so that holds two of them
_BURST_S = 20e-6
_QUEUE = 1 << 20  # B at a port; it must hold several packets of 64 KiB, as the kernel hands them on
_BRIDGE = "type bridge stp_state 0 forward_delay 0 mcast_snooping 0"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the testbed virtual-cluster.

    Parameters
    ----------
    nodes : hosts.
    rate : of every host's link, each direction: ``200mbit``.
    per_leaf : hosts on a leaf switch, of a two-level tree with one spine; 0 for a single switch.
    uplink : rate between a leaf and the spine; empty for what its hosts have together, a taper of 1:1.
    delay : that every host adds to what it sends: ``1ms``; empty for none.
    loss : of packets that a host sends, in %.
    qos : how usual and bulk traffic share a link: one queue for both, by ``shares``, or by ``priority`` of the usual.
    shares : of the usual and the bulk traffic, where both have something to send.
    bulk : hosts, joined by ``+``, whose packets are bulk; those marked CS1 (DSCP 8) are in any case.
    throttle : a host whose link is slower than the others', in each direction: ``vc3:20mbit``; empty for none.
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
        """Leaf switches; 1 stands for a single switch."""
        return -(-self.nodes // self.per_leaf) if self.per_leaf else 1

    @property
    def rate_bps(self) -> float:
        """Rate of a host's link, bit/s."""
        return bits(self.rate)

    def link_bps(self, host: str) -> float:
        """Rate of one host's link, bit/s."""
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
        """Their names."""
        return tuple(f"vc{i}" for i in range(self.nodes))

    def leaf(self, number: int) -> int:
        """The leaf switch of a host."""
        return number // self.per_leaf if self.per_leaf else 0

    @property
    def facts(self) -> dict[str, Any]:
        """What it is made of, for the metadata and for figures; rates in bit/s."""
        found: dict[str, Any] = {
            "nodes": self.nodes,
            "per_leaf": self.per_leaf or self.nodes,
            "rate_bps": self.rate_bps,
        }
        if self.leaves > 1:
            taper = self.per_leaf * self.rate_bps / self.uplink_bps
            found |= {"uplink_bps": self.uplink_bps, "taper": round(taper, 3)}
        found |= {"delay": self.delay} if self.delay else {}
        found |= {"loss_percent": self.loss} if self.loss else {}
        slow = self.throttle.partition(":")[0]
        found |= {"slow_bps": {slow: self.link_bps(slow)}} if slow else {}
        if self.qos == "off":
            return found
        found |= {"qos": self.qos, **({"shares": self.shares} if self.qos == "shares" else {})}
        return found | ({"bulk": self.bulk} if self.bulk else {})


def bits(text: str) -> float:
    """Rate in bit/s.

    Raises
    ------
    SpecError
        If it is none.

    Examples
    --------
    >>> bits("200mbit")
    200000000.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]bit)", text.strip().lower())
    if not found:
        raise SpecError(f"testbed virtual-cluster: {text!r} is not a rate. Write it like 200mbit.")
    return float(found[1]) * _BIT[found[2]]


def options_of(argument: str, values: Mapping[str, str]) -> Options:
    """Options from text, checked; the argument is the number of hosts.

    Raises
    ------
    SpecError
        For an unknown option, or one that makes no sense.
    """
    own = {**values, **({"nodes": argument} if argument else {})}
    found = validated(Options, own, what="testbed virtual-cluster")
    wrong = ""
    if not 2 <= found.nodes <= MOST:
        wrong = f"nodes={found.nodes}, but it must be 2 to {MOST}"
    elif not 1e6 <= found.rate_bps <= 1e11:
        wrong = f"rate={found.rate!r}, but it must be 1mbit to 100gbit"
    elif found.per_leaf < 0 or found.per_leaf >= found.nodes:
        wrong = f"per_leaf={found.per_leaf}, but it must be below nodes={found.nodes}, or 0 for a single switch"
    elif found.uplink and not found.per_leaf:
        wrong = f"uplink={found.uplink!r}, but a single switch has no uplink; set per_leaf, or leave uplink out"
    elif found.uplink and not 1e6 <= found.uplink_bps <= 1e11:
        wrong = f"uplink={found.uplink!r}, but it must be 1mbit to 100gbit"
    elif found.delay and not 0 < _seconds(found.delay) <= 10:
        wrong = f"delay={found.delay!r}, but it must be like 1ms or 500us, at most 10s"
    elif not 0 <= found.loss <= 50:
        wrong = f"loss={found.loss:g}, but it must be 0 to 50 %"
    elif found.qos != "off" and (found.delay or found.loss):
        wrong = f"qos={found.qos} conflicts with delay and loss; leave one of them out"
    elif found.throttle and not _throttled(found):
        wrong = f"throttle={found.throttle!r}, but it must be one of its hosts and 1mbit to 100gbit, like vc1:20mbit"
    if wrong:
        raise SpecError(f"testbed virtual-cluster: {wrong}.")
    _qos.checked(found.qos, found.shares, found.bulk, found.hosts)
    return found


def _throttled(options: Options) -> bool:
    """Whether the slower link makes sense."""
    name = options.throttle.partition(":")[0]
    return name in options.hosts and 1e6 <= options.link_bps(name) <= 1e11


def _seconds(text: str) -> float:
    return parse_duration(text) if re.fullmatch(r"\d+(\.\d+)?(us|ms|s)", text) else 0.0


def shaped(interface: str, rate_bps: float, netem: str = "", options: Options | None = None) -> list[str]:
    """Lines for tc that shape what leaves an interface.

    Parameters
    ----------
    netem : delay and loss, in netem's words.
    options : of the cluster, for its classes of traffic; None for one class.
    """
    burst = max(2 * _FRAME, round(rate_bps / 8 * _BURST_S))
    queue, apart = f"bfifo limit {_QUEUE}", options is not None and options.qos != "off"
    inner = f"netem {netem} limit 100000" if netem else queue
    lines = [
        f"qdisc add dev {interface} root handle 1: htb default {10 if apart else 1}",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate_bps:.0f}bit ceil {rate_bps:.0f}bit "
        f"burst {burst} cburst {burst} quantum 60000",
    ]
    if options is None or not apart:
        return [*lines, f"qdisc add dev {interface} parent 1:1 handle 10: {inner}"]
    numbers = [options.hosts.index(host) for host in options.bulk.split("+") if host]
    sources = [(address(number), address(number, "ipv6")) for number in numbers]
    return [
        *lines,
        *_qos.classes(interface, rate_bps, burst, queue, mode=options.qos, shares=options.shares, sources=sources),
    ]


def plan(options: Options, ordinary: bool, ipv6: bool = False) -> dict[str, Any]:
    """What the holder of the cluster has to make.

    Parameters
    ----------
    ordinary : whether the user is not root.
    ipv6 : whether hosts get an address of IPv6 too.

    Returns
    -------
    ``hosts``, each with its lines for ip and tc, and ``ip`` and ``tc`` of the switches; ``{n}`` stands for the process
    of host n.
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
    netem = " ".join(
        [f"delay {options.delay}"] * bool(options.delay) + [f"loss {options.loss:g}%"] * bool(options.loss)
    )
    hosts = []
    for i, name in enumerate(options.hosts):
        ip += [
            f"link add {name} type veth peer name eth0 netns {{{i}}}",
            f"link set {name} master leaf{options.leaf(i)} addrgenmode none up",
        ]
        tc += shaped(name, options.link_bps(name), options=options)
        own = ["link set lo up", "link set eth0 addrgenmode none", f"addr add {address(i)}/24 dev eth0"]
        own += [f"addr add {address(i, 'ipv6')}/64 dev eth0 nodad"] if ipv6 else []
        own += ["link set eth0 up"]
        tcs = shaped("eth0", options.link_bps(name), netem, options)
        hosts.append({"name": name, "address": address(i), "ip": own, "tc": tcs})
    return {"ordinary": ordinary, "hosts": hosts, "ip": ip, "tc": tc}


def address(number: int, ip: str = "ipv4") -> str:
    """Address of a host."""
    return f"{NET6}:{number + 1:x}" if ip == "ipv6" else f"{NET}.{number + 1}"


def has_ipv6() -> bool:
    """Whether the kernel gives new networks IPv6."""
    off = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
    return off.exists() and off.read_text().strip() == "0"
