"""What is simulated (`Network`): the options of the testbed simulated, checked."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Literal

from labkit.errors import SpecError
from labkit.point.ranges import shown
from labkit.point.spec import validated
from labkit.point.units import parse_duration, parse_rate
from labkit.testbeds.simulation import calibration, ethernet2020

MOST, ROUTED = 4096, 256  # hosts; hosts whose routes are written one by one
PER_LEAF, NODES = ethernet2020.PER_LEAF, ethernet2020.NODES
_NOT_OF_A_TREE = ("per_leaf", "taper", "routing", "processing")


@dataclass(frozen=True, kw_only=True)
class Network:
    """Options of the testbed simulated.

    Parameters
    ----------
    topology : two-level ``fat-tree``, ``dragonfly``, ``torus``, or ``ethernet2020``, the tree of Kenny et al. 2020.
    nodes : number of hosts.
    rate : rate of every link, in each direction: ``100gbit``.
    latency : latency of a message without data between two hosts of one switch; half of it on each of the two links,
        and on every further link.
    overhead : time that a rank's processor is busy with each message that it sends.
    per_leaf : fat tree: hosts on a leaf switch; 0 for 12.
    taper : fat tree: rates of a leaf's hosts over the rates of its uplinks.
    routing : fat tree: ``balanced``, all uplinks of a leaf as one link; ``d-mod-k``, an uplink for each destination;
        ``hash``, a random but fixed uplink for each pair of hosts, another one in each launch.
    processing : fat tree: rate at which a host's processor moves data, sent and received together; empty for no limit.
    shape : dragonfly: groups, chassis, routers and hosts of a router, ``4x3x4x2``; torus: its sides, ``4x4x6``; empty
        for what fits the nodes.
    placement : hosts of the ranks: in order (``linear``), ``random``, or those of ``halo3d`` or ``fft`` in
        ethernet2020, or ``both`` alternately, for a victim and an aggressor.
    algorithm : algorithm of the collective, see docs/simulation.md; ``auto`` chooses by size.
    pingpong : one-way times of messages that the overheads are fitted to: ``0:1.3us+4Ki:2.9us``; replaces overhead.
    """

    topology: Literal["fat-tree", "dragonfly", "torus", "ethernet2020"] = "fat-tree"
    nodes: int = NODES
    rate: str = "100gbit"
    latency: str = "650ns"
    overhead: str = "0s"
    per_leaf: int = 0
    taper: float = 0.0
    routing: Literal["balanced", "d-mod-k", "hash"] = "balanced"
    processing: str = ""
    shape: str = ""
    placement: Literal["linear", "random", "halo3d", "fft", "both"] = "linear"
    algorithm: str = "auto"
    pingpong: str = ""

    @property
    def tree(self) -> bool:
        """Whether it is a fat tree."""
        return self.topology in ("fat-tree", "ethernet2020")

    @property
    def rate_Bps(self) -> float:  # noqa: N802
        """Rate of a link, B/s."""
        return parse_rate(self.rate) / 8

    @property
    def processing_Bps(self) -> float:  # noqa: N802
        """Rate of a host's processor, B/s; 0 for no limit."""
        return parse_rate(self.processing) / 8 if self.processing else 0.0

    @property
    def link_s(self) -> float:
        """Latency of a link, s."""
        return parse_duration(self.latency) / 2

    @property
    def leaf_size(self) -> int:
        """Hosts on a leaf switch."""
        return min(self.per_leaf or PER_LEAF, self.nodes)

    @property
    def leaves(self) -> int:
        """Leaf switches."""
        return -(-self.nodes // self.leaf_size)

    @property
    def tapered(self) -> float:
        """Rates of a leaf's hosts over the rates of its uplinks."""
        return self.taper or (ethernet2020.TAPER if self.topology == "ethernet2020" else 1.0)

    @property
    def uplinks(self) -> int:
        """Uplinks of a leaf switch at the rate of a host's link, rounded."""
        return max(1, round(self.leaf_size / self.tapered))

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """Sides of a torus; groups, chassis, routers and hosts of a router of a dragonfly; none of a tree."""
        if self.tree:
            return ()
        if self.shape:
            return tuple(int(side) for side in self.shape.split("x"))
        return _cubic(self.nodes) if self.topology == "torus" else _dragonfly(self.nodes)

    @cached_property
    def table(self) -> tuple[tuple[int, float], ...]:
        """Sizes, B, and one-way times, s, that the overheads are fitted to; none if nothing is fitted."""
        return calibration.table(self.pingpong) if self.pingpong else ()

    @cached_property
    def overheads(self) -> tuple[calibration.Segment, ...]:
        """Time of the processor for a sent message, by size."""
        if self.table:
            return calibration.fitted(self.table, 2 * self.link_s, self.rate_Bps)
        return (calibration.Segment(0, parse_duration(self.overhead), 0.0),)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of all hosts, in order."""
        return tuple(f"n{k}" for k in range(self.nodes))

    def repeats(self, launches: Sequence[int], chosen: Sequence[str] = ()) -> Sequence[int]:
        """Return which of some launches differ: the first alone if nothing is chosen at random.

        Parameters
        ----------
        chosen : hosts of the ranks; empty for those that the placement gives.
        """
        if self.routing == "hash" or (self.placement == "random" and not chosen):
            return launches
        return [number for number in launches if number == 0]

    def hosts_of(self, ranks: int, ppn: int = 0, chosen: Sequence[str] = (), seed: int = 0) -> list[str]:
        """Return the host of each rank.

        Parameters
        ----------
        ppn : ranks on a host; 0 for one.
        chosen : hosts in the order in which ranks fill them; none for the network's placement.
        seed : seed of a random placement.

        Raises
        ------
        SpecError
            If the ranks do not fit, or a host does not exist.
        """
        order = list(chosen) or self.order(seed)
        unknown = next((host for host in order if host not in set(self.hosts)), "")
        if unknown:
            raise SpecError(
                f"--hosts has {shown(unknown)}, but the hosts of this simulated network are n0 to n{self.nodes - 1}."
            )
        each = max(ppn, 1)
        if ranks > len(order) * each:
            raise SpecError(
                f"ranks={ranks}, but the simulated network has {len(order)} hosts for them, with {each} on each. "
                f"Set nodes={-(-ranks // each)}, or --ppn {-(-ranks // len(order))}."
            )
        return [order[rank // each] for rank in range(ranks)]

    def ends_of(self, senders: int, chosen: Sequence[str] = (), seed: int = 0) -> list[str]:
        """Return the hosts of the senders, and the receiver's, which is the last host.

        Raises
        ------
        SpecError
            If there are too few.
        """
        order = self.hosts_of(len(chosen) or len(self.order(seed)), 1, chosen, seed)
        if senders >= len(order):
            raise SpecError(
                f"senders={senders}, but there are {len(order) - 1} simulated hosts besides the receiver, which is the "
                f"last host. Set senders={len(order) - 1}, or nodes={senders + 1}."
            )
        return [*order[:senders], order[-1]]

    def order(self, seed: int) -> list[str]:
        """Return the hosts in the order in which ranks fill them; `seed` belongs to the placement `random`."""
        if self.placement == "both":
            pairs = zip(*(ethernet2020.HOSTS[name] for name in ("fft", "halo3d")), strict=True)
            return [f"n{ethernet2020.place(number)}" for pair in pairs for number in pair]
        if self.placement == "linear":
            return list(self.hosts)
        if self.placement == "random":
            return random.Random(f"hosts-{seed}").sample(self.hosts, self.nodes)
        return [f"n{ethernet2020.place(number)}" for number in ethernet2020.HOSTS[self.placement]]

    @property
    def facts(self) -> dict[str, Any]:
        """Properties of the network, for the metadata and for figures; rates in bit/s, times in s."""
        facts: dict[str, Any] = {
            "simulated": True,
            "topology": self.topology,
            "nodes": self.nodes,
            "rate_bps": 8 * self.rate_Bps,
            "link_latency_s": self.link_s,
            "placement": self.placement,
            "overheads": [list(segment) for segment in self.overheads],
            "fitted_to": self.pingpong,
        }
        if self.tree:
            facts |= {"per_leaf": self.leaf_size, "taper": self.tapered, "routing": self.routing}
            facts |= {"uplink_bps": 8 * self.rate_Bps * self.leaf_size / self.tapered}
            facts |= {"processing_bps": 8 * self.processing_Bps} if self.processing else {}
        else:
            facts["shape"] = list(self.sides)
        return facts


def network_of(argument: str, values: Mapping[str, str]) -> Network:
    """Check options and return the network; the argument is its topology.

    Raises
    ------
    SpecError
        For an unknown option or an impossible value.
    """
    given = {**values, "topology": argument} if argument else dict(values)
    network = validated(Network, given, what="testbed simulated")
    if wrong := _wrong(network) or _wrong_shape(network):
        raise SpecError(f"testbed simulated: {wrong}.")
    _ = network.overheads, network.sides
    return network


def _wrong(network: Network) -> str:
    """Say what is wrong with numbers; empty if nothing is."""
    rates = {name: getattr(network, name) for name in ("rate", "processing") if getattr(network, name)}
    for name, text in rates.items():
        if not 1e6 <= parse_rate(text) <= 1e13:
            return f"{name}={text!r}, but it must be 1mbit to 10000gbit"
    for name in ("latency", "overhead"):
        if not 0 <= parse_duration(getattr(network, name)) <= 1:
            return f"{name}={getattr(network, name)!r}, but it must be like 650ns or 2us, at most 1s"
    if network.link_s == 0:
        return "latency is 0, but it must be above 0, as in 650ns"
    if not 2 <= network.nodes <= MOST:
        return f"nodes={network.nodes}, but it must be 2 to {MOST}"
    if not 0 <= network.per_leaf <= network.nodes:
        return f"per_leaf={network.per_leaf}, but it must be 1 to nodes={network.nodes}, or 0 for {PER_LEAF}"
    if network.taper and not 0.01 <= network.taper <= 1000:
        return f"taper={network.taper:g}, but it must be 0.01 to 1000"
    if network.placement in (*ethernet2020.HOSTS, "both") and network.topology != "ethernet2020":
        return f"placement={network.placement} names hosts of ethernet2020; set placement=linear or random"
    if network.pingpong and parse_duration(network.overhead):
        return "pingpong is what overheads are fitted to, so overhead conflicts with it; leave one of them out"
    return ""


def _wrong_shape(network: Network) -> str:
    """Say what is wrong with the topology; empty if nothing is."""
    if network.tree:
        return _wrong_tree(network)
    set_options = [name for name in _NOT_OF_A_TREE if getattr(network, name) != getattr(Network(), name)]
    if set_options:
        return f"{set_options[0]} is an option of a fat tree, not of a {network.topology}; leave it out"
    count = 4 if network.topology == "dragonfly" else 0
    if network.shape and not re.fullmatch(r"\d{1,4}(x\d{1,4})*", network.shape):
        return f"shape={network.shape!r}, but it must be numbers like {'4x3x4x2' if count else '4x4x6'}"
    if not network.sides:
        return f"nodes={network.nodes} make no dragonfly; set a number with more divisors, such as {NODES}, or shape"
    if (count and len(network.sides) != count) or not 1 <= len(network.sides) <= 6:
        return f"shape={network.shape!r}, but a {network.topology} has {count or '1 to 6'} numbers"
    if prod(network.sides) != network.nodes:
        return f"shape={network.shape!r} has {prod(network.sides)} hosts; set nodes={prod(network.sides)}"
    if count and network.sides[2] < network.sides[0]:
        return (
            f"shape={network.shape!r} has fewer routers of a chassis ({network.sides[2]}) than groups "
            f"({network.sides[0]}), which SimGrid cannot route; set more routers, or fewer groups"
        )
    return ""


def _wrong_tree(network: Network) -> str:
    """Say what is wrong with a tree; empty if nothing is."""
    if network.shape:
        return "shape is an option of a dragonfly or a torus; set per_leaf and taper"
    if network.topology == "ethernet2020" and (network.nodes, network.leaf_size) != (NODES, PER_LEAF):
        return f"ethernet2020 has {NODES} hosts on leaves of {PER_LEAF}; leave nodes and per_leaf out, or use fat-tree"
    if (network.routing == "hash" or network.processing) and network.nodes > ROUTED:
        return f"nodes={network.nodes}, but routing=hash and processing need at most {ROUTED}"
    whole = network.uplinks * network.tapered == network.leaf_size
    if network.routing != "balanced" and network.leaves > 1 and not whole:
        return (
            f"routing={network.routing} needs whole uplinks, but leaves of {network.leaf_size} hosts and "
            f"taper={network.tapered:g} have {network.leaf_size / network.tapered:.3g}; set another taper or per_leaf"
        )
    if network.routing == "d-mod-k" and network.processing:
        return "processing conflicts with routing=d-mod-k; set routing=hash or balanced"
    if network.routing == "d-mod-k" and network.nodes % network.leaf_size:
        return f"routing=d-mod-k needs full leaves; set nodes to a multiple of {network.leaf_size}"
    return ""


def _cubic(nodes: int) -> tuple[int, ...]:
    """Return the most cubic three sides of this many hosts, in order."""
    pairs = [(a, b) for a, b in product(range(1, round(nodes ** (1 / 3)) + 2), range(1, nodes + 1)) if a <= b]
    fits = [(a, b, nodes // (a * b)) for a, b in pairs if nodes % (a * b) == 0 and b <= nodes // (a * b)]
    return min(fits, key=lambda sides: sum(sides))


def _dragonfly(nodes: int) -> tuple[int, ...]:
    """Return groups, chassis, routers and hosts of a router, at least 2 groups of at least 2 routers; none if none fit.

    Among all that SimGrid can route (routers of a chassis at least groups), those with the most similar numbers.
    """
    fits = []
    for groups in (g for g in range(2, 65) if nodes % g == 0):
        for routers in (r for r in range(groups, 129) if nodes // groups % r == 0):
            rest = nodes // groups // routers
            fits += [(groups, rest // n, routers, n) for n in range(1, rest + 1) if rest % n == 0]
    return min(fits, key=lambda shape: (max(shape) / min(shape), shape), default=())
