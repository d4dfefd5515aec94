"""Find the RDMA device, and the entry of its table of addresses (GID), that an end uses; ask that end itself."""

from __future__ import annotations

import ipaddress
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from labkit import benchmarks
from labkit.errors import LaunchError, SpecError
from labkit.point.spec import Spec
from labkit.tools import Place, ucx_perftest

# every used entry of every active port 1: device, link layer, index, GID, type
FIND = """
for port in /sys/class/infiniband/*/ports/1; do
  read -r state <$port/state && case $state in *ACTIVE*) ;; *) continue ;; esac || continue
  device=${port#/sys/class/infiniband/}
  read -r layer <$port/link_layer
  for type in $port/gid_attrs/types/[0-9] $port/gid_attrs/types/[0-9][0-9]; do
    read -r kind <$type && read -r gid <$port/gids/${type##*/} && echo "${device%%/*}|$layer|${type##*/}|$gid|$kind"
  done
done 2>/dev/null; :
"""


@dataclass(frozen=True)
class Gid:
    """An entry of a device's table of addresses.

    Parameters
    ----------
    device : ``mlx5_0``.
    layer : ``Ethernet`` or ``InfiniBand``.
    index : its place in the table.
    gid : eight groups of four hex digits.
    kind : ``RoCE v2``, ``IB/RoCE v1``, …
    """

    device: str
    layer: str
    index: int
    gid: str
    kind: str

    @property
    def ipv4(self) -> str:
        """The IPv4 address of the entry; empty if it has none."""
        mapped = ipaddress.IPv6Address(self.gid).ipv4_mapped
        return str(mapped) if mapped else ""


def parsed(text: str) -> list[Gid]:
    """Parse the output of `FIND`."""
    rows = (line.split("|") for line in text.splitlines() if line.count("|") == 4)
    return [Gid(device, layer, int(index), gid, kind) for device, layer, index, gid, kind in rows]


def chosen(entries: Sequence[Gid], device: str = "") -> Gid:
    """Return the entry to use: for RoCE, that of version 2 with an IPv4 address; for InfiniBand, the first.

    Parameters
    ----------
    device : its name; empty for the first device that has such an entry.

    Raises
    ------
    SpecError
        If there is no such device or entry; with the active devices.
    """
    active = sorted({entry.device for entry in entries})
    candidates = [entry for entry in entries if device in ("", entry.device)]
    if not candidates:
        what = f"device={device!r}, but" if device else "There is no active RDMA device here:"
        raise SpecError(
            f"{what} active are {', '.join(active) or 'none'}. Name one of these, or use --testbed soft-roce."
        )
    routed = [entry for entry in candidates if entry.kind == "RoCE v2" and entry.ipv4]
    direct = [entry for entry in candidates if entry.layer == "InfiniBand" and not entry.index]
    entries_to_use = [*routed, *direct]
    if not entries_to_use:
        raise SpecError(
            f"{candidates[0].device} has no RoCE v2 address for IPv4. Give its network interface an IPv4 address, or "
            "choose an entry of its table with -o gid=INDEX."
        )
    return entries_to_use[0]


def words(entry: Gid, server: str, index: int | None = None) -> dict[str, str]:
    """Return what fills the placeholders of the command at one end.

    Parameters
    ----------
    entry : of this end.
    server : IPv4 address of the server on its link.
    index : of the entry that the tool uses; None for that of `entry`.
    """
    place = entry.index if index is None else index
    return {"device": entry.device, "gid": str(place), "own_address": entry.ipv4, "rdma_address": server}


def output_of(command: Sequence[str], *, limit: float = 30.0) -> str:
    """Run a short command; return its standard output.

    Raises
    ------
    LaunchError
        If it fails or does not end in time.
    """
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        raise LaunchError(f"no answer within {limit:g} s.", command=command) from None
    if done.returncode:
        raise LaunchError(
            "this command failed. Fix the cause, and try again.",
            command=command,
            exit_status=done.returncode,
            stderr=done.stderr,
        )
    return done.stdout


def listening(words: Sequence[str], protocol: str, port: int) -> bool:
    """Whether a process listens on a port at the end that `words` reach; for rdma_cm on any port."""
    if protocol == "rdma_cm":
        return "LISTEN" in output_of([*words, "rdma", "resource", "show", "cm_id"])
    state = {"tcp": "0A", "udp": "07"}[protocol]
    table = output_of([*words, "sh", "-c", f"cat /proc/net/{protocol} /proc/net/{protocol}6"])
    rows = (line.split() for line in table.splitlines() if ":" in line)
    return any(row[3] == state and int(row[1].rpartition(":")[2], 16) == port for row in rows if len(row) > 3)


def place(spec: Spec) -> Place:
    """Return the ends of a verbs tool on real devices: the server on the peer host, by ssh, or on this machine.

    Raises
    ------
    SpecError
        If an end has no such device, or there is more than one peer.
    LaunchError
        If the peer does not answer.
    """
    library = benchmarks.get(spec.benchmark).ends.rdma
    if not library or spec.transport in ("tcp", *ucx_perftest.MEMORY):
        return Place()
    if len(spec.hosts) > 1:
        raise SpecError(f"hosts={','.join(spec.hosts)}, but {spec.benchmark} has one peer. Name one host.")
    this_machine = [host for host in spec.hosts if host in ("localhost", "127.0.0.1")]
    peer = "" if this_machine or not spec.hosts else spec.hosts[0].partition(":")[0]
    ssh = ("ssh", "-oBatchMode=yes", peer, "--") if peer else ()
    entries = parsed(output_of(["sh", "-c", FIND]))
    if not entries and library == "ucx":
        raise SpecError(
            f"transport={spec.transport}, but this machine has no active RDMA device. UCX has "
            f"{ucx_perftest.listed(ucx_perftest.offered())} here. Set the transport to one of these, or use --testbed "
            "soft-roce."
        )
    local_entry = chosen(entries, spec.device)
    if spec.values.get("multicast") and not local_entry.ipv4:
        raise SpecError(
            f"multicast=True, but {local_entry.device} is no RoCE device with an IPv4 address, by which it joins a "
            "group. Leave multicast out."
        )
    peer_entry = chosen(parsed(output_of([*ssh, f"sh -c '{FIND}'"])), spec.device) if peer else local_entry
    return Place(
        address=peer or "127.0.0.1",
        server=ssh,
        server_words=words(peer_entry, peer_entry.ipv4),
        client_words=words(local_entry, peer_entry.ipv4),
        listens=lambda protocol, port: listening(ssh, protocol, port),
        loopback=not peer,
    )
