"""What the path of a point allows at most: rates of links and buses less their headers, and delays.

A bound is computed from facts about the path in the samples (testbed, interface, RDMA port), or from the user.
Paths without such facts, shared memory and the loopback interface, have no bound from a data sheet. Their bounds are
measured: the copy rate of a core, a line of cache between cores, system calls and wake-ups (`labkit.models.costs`).
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.models import links
from labkit.models.costs import Costs
from labkit.models.inside import LINK, MACHINE, THERE_AND_BACK, copied, handed_over, of_host
from labkit.models.inside import Bound as Bound
from labkit.models.inside import inside as inside
from labkit.point.adapters import Links, bytes_of, interfaces, links_of, ports
from labkit.point.columns import METRICS
from labkit.point.notes import has
from labkit.point.units import format_number
from labkit.store.samples import Samples
from labkit.store.samples.facts import ACTIVE_MTU, CHUNKS, DEVICE, EVIDENCE, HOST_B, RANK_HOSTS, TESTBED, badges

_ROUNDS = {1: "latency (half the round trip)", 2: "latency (whole round trip)"}
_VERBS_MTU = (4096, 2048, 1024, 512, 256)
_BITS = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<prefix>[kmg]?)bit(?:/s)?", re.IGNORECASE)
_TIME = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>ns|us|ms|s)")
# B, s: what passes before traffic control limits the rate (labkit.testbeds.virtual_cluster, soft_roce)
_FRAMES, _BURST_S, _CABLE_BURST = 2.0 * 1514, 20e-6, 20e3
ENDS = "hosts at both ends"
_ADAPTERS_S = 1e-6  # of a message through two adapters without the wire: Zambre et al. 2019, the Breaking Band models
_FAR_S = 1e-3  # of delay in each direction, beside which the work of hosts counts little
_SEGMENT = 65536.0  # B of a packet before the kernel cuts it (generic segmentation offload)
_CARRIED = 0.5  # part of the busiest link's bytes above which a link is on the path
_SOLE = 0.95  # likewise, of several senders: only a link that nearly all their bytes cross bounds their sum


def directions_of(benchmark: str) -> int:
    """Directions of a link whose bytes the bandwidth of a benchmark adds up; 0 if no link bounds it.

    A benchmark that this labkit does not have has no bounds.
    """
    known = benchmarks.look_up(benchmark)
    return known.directions if known else 0


def crossings_of(benchmark: str) -> int:
    """Times that the latency of a benchmark crosses the path, one crossing after another; 0 if no link bounds it."""
    known = benchmarks.look_up(benchmark)
    return known.crossings if known else 0


def crosses(samples: Samples) -> tuple[int, int]:
    """The same of the latency of a point, and how many of the crossings carry its bytes; of one-sided calls too."""
    known = benchmarks.look_up(samples.spec.benchmark)
    return known.crosses(benchmarks.typed(samples.spec)) if known else (0, 0)


def bounded(benchmark: str) -> bool:
    """Whether a benchmark has bounds."""
    return bool(directions_of(benchmark) or crossings_of(benchmark))


def every_bounded() -> list[str]:
    """Names of all benchmarks that have bounds; sorted."""
    return [name for name, one in benchmarks.every().items() if one.directions or one.crossings]


def quantity(benchmark: str, metric: str) -> str:
    """Name what a metric of a benchmark is, so that nobody confuses a latency with a round trip.

    Examples
    --------
    >>> quantity("mpi.latency", "latency_us"), quantity("sockets.tcp_rr", "round_trip_us")
    ('latency (half the round trip)', 'round-trip time')
    """
    crossings = crossings_of(benchmark) if metric == "latency_us" else 0
    return _ROUNDS.get(crossings, METRICS[metric].label)


@dataclass(frozen=True, kw_only=True)
class Stated:
    """Facts about a path from the user; they replace those of the samples.

    Parameters
    ----------
    link : rate of the link in each direction: ``100gbit``, or ``100 Gb/sec (4X EDR)`` as Linux prints it.
    mtu : MTU of the interface (Ethernet) or the RDMA port, B; 0 if not stated.
    pcie : generation and lanes of the adapter's slot: ``3x16``; empty if not stated.
    delay : one way of cables and switches: ``300ns``, ``1ms``; empty if not stated.
    """

    link: str = ""
    mtu: int = 0
    pcie: str = ""
    delay: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """What is stated, as options of a command.

        Examples
        --------
        >>> Stated(link="100 Gb/sec (4X EDR)", mtu=4096).words
        ("--link '100 Gb/sec (4X EDR)'", '--mtu 4096')
        """
        return tuple(f"--{name} {shlex.quote(str(value))}" for name, value in vars(self).items() if value)

    @property
    def rate(self) -> float:
        """Rate of the link, bit/s; 0 if not stated."""
        return _rate(self.link) if self.link else 0.0

    def check(self) -> None:
        """Read everything.

        Raises
        ------
        SpecError
            If a statement cannot be read, or the MTU is too small for a packet.
        """
        _ = self.rate, _seconds(self.delay), links.pcie_of(self.pcie) if self.pcie else None
        if self.mtu and not 256 <= self.mtu <= 65536:
            raise SpecError(f"mtu={self.mtu}, but it must be 256 to 65536 B. See 'ip link', or ibv_devinfo.")


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The slowest link of a path.

    Parameters
    ----------
    name : name of the link.
    rate : bit/s in each direction; infinite where only a delay is known.
    efficiency : efficiency of full packets.
    source : as in `Bound`.
    delay : one way, s.
    burst : B that pass before traffic control limits the rate; 0 on a real link.
    usual : rate of the links of other hosts, where one host has a slower one; 0 if all are alike.
    segment : B of the largest packet that traffic control lets pass at once if its bucket is not empty: it pays later,
        while the answer comes back. 0 on a real link.
    """

    name: str
    rate: float
    efficiency: links.Efficiency
    source: str
    delay: float = 0.0
    burst: float = 0.0
    usual: float = 0.0
    segment: float = 0.0


