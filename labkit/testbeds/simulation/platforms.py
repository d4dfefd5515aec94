"""Write a network as a platform of SimGrid 3.32 (XML, version 4.1). Hosts are n0, n1, … in every topology."""

from __future__ import annotations

import random
from collections.abc import Iterator

from labkit.testbeds.simulation.network import Network

# of two ranks on one host: a copy through its memory, which no link of the network limits
LOCAL_BPS, LOCAL_S = 10e9, 200e-9
_SPEED = "1Gf"  # of a host; nothing is computed
_HEAD = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<zone id="all" routing="Full">
"""
_TAIL = "</zone>\n</platform>\n"


def platform(network: Network, seed: int = 0) -> str:
    """Return the platform file of a network.

    Parameters
    ----------
    seed : seed of the uplinks of ``routing=hash``.
    """
    if network.topology == "torus":
        body = _cluster(network, "TORUS", ",".join(map(str, network.sides)))
    elif network.topology == "dragonfly":
        groups, chassis, routers, hosts = network.sides
        body = _cluster(network, "DRAGONFLY", f"{groups},1;{chassis},1;{routers},1;{hosts}")
    elif network.routing == "hash" or network.processing:
        body = "".join(f"{line}\n" for line in _routes(network, seed))
    elif network.routing == "d-mod-k" and network.leaves > 1:
        shape = f"2;{network.leaf_size},{network.leaves};1,{network.uplinks};1,1"
        body = _cluster(network, "FAT_TREE", shape)
    else:
        body = "".join(f"{line}\n" for line in _trunks(network))
    return f"{_HEAD}{body}{_TAIL}"


def _plain(value: float, unit: str) -> str:
    return f"{value:.12g}{unit}"


def _links(network: Network) -> str:
    """Return the attributes of the links of a cluster's hosts."""
    return (
        f'speed="{_SPEED}" bw="{_plain(network.rate_Bps, "Bps")}" lat="{_plain(network.link_s, "s")}" '
        f'sharing_policy="SPLITDUPLEX" loopback_bw="{_plain(LOCAL_BPS, "Bps")}" '
        f'loopback_lat="{_plain(LOCAL_S, "s")}"'
    )


def _cluster(network: Network, topology: str, shape: str) -> str:
    """Return a zone that SimGrid routes itself."""
    return (
        f'<cluster id="c" prefix="n" suffix="" radical="0-{network.nodes - 1}" {_links(network)} '
        f'topology="{topology}" topo_parameters="{shape}"/>\n'
    )


def _trunks(network: Network) -> Iterator[str]:
    """Yield a tree with one uplink for each leaf, which has the rate of all the leaf's uplinks together.

    Uplinks that carry as much as their hosts send and receive never limit a message, but they are shared nevertheless:
    SimGrid visits all flows of a link that is not (``FATPIPE``) once for each of them.
    """
    for leaf in range(network.leaves):
        first = leaf * network.leaf_size
        last = min(first + network.leaf_size, network.nodes) - 1
        yield (
            f'<cluster id="leaf{leaf}" prefix="n" suffix="" radical="{first}-{last}" {_links(network)} '
            f'router_id="switch{leaf}"/>'
        )
    if network.leaves == 1:
        return
    trunk = _plain(network.rate_Bps * network.leaf_size / network.tapered, "Bps")
    for leaf in range(network.leaves):
        yield (
            f'<link id="up{leaf}" bandwidth="{trunk}" latency="{_plain(network.link_s, "s")}" '
            'sharing_policy="SPLITDUPLEX"/>'
        )
    for here in range(network.leaves):
        for there in range(network.leaves):
            if here != there:
                yield (
                    f'<zoneRoute src="leaf{here}" dst="leaf{there}" gw_src="switch{here}" gw_dst="switch{there}" '
                    f'symmetrical="NO"><link_ctn id="up{here}" direction="UP"/>'
                    f'<link_ctn id="up{there}" direction="DOWN"/></zoneRoute>'
                )


def _routes(network: Network, seed: int) -> Iterator[str]:
    """Yield a tree with the route of every pair of hosts: fixed uplinks, and processors that limit what hosts move."""
    chance = random.Random(f"uplinks-{seed}")
    rate, latency = _plain(network.rate_Bps, "Bps"), _plain(network.link_s, "s")
    members = network.uplinks if network.routing == "hash" else 1
    trunk = _plain(network.rate_Bps * network.leaf_size / network.tapered / members, "Bps")
    for host in network.hosts:
        yield f'<host id="{host}" speed="{_SPEED}"/>'
    for host in network.hosts:
        yield f'<link id="{host}.nic" bandwidth="{rate}" latency="{latency}" sharing_policy="SPLITDUPLEX"/>'
        yield (
            f'<link id="{host}.local" bandwidth="{_plain(LOCAL_BPS, "Bps")}" latency="{_plain(LOCAL_S, "s")}" '
            'sharing_policy="FATPIPE"/>'
        )
        if network.processing:
            yield f'<link id="{host}.cpu" bandwidth="{_plain(network.processing_Bps, "Bps")}" latency="0s"/>'
    for leaf in range(network.leaves):
        for k in range(members):
            yield (f'<link id="up{leaf}.{k}" bandwidth="{trunk}" latency="{latency}" sharing_policy="SPLITDUPLEX"/>')
    for source in range(network.nodes):
        for target in range(network.nodes):
            up, down = chance.randrange(members), chance.randrange(members)
            yield _route(network, source, target, up, down)


def _route(network: Network, source: int, target: int, up: int, down: int) -> str:
    """Return the route from one host to another one."""
    if source == target:
        links = [f'<link_ctn id="n{source}.local"/>']
    else:
        here, there = source // network.leaf_size, target // network.leaf_size
        links = [f'<link_ctn id="n{source}.nic" direction="UP"/>']
        if here != there:
            links.append(f'<link_ctn id="up{here}.{up}" direction="UP"/>')
            links.append(f'<link_ctn id="up{there}.{down}" direction="DOWN"/>')
        links.append(f'<link_ctn id="n{target}.nic" direction="DOWN"/>')
        if network.processing:
            links = [f'<link_ctn id="n{source}.cpu"/>', *links, f'<link_ctn id="n{target}.cpu"/>']
    return f'<route src="n{source}" dst="n{target}" symmetrical="NO">{"".join(links)}</route>'