def of_bandwidth(
    samples: Samples, stated: Stated | None = None, costs: Mapping[str, Costs] | None = None
) -> tuple[Bound, ...]:
    """Upper bounds on the bandwidth of a point, B/s, the lowest first.

    Parameters
    ----------
    samples : samples of a benchmark with `directions`; others have no bounds.
    costs : host → its costs, from `labkit.models.costs.measured_costs`, for points inside one host.

    Raises
    ------
    SpecError
        If a statement cannot be read.
    """
    (stated or Stated()).check()
    try:
        return _of_bandwidth(samples, stated or Stated(), costs)
    except SpecError:  # a text of the metadata, which may come from anyone
        return ()


def _of_bandwidth(samples: Samples, stated: Stated, costs: Mapping[str, Costs] | None) -> tuple[Bound, ...]:
    directions = directions_of(samples.spec.benchmark)
    directions *= 2 if samples.spec.values.get("bidirectional") else 1
    if not directions:
        return ()
    if inside(samples):
        return copied(samples, directions, of_host(samples, costs))
    if many_links(samples):
        return ()
    bounds = []
    wire = path(samples, stated)
    if wire is not None and math.isfinite(wire.rate):
        value = directions * wire.rate / 8 * wire.efficiency.share
        formula = f"{_both(directions)}{format_number(wire.rate / 1e9)} Gbit/s / 8, {wire.efficiency}"
        usual = wire.usual or wire.rate
        bound = _rate_of(wire.name, value * usual / wire.rate, formula, wire.source)
        bound = replace(bound, given=_given("rate", f"{format_number(wire.rate / 1e6)} Mbit/s", wire))
        if usual > wire.rate:
            bound = replace(bound, value=value, usual=bound.value, usual_name="the links of the other hosts")
        bounds.append(bound)
    possible: dict[str, float] = {}
    for now, best, source in _slots(samples, stated):
        rate, efficiency = links.pcie(*now)
        formula = f"{_both(directions)}{format_number(rate / 1e9)} Gbit/s / 8, {efficiency}"
        name, value = f"PCIe {now[0]}.0 x{now[1]}", directions * rate / 8 * efficiency.share
        bounds.append(_rate_of(name, value, formula, source))
        fastest, filled = links.pcie(*best)
        possible[name] = directions * fastest / 8 * filled.share
    known = sorted(bounds, key=lambda bound: bound.value)
    return tuple(_beside_best(one, possible, known[1:]) if one is known[0] else one for one in known)


def _beside_best(bound: Bound, possible: Mapping[str, float], others: Sequence[Bound]) -> Bound:
    """Judge what a slot allows against what the adapter could reach in a better slot, limited by the other links."""
    most = min(possible.get(bound.name, 0.0), *(one.value for one in others), math.inf)
    if most <= bound.value:
        return bound
    return replace(
        bound, usual=most, usual_name="a slot that suits the adapter", good=most / LINK[0], bad=most / LINK[1]
    )


def _rate_of(name: str, value: float, formula: str, source: str) -> Bound:
    """Return the bound of a link, B/s."""
    return Bound(name=name, value=value, formula=formula, source=source, good=value / LINK[0], bad=value / LINK[1])


def of_latency(
    samples: Samples, stated: Stated | None = None, costs: Mapping[str, Costs] | None = None
) -> tuple[Bound, ...]:
    """Lower bound on the latency of a point, s: delays of the path, and the time that its bytes take on the link.

    Parameters
    ----------
    samples : samples of a point that `crosses`; others have no bounds.
    costs : as in `of_bandwidth`.

    Raises
    ------
    SpecError
        If a statement cannot be read.
    """
    (stated or Stated()).check()
    try:
        return _of_latency(samples, stated or Stated(), costs)
    except SpecError:  # a text of the metadata, which may come from anyone
        return ()


def _of_latency(samples: Samples, stated: Stated, costs: Mapping[str, Costs] | None) -> tuple[Bound, ...]:
    crossings, carrying = crosses(samples)
    if crossings and inside(samples):
        return handed_over(samples, (crossings, carrying), of_host(samples, costs))
    wire = path(samples, stated)
    if not crossings or wire is None:
        return ()
    limited = max(0.0, (samples.spec.size or 0) / wire.efficiency.share - wire.burst)
    if wire.segment:  # a direction has the whole round trip to pay for what passed at once
        limited = max(limited / 2, limited - wire.segment)
    serial = carrying * limited * 8 / wire.rate
    machine = of_host(samples, costs)
    value, ends = crossings * wire.delay + serial, _ends(samples, crossings, machine)
    if not value and not ends:
        return ()
    formula = (
        f"{crossings} × {format_number(wire.delay * 1e6)} µs of delay + {format_number(serial * 1e6)} µs for the bytes"
    )
    if not ends and value < _FAR_S * crossings:
        return (Bound(name=wire.name, value=value, formula=formula, source=wire.source, missing="micro.loopback"),)
    (at_ends, least, most), how = ends or ((0.0, 0.0, 0.0), "")
    if ends:
        formula += f"; at its ends {how}, {format_number(at_ends * 1e6)} µs together"
    good, bad = (path * value + host * at_ends for path, host in zip(LINK, MACHINE, strict=True))
    given = _given("delay", f"{format_number(wire.delay * 1e6)} µs", wire) if wire.delay else ""
    link = f"{wire.name} less its token bucket, and its ends" if serial and wire.burst else f"{wire.name} and its ends"
    named, usual_name = (wire.name, link if ends else "") if value else (ENDS, ENDS)
    usual = value + at_ends
    one_sided = isinstance(benchmarks.get(samples.spec.benchmark), benchmarks.OneSidedBenchmark)
    usual_name = f"{THERE_AND_BACK}: {usual_name or named}" if one_sided else usual_name
    wakes = bool(ends) and benchmarks.get(samples.spec.benchmark).ends.sockets and bool(machine.wake_ups)
    bound = Bound(
        name=named, value=value, formula=formula, source=wire.source, good=good, bad=bad, soft=one_sided, wakes=wakes
    )
    low, high = (value + end for end in (least, most))
    return (replace(bound, usual=usual, usual_name=usual_name, usual_low=low, usual_high=high, given=given),)


def _given(what: str, value: str, wire: Wire) -> str:
    """Return what was set on an emulated link; empty for a real one."""
    return f"{what} set to {value}" if wire.source == "testbed" else ""


def _ends(samples: Samples, crossings: int, costs: Costs) -> tuple[tuple[float, float, float], str] | None:
    """What the hosts at both ends need at least with the ends of its interval, s, and how that is known; else None."""
    known = benchmarks.get(samples.spec.benchmark)
    if known.ends.rdma:
        return (
            crossings * _ADAPTERS_S,
            math.nan,
            math.nan,
        ), f"adapters that need {format_number(_ADAPTERS_S * 1e6)} µs (published)"
    if near := costs.message(samples.spec.size or 0):
        size, cost = near
        times, how = [cost.value, cost.low, cost.high], f"hosts that pass {size} to themselves in {cost}"
        if known.ends.sockets and (wake_up := costs.slowest_wake_up):  # their programs sleep until a message comes
            times = [sum(both) for both in zip(times, (wake_up.value, wake_up.low, wake_up.high), strict=True)]
            how = f"{how}, and wake a thread in {wake_up}"
        value, low, high = (crossings * one for one in times)
        return (value, low, high), how
    return None


def best_path(samples: Samples, costs: Mapping[str, Costs] | None) -> Bound | None:
    """The floor of shared memory, s, for ranks that share a host but send over its loopback interface; else None."""
    both = crosses(samples)
    if not both[0] or not _could_share(samples):
        return None
    try:
        return next(iter(handed_over(samples, both, of_host(samples, costs), "shared-memory")), None)
    except SpecError:  # a text of the metadata, which may come from anyone
        return None


def best_rate(samples: Samples, costs: Mapping[str, Costs] | None) -> Bound | None:
    """The same for a bandwidth, B/s."""
    directions = directions_of(samples.spec.benchmark) * (2 if samples.spec.values.get("bidirectional") else 1)
    if not directions or not _could_share(samples):
        return None
    try:
        return next(iter(copied(samples, directions, of_host(samples, costs), "shared-memory")), None)
    except SpecError:  # a text of the metadata, which may come from anyone
        return None


def _could_share(samples: Samples) -> bool:
    """Whether ranks share a host but not its memory."""
    return benchmarks.get(samples.spec.benchmark).mpi and inside(samples) == "loopback"


def many_links(samples: Samples) -> bool:
    """Whether pairs of ranks on more than two hosts share the bandwidth of a point: the links of these hosts add up."""
    return len(set(RANK_HOSTS.of(samples.meta))) > 2


def _both(directions: int) -> str:
    return "2 directions × " if directions == 2 else ""


# ---- the path of a point ---------------------------------------------------------------------------------------------


def path(samples: Samples, stated: Stated) -> Wire | None:
    """The slowest link that the bytes of a point crossed; None if nothing says what that is."""
    facts = TESTBED.of(samples.meta)
    if inside(samples):
        return None
    if stated.link:
        return _stated(samples, stated)
    if has(badges(samples.meta), "path-unknown"):
        return None
    known = links_of(facts)
    delay = _seconds(known.delay)
    if not math.isnan(known.shaped):
        if not known.shaped:
            return None
        name, rate = _emulated(known, EVIDENCE.of(samples.meta), several="senders" in samples.spec.values)
        efficiency = links.ethernet(stated.mtu or known.mtu or 1500, _protocol(samples), frame=links.SHAPED_FRAME)
        burst = max(_FRAMES, rate / 8 * _BURST_S)
        usual = known.shaped if name.removeprefix("link of ") in known.slow else 0.0
        return Wire(
            name=name, rate=rate, efficiency=efficiency, source="testbed", delay=delay, burst=burst, segment=_SEGMENT,
            usual=usual,
        )  # fmt: skip
    if known.rate or delay:
        rate = _rate(known.rate) if known.rate else math.inf
        payload = ACTIVE_MTU.of(samples.meta) or next((size for size in _VERBS_MTU if size + 64 <= known.mtu), 0)
        if not payload:
            return None
        efficiency = links.roce(payload, frame=links.SHAPED_FRAME)
        return Wire(name="cable", rate=rate, efficiency=efficiency, source="testbed", delay=delay, burst=_CABLE_BURST)
    return None if facts else _port(samples, stated) or _interface(samples, stated)


def carrier(samples: Samples) -> str:
    """The network interface that carried the bytes of a point; empty if none did, or nobody knows.

    Ranks that talk through an RDMA adapter leave few bytes on the interfaces that the kernel counts.
    """
    hosts = RANK_HOSTS.of(samples.meta)
    counts = HOST_B.of(samples.meta).get(str(hosts[0])) if hosts else None
    carried = {name: count for name, count in bytes_of(counts).items() if name != "lo"}
    count = samples.n or sum(CHUNKS.of(samples.meta))  # of samples whose times were not read
    payload = max(benchmarks.moved(samples.spec, count).values(), default=0.0) if carried else 0.0
    if payload <= benchmarks.ENOUGH_PAYLOAD:
        return samples.spec.device
    name = max(carried, key=lambda name: carried[name])
    return name if carried[name] >= benchmarks.CROSSED_ONCE[0] * payload else ""


def _stated(samples: Samples, stated: Stated) -> Wire:
    """The link that a user states; without TCP or UDP an adapter fills larger packets with fewer headers."""
    if samples.spec.transport == "tcp" or benchmarks.get(samples.spec.benchmark).ends.sockets:
        efficiency = links.ethernet(stated.mtu or 1500, _protocol(samples))
    else:
        size = stated.mtu or ACTIVE_MTU.of(samples.meta) or _VERBS_MTU[0]
        efficiency = links.infiniband(size) if "Gb/sec" in stated.link else links.roce(size)
    delay = _seconds(stated.delay)
    return Wire(name="link", rate=stated.rate, efficiency=efficiency, source="stated", delay=delay)


def _emulated(known: Links, evidence: Mapping[str, int], *, several: bool) -> tuple[str, float]:
    """Name and rate of the slowest shaped link that carried the bytes; a host's link if nothing was counted.

    Bytes of several senders cross the senders' links, then the receiver's link.
    """
    carried = {name: count for name, count in bytes_of(evidence).items() if name.endswith("x_bytes")}
    least = (_SOLE if several else _CARRIED) * max(carried.values(), default=0)
    rates = {"link of the receiver" if several else "link of a host": known.shaped}
    for name, count in carried.items():
        device = name.partition(".")[0]
        if count >= least and device in known.slow:
            rates[f"link of {device}"] = known.slow[device]
        if count >= least and device.startswith("leaf") and known.uplink:
            rates["uplink"] = known.uplink
    name = min(rates, key=lambda name: rates[name])
    return name, rates[name]


def _interface(samples: Samples, stated: Stated) -> Wire | None:
    """The interface that carried the bytes, if its rate is known."""
    nic = interfaces(samples.host).get(carrier(samples))
    if nic is None or nic.kind == "loopback" or not nic.rate:
        return None
    efficiency = links.ethernet(stated.mtu or nic.mtu or 1500, _protocol(samples))
    delay = _seconds(stated.delay)
    return Wire(name=f"interface {nic.name}", rate=nic.rate, efficiency=efficiency, source="host", delay=delay)


def _port(samples: Samples, stated: Stated) -> Wire | None:
    """The RDMA port of a point, if the host's description says its rate."""
    devices = ports(samples.host)
    port = devices.get(DEVICE.of(samples.meta) or samples.spec.device.partition(":")[0])
    rdma = benchmarks.get(samples.spec.benchmark).ends.rdma
    if port is None and rdma and not samples.spec.device and len(devices) == 1:
        port = next(iter(devices.values()))
    if port is None or not port.port_rate:
        return None
    try:
        rate = links.infiniband_rate(port.port_rate)
    except SpecError:  # a rate that this version does not know
        return None
    size = stated.mtu or ACTIVE_MTU.of(samples.meta) or _VERBS_MTU[0]
    efficiency = links.infiniband(size) if port.kind == "InfiniBand" else links.roce(size)
    delay = _seconds(stated.delay)
    return Wire(name=f"port of {port.name}", rate=rate, efficiency=efficiency, source="host", delay=delay)


def _slots(samples: Samples, stated: Stated) -> Iterator[tuple[tuple[int, int], tuple[int, int], str]]:
    """Generation and lanes of the adapter's PCI Express link, those that it could have, and the source."""
    if stated.pcie:
        now = links.pcie_of(stated.pcie)
        yield now, now, "stated"
        return
    if has(badges(samples.meta), "path-unknown"):
        return
    used = {carrier(samples), DEVICE.of(samples.meta), samples.spec.device.partition(":")[0]}
    for adapter in (*interfaces(samples.host).values(), *ports(samples.host).values()):
        generation, best = (links.pcie_generation(one.speed) for one in (adapter.slot, adapter.best_slot))
        if adapter.name in used and generation and adapter.slot.width:
            now = generation, adapter.slot.width
            yield now, (best or generation, adapter.best_slot.width or adapter.slot.width), "host"


def _protocol(samples: Samples) -> str:
    return "udp" if benchmarks.get(samples.spec.benchmark).ends.datagrams else "tcp"


def _rate(text: str) -> float:
    """Bit/s of ``100gbit``, ``24mbit`` or Linux's text for an RDMA port."""
    if "Gb/sec" in text:
        return links.infiniband_rate(text)
    match = _BITS.fullmatch(text.strip())
    if not match or not float(match["number"]):
        raise SpecError(f"link={text!r}, but it must read like 25gbit, 200mbit or '100 Gb/sec (4X EDR)'.")
    return float(match["number"]) * {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}[match["prefix"].lower()]


def _seconds(text: str) -> float:
    """Seconds of ``1ms``; 0 for none."""
    if not text:
        return 0.0
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise SpecError(f"delay={text!r}, but it must read like 300ns, 5us, 1ms or 2s.")
    return float(match["number"]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[match["unit"]]
